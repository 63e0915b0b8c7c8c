"""Columns and tables of pandas, polars and Arrow: what goes back, and which rows go together."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import askance as ask
from askance.frames import column_names, like, named_rows, refuse_other_rows, some_columns, table_like
from frame_libraries import LIBRARIES, as_frame, people

LETTERS = ["a", "b", "c"]


def column(index):
    return pd.Series(range(len(index)), index=index)


# -- which rows go together ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LETTERS, LETTERS),
        (LETTERS, [0, 1, 2]),  # an index that merely counts says nothing
        ([5, 7, 9], [0, 1, 2]),  # of a part of a table, and of an array
        ([0, 1], [0, 1, 2]),  # lengths are looked at by whoever needs them
        (pd.MultiIndex.from_product([["x"], LETTERS]), [0, 1, 2]),
        (["a", "a", "b"], ["a", "a", "b"]),
    ],
)
def test_rows_that_go_together(first, second):
    refuse_other_rows(X=column(first), y=column(second))
    refuse_other_rows(X=column(second), y=column(first).to_numpy(), z=column(first).tolist())


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (LETTERS, ["a", "c", "b"], r"have the same entries in another order \(row 1 is 'b' and 'c'\)"),
        ([2, 0, 1], [0, 1, 2], r"have the same entries in another order \(row 0 is 2 and 0\)"),
        (LETTERS, ["a", "b", "d"], r"name other rows \(row 2 is 'c' and 'd'\)"),
        (["a", "a", "b"], ["a", "b", "a"], "have the same entries in another order"),
        ([1, "b", None], ["b", 1, None], "have the same entries in another order"),
        (pd.MultiIndex.from_product([["x"], LETTERS]), LETTERS, "name other rows"),
        (pd.date_range("2026-01-01", periods=3), pd.date_range("2026-01-02", periods=3), "name other rows"),
    ],
)
def test_rows_that_do_not(first, second, said):
    with pytest.raises(ask.InvalidInput, match=f"the indexes of X and y {said}"):
        refuse_other_rows(X=column(first), y=column(second))


def test_what_is_said_helps():
    X, y = column(LETTERS), column(LETTERS[::-1])
    with pytest.raises(ask.InvalidInput) as caught:
        refuse_other_rows(X=X, reports={"drugs": y})
    assert "pass reports['drugs'].loc[X.index]" in str(caught.value)
    assert "reports['drugs'].to_numpy()" in str(caught.value)
    refuse_other_rows(X=X, reports={"drugs": y.loc[X.index]})
    refuse_other_rows(X=X, reports={"drugs": y.to_numpy()})


def test_whoever_takes_two_columns_looks_at_their_rows():
    """Besides estimators, of which tests/learning/face has a law."""
    channel, rng = ask.Warner(0.8), np.random.default_rng(0)
    truth = pd.Series(rng.choice(["no", "yes"], 200), index=people(200))
    other, said = truth.iloc[::-1], "in another order"
    designs = ask.DesignPerRow({"no": channel, "yes": ask.Crosswise(0.25)})
    for use in (
        lambda: ask.metrics.accuracy(truth, other, channel),
        lambda: ask.metrics.log_loss(truth, column(other.index) / 200, channel),
        lambda: ask.metrics.roc_auc(truth, column(other.index), channel),
        lambda: ask.metrics.roc_curve(truth, column(other.index), channel),
        lambda: ask.metrics.recall(truth, truth, channel, sample_weight=column(other.index)),
        lambda: designs.privatize(truth, other),
        lambda: designs.likelihood(truth, other),
        lambda: ask.RowChannel(ask.GaussianNoise(1.0)).privatize((column(truth.index).to_frame(), other)),
        lambda: ask.release_mean_operator(column(truth.index).to_frame("x"), other, 1.0, classes=("no", "yes")),
        lambda: ask.advise_bags(truth, 1.0, X=column(other.index).to_frame("x")),
    ):
        with pytest.raises(ask.InvalidInput, match=said):
            use()


# -- what goes back ------------------------------------------------------------------------------------


def test_a_column_keeps_its_index_and_name():
    smokes = pd.Series(["no", "yes", "no"], index=LETTERS, name="smokes")
    told = ask.Warner(0.8).privatize(smokes)
    assert isinstance(told, pd.Series)
    assert told.name == "smokes"
    assert list(told.index) == LETTERS
    assert ask.Warner(0.8).privatize(pl.Series("smokes", ["no", "yes"])).name == "smokes"


def test_a_column_named_name_is_no_name():
    told = ask.GaussianNoise(1.0).privatize(pd.DataFrame({"name": [1.0, 2.0], "index": [3.0, 4.0]}))
    assert list(told.columns) == ["name", "index"]
    assert like(pd.DataFrame({"name": [0.1, 0.2], "b": [0.3, 0.4]}), np.arange(2)).name is None


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_reports_of_columns_that_are_taken_by_name_keep_their_names(make):
    """Columns of the truth may come in any order: what is called a is about a."""
    channel = ask.RowChannel(ask.GaussianNoise(0.1), label=ask.Warner(0.8), columns=["a", "b"])
    truth = make({"b": np.full(40, 100.0), "more": np.zeros(40), "a": np.zeros(40)})
    told, labels = channel.simulate((truth, ["no", "yes"] * 20), np.random.default_rng(0))
    assert column_names(told) == ["a", "b"]
    assert np.max(np.asarray(told["a"])) < 10 < np.min(np.asarray(told["b"]))
    other = some_columns(told, ["b", "a"])
    np.testing.assert_array_equal(channel.encode_reports((other, labels))[0], channel.encode_reports((told, labels))[0])


def test_a_classifier_of_records_takes_reports_by_the_names_of_its_channel():
    rng = np.random.default_rng(1)
    channel = ask.RowChannel(ask.GaussianNoise([0.5, 2.0]), label=ask.Warner(0.8), columns=["a", "b"])
    told, labels = channel.simulate(
        (pd.DataFrame(rng.normal(size=(80, 2)), columns=["b", "a"]), ["no", "yes"] * 40), rng
    )
    known = ask.SpreadClassifier(channel, ridge=1.0, random_state=0).fit(told, labels)
    other = ask.SpreadClassifier(channel, ridge=1.0, random_state=0).fit(told[["b", "a"]], labels)
    assert list(other.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(other.coef_, known.coef_)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_reports_about_whole_rows_are_not_called_by_its_columns(make):
    """They are about all columns together; in another order they are brought back into theirs."""
    row = ask.PrivateRow({"age": (0, 100), "income": (0, 15), "rent": (0, 15)}, epsilon=8, outcome="rent")
    rng = np.random.default_rng(2)
    told = row.simulate(make({name: rng.uniform(0, 15, 60) for name in ("rent", "income", "age")}), rng)
    assert column_names(told) == ["report_1", "report_2", "report_3"]
    other = some_columns(told, ["report_3", "report_1", "report_2"])
    np.testing.assert_array_equal(row.encode_reports(other), row.encode_reports(told))


def test_two_columns_of_the_same_name_stay_two():
    twice = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["x", "x"])
    assert ask.GaussianNoise(1.0).privatize(twice).shape == (2, 2)


def test_arrays_and_lists_stay_arrays():
    assert isinstance(ask.Warner(0.8).privatize(["no", "yes"]), np.ndarray)
    assert isinstance(ask.Warner(0.8).privatize(np.array(["no", "yes"])), np.ndarray)
    assert isinstance(ask.Warner(0.8).privatize(pa.array(["no", "yes"])), pa.Array)
    assert isinstance(ask.Warner(0.8).privatize(pa.chunked_array([["no"], ["yes"]])), pa.ChunkedArray)


@pytest.mark.parametrize("library", LIBRARIES)
def test_waves_are_a_table(library):
    channel = ask.Memoised(ask.Warner(0.9), 1.0)
    kept, reports = channel.privatize_waves(as_frame(np.array(["no", "yes", "yes"]), library), waves=2)
    assert isinstance(kept, LIBRARIES[library])
    assert isinstance(reports, LIBRARIES[library])
    assert np.shape(reports) == (3, 2)
    assert isinstance(channel.respond(kept), LIBRARIES[library])
    again = ask.Repeated(ask.Warner(0.8), 2)
    told = again.privatize(as_frame(np.array(["no", "yes", "yes"]), library))
    np.testing.assert_array_equal(again.encode_reports(told), again.encode_reports(np.asarray(told)))


def test_an_index_becomes_a_column_where_there_is_none():
    frame = pd.DataFrame({"share": [0.1, 0.2]}, index=["North", "South"])
    assert table_like(np.empty(2), frame) is frame
    assert table_like(pl.DataFrame(), frame, rows="school").columns == ["school", "share"]
    assert table_like(pa.table({}), frame.rename_axis("school")).column_names == ["school", "share"]
    assert table_like(pl.DataFrame(), frame.reset_index(drop=True)).columns == ["share"]


def test_labels_of_several_kinds_are_an_array_where_there_is_no_column_for_them():
    mixed = np.array(["no", 1], dtype=object)
    assert isinstance(like(pl.Series([0, 1]), mixed), np.ndarray)
    assert isinstance(like(pa.array([0, 1]), mixed), np.ndarray)
    assert isinstance(like(pd.Series([0, 1]), mixed), pd.Series)


# -- tables with names for rows ------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_counts_and_proportions_by_bag_are_read_by_name(make):
    given = make({"unit": ["Bute", "Ayr"], "no": [30, 70], "yes": [20, 50]})
    release = ask.release_counts(given, epsilon=1.0)
    assert release.bags == ("Bute", "Ayr")
    assert release.classes == ("no", "yes")
    rng = np.random.default_rng(0)
    bags = np.repeat(["Ayr", "Bute"], 100)
    X = rng.normal(size=(200, 1)) + (bags == "Bute")[:, None]
    shares = make({"unit": ["Bute", "Ayr"], "no": [0.1, 0.9], "yes": [0.9, 0.1]})
    model = ask.ProportionClassifier(method="mean-map").fit(X, bags, shares)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.coef_[0, 0] > 0  # and not less, as it would be in the order of the table


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_counts_are_taken_by_name(make):
    rows = {"land": [20, 30, 70], "town": [80, 40, 10]}
    columns = {"no": [50, 20, 40], "yes": [50, 50, 40]}
    known = ask.EcologicalInference(row_names=["town", "land"], random_state=0)
    known.fit(np.column_stack([rows["town"], rows["land"]]), np.column_stack(list(columns.values())))
    found = ask.EcologicalInference(row_names=["town", "land"], random_state=0).fit(make(rows), make(columns))
    np.testing.assert_array_equal(found.table_, known.table_)
    with pytest.raises(ask.InvalidInput, match="counts of 'land', 'town'; expected the classes 'north', 'south'"):
        ask.EcologicalInference(row_names=["north", "south"]).fit(make(rows), make(columns))


def test_numbered_units_in_another_order_are_refused():
    rows = pd.DataFrame({"town": [80, 40, 10], "land": [20, 30, 70]})
    columns = pd.DataFrame({"no": [50, 20, 40], "yes": [50, 50, 40]})
    with pytest.raises(ask.InvalidInput, match="numbered in order in one table and in another order"):
        ask.EcologicalInference().fit(rows.iloc[::-1], columns)


def test_what_is_no_frame_has_no_names():
    assert named_rows(np.ones((2, 2))) is None
    assert named_rows(pl.Series([1, 2])) is None
    values, columns, rows = named_rows(pd.Series([1, 2], index=["no", "yes"]))
    assert (values.tolist(), columns, rows) == ([1, 2], (), ("no", "yes"))
