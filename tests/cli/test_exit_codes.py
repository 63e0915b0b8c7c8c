"""How commands end: a defect is never taken for an answer, and says nothing private."""

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
