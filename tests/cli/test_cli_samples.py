"""Strata, clusters and missing values from the study file and the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.cli.app import main

STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "forced-response", p_no = 0.1666667, p_yes = 0.1666667 }

[questions.lied]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }

[covariates.age]
type = "number"
[covariates.region]
type = "category"
[covariates.school]
type = "category"
[covariates.heft]
type = "number"

[sample]
weight = "heft"
strata = "region"
cluster = "school"
missing = "drop"
"""


def code(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    return ended.value.code


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    school = np.repeat(np.arange(20), 15)
    frame = pd.DataFrame(
        {
            "cheated": rng.choice(["no", "yes"], p=[0.65, 0.35], size=300),
            "lied": rng.choice(["no", "yes"], size=300),
            "age": rng.normal(40, 10, size=300).round(),
            "region": np.where(school < 10, "north", "south"),
            "school": school,
            "heft": rng.integers(1, 4, size=300),
        }
    )
    frame.loc[:4, "lied"] = None
    frame.loc[2:3, "age"] = None
    frame.to_csv("answers.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return frame


def fitted(capsys, *arguments):
    assert code("fit", "answers.csv", "--study", "study.toml", "--json", "--quiet", *arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_the_study_says_how_people_were_drawn(place, capsys):
    found = fitted(capsys, "--formula", "cheated ~ age")
    kept = place.dropna(subset=["age"])
    channel = ask.ForcedResponse(0.1666667, 0.1666667)
    sample = {"sample_weight": kept["heft"], "strata": kept["region"], "cluster": kept["school"]}
    same = ask.IndirectClassifier(channel).fit(kept[["age"]], kept["cheated"], **sample)
    np.testing.assert_allclose(found["parameters"]["covariance"], same.covariance_, rtol=1e-6)
    assert "2 of 300 rows lack a value and were left out: age 2." in found["notes"]
    assert found["diagnostics"]["sample"] == "20 clusters, 2 strata"
    assert found["diagnostics"]["design_effect"] > 0


def test_what_says_how_people_were_drawn_is_not_offered_as_a_covariate(place, capsys):
    assert code("fit", "answers.csv", "--study", "study.toml", "--question", "cheated") == 0
    assert "--formula 'cheated ~ age'" in capsys.readouterr().err


def test_each_question_uses_the_rows_that_it_has(place, capsys):
    assert fitted(capsys, "--question", "cheated")["diagnostics"]["reports"] == 300
    lied = fitted(capsys, "--question", "lied")
    assert lied["diagnostics"]["reports"] == 295
    assert "5 of 300 rows lack a value and were left out: lied 5." in lied["notes"]


def test_options_come_before_the_study(place, capsys):
    assert code("fit", "answers.csv", "--study", "study.toml", "--question", "lied", "--missing", "refuse") != 0
    assert "lied" in capsys.readouterr().err
    other = fitted(capsys, "--question", "cheated", "--cluster", "region", "--strata", "")
    assert other["diagnostics"]["sample"] == "2 clusters"


def test_a_release_keeps_what_the_study_says(place, capsys):
    place.dropna().to_csv("whole.csv", index=False)
    assert code("privatize", "study.toml", "whole.csv", "--out", "release.parquet", "--quiet") == 0
    capsys.readouterr()
    assert ask.read_release("release.parquet").header.sample.cluster == "school"
    assert code("fit", "release.parquet", "--question", "cheated", "--json", "--quiet") == 0
    assert json.loads(capsys.readouterr().out)["diagnostics"]["sample"] == "20 clusters, 2 strata"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('cluster = "village"', "which is no covariate"),
        ('missing = "guess"', '"refuse" or "drop"'),
        ('clusters = "school"', "Did you mean 'cluster'"),
    ],
)
def test_mistakes_are_answered_with_the_place(line, message):
    text = STUDY.replace('cluster = "school"\nmissing = "drop"', line)
    with pytest.raises(ask.InvalidInput, match=message) as refused:
        ask.Study.parse(text)
    assert "[sample]" in str(refused.value)


def test_a_study_writes_its_sample_back():
    study = ask.Study.parse(STUDY)
    assert ask.Study.parse(study.to_toml()) == study
