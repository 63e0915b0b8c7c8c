"""How commands end: a defect is never taken for an answer, and says nothing private."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import askance.releases.study
from askance.cli.app import CLOSED, DEFECT, main


def broken(*_, **__):
    raise TypeError("the secret of row 7")


@pytest.mark.parametrize(
    "words", [("audit", "study.toml"), ("privatize", "study.toml", "data.csv", "--out", "r.parquet")]
)
def test_a_defect_has_a_code_of_its_own_and_keeps_what_the_error_says(tmp_path, monkeypatch, run, words):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text("x")
    monkeypatch.setattr(askance.releases.study.Study, "read", broken)
    code, out, err = run(*words)
    assert (code, out) == (DEFECT, "")
    assert DEFECT not in (0, 1, 2)  # no success, no failed audit, no bad input
    assert "secret" not in err
    assert "TypeError at test_exit_codes.py" in err
    assert "ASKANCE_TRACE=1" in err
    monkeypatch.setenv("ASKANCE_TRACE", "1")
    with pytest.raises(TypeError, match="secret"):
        main(list(words))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "askance: No space left on device\n"),
        (
            OSError(30, "Read-only file system", "data/.r.parquet.24d5da6b83b1.tmp"),
            "askance: cannot write data/r.parquet (Read-only file system)\n",
        ),
        (
            OSError(28, "No space left", ".answers.24d5da6b83b1.tmp/part-0.parquet"),
            "askance: cannot write answers (No space left)\n",
        ),
        (OSError(13, "Permission denied", "study.toml"), "askance: study.toml: Permission denied\n"),
    ],
)
def test_what_the_system_says_is_about_the_file_that_was_meant(tmp_path, monkeypatch, run, error, said):
    def fails(*_):
        raise error

    monkeypatch.setattr(askance.releases.study.Study, "read", fails)
    assert run("simulate", "study.toml") == (2, "", said)


def test_too_little_memory_is_no_traceback(tmp_path, monkeypatch, run):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(askance.releases.study.Study, "read", full)
    (tmp_path / "study.toml").write_text("x")
    code, _, err = run("audit", tmp_path / "study.toml")
    assert code == 2
    assert "memory" in err


@pytest.mark.parametrize(
    "words", [("--nonsense",), ("nonsense",), ("fit",), ("fit", "x", "--loss", "y"), ("ledger", "x")]
)
def test_a_command_that_cannot_be_understood_says_where_help_is(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("askance: ")
    assert "--help" in err


def test_a_closed_pipe_is_no_failed_audit():
    program = "from askance.cli.app import main; main(['reproduce'])"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        child.stdout.close()
        err = child.stderr.read()
        assert child.wait() == CLOSED
    assert err == ""


def test_who_asks_for_json_gets_errors_as_json(tmp_path, run):
    code, out, err = run("fit", tmp_path / "nothing.parquet", "--json")
    said = json.loads(err)
    assert (code, out, said["exit_code"]) == (2, "", 2)
    assert "there is nothing at" in said["error"]
    code, out, err = run("fit", "--json", "--nonsense")
    assert "No such option" in json.loads(err)["error"]


def piped(data, *words, folder):
    command = [sys.executable, "-c", "from askance.cli.app import main; main()", *map(str, words)]
    done = subprocess.run(command, input=data, capture_output=True, cwd=folder)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_table_comes_on_standard_input(tmp_path, run, monkeypatch):
    (tmp_path / "study.toml").write_text(
        '[questions.cheated]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = 0.8 }\n'
    )
    answers = b"cheated\n" + b"no\nno\nyes\n" * 100
    code, _, err = piped(answers, "privatize", "study.toml", "-", "--out", "r.parquet", folder=tmp_path)
    assert code == 0, err
    code, out, err = piped((tmp_path / "r.parquet").read_bytes(), "fit", "-", "--json", folder=tmp_path)
    assert code == 0, err
    assert json.loads(out)["command"] == "askance fit -"
    code, _, err = piped(b"", "fit", "-", "--study", "study.toml", folder=tmp_path)
    assert (code, err) == (2, "askance: standard input is empty; expected a header line with column names, and rows\n")
    monkeypatch.chdir(tmp_path)
    code, _, err = run("privatize", "-", "-", "--out", "x.parquet")
    assert code == 2
    assert "- more than once" in err
    assert not list(Path("/dev/shm").glob("askance-*"))


def test_the_command_runs_as_a_module(tmp_path):
    """Where scripts are not on the path, python -m is what people try: there was no module to run."""
    done = subprocess.run(
        [sys.executable, "-m", "askance", "verify", "nothing"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("askance: there is no release at nothing")


def test_completion_is_for_the_command_however_it_was_asked_for():
    """python -m askance installed a completion for python itself."""
    words = [sys.executable, "-m", "askance", "--show-completion", "bash"]
    told_the_shell = os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=told_the_shell)
    assert "-F _askance_completion askance" in done.stdout
    assert "python" not in done.stdout
