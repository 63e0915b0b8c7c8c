"""The command ``askance release counts``, on real files."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import askance as ask
from askance.releases.counts_release import CountsRelease

ROWS = 900
RNG = np.random.default_rng(5)
VOTE = RNG.choice(["left", "right", "none"], ROWS, p=[0.5, 0.3, 0.2])
WARD = RNG.choice(["north", "south"], ROWS)
TRUTH = {
    ward: [int(((vote == VOTE) & (ward == WARD)).sum()) for vote in ("left", "right", "none")]
    for ward in ("north", "south")
}


def people(**changed):
    columns = {"id": [f"p{i}" for i in range(ROWS)], "vote": VOTE, "ward": WARD} | changed
    return pa.table({name: pa.array(np.asarray(values)) for name, values in columns.items() if values is not None})


def table(**changed):
    columns = {"ward": ["north", "south"], "left": [5, 60], "right": [30, 2], "none": [4, 8]} | changed
    return pa.table({name: values for name, values in columns.items() if values is not None})


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(people(), "votes.csv")
    pq.write_table(people(), "votes.parquet")
    pyarrow.csv.write_csv(table(), "table.csv")
    ask.Ledger.create("budget.ledger", "2", "0.1", data_set="votes")
    return tmp_path


def releasing(data="votes.csv", *flags, out="counts.json", **options):
    named = {"label": "vote", "bag": "ward", "epsilon": "1", "classes": "left,right,none"} | options
    words = [word for name, value in named.items() if value is not None for word in (f"--{name}", value)]
    return ("release", "counts", data, *words, "--ledger", "budget.ledger", "--out", out, *flags)


def test_other_classes_than_the_labels_are_answered_with_the_option_to_write(place, run):
    code, _, err = run(*releasing(classes="Left,Right,None"))
    assert code == 2
    assert "--classes left,none,right" in err
    assert spent() == []


def spent():
    return [(entry.epsilon, entry.delta) for entry in ask.Ledger("budget.ledger").entries]


# Noise of scale 2 for each count: beyond 40 with a probability of exp(-20).
@pytest.mark.parametrize("data", ["votes.csv", "votes.parquet"])
def test_people_are_counted_by_bag(data, place, run):
    code, out, err = run(*releasing(data, id="id"))
    assert code == 0, err
    assert "counts of 900 labels in 3 classes, 2 bags" in out
    assert "epsilon 1, protects one person's label" in out
    assert "discrete-laplace" in out
    assert "(taken)" in out
    assert "epsilon 1, delta 0.1 left of epsilon 2" in out
    release = CountsRelease.read("counts.json")
    assert release.bags == ("north", "south")
    assert release.classes == ("left", "right", "none")
    for bag, total, counts in zip(release.bags, release.totals, release.counts, strict=True):
        assert total == sum(TRUTH[bag])
        np.testing.assert_allclose(counts, TRUTH[bag], atol=40)
    (entry,) = ask.Ledger("budget.ledger").entries
    assert entry.release == release.digest


def test_a_table_of_counts_as_json(place, run):
    code, out, err = run(*releasing("table.csv", "--counts", "--json", label=None, delta="0.05", epsilon="0.05"))
    assert code == 0, err
    told = json.loads(out)
    assert told["totals"] == [39, 70]
    assert told["mechanism"] == CountsRelease.read("counts.json").mechanism == "truncated-laplace"
    assert told["written"] == "counts.json"
    assert spent() == [("0.05", "0.05")]


def test_one_bag_and_classes_that_are_numbers(place, run):
    pyarrow.csv.write_csv(people(vote=RNG.integers(0, 2, ROWS)), "votes.csv")
    code, _, err = run(*releasing(bag=None, classes="0,1"))
    assert code == 0, err
    release = CountsRelease.read("counts.json")
    assert (release.bags, release.classes, release.totals) == (("all",), (0, 1), (ROWS,))
    pyarrow.csv.write_csv(table(ward=[1, 2], **{"0": [3, 4], "1": [5, 6]}), "table.csv")
    code, _, err = run(*releasing("table.csv", "--counts", "--overwrite", label=None, classes="0,1", epsilon="1.5"))
    assert code == 2  # nobody said that these are other people
    assert "left of epsilon" in err
    assert "for everybody" in err
    assert CountsRelease.read("counts.json").bags == ("all",)


def test_bags_that_overlap_cost_their_sum(place, run):
    code, _, err = run(*releasing("votes.csv", "--overlapping", epsilon="0.5"))
    assert code == 0, err
    assert spent() == [("1", "0")]
    assert CountsRelease.read("counts.json").guarantee.epsilon == 1


def test_nobody_is_in_one_bag_twice(place, run):
    pyarrow.csv.write_csv(
        people(id=["p1", *[f"p{i}" for i in range(1, ROWS)]], ward=["a", "b"] * (ROWS // 2)), "votes.csv"
    )
    code, _, err = run(*releasing("votes.csv", "--overlapping", epsilon="0.5", id="id"))
    assert code == 0, err  # p1 is in both bags
    pyarrow.csv.write_csv(
        people(id=["p2", *[f"p{i}" for i in range(1, ROWS)]], ward=["a", "b"] * (ROWS // 2)), "votes.csv"
    )
    code, _, err = run(*releasing("votes.csv", "--overlapping", epsilon="0.5", id="id", out="again.json"))
    assert code == 2
    assert "'p2' more than once in bag 'a'" in err
    assert len(spent()) == 1


def test_the_budget_ends(place, run):
    assert run(*releasing(epsilon="1.5"))[0] == 0
    code, _, err = run(*releasing(epsilon="1", out="again.json"))
    assert code == 2
    assert "epsilon 0.5, delta 0.1 left of epsilon 2" in err
    assert not (place / "again.json").exists()


BAD_PEOPLE = {
    "a label of another kind": (people(vote=["green", *VOTE[1:]]), "'green' is not one of"),
    "a missing label": (people(vote=["", *VOTE[1:]]), "the value is missing"),
    "a missing bag": (people(ward=["", *WARD[1:]]), "row 1 has no"),
    "a person twice": (people(id=["p1", *[f"p{i}" for i in range(1, ROWS)]]), "occurs more than once"),
    "no such column": (people(vote=None), "no column 'vote'"),
}
BAD_TABLES = {
    "negative": (table(left=[-1, 2]), "negative counts"),
    "not whole": (table(left=[1.5, 2]), "not whole numbers"),
    "missing": (table(left=[None, 2]), "missing"),
    "text": (table(left=["many", "few"]), "'many' is not a finite number"),
    "empty bag": (table(left=[0, 2], right=[0, 2], none=[0, 2]), "nobody in bag 'north'"),
    "a bag twice": (table(ward=["north", "north"]), "the same name"),
    "no such class": (table(none=None), "no column 'none'"),
}


@pytest.mark.parametrize("name", BAD_PEOPLE)
def test_bad_people(name, place, run):
    rows, says = BAD_PEOPLE[name]
    pyarrow.csv.write_csv(rows, "votes.csv")
    code, _, err = run(*releasing(id="id"))
    assert (code, spent()) == (2, [])
    assert says in err
    assert not (place / "counts.json").exists()


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(name, place, run):
    rows, says = BAD_TABLES[name]
    pyarrow.csv.write_csv(rows, "table.csv")
    code, _, err = run(*releasing("table.csv", "--counts", label=None))
    assert (code, spent()) == (2, [])
    assert says in err
    assert not (place / "counts.json").exists()


@pytest.mark.parametrize(
    ("flags", "options", "says"),
    [
        ([], {"epsilon": "0"}, "epsilon=0"),
        ([], {"epsilon": "much"}, "epsilon='much'"),
        ([], {"delta": "1"}, "delta=1"),
        ([], {"mechanism": "gaussian"}, "delta=0"),
        ([], {"mechanism": "scaled-dirichlet-paper"}, "Invalid value"),
        ([], {"classes": "left"}, "at least two classes"),
        ([], {"label": None}, "--label COLUMN"),
        (["--counts"], {}, "--label COLUMN"),
        (["--counts"], {"label": None, "id": "id"}, "--id with --counts"),
        (["--counts"], {"label": None, "bag": None, "classes": "left,right,none"}, "no column"),
        ([], {"data": "nothing.csv"}, "there is no data file"),
        ([], {"out": "votes.csv"}, "would be written over"),
        ([], {"out": "table.csv"}, "exists already"),
        ([], {"bag": "vote"}, "different columns"),  # a bag for each label would publish the labels
        ([], {"id": "vote"}, "different columns"),
        (["--counts"], {"data": "table.csv", "label": None, "bag": "left"}, "different columns"),
    ],
)
def test_bad_options(flags, options, says, place, run):
    options = dict(options)
    code, _, err = run(*releasing(options.pop("data", "votes.csv"), *flags, **options))
    assert (code, spent()) == (2, [])
    assert says in err


def test_larger_groups_are_released_and_audited(place, run):
    county = np.where(RNG.random(ROWS) < 0.5, "a", "b")
    wards = np.char.add(np.char.add(WARD, "-"), np.char.add(county, np.where(np.arange(ROWS) % 2 == 0, "1", "2")))
    pyarrow.csv.write_csv(people(ward=wards, county=county), "nested.csv")
    code, out, err = run(*releasing("nested.csv", within="county", id="id"))
    assert code == 0, err
    assert "8 bags within 2 groups (county)" in out
    made = ask.read_release("counts.json")
    assert made.within[0].groups == ("a", "b")
    assert made.counts.sum() == made.within[0].counts.sum() == ROWS
    data = ("--data", "nested.csv", "--label", "vote", "--bag", "ward")
    code, out, err = run("audit", "counts.json", *data, "--draws", "40", "--error-rate", "1e-9")
    assert code == 0, err
    for within, says in (
        ("vote", "'vote' for labels and for larger groups"),
        ("id", "every bag within one larger group"),
    ):
        code, _, err = run(*releasing("nested.csv", within=within, out="other.json"))
        assert code == 2
        assert says in err
