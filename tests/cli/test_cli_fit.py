"""``askance fit`` on real files: what comes out, and what broken input is answered with."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import askance as ask
from askance.cli.app import main
from askance.releases.privatizing import privatize_table

STUDY = """
[study]
name = "exam"
title = "Cheating in exams"

[questions.cheated]
text = "Did you cheat?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }

[questions.habit]
choices = ["never", "once", "often"]
channel = { design = "randomized-response", epsilon = 1.5 }

[questions.tax]
choices = ["no", "yes"]
design_column = "group"
designs.cards = { design = "warner", p = 0.8 }
designs.direct = { design = "identity" }

[questions.coded]
choices = [0, 1]
channel = { design = "forced-response", p_no = 0.1, p_yes = 0.2 }

[covariates.age]
type = "number"

[covariates.school]
type = "category"

[covariates.heft]
type = "number"
"""
ROWS = 3000


def _answers() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    age = rng.normal(40, 10, ROWS).round(1)
    school = rng.choice(["north", "south"], ROWS)
    chance = 1 / (1 + np.exp(1.0 - 0.06 * (age - 40) - 0.7 * (school == "south")))
    carrier = rng.random(ROWS) < chance
    return {
        "cheated": np.where(carrier, "yes", "no"),
        "habit": rng.choice(["never", "once", "often"], ROWS, p=[0.6, 0.3, 0.1]),
        "tax": np.where(carrier, "yes", "no"),
        "group": rng.choice(["cards", "direct"], ROWS),
        "coded": carrier.astype(int),
        "age": age,
        "school": school,
        "heft": rng.uniform(0.5, 2.0, ROWS).round(3),
    }


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    study = ask.Study.read("study.toml")
    release = privatize_table(study, _answers())
    release.write("release.parquet")
    csv.write_csv(release.to_table(), "reports.csv")
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["fit", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


def fitted(capsys, *arguments: str) -> dict:
    """Run with --json and read what is on standard output, strictly."""
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(out, parse_constant=refuse)


def numbers(table: dict) -> np.ndarray:
    return np.array([list(row.values()) for row in table["estimates"].values()], dtype=float)


FORMULA = "cheated ~ age + C(school)"


class TestNumbers:
    def test_are_those_of_the_estimators(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", FORMULA)
        model = ask.IndirectClassifier().fit_release("release.parquet", formula=FORMULA)
        shares = ask.Prevalence().fit_release("release.parquet", question="cheated")
        np.testing.assert_allclose(numbers(found["regression"]), model.summary().values, rtol=1e-12)
        np.testing.assert_allclose(numbers(found["prevalence"]), shares.summary().values, rtol=1e-12)
        assert found["regression"]["estimates"].keys() == {"Intercept", "age", "C(school)[T.south]"}
        assert found["parameters"]["names"] == list(model.parameter_names_)
        np.testing.assert_allclose(found["parameters"]["covariance"], model.covariance_, rtol=1e-12)
        assert found["guarantee"]["epsilon"] == pytest.approx(np.log(4))
        assert found["whole_person"]["epsilon"] == "infinite"  # the question on tax has a direct design

    def test_naive_is_ordinary_regression_on_the_reports(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", FORMULA)
        table = pq.read_table("release.parquet").to_pandas()
        features = np.column_stack([table["age"], table["school"] == "south"]).astype(float)
        direct = ask.IndirectClassifier(ask.Identity(("no", "yes"))).fit(features, table["cheated"].astype(str))
        naive = [row["estimate"] for row in found["regression"]["naive"].values()]
        np.testing.assert_allclose(naive, direct.parameters_, rtol=1e-6)
        share = found["prevalence"]["naive"]["yes"]["estimate"]
        assert share == pytest.approx((table["cheated"] == "yes").mean(), rel=1e-9)

    def test_csv_with_a_study_gives_the_same(self, place, capsys):
        from_release = fitted(capsys, "release.parquet", "--formula", FORMULA)
        from_csv = fitted(capsys, "reports.csv", "--study", "study.toml", "--formula", FORMULA)
        np.testing.assert_allclose(numbers(from_csv["regression"]), numbers(from_release["regression"]), rtol=1e-9)
        assert from_csv["whole_person"] == from_release["whole_person"]

    def test_foreign_parquet_with_a_study_gives_the_same(self, place, capsys):
        table = pq.read_table("release.parquet").replace_schema_metadata(None)
        pq.write_table(table, "foreign.parquet")
        found = fitted(capsys, "foreign.parquet", "--study", "study.toml", "--formula", FORMULA)
        again = fitted(capsys, "release.parquet", "--formula", FORMULA)
        np.testing.assert_allclose(numbers(found["regression"]), numbers(again["regression"]), rtol=1e-9)

    def test_a_folder_of_parts_gives_the_same(self, place, capsys):
        ask.read_release("release.parquet").write("parts", rows_per_part=700)
        found = fitted(capsys, "parts", "--formula", FORMULA)
        again = fitted(capsys, "release.parquet", "--formula", FORMULA)
        np.testing.assert_allclose(numbers(found["regression"]), numbers(again["regression"]), rtol=1e-6)

    @pytest.mark.parametrize("style", ["1", '"1"', "1.0"])
    def test_labels_0_and_1_in_csv(self, place, capsys, style):
        """However a program writes 0 and 1, they are the labels 0 and 1."""
        table = pq.read_table("release.parquet")
        lines = [style.replace("1", str(value)) for value in table["coded"].to_pylist()]
        Path("coded.csv").write_text("coded\n" + "\n".join(lines) + "\n")
        found = fitted(capsys, "coded.csv", "--study", "study.toml", "--question", "coded")
        again = fitted(capsys, "release.parquet", "--question", "coded")
        np.testing.assert_allclose(numbers(found["prevalence"]), numbers(again["prevalence"]), rtol=1e-12)

    def test_moments_ridge_and_sandwich_reach_the_estimator(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", FORMULA, "--method", "moments", "--ridge", "2.5")
        model = ask.IndirectClassifier(method="moments", ridge=2.5).fit_release("release.parquet", formula=FORMULA)
        np.testing.assert_allclose(numbers(found["regression"]), model.summary().values, rtol=1e-12)
        assert found["diagnostics"]["ridge"] == 2.5
        robust = fitted(capsys, "release.parquet", "--formula", FORMULA, "--covariance", "sandwich", "--level", "0.8")
        model = ask.IndirectClassifier(covariance="sandwich").fit_release("release.parquet", formula=FORMULA)
        np.testing.assert_allclose(numbers(robust["regression"]), model.summary(0.8).values, rtol=1e-12)

    def test_weights(self, place, capsys):
        found = fitted(capsys, "reports.csv", "--study", "study.toml", "--formula", FORMULA, "--weight", "heft")
        model = ask.IndirectClassifier().fit_release("release.parquet", formula=FORMULA, weight="heft")
        np.testing.assert_allclose(numbers(found["regression"]), model.summary().values, rtol=1e-9)
        assert found["diagnostics"]["weight_column"] == "heft"

    def test_three_classes(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", "habit ~ age")
        assert list(found["prevalence"]["estimates"]) == ["never", "once", "often"]
        assert list(found["regression"]["estimates"]) == [
            "once: Intercept",
            "once: age",
            "often: Intercept",
            "often: age",
        ]

    def test_several_designs_and_their_check(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", "tax ~ age")
        assert [design["name"] for design in found["designs"]] == ["cards", "direct"]
        assert found["guarantee"]["epsilon"] == "infinite"
        check = found["diagnostics"]["check"]
        assert check["degrees"] == 1
        observed = np.concatenate([design["observed"] for design in found["designs"]])
        expected = np.concatenate([design["fitted"] for design in found["designs"]])
        assert observed.sum() == pytest.approx(ROWS)
        assert expected.sum() == pytest.approx(ROWS)
        assert check["statistic"] == pytest.approx(((observed - expected) ** 2 / expected).sum())

    def test_reports_with_other_labels_have_no_naive_analysis(self, place, capsys):
        study = STUDY + (
            "\n[questions.colour]\nchoices = ['no', 'yes']\n"
            "channel = { design = 'finite', matrix = [[0.8, 0.3], [0.2, 0.7]], reports = ['red', 'blue'] }\n"
        )
        Path("other.toml").write_text(study)
        Path("colour.csv").write_text("colour\n" + "red\nblue\nred\n" * 50)
        found = fitted(capsys, "colour.csv", "--study", "other.toml", "--question", "colour")
        assert found["prevalence"]["naive"] is None


class TestOutput:
    def test_text_holds_all_that_a_reader_needs(self, place, capsys):
        code, out, err = run(capsys, "release.parquet", "--formula", FORMULA, "--quiet")
        assert code == 0
        assert err == ""
        for needed in ("Did you cheat?", "negation", "NO privacy guarantee", "alone: epsilon 1.386", "naive (wrong)",
                       "C(school)[T.south]", "3,000", "directly asked people"):  # fmt: skip
            assert needed in out

    def test_without_a_formula_it_says_how_to_add_one(self, place, capsys):
        code, out, err = run(capsys, "release.parquet", "--question", "cheated")
        assert code == 0
        assert "Proportions of the true answers" in out
        assert "--formula 'cheated ~ age + C(school) + heft'" in err

    def test_no_privacy_is_said_loudly(self, place, capsys):
        _, out, _ = run(capsys, "release.parquet", "--question", "tax")
        assert "NO privacy guarantee" in out

    def test_report_and_model_are_written(self, place, capsys):
        found = fitted(
            capsys, "release.parquet", "--formula", FORMULA, "--report", "out.html", "--save", "model.json"
        )  # fmt: skip
        assert found["written"] == ["out.html", "model.json"]
        assert "Did you cheat?" in Path("out.html").read_text()
        model = ask.load_model("model.json")
        assert model.parameters_.tolist() == found["parameters"]["estimates"]
        assert sorted(os.listdir()) == ["model.json", "out.html", "release.parquet", "reports.csv", "study.toml"]

    def test_a_fit_without_finite_maximiser_carries_its_note(self, place, capsys):
        """All carriers are young: the likelihood grows without end, and the answer says so."""
        rows = "no,30\n" * 40 + "yes,20\n" * 40
        Path("apart.csv").write_text("cheated,age\n" + rows)
        Path("direct.toml").write_text(
            '[questions.cheated]\nchoices = ["no", "yes"]\nchannel = { design = "identity" }\n'
            '[covariates.age]\ntype = "number"\n'
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # warnings become notes, not noise
            found = fitted(capsys, "apart.csv", "--study", "direct.toml", "--formula", "cheated ~ age")
        assert any("no finite estimate" in note for note in found["notes"])
        assert found["diagnostics"]["penalty"].startswith("log-F")

    def test_a_remedy_among_the_facts_is_an_option(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--question", "cheated", "--formula", FORMULA, "--ridge", "2")
        assert found["diagnostics"]["intervals"] == "none for a penalised fit; ask for --intervals profile"
        model = ask.IndirectClassifier(ridge=2.0).fit_release("release.parquet", question="cheated", formula=FORMULA)
        assert model.summary().fact("intervals") == "none for a penalised fit; ask for intervals='profile'"

    def test_quiet_json_leaves_standard_error_alone(self, place, capsys):
        _, out, err = run(capsys, "release.parquet", "--question", "cheated", "--json", "--quiet")
        assert err == ""
        json.loads(out)


BROKEN = [
    (["nowhere.parquet"], "there is nothing at nowhere.parquet"),
    (["reports.csv", "--formula", FORMULA], "--study study.toml"),
    (["reports.csv", "--study", "nowhere.toml"], "no study file"),
    (["release.parquet"], "4 questions and none was named"),
    (["release.parquet", "--question", "lied"], "no question 'lied'"),
    (["release.parquet", "--formula", "lied ~ age"], "no question 'lied'"),
    (["release.parquet", "--formula", "cheated ~ income"], "income"),
    (["release.parquet", "--formula", "cheated ~ age +"], "formula"),
    (["release.parquet", "--formula", "cheated"], "a question, ~ and covariates"),
    (["release.parquet", "--formula", "cheated ~ age ~ school"], "a question, ~ and covariates"),
    (["release.parquet", "--formula", "cheated ~ nosuchfunction(age)"], "nosuchfunction"),
    (["release.parquet", "--formula", FORMULA, "--question", "tax"], "the same question in both"),
    (["release.parquet", "--formula", FORMULA, "--weight", "mass"], "mass"),
    (["release.parquet", "--formula", FORMULA, "--weight", "school"], "numbers"),
    (["release.parquet", "--formula", FORMULA, "--ridge", "strong"], "--ridge strong"),
    (["release.parquet", "--formula", FORMULA, "--ridge=-1"], "ridge"),
    (["release.parquet", "--question", "cheated", "--level", "95"], "write 0.95"),
    (["release.parquet", "--question", "cheated", "--level", "nan"], "--level nan"),
    (["release.parquet", "--question", "cheated", "--report", "no/such/folder.html"], "there is no folder"),
    (["release.parquet", "--question", "cheated", "--report", "."], "is a folder"),
    (["release.parquet", "--question", "cheated", "--report", "study.toml"], "exists already"),
    (["release.parquet", "--question", "cheated", "--save", "release.parquet", "--overwrite"], "written over"),
    (["release.parquet", "--question", "cheated", "--report", "x", "--save", "x"], "written over"),
    (["release.parquet", "--formula", FORMULA, "--method", "moments", "--covariance", "information"], "sandwich"),
    (["study.toml", "--study", "study.toml", "--question", "cheated"], "study.toml"),
]


@pytest.mark.parametrize(("arguments", "message"), BROKEN, ids=[" ".join(case[0]) for case in BROKEN])
def test_broken_requests_end_with_2_and_a_message(place, capsys, arguments, message):
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert {name: Path(name).read_bytes() for name in os.listdir()} == before


TABLES = [
    ("cheated,age\nno,30\nperhaps,40\n", "row 2: 'perhaps' is not one of 'no', 'yes'"),
    ("cheated,age\nno,30\n,40\n", "row 2: the value is missing"),
    ("cheated,age\nno,30\nyes,\n", "column 'age', row 2: the value is missing"),
    ("cheated,age\nno,30\nyes,old\n", "'old' is not a finite number"),
    ("cheated,age\nno,30\nyes,inf\n", "is not a finite number"),
    ("age\n30\n", "has no column 'cheated'"),
    ("Cheated,age\nno,30\n", "Did you mean 'Cheated'?"),
    ("cheated,age\n", "has no rows"),
    ("", "is empty"),
    ("cheated,age\nno,30,17\n", "3 fields"),
]


@pytest.mark.parametrize(("text", "message"), TABLES)
def test_broken_tables_end_with_2_and_a_message(place, capsys, text, message):
    Path("broken.csv").write_text(text)
    code, out, err = run(capsys, "broken.csv", "--study", "study.toml", "--formula", "cheated ~ age")
    assert code == 2
    assert out == ""
    assert message in err


def test_an_undeclared_covariate_is_explained(place, capsys):
    Path("more.csv").write_text("cheated,income\nno,3\nyes,4\n")
    code, _, err = run(capsys, "more.csv", "--study", "study.toml", "--formula", "cheated ~ income")
    assert code == 2
    assert "Add [covariates.income]" in err


def test_faults_in_columns_that_are_not_used_do_not_matter(place, capsys):
    Path("holes.csv").write_text("cheated,age,school\n" + "no,30,\nyes,,north\n" * 30)
    found = fitted(capsys, "holes.csv", "--study", "study.toml", "--question", "cheated")
    assert found["diagnostics"]["reports"] == 60


def test_a_study_that_contradicts_the_release_is_refused(place, capsys):
    Path("other.toml").write_text(STUDY.replace("p = 0.8 }\n\n[questions.habit]", "p = 0.7 }\n\n[questions.habit]"))
    code, _, err = run(capsys, "release.parquet", "--study", "other.toml", "--question", "cheated")
    assert code == 2
    assert "the study differs" in err
    code, _, _ = run(capsys, "release.parquet", "--study", "study.toml", "--question", "cheated")
    assert code == 0


def test_a_damaged_release_is_refused(place, capsys):
    whole = Path("release.parquet").read_bytes()
    Path("cut.parquet").write_bytes(whole[: len(whole) // 2])
    code, _, err = run(capsys, "cut.parquet", "--question", "cheated")
    assert code == 2
    assert "cut.parquet" in err


def test_overwrite_replaces(place, capsys):
    Path("out.html").write_text("old")
    code, _, err = run(capsys, "release.parquet", "--question", "cheated", "--report", "out.html")
    assert code == 2
    assert "--overwrite" in err
    assert Path("out.html").read_text() == "old"
    words = ("release.parquet", "--question", "cheated", "--report", "out.html", "--overwrite")
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "out.html holds something that askance did not write" in err
    Path("out.html").unlink()
    for _ in range(2):
        assert run(capsys, *words)[0] == 0
    assert Path("out.html").read_text().startswith("<!doctype html>")


def test_the_command_in_the_report_makes_it_again(place, capsys):
    import shlex

    found = fitted(capsys, "release.parquet", "--formula", FORMULA, "--report", "a.html", "--method", "moments")
    words = shlex.split(found["command"])
    assert words[:2] == ["askance", "fit"]
    first = Path("a.html").read_text()
    code, _, _ = run(capsys, *words[2:], "--overwrite")
    assert code == 0
    assert Path("a.html").read_text() == first


def test_an_empty_release_is_refused(place, capsys):
    header = ask.read_release("release.parquet").header
    ask.Release.from_table(header.schema.empty_table(), header).write("empty.parquet")
    for extra in ([], ["--formula", FORMULA]):
        code, _, err = run(capsys, "empty.parquet", "--question", "cheated", *extra)
        assert code == 2
        assert "at least one" in err


def test_category_without_c_is_an_indicator_too(place, capsys):
    found = fitted(capsys, "release.parquet", "--formula", "cheated ~ school")
    assert list(found["regression"]["estimates"]) == ["Intercept", "school[T.south]"]


class TestFormulas:
    @pytest.mark.parametrize("source", [["release.parquet"], ["reports.csv", "--study", "study.toml"]])
    def test_transforms_that_learn_from_the_data(self, place, capsys, source):
        """Centring moves the intercept and nothing else; formulaic itself forgets the column inside."""
        plain = fitted(capsys, *source, "--formula", "cheated ~ age")["regression"]["estimates"]
        centred = fitted(capsys, *source, "--formula", "cheated ~ center(age)")["regression"]["estimates"]
        assert centred["center(age)"]["estimate"] == pytest.approx(plain["age"]["estimate"], rel=1e-6)
        mean = pq.read_table("release.parquet")["age"].to_numpy().mean()
        shifted = plain["Intercept"]["estimate"] + mean * plain["age"]["estimate"]
        assert centred["Intercept"]["estimate"] == pytest.approx(shifted, rel=1e-6)

    def test_intercept_alone_is_the_prevalence(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", "cheated ~ 1")
        share = found["prevalence"]["estimates"]["yes"]["estimate"]
        logit = found["regression"]["estimates"]["Intercept"]["estimate"]
        assert 1 / (1 + np.exp(-logit)) == pytest.approx(share, rel=1e-9)

    def test_the_design_column_may_be_a_covariate(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", "tax ~ C(group)")
        assert "C(group)[T.direct]" in found["regression"]["naive"]

    def test_another_report_as_covariate_is_remarked(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", "cheated ~ C(habit)")
        assert any("'habit' is itself hidden" in note for note in found["notes"])

    def test_remarks_and_refusals_name_options_and_no_python(self, place, capsys):
        Path("rare.csv").write_text("cheated,age\n" + "no,31\nno,40\nno,27\nyes,50\n" * 50)
        Path("rare.toml").write_text(
            '[questions.cheated]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = 0.8 }\n'
            '[covariates.age]\ntype = "number"\n'
        )
        source = ("rare.csv", "--study", "rare.toml", "--formula", "cheated ~ age")
        notes = " ".join(fitted(capsys, *source)["notes"])
        assert "--ridge 0 is maximum likelihood" in notes
        assert "ridge=" not in notes
        with pytest.raises(SystemExit) as ended:
            main(["fit", *source, "--penalty", "log-f", "--method", "moments"])
        err = capsys.readouterr().err
        assert (ended.value.code, "--penalty log-f with --method moments" in err, "='" in err) == (2, True, False)

    def test_levels_in_two_spellings_are_remarked(self, place, capsys):
        text = '[questions.cheated]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = 0.9 }\n'
        Path("spelt.toml").write_text(f'{text}[covariates.town]\ntype = "category"\n')
        for towns, said in ((("Ayr", "ayr ", "Bute"), "'Ayr', 'ayr '."), (("Ayr", "Ayrshire", "Bute"), "")):
            rows = "".join(f"{('no', 'no', 'yes')[i // 3 % 3]},{towns[i % 3]}\n" for i in range(300))
            Path("spelt.csv").write_text(f"cheated,town\n{rows}")
            found = fitted(capsys, "spelt.csv", "--study", "spelt.toml", "--formula", "cheated ~ town")
            assert any("differ by case or spaces" in note and said in note for note in found["notes"]) == bool(said)

    @pytest.mark.parametrize(
        ("formula", "message"),
        [
            ("cheated ~ cheated", "both sides"),
            ("cheated ~ 0", "covariates or an intercept"),
            ("~ age", "one question left of ~"),
            ("cheated ~ age | school", "without |"),
            ("cheated + tax ~ age", "one question left of ~"),
            ("cheated ~ center(income)", "income"),
        ],
    )
    def test_formulas_that_make_no_sense(self, place, capsys, formula, message):
        code, _, err = run(capsys, "release.parquet", "--formula", formula)
        assert code == 2
        assert message in err


def test_powers_whose_squares_are_no_numbers_are_refused(place, capsys):
    product = ":".join(f"I(age ** {power})" for power in range(15, 21))
    code, out, err = run(capsys, "release.parquet", "--formula", f"cheated ~ {product}")
    assert (code, out) == (2, "")
    assert "at most 1e+150 in size" in err


class TestUnits:
    def test_coefficients_are_told_for_a_standard_deviation_too(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", FORMULA)
        ages = ask.read_release("release.parquet").to_table(["age"])["age"].to_numpy()
        units = {unit["feature"]: unit for unit in found["units"]}
        assert units["age"]["size"] == pytest.approx(ages.std(), rel=1e-9)
        assert units["C(school)[T.south]"] == {
            "feature": "C(school)[T.south]", "size": 1.0, "words": "from 0 to 1",
        }  # fmt: skip

    def test_a_unit_can_be_chosen(self, place, capsys):
        found = fitted(capsys, "release.parquet", "--formula", FORMULA, "--per", "age=10")
        assert found["units"][0]["size"] == 10
        code, out, _ = run(capsys, "release.parquet", "--formula", FORMULA, "--per", "age=10", "--quiet")
        assert code == 0
        estimate = found["regression"]["estimates"]["age"]["estimate"]
        line = next(line for line in out.splitlines() if "10 (as asked for)" in line)
        assert f"{np.exp(10 * estimate):.3g}" in line

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--formula", FORMULA, "--per", "agee=10"], "Did you mean 'age'?"),
            (["--formula", FORMULA, "--per", "age"], "age=10,income=1000"),
            (["--formula", FORMULA, "--per", "age=-1"], "positive numbers"),
            (["--question", "cheated", "--per", "age=10"], "without a formula"),
        ],
    )
    def test_a_unit_of_nothing_is_refused(self, place, capsys, options, said):
        code, _, err = run(capsys, "release.parquet", *options)
        assert code == 2
        assert said in err


def test_few_rows_are_said_to_be_few_before_any_number(place, capsys):
    Path("four.csv").write_text("cheated,age\nyes,20\nno,30\nyes,41\nno,52\n")
    code, out, _ = run(capsys, "four.csv", "--study", "study.toml", "--formula", "cheated ~ age", "--quiet")
    assert code == 0
    assert out.index("CAUTION: 4 reports are few") < out.index("Proportions")
    printed = str(ask.Prevalence(ask.Warner(0.8)).fit(["no", "yes", "no", "no"]).summary())
    assert printed.index("CAUTION") < printed.index("estimate  std")
    assert "CAUTION" not in str(ask.Prevalence(ask.Warner(0.8)).fit(["no", "yes"] * 20).summary())
