"""What all tests share: matplotlib without a screen, linear algebra in one thread, and the command line."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Examples are judged by what they show, not by how long they take: on a loaded machine everything takes long.
settings.register_profile("askance", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("askance")

os.environ.setdefault("MPLBACKEND", "Agg")
# Tests run on all cores already. Threads of linear algebra below them would wait for each other: with many processes on
# two cores, a fit with small matrices took ten times as long.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")


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
