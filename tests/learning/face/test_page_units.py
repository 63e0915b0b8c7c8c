"""A page of a model in Python tells coefficients in units that somebody asks for, beside the raw ones."""

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.errors import NotAvailable
from html_pages import ReadPage


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"age": rng.normal(40, 12, 2000), "woman": rng.integers(0, 2, 2000).astype(float)})
    truth = np.where(rng.random(2000) < 1 / (1 + np.exp(-0.04 * (people["age"] - 40))), "yes", "no")
    channel = ask.Warner(0.85)
    return ask.IndirectClassifier(channel).fit(people, channel.simulate(truth, rng)), people


def test_a_page_has_coefficients_for_what_was_asked_for(fitted, tmp_path):
    model, people = fitted
    page = _page(model, tmp_path / "ten.html", per={"age": 10})
    assert "10 (as asked for)" in page
    assert f"{10 * model.coef_[0, 0]:.4f}"[:5] in page
    assert "per={'age': 10.0}" in page
    page = _page(model, tmp_path / "deviations.html", per=people.std())
    assert f"{people['age'].std():.3g} (as asked for)" in page
    assert "as asked for" not in _page(model, tmp_path / "raw.html")


def test_units_of_several_classes_are_those_of_each(tmp_path):
    rng = np.random.default_rng(4)
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=3.0)
    X = pd.DataFrame({"age": rng.normal(40, 12, 900)})
    model = ask.IndirectClassifier(channel).fit(X, channel.simulate(rng.choice(["a", "b", "c"], 900), rng))
    assert _page(model, tmp_path / "classes.html", per={"age": 10}).count("10 (as asked for)") == 2


def test_no_other_figure_is_left_out_and_no_share_is_stretched(tmp_path):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"age": rng.normal(size=400), "woman": rng.normal(size=400)})
    y = np.where(X["age"] + rng.normal(size=400) > 0, "yes", "no")
    released = ask.release_mean_operator(X, y, epsilon=5.0, classes=("no", "yes"))
    model = ask.MeanOperatorClassifier().fit(X, released)
    page = _page(model, tmp_path / "total.html", per={"age": 10})
    assert all(figure.title in page for figure in model.figures())
    assert "change for the units" in page
    shares = ask.Prevalence(ask.Warner(0.8)).fit(["no"] * 600 + ["yes"] * 400)
    with pytest.raises(NotAvailable, match="units of features on a page of Prevalence"):
        shares.report(tmp_path / "shares.html", per={"yes": 2})


def test_cuts_between_classes_are_not_drawn_as_changes(tmp_path):
    rng = np.random.default_rng(6)
    channel = ask.RandomizedResponse(["low", "middle", "high"], epsilon=3.0)
    X = pd.DataFrame({"age": rng.normal(40, 10, 900)})
    truth = np.array(channel.classes)[np.digitize(X["age"] + 10 * rng.normal(size=900), [35, 45])]
    model = ask.AnswerRegression(channel).fit(X, channel.simulate(truth, rng))
    cut = next(name for name in model.parameter_names_ if " | " in name)
    drawn = (
        _page(model, tmp_path / "ordered.html", per={"age": 10}).split("Figures", 1)[1].split("How it was fitted")[0]
    )
    assert "change for the units" in drawn
    assert cut not in drawn


@pytest.mark.parametrize(
    ("per", "words"), [({"agee": 1}, "Did you mean 'age'"), ({"age": 0}, "above zero"), ({"age": "x"}, "above zero")]
)
def test_units_of_nothing_are_refused_before_a_page_is_written(fitted, tmp_path, per, words):
    with pytest.raises(ask.InvalidInput, match=words):
        fitted[0].report(tmp_path / "page.html", per=per)
    assert not (tmp_path / "page.html").exists()


def _page(model, path, **options):
    model.report(path, **options)
    return ReadPage(path.read_text(encoding="utf-8")).text
