"""A budget on disk: exact, shared by processes, and never given back."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import askance as ask
from askance.errors import BudgetSpent, InvalidInput, ReleaseError
from askance.mechanisms.budget import Budget, written
from waiting import PATIENCE

RACERS, ROUNDS = 3, 20


@pytest.fixture
def ledger(tmp_path):
    return ask.Ledger.create(tmp_path / "budget.ledger", 1, "1e-6", data_set="clinic")


# -- exact numbers ---------------------------------------------------------------------------------------------------


def test_tenths_add_up_as_people_expect(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 0.3, data_set="d")
    ledger.spend(0.1, what="one")
    ledger.spend(0.2, what="two")
    assert ledger.remaining.epsilon == 0
    with pytest.raises(BudgetSpent, match=r"epsilon 0 left of epsilon 0\.3"):
        ledger.spend("1e-30", what="next to nothing")


def test_delta_is_a_budget_of_its_own(ledger):
    ledger.spend(0.1, "6e-7", what="gaussian")
    with pytest.raises(BudgetSpent):
        ledger.spend(0.1, "5e-7", what="gaussian")
    ledger.spend(0.1, "4e-7", what="gaussian")
    assert ledger.remaining == Budget.of("0.8", 0)


@pytest.mark.parametrize("text", ["0.1", "1", "1e-6", "3e-30", "12345.678", "1e-300", "250"])
def test_numbers_are_written_exactly(text):
    exact = Budget.of(text).epsilon
    assert Budget.of(written(exact)).epsilon == exact


@pytest.mark.parametrize("epsilon", [0, -1, "nan", float("inf"), "much", None, True, float("nan")])
def test_an_epsilon_that_is_none(epsilon, ledger, tmp_path):
    with pytest.raises(InvalidInput, match="epsilon"):
        ledger.spend(epsilon, what="x")
    with pytest.raises(InvalidInput, match="epsilon"):
        ask.Ledger.create(tmp_path / "other", epsilon, data_set="d")
    assert not (tmp_path / "other").exists()
    assert ledger.entries == ()


@pytest.mark.parametrize("delta", [-1e-9, 1, "x"])
def test_a_delta_that_is_none(delta, ledger):
    with pytest.raises(InvalidInput, match="delta"):
        ledger.spend(0.1, delta, what="x")


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_entries_are_kept_in_the_file(ledger):
    number = ledger.spend(0.25, what="a release")
    again = ask.Ledger(ledger.path)
    (entry,) = again.entries
    assert (entry.number, entry.what, entry.epsilon, entry.delta, entry.release) == (1, "a release", "0.25", "0", None)
    again.record(number, "abc")
    assert ledger.entries[0].release == "abc"
    account = ledger.to_dict()
    assert account["remaining"] == {"epsilon": "0.75", "delta": "0.000001"}
    assert "clinic" in repr(ledger)


def test_an_entry_pays_for_one_release(ledger):
    number = ledger.spend(0.25, what="a release")
    with pytest.raises(InvalidInput, match="a release for entry 7; expected an entry that was spent"):
        ledger.record(7, "abc")
    ledger.record(number, "abc")
    with pytest.raises(InvalidInput, match=r"another release for entry 1.*Spend on it first"):
        ledger.record(number, "def")
    assert [entry.release for entry in ledger.entries] == ["abc"]
    assert ledger.receipt().events == 2


def test_who_looks_in_the_wrong_place_is_not_told_to_begin_anew(tmp_path):
    with pytest.raises(ReleaseError, match="a new one does not know what was spent"):
        ask.Ledger(tmp_path / "misspelt.ledger")


def test_nothing_is_given_back(ledger):
    ledger.spend(0.5, what="x")
    with sqlite3.connect(ledger.path) as connection, pytest.raises(sqlite3.IntegrityError, match="gives nothing back"):
        connection.execute("DELETE FROM entries")
    connection.close()
    assert ledger.spent == Budget.of(0.5)


# -- files -----------------------------------------------------------------------------------------------------------


def test_an_existing_file_is_never_touched(ledger, tmp_path):
    with pytest.raises(ReleaseError, match="exists already"):
        ask.Ledger.create(ledger.path, 5, data_set="d")
    assert ask.Ledger(ledger.path).budget == Budget.of(1, "1e-6")
    with pytest.raises(ReleaseError, match="cannot write"):
        ask.Ledger.create(tmp_path / "nowhere" / "l", 5, data_set="d")
    with pytest.raises(InvalidInput, match="empty name"):
        ask.Ledger.create(tmp_path / "l2", 5, data_set=" ")


def test_files_that_are_no_ledger(tmp_path, ledger):
    with pytest.raises(ReleaseError, match="there is no ledger"):
        ask.Ledger(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    text = tmp_path / "text"
    text.write_text("not a database, " * 1000)
    with pytest.raises(ReleaseError, match="cannot be used"):
        ask.Ledger(text)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE ledger (data_set, epsilon, delta, created, people)")
    connection.close()
    with pytest.raises(ReleaseError, match="not a ledger of askance"):
        ask.Ledger(foreign)
    (tmp_path / "empty").touch()
    with pytest.raises(ReleaseError, match="not a ledger of askance"):
        ask.Ledger(tmp_path / "empty")
    whole = ledger.path.read_bytes()
    (tmp_path / "cut").write_bytes(whole[:4096])
    with pytest.raises(ReleaseError, match="cannot be used"):
        ask.Ledger(tmp_path / "cut")
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(ReleaseError, match="version 9"):
        ask.Ledger(ledger.path)


def test_a_read_only_ledger_can_be_shown_and_not_spent():
    code = (
        "import os, sys, askance as ask\n"
        "ledger = ask.Ledger(sys.argv[1])\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"  # root may write everything
        "print(ledger.spent)\n"
        "try: ledger.spend(0.1, what='y')\n"
        "except ask.ReleaseError as error: print(error)\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        ledger = ask.Ledger.create(Path(folder) / "l", 1, data_set="d")
        ledger.spend(0.25, what="x")
        ledger.path.chmod(0o444)
        ran = subprocess.run([sys.executable, "-c", code, str(ledger.path)], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert "epsilon 0.25" in ran.stdout
        assert "readonly" in ran.stdout
        assert len(ledger.entries) == 1


# -- processes -------------------------------------------------------------------------------------------------------


def race(paths, start, results):
    for path in paths:
        ledger = ask.Ledger(path)
        start.wait()
        try:
            ledger.spend("0.1", what=f"process {os.getpid()}")
        except BudgetSpent:
            results.put((path, False))
        else:
            results.put((path, True))


def test_of_many_that_want_the_last_epsilon_one_gets_it(tmp_path):
    context = multiprocessing.get_context("spawn")
    paths = [str(tmp_path / f"ledger {i}") for i in range(ROUNDS)]
    for path in paths:
        ask.Ledger.create(path, "1", data_set="d").spend("0.9", what="before")
    start, results = context.Barrier(RACERS), context.Queue()
    racers = [context.Process(target=race, args=(paths, start, results)) for _ in range(RACERS)]
    for racer in racers:
        racer.start()
    won = [results.get(timeout=PATIENCE) for _ in range(RACERS * ROUNDS)]
    for racer in racers:
        racer.join(PATIENCE)
    for path in paths:
        assert won.count((path, True)) == 1
        assert won.count((path, False)) == RACERS - 1
        assert ask.Ledger(path).remaining.epsilon == 0


DIES = """
import os, signal, sys
import numpy as np
import askance as ask
from askance.releases import mean_operator_release

def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)

mean_operator_release._Task.release = die  # after the spend, before anything is drawn
ask.release_mean_operator(np.linspace(-1, 1, 400)[:, None], [1, -1] * 200, 0.75, ledger=sys.argv[1])
"""


def test_a_process_that_is_killed_after_spending_has_spent(ledger):
    ran = subprocess.run([sys.executable, "-c", DIES, str(ledger.path)], capture_output=True, text=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    (entry,) = ledger.entries
    assert (entry.epsilon, entry.release) == ("0.75", None)
    with pytest.raises(BudgetSpent):
        ask.release_mean_operator(np.linspace(-1, 1, 400)[:, None], [1, -1] * 200, 0.75, ledger=ledger)


def test_a_release_is_recorded_by_its_digest(ledger, tmp_path):
    release = ask.release_mean_operator(np.linspace(-1, 1, 400)[:, None], [1, -1] * 200, 0.5, ledger=ledger)
    release.write(tmp_path / "mu.json")
    assert ledger.entries[0].release == release.digest


# -- numbers at the border -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["1e-301", "1e-500", "1e999999999", "1e-999999999", "1" * 2000, "0." + "0" * 400 + "1"]
)
def test_numbers_that_nothing_can_hold_are_refused_at_once(ledger, text):
    with pytest.raises(InvalidInput, match="finite number"):
        ledger.spend(text, what="x")
    with pytest.raises(InvalidInput, match="finite number"):
        ledger.spend(0.1, text, what="x")
    assert ledger.entries == ()
    assert ask.Ledger(ledger.path).remaining == Budget.of(1, "1e-6")


def test_a_third_is_rounded_up(ledger):
    from fractions import Fraction

    third = Fraction(1, 3)
    assert third < Fraction(written(third)) < third * (1 + Fraction(1, 10**30))
    for _ in range(2):
        ledger.spend(third, what="a third")
    with pytest.raises(BudgetSpent):  # three of what was written are more than one
        ledger.spend(third, what="a third")
