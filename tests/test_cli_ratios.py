"""The command ``askance ratios``: on real files, with good and with bad input."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.cli.app import main

CENTRES = np.array([[0.0, 0, 0], [2.5, 0, 1], [0, 2.5, -1]])
MIX = {"north": (300, 60, 40), "south": (60, 300, 40), "east": (60, 40, 300), "7": (150, 150, 100)}
NEW = {"harbour": (20, 360, 20), "hill": (200, 100, 100)}
CLASSES = ["healthy", "ill", "at risk"]


def rows(counts, rng, **named):
    codes = np.repeat([0, 1, 2], counts)
    X = rng.normal(size=(len(codes), 3)) + CENTRES[codes]
    return pd.DataFrame(X, columns=["age", "pressure", "sugar"]).assign(**named)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    pd.concat([rows(counts, rng, bag=name) for name, counts in MIX.items()]).to_csv("train.csv", index=False)
    counts = pd.DataFrame(MIX, index=CLASSES).T.rename_axis("bag")
    counts.to_csv("counts.csv")
    (counts / 400).to_csv("shares.csv")
    pd.concat([rows(mix, rng, town=name) for name, mix in NEW.items()]).to_parquet("new.parquet", index=False)
    return tmp_path


@pytest.fixture
def run(capsys):
    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return int(ended.value.code or 0), captured.out, captured.err

    return run


TRAIN = ("--bags", "train.csv", "--proportions", "shares.csv")


@pytest.mark.parametrize("method", ["mmd", "bag-classifier"])
def test_estimates_plot_table_and_model(place, run, method):
    code, out, err = run(
        "ratios", "new.parquet", *TRAIN, "--group", "town", "--method", method,
        "--out", "t.csv", "--plot", "p.png", "--save", "m.json", "--json",
    )  # fmt: skip
    assert code == 0, err
    found = {(each["group"], each["class"]): each for each in json.loads(out)["groups"]}
    assert list(found) == [(town, name) for town in NEW for name in CLASSES]
    for town, counts in NEW.items():
        for name, count in zip(CLASSES, counts, strict=True):
            each = found[town, name]
            # Errors are about .02: ten of these would be off by chance once in millions of years.
            assert each["ratio"] == pytest.approx(count / sum(counts), abs=0.1)
            assert each["low"] <= each["ratio"] <= each["high"]
    with open("t.csv", newline="") as file:
        assert [float(line["ratio"]) for line in csv.DictReader(file)] == [each["ratio"] for each in found.values()]
    assert (place / "p.png").read_bytes().startswith(b"\x89PNG")
    again, other, _ = run("ratios", "new.parquet", "--model", "m.json", "--group", "town", "--json")
    assert again == 0
    assert json.loads(other)["groups"] == json.loads(out)["groups"]


def test_one_group_is_printed_as_text(place, run):
    code, out, _ = run("ratios", "new.parquet", *TRAIN, "--columns", "age,pressure,sugar", "--method", "mmd")
    assert code == 0
    assert out.splitlines()[1].startswith("all rows")
    assert "Q(D)" in out


def test_released_counts_bring_their_noise(place, run):
    ask.Ledger.create("budget.ledger", "1", "1e-6", data_set="clinic")
    released = run(
        "release", "counts", "counts.csv", "--counts", "--bag", "bag", "--classes", ",".join(CLASSES),
        "--epsilon", "0.5", "--ledger", "budget.ledger", "--out", "counts.json",
    )  # fmt: skip
    assert released[0] == 0, released[2]
    asked = ("ratios", "new.parquet", "--bags", "train.csv", "--group", "town", "--method", "mmd", "--json")
    code, out, err = run(*asked, "--proportions", "counts.json")
    assert code == 0, err
    assert "Lemma 4" in json.loads(out)["diagnosis"]
    exact = json.loads(run(*asked, "--proportions", "shares.csv")[1])
    width = [np.mean([each["high"] - each["low"] for each in found["groups"]]) for found in (json.loads(out), exact)]
    assert width[0] > width[1]


def test_a_shifted_group_is_pointed_out(place, run):
    moved = rows((100, 100, 100), np.random.default_rng(7), town="moon")
    moved["age"] += 3
    moved.to_csv("moved.csv", index=False)
    code, out, err = run("ratios", "moved.csv", *TRAIN, "--group", "town", "--method", "mmd")
    assert code == 0
    assert "shifted" in out
    assert "has shifted" in err


def shares(change):
    table = pd.read_csv("shares.csv", dtype={"bag": str})
    change(table).to_csv("shares.csv", index=False)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda: shares(lambda t: t.assign(ill=t["ill"] + 0.2)), "sum to"),
        (lambda: shares(lambda t: t.assign(ill=t["ill"] - 1)), "outside of [0, 1]"),
        (lambda: shares(lambda t: t[1:]), "bags without proportions"),
        (lambda: shares(lambda t: pd.concat([t, t.assign(bag="mars")[:1]])), "bags without rows"),
        (lambda: shares(lambda t: pd.concat([t, t[:1]])), "several rows"),
        (lambda: shares(lambda t: t.assign(healthy=0.3, ill=0.3).assign(**{"at risk": 0.4})), "do not vary"),
        (lambda: shares(lambda t: t[["bag", "ill"]]), "a column for each class"),
        (lambda: pd.read_parquet("new.parquet")[:1].to_parquet("new.parquet"), "at least 2 rows"),
        (lambda: pd.read_parquet("new.parquet").drop(columns="age").to_parquet("new.parquet"), "age"),
    ],
)
def test_bad_input(place, run, spoil, said):
    spoil()
    code, out, err = run("ratios", "new.parquet", *TRAIN, "--group", "town", "--method", "mmd", "--out", "t.csv")
    assert (code, out) == (2, "")
    assert said in err
    assert not (place / "t.csv").exists()


def test_options_that_do_not_fit(place, run):
    assert "both of them" in run("ratios", "new.parquet", "--bags", "train.csv")[2]
    assert "ends with" in run("ratios", "new.parquet", *TRAIN, "--plot", "p.doc")[2]
    (place / "t.csv").write_text("mine")
    code, _, err = run("ratios", "new.parquet", *TRAIN, "--out", "t.csv")
    assert code == 2
    assert "exists already" in err
    assert (place / "t.csv").read_text() == "mine"
    assert "beside --model" in run("ratios", "new.parquet", *TRAIN, "--model", "m.json")[2]
