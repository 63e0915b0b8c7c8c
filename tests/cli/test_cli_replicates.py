"""Replicate weights from the study file and the command line; what a study says of its sample, and survey models."""

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
[covariates.school]
type = "category"
[covariates.heft]
type = "number"

[sample]
weight = "heft"
"""
CHANNEL = ask.ForcedResponse(0.1666667, 0.1666667)


def code(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    return ended.value.code


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    school = np.repeat(np.arange(12), 25)
    frame = pd.DataFrame(
        {
            "cheated": rng.choice(["no", "yes"], p=[0.6, 0.4], size=300),
            "lied": rng.choice(["no", "yes"], size=300),
            "age": rng.normal(40, 10, size=300).round(),
            "school": school,
            "heft": rng.integers(1, 4, size=300),
        }
    )
    for unit in range(12):
        frame[f"rw{unit + 1:02d}"] = frame["heft"] * np.where(school == unit, 0.0, 12 / 11)
    frame.to_csv("answers.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return frame


def fitted(capsys, *arguments):
    assert code("fit", "answers.csv", "--study", "study.toml", "--json", "--quiet", *arguments) == 0
    return json.loads(capsys.readouterr().out)


def directly(frame):
    weights = frame[[f"rw{unit:02d}" for unit in range(1, 13)]]
    model = ask.IndirectClassifier(CHANNEL)
    return model.fit(frame[["age"]], frame["cheated"], frame["heft"], replicate_weights=weights)


def test_options_are_the_library(place, capsys):
    found = fitted(capsys, "--formula", "cheated ~ age", "--replicate-weights", "rw01..rw12")
    same = directly(place)
    estimates = found["regression"]["estimates"]
    assert estimates["age"]["std_error"] == pytest.approx(same.standard_errors_[1], rel=1e-6)
    assert found["diagnostics"]["sample"] == "12 replicate weights (jk1)"


def test_the_study_says_it_too(place, tmp_path, capsys):
    (tmp_path / "study.toml").write_text(STUDY + 'replicate_weights = "rw01..rw12"\nreplicate_method = "brr"\n')
    found = fitted(capsys, "--formula", "cheated ~ age")
    factor = np.sqrt((1 / 12) / (11 / 12))  # of balanced half-samples against a jackknife
    same = directly(place).standard_errors_[1] * factor
    assert found["regression"]["estimates"]["age"]["std_error"] == pytest.approx(same, rel=1e-6)
    study = ask.Study.read("study.toml")
    assert ask.Study.parse(study.to_toml()) == study
    assert code("privatize", "study.toml", "answers.csv", "--out", "release.parquet", "--quiet") == 0
    assert len(ask.read_release("release.parquet").header.sample.replicate_weights) == 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--replicate-weights", "rw01..rw99"), "no covariate 'rw13'"),
        (("--replicate-weights", "rw05..rw01"), "the smaller number first"),
        (("--replicate-weights", "rw01..rw12", "--cluster", "school"), "one of them"),
        (("--replicate-weights", "rw01..rw12", "--replicate-method", "fay"), "0 <= rho < 1"),
        (("--replicate-weights", "rw01..rw12", "--rscales", "half"), "numbers between commas"),
        (("--joint", "cheated,lied", "--replicate-weights", "rw01..rw12"), "a question with choices only"),
    ],
)
def test_mistakes_have_answers(place, capsys, arguments, message):
    question = () if "--joint" in arguments else ("--question", "cheated")
    assert code("fit", "answers.csv", "--study", "study.toml", *question, *arguments) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_survey_models_use_the_weights_of_the_study_and_leave_out_what_is_missing(place, tmp_path, capsys):
    place.loc[:9, "lied"] = None
    place.loc[100:119, "age"] = None  # which a joint table does not need
    place.to_csv("answers.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY + 'cluster = "school"\nmissing = "drop"\n')
    found = fitted(capsys, "--joint", "cheated,lied")
    kept = place.dropna(subset=["lied"])
    channels = {"cheated": CHANNEL, "lied": ask.Warner(0.8)}
    same = ask.JointTable(channels).fit(kept[["cheated", "lied"]], sample_weight=kept["heft"], cluster=kept["school"])
    np.testing.assert_allclose(found["parameters"]["estimates"], same.parameters_, atol=1e-6)
    np.testing.assert_allclose(found["parameters"]["covariance"], same.covariance_, atol=1e-8)
    assert found["remarks"][0] == "10 of 300 rows lack a value and were left out: lied 10."
    assert found["summary"]["facts"]["sample"] == same.sample_
    alone = fitted(capsys, "--joint", "cheated,lied", "--cluster", "")  # whatever the study says
    assert "sample" not in alone["summary"]["facts"]
    (tmp_path / "study.toml").write_text(STUDY + 'replicate_weights = "rw01..rw12"\nmissing = "drop"\n')
    assert any(
        "12 replicate weights are not used" in said for said in fitted(capsys, "--joint", "cheated,lied")["remarks"]
    )
    (tmp_path / "study.toml").write_text(STUDY)
    assert code("fit", "answers.csv", "--study", "study.toml", "--joint", "cheated,lied") == 2
    assert "column 'lied', row 1: the value is missing" in capsys.readouterr().err
