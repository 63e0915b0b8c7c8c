"""One contract for all estimators, as laws that enumerate them."""

import inspect
import json
import math
import pickle
from dataclasses import replace
from html import escape

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import askance as ask
from askance.errors import NotAvailable
from askance.learning.face import ESTIMATORS, Estimator
from askance.reports import Summary
from estimator_examples import EXAMPLES

every_estimator = pytest.mark.parametrize("name", EXAMPLES)


def test_every_estimator_has_an_example_and_no_public_one_is_left_out():
    public = {name for name in ask.__all__ if inspect.isclass(v := getattr(ask, name)) and issubclass(v, BaseEstimator)}
    assert set(EXAMPLES) == set(ESTIMATORS) == public


@every_estimator
def test_it_has_the_face(name):
    kind = getattr(ask, name)
    assert issubclass(kind, Estimator)
    for method in ("fit", "fit_release", "score", "summary", "conf_int", "plot", "report", "save", "figures"):
        assert callable(getattr(kind, method)), method
        assert getattr(kind, method).__doc__, method
    assert "engine" in inspect.signature(kind.fit_release).parameters
    assert inspect.signature(kind.score).parameters["of"].kind is inspect.Parameter.KEYWORD_ONLY


@every_estimator
def test_privacy_is_kept_and_shown(name):
    example = EXAMPLES[name]()
    guarantee = example.fitted.guarantee_
    assert isinstance(guarantee, ask.Guarantee)
    summary = example.fitted.summary(*example.summary)
    assert isinstance(summary, Summary)
    assert summary.privacy == str(guarantee) == example.fitted.privacy_statement_
    assert str(guarantee) in str(summary)
    assert str(guarantee) in summary.to_dict()["privacy"]
    assert "<table" in summary._repr_html_() or not summary.names
    assert isinstance(summary.to_frame(), pd.DataFrame)
    if name not in ("CountTagger", "ListExperiment"):  # counts of an annotator protect nobody, counts of items not all
        assert math.isfinite(guarantee.epsilon)


@every_estimator
def test_a_saved_model_is_the_same_model(name, tmp_path):
    example = EXAMPLES[name]()
    example.fitted.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    assert type(again) is type(example.fitted)
    assert again.guarantee_ == example.fitted.guarantee_
    assert str(again.summary(*example.summary)) == str(example.fitted.summary(*example.summary))
    if example.new is not None:
        np.testing.assert_array_equal(again.predict(example.new), example.fitted.predict(example.new))


@every_estimator
def test_a_fitted_model_travels(name, tmp_path):
    example = EXAMPLES[name]()
    said = str(example.fitted.summary(*example.summary))
    joblib.dump(example.fitted, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(example.fitted)), joblib.load(tmp_path / "model.joblib")):
        assert str(again.summary(*example.summary)) == said
        assert again.guarantee_ == example.fitted.guarantee_
        if example.new is not None:
            np.testing.assert_array_equal(again.predict(example.new), example.fitted.predict(example.new))
    anew = clone(example.fitted)
    assert not [attribute for attribute in vars(anew) if attribute.endswith("_")]
    assert str(anew.get_params()) == str(example.fitted.get_params())


@every_estimator
def test_what_is_not_fitted_says_so(name, tmp_path):
    example = EXAMPLES[name]()
    anew = clone(example.fitted)
    for use in (
        lambda: anew.summary(*example.summary),
        lambda: anew.report(tmp_path / "page.html"),
        lambda: anew.privacy_statement_,
        lambda: anew.plot(),
        lambda: anew.figures(),
    ):
        with pytest.raises(NotFittedError):
            use()


@every_estimator
def test_a_summary_is_a_table_in_every_form(name):
    example = EXAMPLES[name]()
    summary = example.fitted.summary(*example.summary)
    frame, mapping, page = summary.to_frame(), summary.to_dict(), summary._repr_html_()
    assert list(frame.index) == list(summary.names) == list(mapping["estimates"])
    assert list(frame.columns) == ["estimate", "std_error", "z", "p_value", "lower", "upper"]
    assert json.loads(json.dumps(mapping, allow_nan=False)) == mapping
    assert mapping["facts"] == dict(summary.all_facts)
    for text in (summary.title, summary.privacy, *(value for _, value in summary.facts), *summary.notes):
        assert text in str(summary)
        assert escape(text) in page
    pd.testing.assert_frame_equal(summary.table, frame)


@every_estimator
def test_fit_release_learns_what_fit_learns(name, tmp_path):
    example = EXAMPLES[name]()
    fitted = clone(example.fitted).fit_release(example.release, **example.release_arguments)
    assert fitted.guarantee_ == example.fitted.guarantee_
    example.release.write(tmp_path / "release")
    read = clone(example.fitted).fit_release(str(tmp_path / "release"), **example.release_arguments)
    assert str(read.summary(*example.summary)) == str(fitted.summary(*example.summary))


@every_estimator
def test_fit_release_refuses_another_kind_of_release(name):
    other = "CountTagger" if name != "CountTagger" else "Prevalence"
    with pytest.raises(ask.AskanceError, match="release"):
        clone(EXAMPLES[name]().fitted).fit_release(EXAMPLES[other]().release)


@pytest.mark.parametrize("name", ["IndirectClassifier", "IndirectRegressor", "Prevalence"])
def test_a_release_is_not_read_by_another_channel(name):
    example = EXAMPLES[name]()
    other = replace(example.fitted.channel, epsilon=1.0)
    with pytest.raises(ask.InvalidInput, match="Leave channel=None"):
        clone(example.fitted).set_params(channel=other).fit_release(example.release, **example.release_arguments)


@every_estimator
def test_score_is_about_the_truth_or_refused(name):
    example = EXAMPLES[name]()
    known = None if example.truth is None else example.fitted.score(*example.truth, of="truth")
    if example.scored is not None:
        assert example.fitted.score(*example.scored) == pytest.approx(known, abs=0.1)
    else:
        with pytest.raises(NotAvailable, match="score"):
            example.fitted.score(*(example.truth or (example.new, None)))
    with pytest.raises(ask.InvalidInput, match="of='noise'"):
        example.fitted.score(*(example.scored or example.truth or (None,)), of="noise")


@every_estimator
def test_classes_are_as_they_came(name):
    example = EXAMPLES[name]()
    if name not in ("CountTagger", "IndirectRegressor", "JointTable"):  # a joint table has classes of several questions
        assert example.fitted.classes_.tolist() == [0, 1]


@every_estimator
def test_it_writes_a_page_with_its_figure(name, tmp_path):
    example = EXAMPLES[name]()
    path = tmp_path / "page.html"
    example.fitted.report(path)
    page = path.read_text(encoding="utf-8")
    assert name in page
    assert "<svg" in page
    assert "<script" not in page
    assert "mathdefault" not in page  # the ends of a logarithmic axis are numbers, not formulas
    assert "Privacy" in page
    assert example.fitted.plot().has_data()
    with pytest.raises(ask.ReleaseError, match="exists already"):
        example.fitted.report(path)
