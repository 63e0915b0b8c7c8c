"""``askance new`` and ``askance simulate``: from nothing to a study, and to data to try it with."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pytest

import askance as ask
from askance.cli.app import main
from askance.errors import InvalidInput
from askance.releases.privatizing import privatize_table
from askance.workflows import simulate_study


def run(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, words)))
    out, err = capsys.readouterr()
    return ended.value.code, out, err


class Terminal(io.StringIO):
    """What somebody types."""

    def isatty(self):
        return True


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestNew:
    def test_options_alone_make_a_study(self, here, capsys):
        options = [
            "--question",
            "cheated=Did you?",
            "--question",
            "drank",
            "--covariate",
            "age",
            "--purpose",
            "to know",
        ]
        options += ["--covariate", "school=north,south", "--covariate", "town=any", "--design", "forced-response"]
        code, out, _ = run(capsys, "new", "study.toml", "--title", 'Exams "of" 1999', *options, "--yes")
        assert code == 0
        assert "epsilon 3.219" in out
        study = ask.Study.read("study.toml")
        assert study.title == 'Exams "of" 1999'
        assert [question.name for question in study.questions] == ["cheated", "drank"]
        assert study.channels["cheated"] == ask.ForcedResponse(1 / 6, 1 / 6)
        assert [(one.name, one.type, one.levels) for one in study.covariates] == [
            ("age", "number", None), ("school", "category", ("north", "south")), ("town", "category", None),
        ]  # fmt: skip
        assert study.privacy.purpose == "to know"
        assert (here / "study.toml").read_text().count("#") >= 4

    def test_a_program_reads_what_it_promises(self, here, capsys):
        code, out, _ = run(capsys, "new", "--design", "warner", "--yes", "--json")
        assert code == 0
        assert json.loads(out)["guarantee"]["epsilon"] == pytest.approx(np.log(4))

    def test_it_asks_for_what_is_not_given(self, here, capsys, monkeypatch):
        lines = ["Exams", "cheated", "", "never, once, often", "", "epsilon=0.5", "no", "age", "", "", "", "two years"]
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))
        code, _, err = run(capsys, "new")
        assert code == 0, err
        study = ask.Study.read("study.toml")
        assert study.channels["cheated"] == ask.RandomizedResponse(["never", "once", "often"], epsilon=0.5)
        assert study.privacy.retention == "two years"
        assert "warner" not in err  # it is between two choices only

    def test_a_slip_is_asked_again_and_nothing_said_before_is_lost(self, here, capsys, monkeypatch):
        first = [
            "Exams",
            "cheated",
            "Did you?",
            "yes",
            "no, yes",
            "crosswize",
            "crosswise",
            "q=1",
            "p=7",
            "1/6",
            "perhaps",
        ]
        second = ["yes", "cheated", "tax", "", "a, b, c", "warner", "", "", "n"]
        lines = [*first, *second, "cheated", "age", "", "", "", ""]
        monkeypatch.setattr(sys, "stdin", Terminal("\n".join(lines) + "\n"))
        code, _, err = run(capsys, "new")
        assert code == 0, err
        for said in ("Did you mean 'crosswise'", "q for the design", "yes or no", "more than once", "two choices"):
            assert said in err
        study = ask.Study.read("study.toml")
        assert study.channels["cheated"] == ask.Crosswise(1 / 6)
        assert study.channels["tax"] == ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0)
        assert [one.name for one in study.covariates] == ["age"]

    def test_whoever_stops_in_the_middle_is_heard_and_nothing_is_written(self, here, capsys, monkeypatch):
        monkeypatch.setattr(sys, "stdin", Terminal("Exams\n"))  # and then the end of the input, Ctrl-D
        code, _, err = run(capsys, "new")
        assert (code, "no answer to 'Column of the question'" in err, [*here.iterdir()]) == (2, True, [])

    def test_questions_and_their_help_never_mix_with_json(self, here, capsys, monkeypatch):
        lines = ["Exams", "cheated", "", "", "", "", "no", "", "", ""]
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines) + "\n"))
        code, out, _ = run(capsys, "new", "--json")
        assert (code, json.loads(out)["study"]) == (0, "study.toml")

    def test_a_design_of_the_options_is_refused_before_anything_is_asked(self, here, capsys, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        code, _, err = run(capsys, "new", "--design", "warnr")
        assert (code, "Did you mean 'warner'?" in err) == (2, True)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--design", "warnr"], "Did you mean 'warner'?"),
            (["--design", "warner", "--choices", "a,b,c"], "two choices"),
            (["--design", "warner", "--parameters", "epsilon=1"], "epsilon for the design 'warner'"),
            (["--parameters", "epsilon=much"], "names and numbers"),
            (["--design", "warner", "--parameters", "p=7"], "p"),
            (["--question", "=what"], "--question"),
            (["--covariate", "answer"], "declared more than once"),
        ],
    )
    def test_what_cannot_be_is_refused_and_nothing_is_written(self, here, capsys, options, said):
        code, _, err = run(capsys, "new", "study.toml", "--yes", *options)
        assert code == 2
        assert said in err
        assert not (here / "study.toml").exists()

    def test_nothing_is_replaced_and_silence_is_no_answer(self, here, capsys, monkeypatch):
        (here / "study.toml").write_text("mine")
        assert run(capsys, "new", "study.toml", "--yes")[0] == 2
        assert (here / "study.toml").read_text() == "mine"
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))
        code, _, err = run(capsys, "new", "other.toml")
        assert code == 2
        assert "--yes" in err


class TestSimulate:
    def test_made_up_answers_go_through_every_command(self, here, capsys):
        (here / "study.toml").write_text(ask.Study.template())
        code, _, err = run(capsys, "simulate", "study.toml", "--rows", 2000, "--seed", 1, "--out", "made.csv")
        assert code == 0
        assert "nobody said any of it" in err
        table = pacsv.read_csv("made.csv")
        assert set(table["made_up"].to_pylist()) == {"simulated answer"}
        code, _, err = run(capsys, "privatize", "study.toml", "made.csv", "--out", "r.parquet")
        assert (code, "made up by askance simulate" in err) == (0, True)
        release = ask.read_release("r.parquet")
        assert ("made_up" in release.columns, release.header.made_up) == (False, True)
        code, out, _ = run(capsys, "fit", "r.parquet", "--formula", "cheated ~ age + C(school)")
        assert (code, "made up by askance simulate: nobody said any of it" in out.replace("\n  ", " ")) == (0, True)
        code, out, _ = run(capsys, "dossier", "study.toml", "r.parquet")
        assert (code, "made up by askance simulate: nobody said any of it" in " ".join(out.split())) == (0, True)
        assert run(capsys, "simulate", "study.toml", "--reports", "--out", "made.csv", "--overwrite")[0] == 0
        assert run(capsys, "fit", "made.csv", "--study", "study.toml", "--question", "tax")[0] == 0

    def test_true_answers_are_not_taken_for_reports_nor_reports_for_answers(self, here, capsys):
        # Under crosswise, reports have the words of answers: 97% "yes" came out where 26% was put in.
        text = "[questions.cheated]\nchoices = ['no', 'yes']\nchannel = { design = 'crosswise', p = 0.25 }\n"
        (here / "study.toml").write_text(text)
        assert run(capsys, "simulate", "study.toml", "--out", "answers.csv")[0] == 0
        assert run(capsys, "simulate", "study.toml", "--reports", "--out", "reports.csv")[0] == 0
        code, _, err = run(capsys, "fit", "answers.csv", "--study", "study.toml")
        assert (code, "true answers in answers.csv" in err, "askance privatize" in err) == (2, True, True)
        code, _, err = run(capsys, "privatize", "study.toml", "reports.csv", "--out", "r.parquet")
        assert (code, "reports in reports.csv" in err, (here / "r.parquet").exists()) == (2, True, False)
        with pytest.raises(InvalidInput, match="reports in the table"):
            privatize_table(ask.Study.read("study.toml"), pacsv.read_csv("reports.csv"))
        assert run(capsys, "privatize", "study.toml", "answers.csv", "--out", "r.parquet")[0] == 0
        code, _, err = run(capsys, "audit", "r.parquet", "--data", "reports.csv")
        assert (code, "reports in reports.csv" in err) == (2, True)
        code, out, _ = run(capsys, "fit", "reports.csv", "--study", "study.toml")
        assert (code, "is taken for reports" in out, "made up by askance simulate" in out) == (0, False, True)
        (here / "field.csv").write_text("cheated\n" + "yes\nno\n" * 200)  # of which nothing says what it is
        code, out, _ = run(capsys, "fit", "field.csv", "--study", "study.toml")
        assert (code, "The column 'cheated' is taken for reports" in out) == (0, True)

    def test_the_seed_decides_and_the_effects_are_those_that_are_said(self, here, capsys):
        (here / "study.toml").write_text(ask.Study.template())
        tables = [run(capsys, "simulate", "study.toml", "--seed", seed, "--rows", 30)[1] for seed in (1, 1, 2)]
        assert tables[0] == tables[1] != tables[2]
        study = ask.Study.parse(ask.Study.template())
        made = simulate_study(study, 60_000, np.random.default_rng(3))
        age, cheated = made.table["age"].to_numpy(), made.table["cheated"].to_numpy() == "yes"
        south = made.table["school"].to_numpy() == "south"
        model = ask.IndirectClassifier(ask.Identity((False, True))).fit(np.column_stack([age, south]), cheated)
        # Five standard errors: wrong once in a million seeds, and this one is fixed.
        errors = model.standard_errors_[1:]
        assert np.all(np.abs(model.coef_[0] - [0.5 / 15, 1.0]) < 5 * errors)

    def test_hidden_numbers_stay_within_their_bounds(self, here, capsys):
        study = ask.Study.parse(
            "[questions.row]\ncolumns = { income = [0, 10], town = ['a', 'b'] }\n"
            "channel = { design = 'private-row', epsilon = 4.0, outcome = 'income' }\n"
            "[questions.pay]\nbounds = [0, 1]\nchannel = { design = 'private-number', epsilon = 1.0 }\n"
        )
        made = simulate_study(study, 500, np.random.default_rng(0)).table
        assert made["income"].to_numpy().min() >= 0
        assert made["income"].to_numpy().max() <= 10
        assert set(made["town"].to_pylist()) == {"a", "b"}
        with pytest.raises(InvalidInput, match="hides numbers"):
            simulate_study(study, 5, np.random.default_rng(0), reports=True)

    def test_columns_of_lists_are_refused_and_strangers_are_not_replaced(self, here, capsys):
        (here / "study.toml").write_text(ask.Study.template() + '[covariates.words]\ntype = "words"\n')
        code, _, err = run(capsys, "simulate", "study.toml")
        assert code == 2
        assert "holds a list" in err
        (here / "study.toml").write_text(ask.Study.template())
        (here / "mine.csv").write_text("a,b\n1,2\n")
        assert run(capsys, "simulate", "study.toml", "--out", "mine.csv", "--overwrite")[0] == 2
        code, out, _ = run(capsys, "simulate", "study.toml", "--json", "--seed", 0)
        assert json.loads(out)["truth"]["effects"].startswith("age +0.033")


def test_a_shell_completes_commands():
    asked = {"_ASKANCE_COMPLETE": "complete_bash", "COMP_WORDS": "askance dos", "COMP_CWORD": "1"}
    program = Path(sys.executable).with_name("askance")
    done = subprocess.run([program], env=os.environ | asked, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "dossier")
