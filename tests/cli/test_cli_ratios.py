"""The command ``askance ratios``: on real files, with good and with bad input."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.learning.ratios.ratio_report import RatioTable, ratio_plot

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


def test_the_page_has_every_ratio_and_the_command_that_makes_it_again(place, run):
    moved = pd.read_parquet("new.parquet").assign(town="moved")
    moved["age"] += 9  # no mixture of the classes
    pd.concat([pd.read_parquet("new.parquet"), moved]).to_csv("more <b>.csv", index=False)
    asked = ("ratios", "more <b>.csv", *TRAIN, "--group", "town", "--method", "mmd", "--level", "0.9")
    assert run(*asked, "--report", "r.html")[0] == 0
    page = (place / "r.html").read_text(encoding="utf-8")
    assert all(f">{town}: {name}<" in page for town in (*NEW, "moved") for name in CLASSES)
    assert "90% interval" in page
    assert "moved is no mixture of the classes" in page
    assert "askance ratios &#x27;more &lt;b&gt;.csv&#x27; --bags train.csv --proportions shares.csv" in page
    assert run(*asked, "--report", "r.html")[0] == 2  # it is there already


def test_one_group_is_printed_as_text(place, run):
    code, out, _ = run("ratios", "new.parquet", *TRAIN, "--columns", "age,pressure,sugar", "--method", "mmd")
    assert code == 0
    assert out.splitlines()[1].startswith("all rows")
    assert "Q(D)" in out


def test_released_counts_bring_their_noise(place, run):
    ask.Ledger.create("budget.ledger", "1", "1e-6", data_set="clinic")
    released = run(
        "release", "counts", "counts.csv", "--counts", "--bag", "bag", "--classes", ",".join(CLASSES),
        "--epsilon", "0.2", "--ledger", "budget.ledger", "--out", "counts.json",
    )  # fmt: skip
    assert released[0] == 0, released[2]
    # The noise is new each time. In 25 releases the width was .114 with a deviation of .006, and .087 without noise: it
    # fails once in 10^5.
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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--group", "age"), "both a feature and the name"),
        (("--columns", "bag,age"), "both a feature and the name"),
        (("--columns", "age,age"), "'age' once"),
        (("--columns", ","), "between commas"),
    ],
)
def test_columns_that_do_not_fit(place, run, options, said):
    code, out, err = run("ratios", "new.parquet", *TRAIN, "--method", "mmd", *options)
    assert (code, out) == (2, "")
    assert said in err


def test_rows_without_a_group_and_values_that_overflow(place, run):
    new = pd.read_parquet("new.parquet")
    new.assign(town=new["town"].where(new.index != 4)).to_csv("new.csv", index=False)
    code, _, err = run("ratios", "new.csv", *TRAIN, "--group", "town", "--method", "mmd")
    assert (code, "column 'town': row 5 names no group (1 such in all)" in err) == (2, True)
    new.assign(age=new["age"].where(new.index != 4, 1e300)).to_csv("new.csv", index=False)
    code, _, err = run("ratios", "new.csv", *TRAIN, "--group", "town", "--method", "mmd")
    assert (code, "1e+300" in err) == (2, True)


def test_days_name_groups(place, run):
    new = pd.read_parquet("new.parquet")
    day = new["town"].map({"harbour": "2026-01-31", "hill": "2026-02-01"})
    new.assign(town=day).to_csv("new.csv", index=False)
    code, out, err = run("ratios", "new.csv", *TRAIN, "--group", "town", "--method", "mmd", "--json")
    assert code == 0, err
    assert {each["group"] for each in json.loads(out)["groups"]} == {"2026-01-31", "2026-02-01"}


def test_a_saved_model_tells_of_the_population_too(place, run):
    asked = ("ratios", "new.parquet", "--group", "town", "--json")
    assert run(*asked, *TRAIN, "--method", "mmd", "--save", "m.json")[0] == 0
    group, population = (
        json.loads(run(*asked, "--model", "m.json", "--target", target)[1]) for target in ("group", "population")
    )
    fresh = json.loads(run(*asked, *TRAIN, "--method", "mmd", "--target", "population")[1])
    assert population["intervals_for"] == "population"
    assert population["groups"] == fresh["groups"] != group["groups"]
    for option in (("--method", "mmd"), ("--seed", "0"), ("--bag", "bag"), ("--columns", "age")):
        code, _, err = run(*asked, "--model", "m.json", *option)
        assert (code, f"{option[0]} beside --model" in err) == (2, True)


def test_options_that_do_not_fit(place, run):
    assert "both of them" in run("ratios", "new.parquet", "--bags", "train.csv")[2]
    assert "ends with" in run("ratios", "new.parquet", *TRAIN, "--plot", "p.doc")[2]
    (place / "t.csv").write_text("mine")
    code, _, err = run("ratios", "new.parquet", *TRAIN, "--out", "t.csv")
    assert code == 2
    assert "exists already" in err
    assert (place / "t.csv").read_text() == "mine"
    assert "beside --model" in run("ratios", "new.parquet", *TRAIN, "--model", "m.json")[2]


def test_classes_of_any_name_are_in_the_legend():
    names, half = ("_lone", "$5 to $9", "$\\frac{$"), np.full((2, 3), 1 / 3)
    table = RatioTable(("$a$", "_b"), (9, 9), names, half, half / 9, half / 2, 2 * half, np.full(2, 0.5), 0.95)
    figure = ratio_plot(table)
    figure.canvas.draw()
    assert tuple(text.get_text() for text in figure.legends[0].get_texts()) == names
