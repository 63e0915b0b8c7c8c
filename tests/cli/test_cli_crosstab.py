"""The command ``askance crosstab``: on real files, with good and with bad input."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import askance as ask


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    units = [f"ward {n}" for n in range(25)]
    before = rng.integers(50, 400, (25, 2))
    stayed = rng.binomial(before, [0.9, 0.15])
    after = np.column_stack([stayed.sum(axis=1), (before - stayed).sum(axis=1)])
    for name, table, labels in (("before", before, ["left", "right"]), ("after", after, ["red", "blue"])):
        pd.DataFrame(table, index=units, columns=labels).rename_axis("unit").to_csv(f"{name}.csv")
    return tmp_path


def test_table_units_plot_report_and_model(place, run):
    code, out, err = run(
        "crosstab", "before.csv", "after.csv", "--out", "t.csv", "--units", "u.csv", "--plot", "p.png",
        "--report", "r.html", "--save", "m.json", "--json",
    )  # fmt: skip
    assert code == 0, err
    said = json.loads(out)
    cells = {(each["row"], each["column"]): each for each in said["cells"]}
    assert cells["left", "red"]["share"] == pytest.approx(0.9, abs=0.06)
    assert cells["right", "red"]["low"] <= cells["right", "red"]["share"] <= cells["right", "red"]["high"]
    assert (said["units"], said["written"]) == (25, ["t.csv", "u.csv", "p.png", "r.html", "m.json"])
    with open("t.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 4
    with open("u.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == 100
    assert ask.load_model("m.json").table_.sum() == pytest.approx(said["people"])
    code, out, err = run("crosstab", "before.csv", "after.csv")
    assert code == 0, err
    assert "25 units" in out
    assert "left" in out
    code, _, err = run("crosstab", "before.csv", "after.csv", "--out", "t.csv")
    assert code == 2
    assert "exists already" in err


def test_the_page_has_the_level_that_was_asked_for_and_the_command(place, run):
    assert run("crosstab", "before.csv", "after.csv", "--level", "0.8", "--report", "r.html")[0] == 0
    page = (place / "r.html").read_text(encoding="utf-8")
    assert "80% interval<" in page
    assert "askance crosstab before.csv after.csv --level 0.8 --report r.html" in page


def test_released_counts(place, run):
    counts = pd.read_csv("after.csv", index_col="unit")
    ask.release_counts(counts, epsilon=1.0).write("after.json")
    code, out, err = run("crosstab", "before.csv", "after.json", "--json")
    assert code == 0, err
    assert json.loads(out)["guarantee"]["epsilon"] == 1.0


@pytest.mark.parametrize(
    ("change", "arguments", "says"),
    [
        (lambda table: table.iloc[:-1], (), "25 units and column counts of 24"),
        (lambda table: table.assign(blue=table.blue + 1), (), "--unmatched remainder"),
        (lambda table: table / 1000, (), "not whole numbers"),
        (lambda table: table, ("--unit", "ward"), "ward"),
        (lambda table: table[["red"]], (), "a column for each class"),
    ],
)
def test_bad_input(place, run, change, arguments, says):
    change(pd.read_csv("after.csv", index_col="unit")).to_csv("other.csv")
    code, _, err = run("crosstab", "before.csv", "other.csv", *arguments)
    assert code == 2
    assert says in err
    assert run("crosstab", "before.csv", "nothing.csv")[0] == 2


def test_units_that_a_spreadsheet_runs_are_told_and_left_as_they_are(place, run):
    for name in ("before", "after"):
        text = (place / f"{name}.csv").read_text().replace("ward 3,", "=1+1,")
        (place / f"{name}.csv").write_text(text)
    code, _, err = run("crosstab", "before.csv", "after.csv", "--out", "t.csv", "--units", "u.csv")
    assert code == 0
    assert "u.csv has cells that a spreadsheet takes for formulas: '=1+1'" in err
    assert "t.csv has cells" not in err
    assert "=1+1," in (place / "u.csv").read_text()
