"""Formulas are parsed once, wherever they travel."""

import pickle

import formulaic
import numpy as np
import pytest

import askance as ask
from askance.learning.face import Formula
from askance.learning.face import formula as formula_module
from estimator_examples import answers


@pytest.fixture
def parsings(monkeypatch):
    parse, texts = formulaic.Formula, []

    def counted(text, *arguments, **options):
        texts.append(text)
        return parse(text, *arguments, **options)

    monkeypatch.setattr(formulaic, "Formula", counted)
    return texts


def test_a_formula_is_parsed_once(parsings):
    formula = Formula("y ~ a + center(b)")
    assert parsings == []
    assert (formula.left, formula.columns, [str(term) for term in formula.right]) == (
        "y",
        ("a", "b"),
        ["1", "a", "center(b)"],
    )
    assert Formula.of(formula) is formula
    assert parsings == ["y ~ a + center(b)"]


def test_a_fit_takes_a_formula_that_is_parsed_already(parsings):
    *_, release = answers()
    formula = Formula("y ~ a + b")
    fitted = ask.IndirectClassifier().fit_release(release, formula=formula)
    again = ask.IndirectClassifier().fit_release(release, formula=formula)
    assert parsings == ["y ~ a + b"]
    by_text = ask.IndirectClassifier().fit_release(release, formula="y ~ a + b")
    np.testing.assert_array_equal(fitted.parameters_, by_text.parameters_)
    np.testing.assert_array_equal(fitted.parameters_, again.parameters_)


def test_a_formula_travels_parsed():
    formula = Formula("y ~ a")
    assert formula.left == "y"
    again = pickle.loads(pickle.dumps(formula))
    assert (again, again.left, str(again)) == (formula, "y", "y ~ a")


@pytest.mark.parametrize(
    ("text", "message"),
    [("a + b", "a question, ~"), ("y + z ~ a", "one question left"), ("y ~ a | b", "one sum"), ("y ~ a +", "read")],
)
def test_what_is_no_formula_is_said(text, message):
    with pytest.raises(ask.InvalidInput, match=message):
        _ = Formula(text).left


@pytest.mark.parametrize("right", ["C(a):C(b)", "bs(a, df=90):bs(b, df=90)", "poly(a, 20) * cr(b, df=99) * C(a)"])
def test_more_features_than_memory_holds_are_refused_before_they_are_made(right, monkeypatch):
    *_, release = answers()
    monkeypatch.setattr(formula_module, "_spec", lambda *_: pytest.fail("features were made"))
    with pytest.raises(ask.InvalidInput, match=r"makes up to [\d,]+ features; expected at most 5,000"):
        ask.IndirectClassifier().fit_release(release, formula=f"y ~ {right}")
