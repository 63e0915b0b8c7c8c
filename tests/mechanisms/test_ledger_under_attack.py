"""A ledger among many processes, on full and forbidden disks, under other names, killed and set back."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import askance as ask
from askance.errors import BudgetSpent, ReleaseError
from waiting import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ledger(tmp_path):
    made = ask.Ledger.create(tmp_path / "l", 1, data_set="d", filter="sums")
    made.spend("0.25", what="before", people=["ann", "bob"])
    return made


def test_eight_processes_and_kill_9_overspend_nothing_and_lose_nothing():
    """Racers spend on random people and are killed at random moments, for two seconds: see benchmarks/ledger_races."""
    words = [sys.executable, "-m", "benchmarks.ledger_races", "2"]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    seen = json.loads(ran.stdout)
    assert seen["crashed"] == 0
    assert not seen["overspent"]
    assert seen["as_the_ledger_says"]
    assert seen["lost"] == seen["promised_twice"] == 0
    assert 0 <= seen["unpromised"] <= seen["killed"]
    assert seen["numbers"]
    assert seen["integrity"] == "ok"


KILLED = """
import os, signal, sqlite3, sys
import askance as ask

done = 0

class Dying(sqlite3.Connection):
    def execute(self, statement, *values):
        global done
        if counting:
            if done == step:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1
        return super().execute(statement, *values)

counting = False
ledger = ask.Ledger(sys.argv[1])
ledger.spend("0.01", what="imports what is needed", people=["ann"])
opened = sqlite3.connect
sqlite3.connect = lambda *given, **named: opened(*given, factory=Dying, **named)
pid = os.fork()
for step in range(40):
    done = 0
    if pid == 0:
        counting = True
        ledger.spend("0.01", what=f"killed before statement {step}", people=["ann", f"new {step}"])
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    entries = ask.Ledger(sys.argv[1]).entries
    print(step, status == 0, len(entries), flush=True)
    if status == 0:
        break
    pid = os.fork()
"""


def test_killed_before_every_statement_a_spend_is_whole_or_not_there(ledger):
    ran = subprocess.run([sys.executable, "-c", KILLED, ledger.path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert len(lines) > 8  # statements of one spend
    assert [count for _, ended, count in lines if ended == "False"] == ["2"] * (len(lines) - 1)
    assert lines[-1][1:] == ["True", "3"]
    assert len(ledger.entries) == 3
    assert ledger.to_dict()["known_people"] == 3


FULL = """
import resource, sys
import askance as ask

ledger = ask.Ledger(sys.argv[1])
ledger.spend("0.01", what="imports what is needed", people=["ann"])
room = ledger.path.stat().st_size + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
try:
    ask.release_counts([2000, 3000], "0.5", ledger=ledger, people=[f"person {i}" for i in range(5000)])
except ask.ReleaseError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(len(ledger.entries))
ledger.spend("0.01", what="after", people=["bob"])
print(ledger.spent)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of file sizes")
@pytest.mark.parametrize("room", [0, 9000])
def test_a_full_disk_spends_nothing_and_breaks_nothing(ledger, room):
    ran = subprocess.run([sys.executable, "-c", FULL, ledger.path, str(room)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    error, entries, spent = ran.stdout.splitlines()
    assert "cannot be used" in error
    assert "Nothing was spent" in error
    assert entries == "2"
    assert spent == "epsilon 0.26"
    assert len(ledger.entries) == 3


FORBIDDEN = """
import os, sys
import askance as ask

ledger = ask.Ledger(sys.argv[1])
if os.geteuid() == 0: os.seteuid(65534)  # root may write everything
print(ledger.spent)
try: ledger.spend("0.1", what="y", people=["ann"])
except ask.ReleaseError as error: print(error)
"""


def test_a_folder_in_which_nothing_can_be_written():
    with tempfile.TemporaryDirectory() as folder:
        ledger = ask.Ledger.create(Path(folder) / "l", 1, data_set="d")
        ledger.spend("0.25", what="x", people=["ann"])
        ledger.path.chmod(0o666)
        Path(folder).chmod(0o555)
        ran = subprocess.run([sys.executable, "-c", FORBIDDEN, ledger.path], capture_output=True, text=True)
        Path(folder).chmod(0o755)
        assert ran.returncode == 0, ran.stderr
        assert "epsilon 0.25" in ran.stdout
        assert "Nothing was spent" in ran.stdout
        assert len(ledger.entries) == 1


def test_a_link_is_the_ledger_it_points_to(ledger, tmp_path):
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(ledger.path)
    ask.Ledger(link).spend("0.5", what="by a link", people=["ann"])
    with pytest.raises(BudgetSpent):
        ledger.spend("0.5", what="by its name", people=["ann"])
    assert sorted(path.name for path in link.parent.iterdir()) == ["link"]


def test_a_ledger_of_two_names_is_refused(ledger, tmp_path):
    os.link(ledger.path, tmp_path / "second")
    for path in (ledger.path, tmp_path / "second"):
        with pytest.raises(ReleaseError, match="several names"):
            ask.Ledger(path)
    (tmp_path / "second").unlink()
    assert len(ledger.entries) == 1


def test_an_older_copy_is_noticed_at_the_command_line(ledger, tmp_path, run):
    older = shutil.copyfile(ledger.path, tmp_path / "older")
    ledger.spend("0.5", what="a second release", people=["ann"])
    assert run("ledger", "receipt", ledger.path, "--out", tmp_path / "receipt.json")[0] == 0
    shutil.copyfile(older, ledger.path)
    ledger.spend("0.5", what="the same budget again", people=["ann"])  # nothing in the file can tell
    code, _, err = run("ledger", "show", ledger.path, "--receipt", tmp_path / "receipt.json")
    assert code == 2
    assert "set back" in err
    assert "Traceback" not in err
