"""Cross-tables from totals of units: what is learned, what is noticed, what is refused."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime

import askance as ask
from askance.errors import AskanceWarning, NotAvailable
from askance.learning.ecology.margins import REMAINDER, read_margins
from askance.learning.ecology.table_likelihood import TableLikelihood, UnitShares
from askance.learning.ecology.unit_tables import choice_noise, conditioned, raked

GOLDEN = Path(__file__).parents[2] / "golden" / "model-v1-ecological.json"
SHARES = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])


def country(seed=0, units=60, size=400, shares=SHARES, change=0.0, spread=0.2):
    """Units whose rows differ, people who agree a little, and shares that may change with the first row."""
    rng = np.random.default_rng(seed)
    mixes = np.exp(rng.normal(0, 0.7, (units, len(shares))))
    mixes /= mixes.sum(axis=1, keepdims=True)
    rows = np.array([rng.multinomial(rng.integers(size // 2, 2 * size), mix) for mix in mixes])
    tables = np.zeros((units, *shares.shape), dtype=int)
    for u, row in enumerate(rows):
        scores = np.log(shares) + rng.normal(0, spread, shares.shape)
        scores[:, 0] += change * (mixes[u, 0] - mixes[:, 0].mean()) / mixes[:, 0].std()
        chosen = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        tables[u] = [rng.multinomial(n, p) for n, p in zip(row, chosen, strict=True)]
    return rows, tables.sum(axis=1), tables


@pytest.fixture(scope="module")
def fitted():
    rows, columns, tables = country()
    return ask.EcologicalInference(random_state=0).fit(rows, columns), tables


# -- what is learned --------------------------------------------------------------------------------------------------


def test_the_gradient_is_that_of_the_likelihood():
    rows, columns, _ = country(1, units=12)
    sizes = rows.sum(axis=1).astype(float)
    noise = np.repeat((np.eye(3) - 1 / 3)[None] * 1e-4, len(rows), axis=0)
    for known, spread in ((None, 0.0), (noise, 0.2)):
        shares = UnitShares(rows / sizes[:, None], columns / sizes[:, None], sizes, known)
        z = shares.composition(2)
        model = TableLikelihood(shares, z if spread else z[:, :0], spread)
        at = model.start() + 0.1 * np.random.default_rng(0).normal(size=model.start().size)
        numeric = approx_fprime(at, lambda point, model=model: model.minus_log(point)[0], 1e-6)
        np.testing.assert_allclose(model.minus_log(at)[1], numeric, atol=2e-3, rtol=1e-4)
        weights = model.at(model.start())
        numeric = approx_fprime(at, lambda point, model=model, by=weights: model.minus_log(point, by)[0], 1e-6)
        np.testing.assert_allclose(model.minus_log(at, weights)[1], numeric, atol=2e-3, rtol=1e-4)


def test_the_table_is_near_the_truth_and_within_its_intervals(fitted):
    model, tables = fitted
    true = tables.sum(axis=0)
    assert model.score(true, of="truth") > 0.95
    assert model.score(tables, of="truth") > 0.9
    low, high = model.interval()
    shares = true / true.sum(axis=1, keepdims=True)
    assert ((low <= shares) & (shares <= high)).mean() > 0.8
    wide = model.interval(0.99)
    assert (wide[1] - wide[0] >= high - low - 1e-12).all()


def test_intervals_cover():
    # 10 countries of 9 cells: a share of .95 has a standard error of about .04, cells of a country being dependent.
    covered = []
    for seed in range(10):
        rows, columns, tables = country(100 + seed, units=30, size=200)
        model = ask.EcologicalInference(random_state=0).fit(rows, columns)
        low, high = model.interval()
        true = tables.sum(axis=0)
        shares = true / true.sum(axis=1, keepdims=True)
        covered.append(((low <= shares) & (shares <= high)).mean())
    assert np.mean(covered) > 0.82


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")  # some of them beside this one
def test_units_that_lean_whatever_their_rows_are_seen(fitted):
    # All rows of a unit lean together by a logit of about one: intervals covered half, and nothing was said.
    assert not any("Units lean" in note for note in fitted[0].notes_)
    covered = []
    for seed in range(3):
        rng = np.random.default_rng([5, seed])
        place = rng.normal(size=(100, 2)) @ rng.normal(0, 0.6, (2, 3)) + rng.normal(0, 0.2, (100, 3))
        mixes = np.exp(place) / np.exp(place).sum(axis=1, keepdims=True)
        scores = np.log(SHARES) + rng.normal(size=(100, 1, 1)) * np.array([1.2, -0.8, 0.3])
        shares = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
        tables = rng.multinomial(rng.multinomial(600, mixes), shares)
        model = ask.EcologicalInference(random_state=0).fit(tables.sum(axis=2), tables.sum(axis=1))
        assert any("Units lean" in note for note in model.notes_)
        low, high = model.interval()
        true = tables.sum(axis=0) / tables.sum(axis=(0, 2))[:, None]
        covered.append(((low <= true) & (true <= high)).mean())
    assert np.mean(covered) > 0.8


def test_margins_are_kept_in_all_tables(fitted):
    model, tables = fitted
    np.testing.assert_allclose(model.table_.sum(axis=1), tables.sum(axis=(0, 2)))
    np.testing.assert_allclose(model.table_.sum(axis=0), tables.sum(axis=(0, 1)))
    np.testing.assert_allclose(model.unit_tables_.sum(axis=2), tables.sum(axis=2), atol=1e-4)
    np.testing.assert_allclose(model.unit_tables_.sum(axis=1), tables.sum(axis=1), atol=1e-4)
    assert (model.unit_tables_ >= 0).all()
    frame = model.unit_frame()
    assert list(frame.columns) == ["unit", "row", "column", "people", "std_error"]
    assert len(frame) == tables.size
    np.testing.assert_allclose(model.crosstab().to_numpy(), model.table_)


def test_raking_and_conditioning_by_hand():
    x, c = np.array([[0.4, 0.6]]), np.array([[0.3, 0.7]])
    cells = raked(np.array([[[0.3, 0.1], [0.1, 0.5]]]), x, c)
    np.testing.assert_allclose(cells.sum(axis=1), c, atol=1e-9)
    np.testing.assert_allclose(cells.sum(axis=2), x, atol=1e-9)
    odds = cells[0, 0, 0] * cells[0, 1, 1] / (cells[0, 0, 1] * cells[0, 1, 0])
    assert odds == pytest.approx(0.3 * 0.5 / 0.01)  # raking keeps odds ratios
    beta, a = np.array([[[0.5, 0.5], [0.5, 0.5]]]), np.array([[0.01, 0.03]])
    precision = np.zeros((1, 2, 2))
    precision[0, 0, 0] = 1 / (0.25 * 0.04)
    moved = conditioned(x[:, :, None] * beta, beta, a, precision, x, c)
    # .2 too many in the first column, divided 1 to 3 by the variances.
    np.testing.assert_allclose(moved[0], [[0.15, 0.25], [0.15, 0.45]], atol=1e-12)
    noise = choice_noise(np.random.default_rng(0), 20_000, np.array([[0.5]]), np.array([[[0.2, 0.3, 0.5]]]))
    expected = 0.5 * (np.diag([0.2, 0.3, 0.5]) - np.outer([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]))
    np.testing.assert_allclose(np.cov(noise[:, 0, 0].T), expected, atol=0.01)


def test_people_are_weights_and_not_written_out():
    rows, columns, _ = country(2, units=30)
    once = ask.EcologicalInference(random_state=0).fit(rows, columns)
    many = ask.EcologicalInference(random_state=0).fit(rows * 10**10, columns * 10**10)
    assert many.n_people_ == once.n_people_ * 10**10
    np.testing.assert_allclose(many.shares_, once.shares_, atol=0.05)


def test_frames_arrays_and_mappings_are_the_same():
    rows, columns, _ = country(3, units=12)
    names = [f"u{n}" for n in range(12)]
    row_frame = pd.DataFrame(rows, index=names, columns=["a", "b", "c"])
    column_frame = pd.DataFrame(columns, index=names, columns=["x", "y", "z"]).iloc[::-1]
    told = read_margins(row_frame, column_frame, None, None, "refuse")
    assert (told.row_names, told.column_names, told.units[0]) == (("a", "b", "c"), ("x", "y", "z"), "u0")
    np.testing.assert_array_equal(told.columns, columns)
    other = read_margins(
        rows.tolist(), dict(zip(names, columns.tolist(), strict=True)), ["a", "b", "c"], ["x", "y", "z"], "refuse"
    )
    np.testing.assert_array_equal(other.columns, columns)


def test_the_golden_model_of_version_1_is_read_for_ever():
    model = ask.load_model(GOLDEN)
    assert model.rows_.tolist() == ["town", "land"]
    np.testing.assert_allclose(model.shares_, [[0.818, 0.182], [0.084, 0.916]], atol=1e-3)
    low, high = model.interval(0.9)
    assert (low < model.shares_).all()
    assert (model.shares_ < high).all()
    assert model.plot().has_data()


# -- what is noticed --------------------------------------------------------------------------------------------------


def fit_with_notes(rows, columns, **options):
    model = ask.EcologicalInference(random_state=0, **options)
    with pytest.warns(ask.AskanceWarning):
        model.fit(rows, columns)
    return model, " ".join(model.notes_)


def test_empty_units_rows_and_columns_are_left_out():
    rows, columns, _ = country(4, units=20)
    rows = np.column_stack([rows, np.zeros(20, dtype=int)])
    columns = np.column_stack([np.zeros(20, dtype=int), columns])
    rows[3], columns[3] = 0, 0
    model, notes = fit_with_notes(rows, columns)
    assert "1 units without people" in notes
    assert np.isnan(model.shares_[3]).all()
    assert not model.table_[:, 0].any()
    assert not model.unit_tables_[3].any()
    assert model.n_units_ == 19
    assert "–" in str(model.summary())
    json.dumps(model.summary().to_dict(), allow_nan=False)


def test_turnout_is_refused_or_chosen():
    rows, columns, _ = country(5, units=20)
    rows[:, 0] += 30
    columns[4, 1] += 200
    with pytest.raises(ask.InvalidInput, match=r"20 of 20 units.*unmatched='remainder'.*unmatched='scale'"):
        ask.EcologicalInference().fit(rows, columns)
    model, notes = fit_with_notes(rows, columns, unmatched="remainder")
    assert model.rows_.tolist() == [0, 1, 2, REMAINDER]
    assert model.classes_.tolist() == [0, 1, 2, REMAINDER]
    assert model.table_[:, 3].sum() == pytest.approx(19 * 30)
    assert model.table_[3].sum() == pytest.approx(170)
    assert "740 people are in one table only" in notes
    scaled, notes = fit_with_notes(rows, columns, unmatched="scale")
    assert "scaled" in notes
    assert scaled.table_.sum() == pytest.approx(columns.sum())


def test_rows_that_units_cannot_tell_apart_are_named():
    rows, columns, _ = country(6, units=30)
    split = np.column_stack([rows[:, 0] // 2, rows[:, 0] - rows[:, 0] // 2, rows[:, 1:]])
    split[:, 0] = split[:, 1]
    columns[:, 0] += split.sum(axis=1) - columns.sum(axis=1)
    columns = np.maximum(columns, 0)
    split[:, 2] += columns.sum(axis=1) - split.sum(axis=1)
    model, notes = fit_with_notes(split, columns, row_names=["twin", "other twin", "b", "c"])
    assert "No unit tells 'twin', 'other twin' apart" in notes
    low, high = model.interval()
    assert (high - low)[:2].max() > 0.3


def test_fewer_units_than_rows_are_wide_and_said():
    rows, columns, _ = country(7, units=2)
    model, notes = fit_with_notes(rows, columns)
    assert "2 units for 3 rows" in notes
    assert "2 units for 3 columns" in notes
    low, high = model.interval()
    assert (high - low).max() > 0.3


def test_shares_that_change_with_the_unit_are_seen():
    rows, columns, _ = country(8, units=150, change=0.6)
    _, notes = fit_with_notes(rows, columns)
    assert "Aggregation bias" in notes
    rows, columns, _ = country(8, units=150)
    assert not ask.EcologicalInference(random_state=0).fit(rows, columns).notes_


def test_units_that_are_all_alike_tell_nothing():
    rows = np.tile([100, 200, 300], (20, 1))
    columns = np.random.default_rng(0).multinomial(600, [0.5, 0.3, 0.2], 20)
    model, notes = fit_with_notes(rows, columns)
    assert "apart" in notes
    low, high = model.interval()
    assert (high - low)[0].max() > 0.5  # a sixth of the people, who could have done nearly anything


# -- released counts --------------------------------------------------------------------------------------------------


def test_noise_of_released_columns_is_known():
    rows, columns, tables = country(9, units=60, size=60)
    release = ask.release_counts(columns, epsilon=0.5, classes=["x", "y", "z"])
    model = ask.EcologicalInference(random_state=0).fit(rows, release)
    assert model.guarantee_ == release.guarantee
    exact = ask.EcologicalInference(random_state=0).fit(rows, columns)
    widths = [np.diff(each.interval(), axis=0).mean() for each in (exact, model)]
    assert widths[1] > 1.05 * widths[0]
    assert model.score(tables.sum(axis=0), of="truth") > 0.85
    np.testing.assert_allclose(model.table_.sum(axis=1), rows.sum(axis=0))
    with pytest.raises(ask.InvalidInput, match="row counts with noise"):
        ask.EcologicalInference().fit(release, columns)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "columns", "says"),
    [
        ([[3, 4]], [[5, 2]], "1 unit with people"),
        ([[3, 4], [0, 0]], [[5, 2], [0, 0]], "1 unit with people"),
        ([[3, 4], [5, 6]], [[5, 2]], "2 units and column counts of 1"),
        ([[0.3, 0.7], [0.5, 0.5]], [[5, 2], [3, 4]], "proportions"),
        ([[30.5, 69.5], [50, 50]], [[5, 2], [3, 4]], "proportions"),
        ([[3.5, 4], [5, 6]], [[5, 2], [3, 4]], "not whole numbers"),
        ([[-3, 10], [5, 6]], [[5, 2], [3, 8]], "negative"),
        ([[3, np.nan], [5, 6]], [[5, 2], [3, 8]], "missing"),
        ([["a", "b"], ["c", "d"]], [[5, 2], [3, 8]], "row counts"),
        ([[7], [11]], [[5, 2], [3, 8]], "at least two classes"),
        ([[2**53, 4], [5, 6]], [[5, 2], [3, 8]], "2\\^53"),
        ({"a": [3, 4], "b": [5, 6]}, {"a": [5, 2], "c": [3, 8]}, "only the row counts have, such as 'b'"),
    ],
)
def test_bad_tables_are_refused(rows, columns, says):
    with pytest.raises(ask.AskanceError, match=says):
        ask.EcologicalInference().fit(rows, columns)


def test_other_refusals(fitted):
    model, tables = fitted
    with pytest.raises(ask.InvalidInput, match="unmatched='drop'"):
        ask.EcologicalInference("drop").fit(tables.sum(axis=2), tables.sum(axis=1))
    with pytest.raises(NotAvailable, match="score"):
        model.score(tables.sum(axis=0))
    with pytest.raises(ask.InvalidInput, match="true table"):
        model.score(np.ones((2, 2)), of="truth")
    with pytest.raises(ask.InvalidInput, match="level=2"):
        model.interval(2)
    with pytest.raises(ask.InvalidInput, match="row_counts="):
        ask.EcologicalInference().fit_release(ask.release_counts(tables.sum(axis=1), 1))


def test_rare_columns_that_differ_widely_between_few_units_are_named():
    """Two to twelve such units: .95 intervals covered .63 to .83, without a word."""
    rng = np.random.default_rng(2000)
    rows = np.array([rng.multinomial(1000, rng.dirichlet([2, 2])) for _ in range(60)])
    chose = [
        [rng.binomial(n, rng.beta(30 * p, 30 * (1 - p))) for n, p in zip(row, (0.1, 0.02), strict=True)] for row in rows
    ]
    columns = np.column_stack([np.sum(chose, axis=1), rows.sum(axis=1) - np.sum(chose, axis=1)])
    names = {"row_names": ["town", "country"], "classes": ["greens", "others"], "random_state": 0}
    with pytest.warns(AskanceWarning, match=r"chose 'greens' that their shares differ.*12 units tell little"):
        ask.EcologicalInference(**names).fit(rows[:12], columns[:12])
    many = ask.EcologicalInference(**names).fit(rows, columns)
    assert not any("tell little" in note for note in many.notes_)


def test_what_totals_cannot_show_is_said_to_be_assumed():
    """Shares of both rows that rise with the mix give the totals of constant shares: 1.0 and .1 for .75 and .27."""
    rng = np.random.default_rng(12)
    mix = rng.beta(2, 3, 60)
    left = rng.binomial(500, mix)
    rows = np.column_stack([left, 500 - left])
    chosen = rng.binomial(rows, np.column_stack([0.5 + 0.5 * mix, 0.1 + 0.5 * mix]))
    columns = np.column_stack([chosen.sum(axis=1), 500 - chosen.sum(axis=1)])
    model = ask.EcologicalInference(random_state=0).fit(rows, columns)
    assert model.shares_[0, 0] > chosen[:, 0].sum() / left.sum() + 0.15
    assert "assumed: shares of all rows do not rise together with the mix of units" in str(model.summary())


def test_a_unit_whose_name_differs_by_case_is_named():
    rows = pd.DataFrame({"a": [3, 4], "b": [5, 5]}, index=["north", "South"])
    columns = pd.DataFrame({"x": [2, 9], "y": [6, 0]}, index=["north", "south"])
    with pytest.raises(ask.InvalidInput, match=r"only the row counts have, such as 'South'.*Did you mean 'south'"):
        ask.EcologicalInference(random_state=0).fit(rows, columns)


def one_row_changes(seed, units, change):
    """Two rows of which one chooses the more of the first column the more of the other row there are."""
    rng = np.random.default_rng(seed)
    mixes = rng.dirichlet([2.0, 2.0], units)
    rows = np.array([rng.multinomial(500, mix) for mix in mixes])
    scores = rng.normal([1.4, -0.8], 0.2, (units, 2))
    scores[:, 1] += change * (mixes[:, 0] - mixes[:, 0].mean()) / mixes[:, 0].std()
    chosen = rng.binomial(rows, 1 / (1 + np.exp(-scores)))
    first = chosen.sum(axis=1)
    return rows, np.column_stack([first, 500 - first]), chosen.sum(axis=0) / rows.sum(axis=0)


def test_few_units_that_hint_at_aggregation_bias_have_wider_intervals():
    hits, hinted = [], 0
    for seed in range(12):
        rows, columns, truth = one_row_changes(seed, 20, 0.6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskanceWarning)
            fitted = ask.EcologicalInference(random_state=0).fit(rows, columns)
        if any("may be aggregation bias: 20 units hint" in note for note in fitted.notes_):
            low, high = fitted.interval()
            hinted += 1
            hits.append((low[:, 0] <= truth) & (truth <= high[:, 0]))
    assert hinted >= 2
    assert np.mean(hits) > 0.8
