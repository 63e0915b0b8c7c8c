"""What all tests share: matplotlib without a screen, linear algebra in one thread, and the command line."""

import os
import sys

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
# What one process has compiled, the others read: some shells forbid to write it, and hundreds of commands would compile
# the library anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# With several workers: what takes longest begins first, so that in the end nobody waits for one of them. Names of
# groups, or of files without test_; by the 30 slowest tests that make test prints.
SLOWEST = ("spark", "tagger", "dask", "browser", "docs", "site", "planted_defects", "audit", "quantities", "papers")


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Close what ``plot()`` opened: pyplot warns of more than twenty figures."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Give all tests of a file to one worker, unless a group of them is marked.

    Tests that are sent one by one make every worker build the same fixtures and compile the same loops, and most take
    no longer than their sending.
    """
    if not hasattr(config, "workerinput"):  # one process runs them all, in the order in which they stand
        return
    groups = {}
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        groups[item] = mark.args[0] if mark else item.path.stem.removeprefix("test_")
        if not mark:
            item.add_marker(pytest.mark.xdist_group(groups[item]))
    items.sort(key=lambda item: SLOWEST.index(groups[item]) if groups[item] in SLOWEST else len(SLOWEST))


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
