"""Hidden numbers at the command line: privatise, audit, fit, report; and what broken input is answered with."""

import json
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import askance as ask
from askance.cli.app import main
from askance.engines.local.engine import LocalEngine
from askance.engines.privatizing import privatize_on
from askance.learning.numbers.indirect_regressor import HELD_OUT
from askance.releases.privatizing import privatize_table
from askance.reports.html import report_html
from askance.reports.text import report_text
from askance.workflows.analysis import analyse

STUDY = """
[study]
name = "homes"
title = "Homes and incomes"

[questions.home]
text = "What is your home worth?"
columns = { income = [0, 15], "years of age" = [0, 100], value = [0, 10] }
channel = { design = "private-row", epsilon = 6.0, outcome = "value" }

[questions.salary]
text = "What do you earn?"
bounds = [0, 6000]
channel = { design = "private-number", epsilon = 2.0 }

[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }

[covariates.years]
type = "number"

[covariates.city]
type = "category"

[covariates.heft]
type = "number"
"""
ROWS = 4000


def answers(rows: int = ROWS) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    income, age = rng.uniform(0, 10, rows), rng.uniform(18, 90, rows)
    years = age / 2 + rng.normal(size=rows)
    return {
        "income": income,
        "years of age": age,
        "value": 1 + 0.5 * income + 0.02 * age + rng.normal(0, 0.8, rows),
        "salary": 1500 + 60 * years + rng.normal(0, 200, rows),
        "cheated": rng.choice(["no", "yes"], rows),
        "years": years,
        "city": rng.choice(["north", "south"], rows),
        "heft": rng.uniform(0.5, 2, rows),
        "name": np.array([f"person {i}" for i in range(rows)]),
    }


def write_answers(path: str, columns: dict[str, Any]) -> None:
    csv.write_csv(pa.table(columns), path)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture(scope="module")
def made() -> ask.Release:
    """The release of a study, simulated, so that it is the same in every run."""
    header, truth, rng = ask.Study.parse(STUDY).header(), answers(), np.random.default_rng(11)
    home, salary, cheated = (question.channel for question in header.questions)
    reports = {
        "home": home.layout.to_arrow(home.simulate({name: truth[name] for name in home.bounds.names}, rng)),
        "salary": salary.layout.to_arrow(salary.simulate(truth["salary"], rng)),
        "cheated": cheated.simulate(truth["cheated"], rng),
    }
    return ask.Release.from_table(pa.table(reports | {name: truth[name] for name in ("years", "city", "heft")}), header)


@pytest.fixture
def released(place: Path, made: ask.Release) -> Path:
    made.write("release.parquet")
    return place


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def fitted(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = run(capsys, "fit", "release.parquet", *arguments, "--json")
    assert code == 0, err

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return dict(json.loads(out, parse_constant=refuse))


def table(found: dict[str, Any]) -> np.ndarray:
    return np.array([list(row.values()) for row in found["regression"]["estimates"].values()], dtype=float)


def model(**arguments: Any) -> ask.IndirectRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        return ask.IndirectRegressor(**arguments.pop("model", {})).fit_release("release.parquet", **arguments)


# -- privatize ---------------------------------------------------------------------------------------


class TestPrivatize:
    def test_clipped_values_are_counted_for_the_owner_only(self, place, capsys):
        truth = answers()
        truth["income"][:5] = 99
        truth["salary"][:300] = -1
        write_answers("data.csv", truth)
        code, out, err = run(capsys, "privatize", "study.toml", "data.csv", "--out", "r.parquet")
        assert code == 0
        assert "Clipped to their bounds before they were hidden: income 5 (0.125%), salary 300 (7.5%)." in out
        assert "the release does not say it" in out
        assert "epsilon 6, protects one row of 3 numbers: income, years of age, value" in out
        assert "Left behind, because the study does not declare them: name." in out
        assert "7.5% of 'salary' lay outside the public bounds" in err
        assert "income" not in err  # five in four thousand are no reason to warn
        assert b"lipped" not in Path("r.parquet").read_bytes()
        assert ask.read_release("r.parquet").columns == ["home", "salary", "cheated", "years", "city", "heft"]

    def test_counts_are_in_the_json(self, place, capsys):
        truth = answers(200)
        truth["value"][7] = 1e9
        write_answers("data.csv", truth)
        code, out, err = run(capsys, "privatize", "study.toml", "data.csv", "--out", "r.parquet", "--json")
        assert code == 0, err
        assert json.loads(out)["clipped"] == {"income": 0, "years of age": 0, "value": 1, "salary": 0}

    def test_counts_are_the_same_where_workers_count(self, place, capsys):
        truth = answers(200)
        truth["value"][7] = 1e9
        pq.write_table(pa.table(truth), "data.parquet", row_group_size=50)
        done = privatize_on(LocalEngine(), ask.Study.parse(STUDY), "data.parquet", "parts")
        assert dict(done.clipped) == {"value": 1}

    def test_nothing_clipped_is_said_too(self, place, capsys):
        write_answers("data.csv", answers(50))
        code, out, err = run(capsys, "privatize", "study.toml", "data.csv", "--out", "r.parquet")
        assert (code, err) == (0, "")
        assert "none was clipped" in out

    def test_a_study_of_choices_says_nothing_of_bounds(self, place, capsys):
        Path("choices.toml").write_text(STUDY[STUDY.index("[questions.cheated]") :])
        write_answers("data.csv", answers(50))
        code, out, _ = run(capsys, "privatize", "choices.toml", "data.csv", "--out", "r.parquet")
        assert code == 0
        assert "bounds" not in out


# -- fit ---------------------------------------------------------------------------------------------


class TestFit:
    def test_numbers_are_those_of_the_estimator(self, released, capsys):
        formula = "value ~ income + `years of age`"
        found = fitted(capsys, "--formula", formula)
        expected = model(formula=formula)
        np.testing.assert_allclose(table(found), expected.summary().values, rtol=1e-9)
        assert list(found["regression"]["estimates"]) == ["Intercept", "income", "years of age"]
        assert found["parameters"]["names"] == list(expected.parameter_names_)
        np.testing.assert_allclose(found["parameters"]["covariance"], expected.covariance_, rtol=1e-9)
        assert found["diagnostics"]["reports"] == ROWS
        assert found["diagnostics"]["r_squared"] == f"{dict(expected.summary().facts)[HELD_OUT]}"
        assert (found["question"], found["outcome"], found["prevalence"]) == ("home", "value", None)
        assert found["guarantee"]["epsilon"] == pytest.approx(6.0)
        assert found["whole_person"]["epsilon"] == pytest.approx(6 + 2 + np.log(4))
        assert found["designs"][0]["columns"]["years of age"] == [0, 100]

    def test_estimates_are_near_the_truth(self, released, capsys):
        rows = table(fitted(capsys, "--formula", "value ~ income + `years of age`"))
        assert np.all(np.abs(rows[:, 0] - [1, 0.5, 0.02]) < 4 * rows[:, 1])  # fails for one generator in 5000

    def test_without_a_formula_a_row_is_its_outcome_by_the_rest(self, released, capsys):
        found = fitted(capsys, "--question", "home")
        assert found["formula"] == "value ~ income + `years of age`"
        np.testing.assert_allclose(table(found), table(fitted(capsys, "--formula", found["formula"])), rtol=1e-12)

    def test_another_column_of_the_row_may_be_the_outcome(self, released, capsys):
        found = fitted(capsys, "--formula", "income ~ value")
        assert list(found["regression"]["estimates"]) == ["Intercept", "value"]
        assert found["outcome"] == "income"

    def test_without_a_formula_a_number_is_explained_by_numeric_covariates(self, released, capsys):
        found = fitted(capsys, "--question", "salary", "--weight", "heft")
        assert found["formula"] == "salary ~ years"
        expected = model(question="salary", features=["years"], weight="heft")
        np.testing.assert_allclose(table(found), expected.summary().values, rtol=1e-9)
        assert found["diagnostics"]["weight_column"] == "heft"

    def test_without_covariates_a_number_has_a_mean(self, place, capsys):
        study = ask.Study.parse(
            '[questions.salary]\nbounds = [0, 6000]\nchannel = { design = "private-number", epsilon = 2.0 }'
        )
        truth = answers()["salary"]
        privatize_table(study, {"salary": truth}).write("release.parquet")
        found = fitted(capsys)
        assert found["formula"] == "salary ~ 1"
        ((estimate, error, *_),) = table(found)
        assert abs(estimate - truth.mean()) < 6 * error  # real entropy: wrong with probability 2e-9
        assert 5 < error < 100

    def test_formulas_over_covariates_are_formulas(self, released, capsys):
        formula = "salary ~ np.log(years + 5) + C(city)"
        found = fitted(capsys, "--formula", formula, "--ridge", "0", "--level", "0.8")
        expected = model(model={"ridge": 0.0}, formula=formula)
        np.testing.assert_allclose(table(found), expected.summary(0.8).values, rtol=1e-9)

    def test_without_an_intercept(self, released, capsys):
        for formula, outcome in (("value ~ income - 1", "value"), ("salary ~ years - 1", "salary")):
            found = fitted(capsys, "--formula", formula)
            assert (found["outcome"], next(iter(found["regression"]["estimates"]))) == (outcome, formula.split()[2])

    def test_a_hidden_choice_as_covariate_is_noted(self, released, capsys):
        assert "nearer to zero" in fitted(capsys, "--formula", "salary ~ cheated")["notes"][0]

    def test_choices_of_the_same_study_are_fitted_as_ever(self, released, capsys):
        found = fitted(capsys, "--formula", "cheated ~ years")
        assert list(found["prevalence"]["estimates"]) == ["no", "yes"]

    def test_text_holds_all_that_a_reader_needs(self, released, capsys):
        code, out, err = run(capsys, "fit", "release.parquet", "--question", "home", "--quiet")
        assert (code, err) == (0, "")
        for needed in ("Homes and incomes", "What is your home worth?", "hidden together",
                       "alone: epsilon 6,", "99.75% sure", "of one person together: epsilon 9.386",
                       "value ~ income + `years of age`", "Intercept",
                       "Reports: 4,000"):  # fmt: skip
            assert needed in out, out
        assert "Proportions" not in out

    def test_remarks_say_how_to_go_on(self, released, capsys):
        _, _, err = run(capsys, "fit", "release.parquet", "--question", "home")
        assert "--formula 'value ~ income + `years of age`'" in err
        _, _, err = run(capsys, "fit", "release.parquet", "--question", "salary")
        assert "--formula 'salary ~ years + C(city) + heft'" in err

    def test_the_saved_model_predicts(self, released, capsys):
        code, _, err = run(capsys, "fit", "release.parquet", "--question", "home", "--save", "m.json")
        assert code == 0, err
        loaded = ask.load_model("m.json")
        someone = pd.DataFrame({"income": [4.0], "years of age": [50.0]})
        np.testing.assert_allclose(loaded.predict(someone), model(question="home").predict(someone))

    def test_repair_is_told(self, place, capsys):
        # Ten columns at epsilon 1 from 500 people: the moments cannot stand clear of the noise.
        columns = {f"x{i}": [0, 1] for i in range(10)}
        study = ask.Study((ask.releases.header.Question("row", ask.PrivateRow(columns, 1.0)),))
        privatize_table(study, {name: np.random.default_rng(0).random(500) for name in columns}).write(
            "release.parquet"
        )
        found = fitted(capsys)
        assert found["diagnostics"]["ridge"] > 0
        assert found["diagnostics"]["projected"] is True
        assert any("shrunk by a ridge" in note for note in found["notes"])


class Page(HTMLParser):
    """Whether every tag is closed, and what can be read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


class TestReport:
    def test_the_page_is_whole_and_says_everything(self, released, capsys):
        code, _, err = run(capsys, "fit", "release.parquet", "--question", "home", "--report", "r.html")
        assert code == 0, err
        page = Page(Path("r.html").read_text())
        text = " ".join(page.texts)
        for needed in ("What is your home worth?", "What explains it", "How the truth was hidden", "Public bounds",
                       "years of age", "ε = 6", "Can it be trusted", "2 of 2", "askance fit release.parquet",
                       "change from the lowest to the"):  # fmt: skip
            assert needed in text
        assert "How many" not in text
        assert "log-odds" not in text
        assert "svg" in page.tags
        assert "script" not in page.tags

    def test_the_mean_has_no_figure(self, released, capsys):
        code, _, err = run(capsys, "fit", "release.parquet", "--formula", "salary ~ 1", "--report", "r.html")
        assert code == 0, err
        page = Page(Path("r.html").read_text())
        assert "svg" not in page.tags
        assert "mean of “salary”" in " ".join(page.texts)

    def test_names_and_texts_are_escaped(self):
        evil = "<script>alert(1)</script> & $x^2$"
        channel = ask.PrivateRow({evil: (0, 1), "<b>y</b>": (0, 1)}, 4.0, outcome="<b>y</b>")
        study = ask.Study((ask.releases.header.Question("q", channel, evil),), title=evil)
        values = np.roll(np.linspace(0, 1, 500), 7)
        release = privatize_table(study, {evil: values, "<b>y</b>": values})
        report = analyse(release).report
        assert "script" not in Page(report_html(report)).tags
        assert evil in report_text(report)
        assert json.dumps(report.to_dict(), allow_nan=False)


# -- audit -------------------------------------------------------------------------------------------


class TestAudit:
    def test_of_a_study_and_of_its_release(self, released, capsys):
        # An honest audit fails with probability 1e-9 at most.
        for what in ("study.toml", "release.parquet"):
            code, out, _ = run(capsys, "audit", what, "--draws", "20000", "--error-rate", "1e-9")
            assert code == 0
            for word in ("home", "PrivateRow", "salary", "PrivateNumber", "cheated", "Warner", "All channels passed"):
                assert word in out

    def test_as_json(self, released, capsys):
        code, out, _ = run(capsys, "audit", "study.toml", "--draws", "20000", "--error-rate", "1e-9", "--json")
        found = json.loads(out)
        assert (code, found["passed"]) == (0, True)
        design = found["questions"]["salary"]["designs"][0]
        assert design["exact_epsilon"] == pytest.approx(2.0)
        assert design["means"] > 5

    def test_a_channel_that_lies_ends_with_1(self, released, capsys, monkeypatch):
        honest = ask.PrivateNumber.draw

        def lies(self: Any, truth: Any, bits: Any) -> Any:
            return honest(ask.PrivateNumber(self.lower, self.upper, 2 * self.epsilon), truth, bits)

        monkeypatch.setattr(ask.PrivateNumber, "draw", lies)
        code, out, _ = run(capsys, "audit", "study.toml", "--draws", "50000", "--error-rate", "1e-9")
        assert code == 1
        assert "FAILED" in out
        assert "mean estimates are off" in out


# -- broken input ------------------------------------------------------------------------------------


def changed(column: str, value: object) -> dict[str, Any]:
    columns: dict[str, Any] = {name: list(map(str, values)) for name, values in answers(20).items()}
    columns[column][7] = value
    return columns


def without(column: str) -> dict[str, Any]:
    return {name: values for name, values in answers(20).items() if name != column}


DATA = {
    "missing cell": (changed("income", ""), "column 'income', row 8: the value is missing"),
    "not a number": (changed("salary", "NaN"), "column 'salary', row 8: the value is missing"),
    "text": (changed("value", "a lot"), "column 'value', row 8: 'a lot' is not a finite number"),
    "infinite": (changed("salary", "inf"), "column 'salary', row 8: 'inf' is not a finite number"),
    "missing column": (without("income"), "has no column 'income'"),
    "no rows": ({name: values[:0] for name, values in answers(20).items()}, "has no rows"),
}


@pytest.mark.parametrize(("columns", "message"), DATA.values(), ids=DATA.keys())
def test_broken_data_are_refused_and_nothing_is_written(place, capsys, columns, message):
    write_answers("data.csv", columns)
    code, out, err = run(capsys, "privatize", "study.toml", "data.csv", "--out", "r.parquet")
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(path.name for path in place.iterdir()) == ["data.csv", "study.toml"]


ROW, NUMBER = "income = [0, 15]", "bounds = [0, 6000]"
STUDIES = {
    "row, bounds turned round": (ROW, "income = [15, 0]", "Swap them: 0, 15"),
    "row, one value": (ROW, "income = [3, 3]", "needs no hiding"),
    "row, unbounded": (ROW, "income = [0, inf]", "What is unbounded cannot be hidden"),
    "row, bounds not a number": (ROW, "income = [0, nan]", "two finite numbers"),
    "row, one bound": (ROW, "income = [0]", "two numbers: lower and upper"),
    "row, text for bounds": (ROW, 'income = ["low", 15]', "two finite numbers"),
    "number, bounds turned round": (NUMBER, "bounds = [6000, 0]", "Swap them: 0, 6000"),
    "number, unbounded": (NUMBER, "bounds = [0, inf]", "What is unbounded cannot be hidden"),
    "number, one bound": (NUMBER, "bounds = [0]", "bounds = [lower, upper]"),
    "number, text for bounds": (NUMBER, 'bounds = ["a", "b"]', "two finite numbers"),
    "choices and bounds": (NUMBER, f'{NUMBER}\nchoices = ["a", "b"]', "has choices and bounds; expected one of"),
    "row, epsilon 0": ("epsilon = 6.0", "epsilon = 0", "epsilon=0; expected a positive number"),
    "number, epsilon 0": ("epsilon = 2.0", "epsilon = 0", "epsilon=0; expected a positive number"),
    "row, epsilon -1": ("epsilon = 6.0", "epsilon = -1", "epsilon=-1; expected a positive number"),
    "row, epsilon 60": ("epsilon = 6.0", "epsilon = 60", "by a factor of e^60: it would hide nothing"),
    "number, epsilon 60": ("epsilon = 2.0", "epsilon = 60", "by a factor of e^60: it would hide nothing"),
    "epsilon not a number": ("epsilon = 2.0", "epsilon = nan", "expected a positive number"),
    "epsilon in words": ("epsilon = 2.0", 'epsilon = "low"', "a number, without quotes"),
    "unknown design": ('"private-number"', '"private-nmber"', "Did you mean 'private-number'?"),
    "design for choices": ('"private-number"', '"warner"', "has the design 'warner'; expected one of private-number"),
    "design for numbers": (
        '"warner", p = 0.8',
        '"private-number", epsilon = 1.0',
        "expected one of randomized-response",
    ),
    "unknown outcome": ('outcome = "value"', 'outcome = "worth"', "one of the columns income"),
    "unknown mechanism": ('outcome = "value"', 'mechanism = "magic"', "one of auto, window"),
    "covariate in a row": ("[covariates.years]", "[covariates.income]", "what is hidden must not be one"),
    "covariate and number": ("[covariates.years]", "[covariates.salary]", "declared more than once"),
    "several designs": (NUMBER, f'{NUMBER}\ndesign_column = "g"', "numbers are hidden by one design only"),
}


@pytest.mark.parametrize(("old", "new", "message"), STUDIES.values(), ids=STUDIES.keys())
@pytest.mark.parametrize(
    "command", [["privatize", "study.toml", "data.csv", "--out", "r.parquet"], ["audit", "study.toml"]]
)
def test_broken_studies_are_refused_and_nothing_is_written(place, capsys, old, new, message, command):
    assert old in STUDY
    Path("study.toml").write_text(STUDY.replace(old, new))
    write_answers("data.csv", answers(20))
    code, out, err = run(capsys, *command)
    assert (code, out) == (2, "")
    assert "study.toml" in err
    assert message in err
    assert sorted(path.name for path in place.iterdir()) == ["data.csv", "study.toml"]


FITS = {
    "transform of a hidden column": (["--formula", "value ~ np.log(income)"], "plain names of hidden columns"),
    "square of a hidden column": (["--formula", "value ~ I(income**2)"], "plain names of hidden columns"),
    "product of hidden columns": (["--formula", "value ~ income:`years of age`"], "plain names of hidden columns"),
    "transform of the outcome": (["--formula", "log(value) ~ income"], "no question and no hidden column 'log(value)'"),
    "outcome on both sides": (["--formula", "value ~ value"], "an outcome and other columns"),
    "number on both sides": (["--formula", "salary ~ salary"], "on both sides"),
    "covariate beside a row": (["--formula", "value ~ years"], "other columns out of income"),
    "hidden column for a number": (["--formula", "salary ~ income"], "'income' is hidden inside 'home'"),
    "hidden column for a choice": (["--formula", "cheated ~ income"], "'income' is hidden inside 'home'"),
    "codes for a number": (["--formula", "salary ~ home"], "codes, not numbers"),
    "codes for a choice": (["--formula", "cheated ~ salary"], "codes, not numbers"),
    "codes as weights": (["--question", "home", "--weight", "salary"], "codes, not numbers"),
    "nothing to estimate": (["--formula", "value ~ 0"], "columns or an intercept"),
    "unknown question": (["--question", "house"], "no question 'house' in the release"),
    "no question": ([], "3 questions and none was named"),
    "two questions": (["--question", "salary", "--formula", "value ~ income"], "the same question in both"),
    "method": (["--question", "home", "--method", "marginal"], "--method for 'home', a question that hides numbers"),
    "covariance": (["--question", "salary", "--covariance", "sandwich"], "--covariance for 'salary'"),
    "ridge": (["--question", "home", "--ridge", "-1"], "0 or a positive number"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), FITS.values(), ids=FITS.keys())
def test_impossible_fits_are_refused_and_nothing_is_written(released, capsys, arguments, message):
    outputs = ["--report", "r.html", "--save", "m.json"]
    code, out, err = run(capsys, "fit", "release.parquet", *arguments, *outputs, "--quiet")
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(path.name for path in released.iterdir()) == ["release.parquet", "study.toml"]


@pytest.mark.parametrize("name", ["data.csv", "data.parquet"])
@pytest.mark.parametrize("arguments", [["--question", "salary"], ["--formula", "value ~ income"]])
def test_only_a_release_holds_reports_about_numbers(place, capsys, name, arguments):
    table = pa.table(answers(20))
    (csv.write_csv if name.endswith("csv") else pq.write_table)(table, name)
    code, _, err = run(capsys, "fit", name, "--study", "study.toml", *arguments)
    assert code == 2
    assert "only a release holds them" in err
    assert "askance privatize" in err


def test_choices_collected_elsewhere_may_stand_beside_numbers(place, capsys):
    Path("reports.csv").write_text("cheated\n" + "no\nyes\nno\n" * 30)
    code, out, err = run(capsys, "fit", "reports.csv", "--study", "study.toml", "--question", "cheated")
    assert code == 0, err
    assert "Proportions" in out


@pytest.mark.parametrize(("arguments", "needed"), [(["--question", "home"], 4), (["--formula", "salary ~ 1"], 2)])
def test_too_few_reports_are_refused(place, capsys, arguments, needed):
    privatize_table(ask.Study.parse(STUDY), answers(needed - 1)).write("release.parquet")
    code, _, err = run(capsys, "fit", "release.parquet", *arguments)
    assert code == 2
    assert f"at least {needed}, and many more for a useful answer" in err


@pytest.mark.parametrize("estimator", [ask.Prevalence(), ask.IndirectClassifier()], ids=["prevalence", "classifier"])
@pytest.mark.parametrize("question", ["home", "salary"])
def test_estimators_for_choices_refuse_numbers(made, estimator, question):
    with pytest.raises(ask.InvalidInput, match=r"hides numbers.*IndirectRegressor"):
        estimator.fit_release(made, question=question)


def test_the_regressor_refuses_choices(made):
    with pytest.raises(ask.InvalidInput, match="use IndirectClassifier"):
        ask.IndirectRegressor().fit_release(made, question="cheated")


# -- categories --------------------------------------------------------------------------------------


def test_categories_from_the_study_to_a_prediction(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("home.toml").write_text(
        "[questions.home]\n"
        'columns = { town = ["north", "south"], age = [18, 80], rent = [0, 10] }\n'
        'channel = { design = "private-row", epsilon = 8.0, outcome = "rent" }\n',
        encoding="utf-8",
    )
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"town": rng.choice(["north", "south"], 3000), "age": rng.uniform(20, 70, 3000)})
    people.assign(rent=3 + 2 * (people.town == "south") + rng.uniform(-1, 1, 3000)).to_csv("people.csv", index=False)
    people.head(4).to_csv("new.csv", index=False)
    assert run(capsys, "privatize", "home.toml", "people.csv", "--out", "r.parquet")[0] == 0
    code, out, _ = run(capsys, "fit", "r.parquet", "--formula", "rent ~ town + age", "--save", "model.json")
    assert (code, "town[south]" in out) == (0, True)
    code, out, _ = run(capsys, "predict", "model.json", "new.csv")
    predicted = [float(line) for line in out.split()[1:]]
    expected = ask.load_model("model.json").predict(people.head(4)[["town", "age"]])
    np.testing.assert_allclose(predicted, expected, rtol=1e-9)
    people.head(4).assign(town="moon").to_csv("bad.csv", index=False)
    code, _, error = run(capsys, "predict", "model.json", "bad.csv")
    assert code == 2
    assert "'moon' is not one of 'north', 'south'" in error
