"""``askance privatize --ledger``: asking the same people twice is seen."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import askance as ask
from askance.mechanisms.accounting import compose

STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.7 }

[questions.drugs]
choices = ["never", "once", "often"]
channel = { design = "randomized-response", epsilon = 0.5 }

[covariates.age]
type = "number"
"""
ROWS = 60
LEVEL = float(ask.Study.parse(STUDY).guarantee.epsilon)  # about 1.35


def answers(first=0, rows=ROWS, **changed):
    numbers = range(first, first + rows)
    columns = {
        "person": [f"P{i:03}" for i in numbers],
        "cheated": ["no" if i % 4 else "yes" for i in numbers],
        "drugs": [("never", "once", "often")[i % 3] for i in numbers],
        "age": [18 + i % 60 for i in numbers],
    }
    return pa.table(columns | changed)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    pyarrow.csv.write_csv(answers(), "data.csv")
    ask.Ledger.create("budget.ledger", 2, "1e-6", data_set="pupils")
    return tmp_path


def privatizing(data="data.csv", out="r.parquet", *flags, who="person"):
    return ("privatize", "study.toml", data, "--out", out, "--ledger", "budget.ledger", "--id", who, *flags)


def entries():
    return ask.Ledger("budget.ledger").entries


def test_people_pay_once_and_are_known_the_second_time(place, run):
    code, out, err = run(*privatizing())
    assert code == 0, err
    assert "Paid for by 60 people, all new" in out
    assert "person" not in ask.read_release("r.parquet").columns
    (entry,) = entries()
    assert entry.level.epsilon >= LEVEL == pytest.approx(float(entry.epsilon))
    assert [loss.kind for loss in entry.losses] == ["channel", "channel"]
    assert entry.release == ask.read_release("r.parquet").digest
    assert ask.Ledger("budget.ledger").total() == pytest.approx(compose(list(entry.losses), delta=1e-6))

    # The same people less one, in another order, format and spelling, under another name of the column.
    again = answers(first=1, rows=ROWS - 1).to_pylist()[::-1]
    table = pa.Table.from_pylist([row | {"who": row["person"].lower() + " "} for row in again]).drop_columns("person")
    pq.write_table(table, "again.parquet")
    code, _, err = run(*privatizing("again.parquet", "again", who="who"))
    assert code == 2
    assert "left of epsilon 2, delta 0.000001 for these 59 people" in err
    assert not (place / "again").exists()

    pyarrow.csv.write_csv(answers(first=ROWS), "others.csv")
    code, out, err = run(*privatizing("others.csv", "others.parquet", "--json"))
    assert code == 0, err
    assert json.loads(out)["ledger_entry"] == 2
    assert "knows none of these 60 people" in err


def test_a_folder_of_parts_and_an_engine(place, run):
    assert run(*privatizing("data.csv", "parts", "--rows-per-part", "25"))[0] == 0
    assert entries()[0].release == ask.read_release("parts").digest
    code, _, err = run(*privatizing("data.csv", "more", "--engine", "dask", "--rows-per-part", "3"))
    assert code == 2
    assert "--rows-per-part" in err
    assert len(entries()) == 1


REFUSED = {
    "an answer that is none": (lambda: {"cheated": ["no"] * 59 + ["perhaps"]}, (), "perhaps"),
    "somebody twice": (lambda: {"person": ["P1"] * 60}, (), "more than once"),
    "somebody without a name": (lambda: {"person": ["P1", ""] + [f"Q{i}" for i in range(58)]}, (), "no identifier"),
    "a place that is taken": (dict, ("--out", "study.toml"), "study.toml"),
    "no folder": (dict, ("--out", "nowhere/r.parquet"), "nowhere"),
    "the data themselves": (dict, ("--out", "data.csv", "--overwrite"), "data.csv"),
    "the ledger itself": (dict, ("--out", "budget.ledger", "--overwrite"), "budget.ledger"),
    "an answer for an identifier": (dict, ("--id", "cheated"), "answer to 'cheated'"),
    "no such column": (dict, ("--id", "nobody"), "nobody"),
}


@pytest.mark.parametrize(("changed", "words", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_spends_nothing(place, run, changed, words, says):
    pyarrow.csv.write_csv(answers(**changed()), "data.csv")
    before = sorted(place.iterdir())
    code, _, err = run(*privatizing(), *words)
    assert code == 2
    assert says in err
    assert entries() == ()
    assert sorted(place.iterdir()) == before


def test_a_ledger_and_an_identifier_go_together(place, run):
    words = ("privatize", "study.toml", "data.csv", "--out", "r.parquet")
    for more in (("--ledger", "budget.ledger"), ("--id", "person")):
        code, _, err = run(*words, *more)
        assert code == 2
        assert "both, or neither" in err
    assert entries() == ()


def test_a_study_without_a_guarantee_cannot_be_paid_for(place, run):
    (place / "study.toml").write_text(STUDY.replace("warner", "mangat"))
    code, _, err = run(*privatizing())
    assert code == 2
    assert "without a privacy guarantee" in err
    assert entries() == ()


DIES = """
import os, signal, sys
from askance.cli.app import main
from askance.releases import privatizing

drawn = privatizing.Privatizer.hide

def die(*arguments):
    drawn(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

privatizing.Privatizer.hide = die  # reports are drawn, and not yet written
sys.argv = ["askance", *sys.argv[1:]]
main()
"""


def test_who_is_killed_while_reports_are_drawn_has_paid(place):
    words = [sys.executable, "-c", DIES, *privatizing()]
    ran = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ))
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    assert not (place / "r.parquet").exists()
    (entry,) = entries()
    assert entry.release is None
    assert entry.level.epsilon >= LEVEL == pytest.approx(float(entry.epsilon))


NO_SPACE = """
import resource, sys
from askance.cli.app import main

resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))  # a disk that is full when the ledger has paid
sys.argv = ["askance", *sys.argv[1:]]
main()
"""


def test_where_the_disk_is_full_it_is_said_that_the_budget_stays_spent(place):
    # A person takes 8 bytes of the ledger and 40 of the release.
    columns = [f"x{i}" for i in range(5)]
    numbers = np.random.default_rng(0).random((5, 5000))
    table = answers(rows=5000)
    for name, values in zip(columns, numbers, strict=True):
        table = table.append_column(name, pa.array(values))
    pyarrow.csv.write_csv(table, "data.csv")
    study = STUDY + "".join(f'[covariates.{name}]\ntype = "number"\n' for name in columns)
    (place / "study.toml").write_text(study)
    words = [sys.executable, "-c", NO_SPACE, *privatizing()]
    ran = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ))
    assert ran.returncode == 2, ran.stderr
    assert "cannot write r.parquet (File too large). Entry 1 of the ledger stays spent" in ran.stderr
    (entry,) = entries()
    assert entry.release is None
    assert not [path for path in place.iterdir() if "parquet" in path.name]


def test_the_level_of_shuffled_reports_stands_beside_the_local_one(place, run):
    pyarrow.csv.write_csv(answers(rows=2000), "data.csv")
    words = ("privatize", "study.toml", "data.csv", "--out", "many.parquet")
    code, out, err = run(*words)
    assert code == 0, err
    assert out.count("If shuffled: epsilon 0.") == 2
    assert "epsilon 0.8473, protects one answer" in out  # Warner's local level, log(0.7 / 0.3), is there still
    fitting = ("fit", "many.parquet", "--question", "cheated")
    code, out, err = run(*fitting, "--report", "report.html")
    assert code == 0, err
    said = " ".join(out.split())
    assert "This answer alone: epsilon 0.8473" in said
    assert "If shuffled: epsilon 0.0" in said
    assert "delta 1e-06, would protect one answer among 2,000 reports in random order: only if" in said
    page = (place / "report.html").read_text()
    assert "This answer alone: ε = 0.8473." in page
    assert "If shuffled: epsilon 0.0" in page
    told = json.loads(run(*fitting, "--json")[1])
    assert told["guarantee"]["epsilon"] == pytest.approx(0.847298)
    assert 0.05 < told["shuffled"]["epsilon"] < 0.2
    assert told["shuffled"]["delta"] == 1e-6


def test_few_reports_are_not_said_to_hide_each_other(place, run):
    assert "If shuffled" not in run("privatize", "study.toml", "data.csv", "--out", "few.parquet")[1]
    assert json.loads(run("fit", "few.parquet", "--question", "cheated", "--json")[1])["shuffled"] is None
