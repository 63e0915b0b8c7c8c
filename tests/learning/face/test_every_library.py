"""Frames of pandas, polars and Arrow, for every estimator: the same fit, and rows that go together or are refused."""

import inspect
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import askance as ask
from estimator_examples import EXAMPLES, answers
from frame_libraries import LIBRARIES, as_frame, people

# Sentences and regions of a tagger are no rows; frames of regions are tested with its release.
every_estimator = pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "CountTagger"])
every_library = pytest.mark.parametrize("library", LIBRARIES)
TOWNS = {"EcologicalInference": ["town", "land"]}  # columns of counts have names that the estimator was told


def framed(name, values, library):
    return as_frame(values, library, *([TOWNS[name]] if name in TOWNS else []))


def numbers(table):
    return np.nan_to_num(np.asarray(table, dtype=float))


@every_library
@every_estimator
def test_frames_give_the_fit_that_arrays_give(name, library):
    example = EXAMPLES[name]()
    fitted = clone(example.fitted).fit(*framed(name, example.given, library))
    summary = tuple(as_frame(given, library) for given in example.summary)
    found, known = fitted.summary(*summary), example.fitted.summary(*example.summary)
    np.testing.assert_allclose(numbers(found.to_frame()), numbers(known.to_frame()), atol=1e-9)
    # Columns of arrays are called by their places, those of tables by their own names: values are no names.
    assert found.names == tuple(re.sub(r"\bx(\d)", lambda place: "abc"[int(place[1])], each) for each in known.names)
    if example.new is not None:
        predicted = fitted.predict(as_frame(example.new, library))
        assert isinstance(predicted, np.ndarray)  # as everywhere in scikit-learn
        np.testing.assert_allclose(predicted, example.fitted.predict(example.new))
    if example.scored is not None:
        assert fitted.score(*as_frame(example.scored, library)) == pytest.approx(example.fitted.score(*example.scored))


BY_ROW = {
    *("X", "y", "reports", "design", "sample_weight", "replicate_weights", "strata", "cluster", "fpc"),
    *("bags", "groups", "by", "counts", "treatment", "direct"),
}


def taken(name, method):
    """The arguments of a method that say something about every row."""
    return [each for each in inspect.signature(getattr(getattr(ask, name), method)).parameters if each in BY_ROW]


# In fit_release these are names of columns. Some estimators refuse every score; some have a y for scikit-learn only.
NO_SCORE = {"AnswerRegression", "HiddenPredictor", "JointTable", "ListExperiment", "Prevalence"}
BY_ROWS = [
    (name, method, argument)
    for name in EXAMPLES
    for method, _ in inspect.getmembers(getattr(ask, name), inspect.isfunction)
    if not method.startswith(("_", "set_")) and method != "fit_release"
    for argument in taken(name, method)[1:]
    if not (argument == "y" and taken(name, method)[0] == "reports")
    if not (method == "score" and name in NO_SCORE)
]


@pytest.mark.parametrize(("name", "method", "argument"), BY_ROWS)
def test_rows_in_another_order_are_refused(name, method, argument):
    example = EXAMPLES[name]()
    given = as_frame(example.given[0], "pandas")
    rows = next(iter(given.values())) if isinstance(given, dict) else given
    numbered = pd.Series(np.arange(len(rows)), index=rows.index)
    parameters = inspect.signature(getattr(example.fitted, method)).parameters.values()
    needed = {parameter.name: numbered for parameter in parameters if parameter.default is parameter.empty}
    of = {"of": "truth"} if method == "score" and example.scored is None else {}
    model = clone(example.fitted) if method == "fit" else example.fitted
    with pytest.raises(ask.InvalidInput, match=f"{argument} have the same entries in another order"):
        getattr(model, method)(**needed | of | {taken(name, method)[0]: given, argument: numbered.iloc[::-1]})


@every_library
def test_intervals_of_rows_and_groups_are_frames_of_the_same_library(library):
    channel, X, _, reports, _ = answers()
    model = ask.IndirectClassifier(channel).fit(as_frame(X, library), reports)
    schools = np.where(X[:, 1] > 0, "North", "South")
    known = model.predict_interval(as_frame(X, "pandas"))
    assert list(known.index) == people(len(X))
    frame = as_frame(X, library)
    found = model.predict_interval(frame)
    assert isinstance(found, LIBRARIES[library])
    # Columns and rows of one table in memory are multiplied in another order, which moves the last digit.
    np.testing.assert_allclose(np.asarray(found), known.to_numpy(), rtol=1e-12)
    with_school = {
        "pandas": lambda: frame.assign(school=schools),
        "polars": lambda: frame.with_columns(pl.Series("school", schools)),
        "arrow": lambda: frame.append_column("school", pa.array(schools)),
    }[library]()
    by_name, by_column = model.predict_interval(with_school, by="school"), model.predict_interval(frame, by=schools)
    assert isinstance(by_name, LIBRARIES[library])
    if library == "pandas":
        assert list(by_name.index) == ["North", "South"]
    else:
        assert np.asarray(by_name["school"]).tolist() == np.asarray(by_column["group"]).tolist() == ["North", "South"]
    np.testing.assert_array_equal(np.asarray(by_name["estimate"]), np.asarray(by_column["estimate"]))
    with pytest.raises(ask.InvalidInput, match=r"by='class'.*a column of X: 'a', 'b', 'school'"):
        model.predict_interval(with_school, by="class")


@every_library
def test_ratios_of_groups_are_frames_of_the_same_library(library):
    example = EXAMPLES["RatioEstimator"]()
    X, groups, _ = example.truth
    known, known_ends = example.fitted.predict(X, groups), example.fitted.predict_interval(X, groups)
    model = clone(example.fitted).fit(*as_frame(example.given, library))
    found = model.predict(as_frame(X, library), groups)
    assert isinstance(found, LIBRARIES[library])
    if library == "pandas":
        assert list(found.index) == ["first", "second"]
        np.testing.assert_array_equal(found.to_numpy(), known)
    else:
        assert np.asarray(found["group"]).tolist() == ["first", "second"]
        np.testing.assert_array_equal(np.column_stack([found["0"], found["1"]]), known)
    intervals = model.predict_interval(as_frame(X, library), groups)
    assert isinstance(intervals, LIBRARIES[library])
    ends = known_ends.reshape(-1, 2)
    np.testing.assert_array_equal(np.column_stack([intervals["lower"], intervals["upper"]]), ends)


def test_another_order_of_columns_is_refused():
    channel, X, _, reports, _ = answers()
    for library in LIBRARIES:
        model = ask.IndirectClassifier(channel).fit(as_frame(X, library), reports)
        assert list(model.feature_names_in_) == ["a", "b"]
        with pytest.raises(ValueError, match="feature names"):
            model.predict(as_frame(X[:, ::-1], library, "ba"))
