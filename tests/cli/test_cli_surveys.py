"""``askance fit`` for surveys with more than one hidden thing."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from askance.cli.app import app

STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.85 }

[questions.copied]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.85 }

[questions.items]
choices = [0, 1, 2, 3, 4]
channel = { design = "identity" }

[covariates.age]
type = "number"

[covariates.grade]
type = "number"

[covariates.long]
type = "number"

[covariates.school]
type = "category"
"""


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey")
    rng = np.random.default_rng(0)
    n = 1200
    age, cheated = rng.normal(size=n), rng.random(n) < 0.4
    copied, long = rng.random(n) < np.where(cheated, 0.7, 0.2), rng.random(n) < 0.5

    def flipped(truth):
        return np.where(truth ^ (rng.random(n) < 0.15), "yes", "no")

    pd.DataFrame(
        {
            "cheated": flipped(cheated),
            "copied": flipped(copied),
            "items": rng.binomial(3, 0.5, n) + (cheated & long),
            "age": age,
            "grade": age + 2 * cheated + rng.normal(size=n),
            "long": long.astype(int),
            "school": rng.choice(["a", "b", "c", "d", "e", "f"], n),
        }
    ).to_csv(folder / "reports.csv", index=False)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    return folder


def fit(survey, *options):
    words = ["fit", str(survey / "reports.csv"), "--study", str(survey / "study.toml"), *options]
    return CliRunner().invoke(app, words)


@pytest.mark.parametrize(
    ("options", "model", "row"),
    [
        (["--formula", "grade ~ age + hidden(cheated)"], "HiddenPredictor", "hidden(cheated)"),
        (["--joint", "cheated,copied"], "JointTable", "log odds ratio cheated x copied"),
        (["--treatment", "long", "--question", "items"], "ListExperiment", "sensitive item"),
        (["--formula", "cheated ~ age", "--link", "probit"], "AnswerRegression", "age"),
        (["--formula", "cheated ~ age", "--groups", "school"], "AnswerRegression", "standard deviation of groups"),
    ],
)
def test_each_kind_is_fitted(survey, tmp_path, options, model, row):
    saved, page = tmp_path / "model.json", tmp_path / "page.html"
    done = fit(survey, *options, "--json", "--quiet", "--save", str(saved), "--report", str(page))
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["model"] == model
    assert row in said["summary"]["estimates"]
    assert saved.exists()
    assert page.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--joint", "cheated,copied", "--family", "poisson"], "--family"),
        (["--formula", "grade ~ hidden(drank)"], "drank"),
        (["--treatment", "nobody", "--question", "items"], "nobody"),
        (["--formula", "cheated ~ age", "--groups", "class"], "class"),
        (["--formula", "grade ~ age * hidden(cheated)"], "term of its own"),
        (["--joint", "cheated,copied", "--engine", "dask"], "--engine"),
    ],
)
def test_what_does_not_fit_together_is_refused(survey, options, message):
    done = fit(survey, *options)
    assert done.exit_code != 0
    assert message in str(done.exception)
