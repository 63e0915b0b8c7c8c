"""What is asked of a fit is read once, and means what it says."""

import numpy as np
import pytest
from formulaic.parser import DefaultFormulaParser

import askance as ask
from askance.errors import InvalidInput
from askance.releases.header import Header
from askance.releases.privatizing import privatize_table
from askance.workflows import FitRequest, analyse, analyse_reports, open_reports

STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }

[questions.habit]
choices = ["never", "often"]
channel = { design = "warner", p = 0.7 }

[covariates.age]
type = "number"

[covariates.school]
type = "category"
"""
PICTURES = """
[questions.image]
width = 4
channel = { design = "state-flip", states = 2, flip = 0.2 }

[questions.digit]
choices = [7, 9]
channel = { design = "warner", p = 0.8 }
"""
NUMBER = '[questions.income]\nbounds = [0, 1]\nchannel = { design = "private-number", epsilon = 1.0 }\n'


def count_calls(monkeypatch, owner, name):
    calls, real = [], getattr(owner, name)

    def counted(*arguments, **options):
        calls.append(name)
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_a_csv_is_fitted_with_its_formula_parsed_once(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    rows = zip(rng.choice(["no", "yes"], 200), rng.normal(size=200).round(2), rng.choice(["a", "b"], 200), strict=True)
    (tmp_path / "a.csv").write_text("cheated,age,school\n" + "".join(f"{c},{a},{s}\n" for c, a, s in rows))
    study = ask.Study.parse(STUDY)
    parsed = count_calls(monkeypatch, DefaultFormulaParser, "get_terms")
    resolved = count_calls(monkeypatch, Header, "question_about")
    headers = count_calls(monkeypatch, Header, "__post_init__")
    request = FitRequest.of(formula="cheated ~ age + C(school)")
    done = analyse_reports(open_reports(tmp_path / "a.csv", study, request))
    assert done.report.regression.askance.names == ("Intercept", "age", "C(school)[T.b]")
    assert len(parsed) == 1
    assert len(resolved) <= 3  # by the request; and each of the two regressions finds its question at its own door
    assert len(headers) == 2  # of the columns that are wanted, and of the naive analysis


@pytest.mark.parametrize(
    ("study", "options", "asked"),
    [
        (PICTURES, {}, "image"),
        (PICTURES, {"label": "digit"}, "image"),
        (PICTURES, {"question": "digit"}, "digit"),
        (PICTURES + STUDY, {"label": "habit"}, "image"),
        (STUDY, {"formula": "habit ~ age"}, "habit"),
    ],
)
def test_the_question_that_is_meant(study, options, asked):
    assert FitRequest.of(**options).asked(ask.Study.parse(study).header()).name == asked


@pytest.mark.parametrize(
    ("study", "questions"),
    [(STUDY, 2), (PICTURES + STUDY, 4), (PICTURES + NUMBER, 3), (PICTURES.split("[questions.digit]")[0] + NUMBER, 2)],
)
def test_a_question_that_could_be_several_must_be_named(study, questions):
    with pytest.raises(InvalidInput, match=f"{questions} questions and none was named"):
        FitRequest().asked(ask.Study.parse(study).header())


def test_pictures_with_a_label_are_learned_without_naming_them():
    rng = np.random.default_rng(2)
    images = rng.integers(0, 2, (600, 4))
    digits = np.where(images[:, 0] == 1, 9, 7)
    release = privatize_table(ask.Study.parse(PICTURES), {"image": images.tolist(), "digit": digits})
    done = analyse(release)
    assert type(done.model).__name__ == "SpreadClassifier"
    assert "'image' and its label" in done.text
