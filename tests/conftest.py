"""What all tests share: matplotlib without a screen, and the command line."""

import os

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture
def run(capsys):
    """The command line as a function of its words: exit code, output, errors."""
    from askance.cli.app import main

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return int(ended.value.code or 0), captured.out, captured.err

    return run
