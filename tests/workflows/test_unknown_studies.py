"""A study whose designs leave something unknown: from the study file to a report."""

import json

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.cli.app import main
from askance.errors import InvalidInput
from askance.releases import privatize_table
from askance.workflows import FitRequest, analyse_reports, open_reports

STUDY = """
[study]
title = "Cheating"

[questions.cheated]
choices = ["no", "yes"]
design_column = "group"
designs.few = { design = "cheaters", device = { design = "forced-response", p_no = 0.1, p_yes = 0.2 } }
designs.many = { design = "cheaters", device = { design = "forced-response", p_no = 0.1, p_yes = 0.6 } }
designs.direct = { design = "identity" }

[covariates.age]
type = "number"

[covariates.town]
type = "category"

[covariates.heft]
type = "number"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unknown")
    rng, rows = np.random.default_rng(60), 1500
    study = ask.Study.parse(STUDY)
    (folder / "study.toml").write_text(STUDY)
    age, town = rng.normal(40, 10, rows).round(1), rng.choice(["north", "south"], rows)
    truth = np.where(rng.random(rows) < 1 / (1 + np.exp(1 - 0.08 * (age - 40))), "yes", "no")
    group = rng.choice(["few", "many", "direct"], rows, p=[0.45, 0.45, 0.1])
    reports = study.channels["cheated"].simulate(truth, rng, group, {"cheaters": 0.15})
    columns = {"cheated": reports, "group": group, "age": age, "town": town, "heft": rng.gamma(2, 1, rows).round(2)}
    pd.DataFrame(columns).to_csv(folder / "answers.csv", index=False)
    return folder


def fitted(place, **request):
    opened = open_reports(place / "answers.csv", ask.Study.read(place / "study.toml"), FitRequest.of(**request))
    return analyse_reports(opened), opened.release


def test_a_study_file_says_what_is_unknown_and_reads_back():
    study = ask.Study.parse(STUDY)
    assert list(study.channels["cheated"].unknowns) == ["cheaters"]
    assert ask.Study.parse(study.to_toml()) == study


@pytest.mark.parametrize(
    ("design", "message"),
    [
        ('{ design = "cheaters" }', r"no device"),
        ('{ design = "cheaters", device = 3 }', r"device = 3; expected a table"),
        (
            '{ design = "cheaters", device = { design = "warner", q = 0.8 } }',
            r"channel\.device\] has an unknown key 'q'",
        ),
        ('{ design = "warner", p = "unknwon" }', r"a number, without quotes"),
        ('{ design = "randomized-response", epsilon = "unknown" }', r"a number, without quotes"),
        ('{ design = "cheaters", share = { unknown = 3 }, device = { design = "warner", p = 0.8 } }', r"a name"),
    ],
)
def test_mistakes_in_a_study_file_are_answered(design, message):
    with pytest.raises(InvalidInput, match=message):
        ask.Study.parse(f'[questions.q]\nchoices = ["no", "yes"]\nchannel = {design}\n')


def test_a_report_has_the_unknown_number_with_its_test(place):
    done, release = fitted(place)
    by_hand = ask.Prevalence().fit_release(release)
    row = done.report.unknowns.to_frame().loc["cheaters"]
    assert row.equals(by_hand.summary().to_frame().loc["cheaters"])
    assert done.report.prevalence.askance.names == ("no", "yes")
    assert "test of cheaters = 0" in done.text
    assert "What was unknown about the designs" in done.text
    account = json.loads(json.dumps(done.account, allow_nan=False))
    assert account["unknowns"]["estimates"]["cheaters"]["estimate"] == pytest.approx(by_hand.unknowns_["cheaters"])
    shares = [np.array(design.fitted) / sum(design.observed) for design in done.report.designs]
    assert np.concatenate(shares) == pytest.approx(by_hand.channel_at_estimate_.matrix @ by_hand.proportions_)
    assert done.report.diagnostics.check.degrees == 1  # three shares of "yes", two numbers


def test_a_regression_with_weights_and_covariates_of_the_unknown(place, tmp_path):
    done, release = fitted(place, formula="cheated ~ age", unknowns=["cheaters ~ C(town)"], weight="heft")
    table = release.head(["cheated", "group", "age", "town", "heft"], 10_000).to_pandas()
    X = pd.DataFrame({"age": table["age"], "south": (table["town"] == "south").astype(float)})
    # The same by hand, with the town among the features of the answer too: a likelihood that is at least as high.
    more = ask.IndirectClassifier(release.question().channel, unknowns={"cheaters": ["south"]})
    more.fit(X, table["cheated"], table["heft"], table["group"])
    assert 0 <= more.log_likelihood_ - done.model.log_likelihood_ < 5
    assert done.report.regression.askance.names == ("Intercept", "age")
    assert done.report.unknowns.names == ("cheaters: Intercept", "cheaters: C(town)[T.south]")
    assert done.model.covariance_kind_ == "sandwich"
    done.write(tmp_path / "report.html", tmp_path / "model.json")
    assert "C(town)[T.south]" in (tmp_path / "report.html").read_text()
    again = ask.load_model(tmp_path / "model.json")
    assert str(again.summary()) == str(done.model.summary())


def test_the_command_line_takes_covariates_of_an_unknown_number(place, capsys):
    def ended(*options):
        arguments = ["fit", str(place / "answers.csv"), "--study", str(place / "study.toml"), "--quiet"]
        with pytest.raises(SystemExit) as end:
            main([*arguments, *options])
        return end.value.code

    assert ended("--formula", "cheated ~ age", "--unknown", "cheaters ~ age", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["unknowns"]["estimates"]) == ["cheaters: Intercept", "cheaters: age"]
    assert "--unknown 'cheaters ~ age'" in found["command"]
    assert ended("--unknown", "cheaters ~ age") == 2
    assert "without a formula of the answer" in capsys.readouterr().err
    assert ended("--formula", "cheated ~ age", "--unknown", "liars ~ age") == 2
    assert "covariates for 'liars'; expected unknown numbers among 'cheaters'" in capsys.readouterr().err


def test_a_release_gives_what_arrays_give(place):
    done, release = fitted(place, formula="cheated ~ age")
    table = release.head(["cheated", "group", "age"], 10_000)
    frame = table.to_pandas()
    alone = ask.IndirectClassifier(release.question().channel)
    alone.fit(frame[["age"]], frame["cheated"], design=frame["group"])
    assert done.model.parameters_ == pytest.approx(alone.parameters_, abs=1e-8)
    assert done.model.unknowns_["cheaters"] == pytest.approx(alone.unknowns_["cheaters"], abs=1e-8)


def test_privatize_draws_what_people_are_asked_to_do():
    study = ask.Study.parse(STUDY)
    answers = {"cheated": ["yes"] * 4000, "group": ["few"] * 4000, "age": [40.0] * 4000, "town": ["north"] * 4000}
    release = privatize_table(study, answers | {"heft": [1.0] * 4000})
    drawn = release.head(["cheated"], 4000)["cheated"].to_pylist()
    assert np.mean(np.array(drawn) == "yes") == pytest.approx(0.9, abs=0.03)  # six standard errors
    assert np.isinf(release.header.guarantee.epsilon)  # for those who are asked directly
