"""The commands ``askance ledger``, ``askance release`` and ``askance fit`` on totals: on real files."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import askance as ask
from askance.releases.mean_operator_release import MeanOperatorRelease

ROWS = 2000
RNG = np.random.default_rng(21)
X = RNG.normal(size=(ROWS, 2)).round(4)
TRUTH = np.array([1.0, -0.5])
ILL = RNG.random(ROWS) < 1 / (1 + np.exp(-(0.5 + X @ TRUTH)))
IDS = [f"p{i}" for i in range(ROWS)]


def features(order=None, **changed):
    rows = np.arange(ROWS) if order is None else order
    columns = {"id": np.array(IDS), "age": X[:, 0], "dose": X[:, 1]} | changed
    return pa.table({name: np.asarray(values)[rows] for name, values in columns.items() if values is not None})


def labels(order=None, **changed):
    rows = np.arange(ROWS) if order is None else order
    columns = {"id": np.array(IDS), "ill": np.where(ILL, "yes", "no")} | changed
    return pa.table({name: np.asarray(values)[rows] for name, values in columns.items()})


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(features(RNG.permutation(ROWS)), "X.parquet")
    pyarrow.csv.write_csv(features(RNG.permutation(ROWS)), "X.csv")
    pyarrow.csv.write_csv(labels(RNG.permutation(ROWS)), "labels.csv")
    ask.Ledger.create("budget.ledger", "1", "1e-6", data_set="clinic")
    return tmp_path


def releasing(labels="labels.csv", out="mu.json", **options):
    named = {"features": "X.parquet", "id": "id", "label": "ill", "epsilon": "0.5", "classes": "no,yes"} | options
    words = [word for name, value in named.items() if value is not None for word in (f"--{name}", value)]
    return ("release", "mean-operator", labels, *words, "--ledger", "budget.ledger", "--out", out)


def spent():
    return [entry.epsilon for entry in ask.Ledger("budget.ledger").entries]


# -- the walk through ------------------------------------------------------------------------------------------------


def test_from_labels_to_a_model_on_the_other_side(place, run):
    code, out, err = run(*releasing())
    assert code == 0, err
    assert "epsilon 0.5, protects one person's label" in out
    assert "(taken)" in out
    assert "epsilon 0.5" in out
    # Nothing but this file travels; the features there are in another order and format.
    other = place / "elsewhere"
    other.mkdir()
    shutil.copy("mu.json", other)
    code, out, err = run(
        "fit", other / "mu.json", "--features", "X.csv", "--id", "id", "--save", "model.json", "--json"
    )
    assert code == 0, err
    told = json.loads(out)
    estimates = dict(zip(told["parameters"]["names"], told["parameters"]["estimates"], strict=True))
    # Noise of 0.006 and labels of 2,000 people: five standard errors are about 0.35.
    assert estimates == pytest.approx({"Intercept": 0.5, "age": 1.0, "dose": -0.5}, abs=0.35)
    assert told["guarantee"]["epsilon"] == 0.5
    assert told["classes"] == ["no", "yes"]
    model = ask.load_model("model.json")
    predicted = model.predict(features().to_pandas()[["age", "dose"]])
    assert (predicted == np.where(ILL, "yes", "no")).mean() > 0.65


def test_a_release_as_json(place, run):
    code, out, _ = run(*releasing(mechanism="gaussian", delta="1e-6"), "--json")
    assert code == 0
    told = json.loads(out)
    assert told["guarantee"]["delta"] == 1e-6
    assert told["columns"] == ["age", "dose"]
    assert told["features"]["rows"] == ROWS
    assert MeanOperatorRelease.read("mu.json").mechanism == "gaussian"
    entry = ask.Ledger("budget.ledger").entries[0]
    assert entry.release == MeanOperatorRelease.read("mu.json").digest
    assert entry.delta == "0.000001"


def test_some_columns_and_no_intercept(place, run):
    code, _, err = run(*releasing(columns="dose"), "--no-intercept", "--shape", "none")
    assert code == 0, err
    release = MeanOperatorRelease.read("mu.json")
    assert release.columns == ("dose",)
    assert release.operator.width == 1
    code, out, err = run("fit", "mu.json", "--features", "X.parquet", "--id", "id", "--loss", "square")
    assert code == 0, err
    assert "Intercept" not in out


def test_a_dry_run_tells_the_accuracy_and_spends_nothing(place, run):
    code, out, err = run(*releasing(), "--dry-run")
    assert code == 0, err
    assert "predicted accuracy, where clean labels would give" in out
    assert "85%: 8" in out
    assert "\\n" not in out, "lines are lines"
    code, out, err = run(*releasing(), "--dry-run", "--json")
    assert 0.8 < json.loads(out)["predicted_accuracy"]["0.85"] < 0.85
    assert spent() == []
    assert not (place / "mu.json").exists()


def test_a_release_near_guessing_is_refused_unless_said_anyway(place, run):
    code, _, err = run(*releasing(epsilon="0.0005"))
    assert code == 2
    assert "near guessing" in err
    assert "--anyway" in err
    assert spent() == []
    code, _, err = run(*releasing(epsilon="0.0005"), "--anyway")
    assert code == 0, err
    assert spent() == ["0.0005"]


def test_dollars_beside_bits_survive_both_sides(place, run):
    pq.write_table(features(dose=X[:, 1] * 1e5, age=np.where(np.arange(ROWS) == 7, 1e6, X[:, 0])), "raw.parquet")
    code, _, err = run(*releasing(features="raw.parquet"))
    assert code == 0, err
    code, out, err = run("fit", "mu.json", "--features", "raw.parquet", "--id", "id", "--json")
    assert code == 0, err
    told = json.loads(out)["parameters"]
    estimates = dict(zip(told["names"], told["estimates"], strict=True))
    assert estimates["age"] == pytest.approx(1.0, abs=0.35)
    assert estimates["dose"] * 1e5 == pytest.approx(-0.5, abs=0.35)
    audited = ("audit", "mu.json", "--data", "labels.csv", "--features", "raw.parquet", "--id", "id", "--label", "ill")
    code, out, err = run(*audited, "--draws", "60", "--error-rate", "1e-9")
    assert code == 0, err + out
    code, _, err = run("verify", "mu.json")
    assert code == 0, err


def test_labels_that_are_numbers(place, run):
    pyarrow.csv.write_csv(labels(ill=np.where(ILL, 1, -1)), "numbers.csv")
    code, _, err = run(*releasing("numbers.csv", classes=None))
    assert code == 0, err
    assert MeanOperatorRelease.read("mu.json").classes == (-1, 1)


def test_identifiers_are_the_same_as_text_and_as_numbers(place, run):
    pq.write_table(features(id=np.arange(ROWS)), "X.parquet")
    pyarrow.csv.write_csv(labels(RNG.permutation(ROWS), id=np.arange(ROWS)), "labels.csv")
    code, _, err = run(*releasing())
    assert code == 0, err


# -- the budget ------------------------------------------------------------------------------------------------------


def test_the_ledger_is_made_spent_and_shown(place, run):
    made = ("--epsilon", "0.3", "--delta", "1e-9", "--data-set", "ward 7")
    code, _, err = run("ledger", "create", "new.ledger", *made)
    assert code == 0
    assert "ward 7" in err
    assert run("ledger", "create", "new.ledger", *made)[0] == 2
    assert run("ledger", "create", "other.ledger", "--epsilon", "0", "--data-set", "x")[0] == 2
    assert run(*releasing(epsilon="0.7"))[0] == 0
    code, _, err = run(*releasing(epsilon="0.7", out="again.json"))
    assert code == 2
    assert "epsilon 0.3, delta 0.000001 left of epsilon 1" in err
    assert not (place / "again.json").exists()
    code, out, _ = run("ledger", "show", "budget.ledger")
    assert code == 0
    assert "epsilon 0.3, delta 0.000001 left" in out
    assert "the mean operator of 2,000 labels" in out
    told = json.loads(run("ledger", "show", "budget.ledger", "--json")[1])
    assert told["remaining"]["epsilon"] == "0.3"
    assert run("ledger", "show", "nothing")[0] == 2


def test_the_same_people_less_one_have_no_new_budget(place, run):
    assert run(*releasing(epsilon="0.8"))[0] == 0
    others = np.arange(1, ROWS)
    pq.write_table(features(others), "X.parquet")
    pyarrow.csv.write_csv(labels(others), "labels.csv")
    code, _, err = run(*releasing(epsilon="0.8", out="again.json"))
    assert code == 2
    assert "epsilon 0.2, delta 0.000001 left of epsilon 1, delta 0.000001 for these 1,999 people" in err
    assert "a new ledger would not give them a new budget" in err
    assert "ledger create" not in err
    assert spent() == ["0.8"]


# -- refused, and nothing spent --------------------------------------------------------------------------------------


def with_nan():
    values = X[:, 0].copy()
    values[7] = np.nan
    return values


BAD_LABELS = {
    "a label of another kind": (labels(ill=["maybe", *np.where(ILL, "yes", "no")[1:]]), "'maybe' is not one of"),
    "a missing label": (labels(ill=["", *np.where(ILL, "yes", "no")[1:]]), "the value is missing"),
    "a person twice": (labels(id=[IDS[1], *IDS[1:]]), "occurs more than once"),
    "a stranger": (labels(id=["x", *IDS[1:]]), "1 people have features and no label ('p0')"),
    "too few": (labels(np.arange(ROWS - 2)), "2 people have features and no label"),
    "no identifiers": (labels(id=["", *IDS[1:]]), "row 1 has no identifier"),
}
BAD_FEATURES = {
    "not a number": (features(age=with_nan()), "column 'age', row 8"),
    "infinite": (features(dose=np.where(np.arange(ROWS) == 3, np.inf, 0.0)), "column 'dose', row 4"),
    "text": (features(age=["old"] * ROWS), "'old' is not a finite number"),
    "a person twice": (features(id=[IDS[1], *IDS[1:]]), "occurs more than once"),
    "nothing but identifiers": (features(age=None, dose=None), "no column besides 'id'"),
    "other people": (features(np.arange(10)), "people have a label and no features"),
}


def test_other_classes_than_the_labels_are_answered_with_the_option_to_write(place, run):
    code, _, err = run(*releasing(classes=None))
    assert code == 2
    assert "the labels in 'ill' are 'no', 'yes'; expected one of -1, 1" in err
    assert "--classes no,yes" in err
    assert "did you mean" not in err
    assert spent() == []


@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels(name, place, run):
    table, says = BAD_LABELS[name]
    pyarrow.csv.write_csv(table, "labels.csv")
    code, _, err = run(*releasing())
    assert code == 2
    assert says in err
    assert spent() == []
    assert not (place / "mu.json").exists()


@pytest.mark.parametrize("name", BAD_FEATURES)
def test_bad_features(name, place, run):
    table, says = BAD_FEATURES[name]
    pq.write_table(table, "X.parquet")
    code, _, err = run(*releasing())
    assert code == 2
    assert says in err
    assert spent() == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epsilon": "0"}, "epsilon=0"),
        ({"epsilon": "-1"}, "epsilon=-1"),
        ({"epsilon": "lots"}, "epsilon='lots'"),
        ({"delta": "1"}, "delta=1"),
        ({"delta": "1e-7", "mechanism": "laplace"}, "mechanism='laplace'"),
        ({"mechanism": "gaussian"}, "delta=0"),
        ({"classes": "yes"}, "at least two classes"),
        ({"label": "sick"}, "no column 'sick'"),
        ({"id": "name"}, "no column 'name'"),
        ({"label": "id"}, "different columns"),
        ({"columns": "age,size"}, "no column 'size'"),
        ({"features": "nothing.csv"}, "there is no data file"),
        ({"labels": "nothing.csv"}, "there is no data file"),
        ({"out": "labels.csv"}, "would be written over"),
        ({"out": "X.csv"}, "exists already"),
        ({"out": "no/where.json"}, "there is no folder"),
    ],
)
def test_bad_options(options, says, place, run):
    code, _, err = run(*releasing(**options))
    assert code == 2
    assert says in err
    assert spent() == []


# -- the learner's side ----------------------------------------------------------------------------------------------


def test_features_that_are_not_the_same(place, run):
    assert run(*releasing())[0] == 0
    changed = X[:, 1].copy()
    changed[5] += 0.0001
    for table, says in (
        (features(dose=changed), "the values of 'dose' differ"),
        (features(np.arange(ROWS - 1)), "there are 1,999 rows and not 2,000"),
        (features(id=["x", *IDS[1:]]), "identifiers of the 2,000 rows are others"),
        (features(dose=None), "no column 'dose'"),
    ):
        pq.write_table(table, "mine.parquet")
        code, _, err = run("fit", "mu.json", "--features", "mine.parquet", "--id", "id", "--save", "model.json")
        assert code == 2
        assert says in err
        assert not (place / "model.json").exists()


def test_options_that_would_be_passed_over_are_refused(place, run):
    assert run(*releasing())[0] == 0
    for options, says in (
        (["--features", "X.csv"], "--id COLUMN"),
        (["--features", "X.csv", "--id", "id", "--formula", "ill ~ age"], "--formula"),
        (["--features", "X.csv", "--id", "id", "--ridge", "much"], "--ridge much"),
        (["--features", "X.csv", "--id", "id", "--save", "mu.json", "--overwrite"], "would be written over"),
    ):
        code, _, err = run("fit", "mu.json", *options)
        assert code == 2
        assert says in err
    code, _, err = run("fit", "X.parquet", "--features", "X.csv")
    assert code == 2
    assert "--features" in err
    assert run("fit", "nothing.json", "--features", "X.csv", "--id", "id")[0] == 2
