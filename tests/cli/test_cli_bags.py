"""``askance fit`` on rows in bags: a classifier from proportions, exact or released with noise; and bad input."""

import json

import numpy as np
import pandas as pd
import pytest

import askance as ask

ROWS, BAGS = 3000, 150
CLASSES = ["well", "ill"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Bags of people with age and pressure; whether they are ill is known only as a share, or as noisy counts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, 2))
    ill = rng.random(ROWS) < 1 / (1 + np.exp(1 - 2 * X[:, 0]))
    clinics = np.array([f"clinic {n}" for n in rng.integers(BAGS, size=ROWS)])
    rows = pd.DataFrame(X, columns=["age", "pressure"]).assign(clinic=clinics)
    rows.to_csv("rows.csv", index=False)
    counts = pd.crosstab(clinics, np.where(ill, "ill", "well"))[CLASSES].rename_axis("clinic")
    counts.to_csv("counts.csv")
    counts.div(counts.sum(axis=1), axis=0).to_csv("shares.csv")
    return tmp_path


FIT = ("fit", "rows.csv", "--proportions", "shares.csv", "--bag", "clinic")


def test_a_classifier_is_fitted_saved_and_reported(place, run):
    code, out, err = run(*FIT, "--json", "--save", "model.json", "--report", "report.html")
    assert code == 0, err
    said = json.loads(out)
    assert (said["rows"], said["classes"], said["method"]) == (ROWS, CLASSES, "bag-likelihood")
    assert said["written"] == ["report.html", "model.json"]
    # The truth is 2 and 0; standard errors are about .15.
    age, pressure = (said["summary"]["estimates"][name]["estimate"] for name in ("age", "pressure"))
    assert age == pytest.approx(2, abs=0.8)
    assert pressure == pytest.approx(0, abs=0.6)
    rows = pd.read_csv("rows.csv")
    direct = ask.ProportionClassifier(classes=CLASSES).fit(
        rows[["age", "pressure"]], rows["clinic"], pd.read_csv("shares.csv", index_col="clinic")
    )
    np.testing.assert_allclose(said["coef"], direct.coef_, rtol=1e-9)
    model = ask.load_model("model.json")
    np.testing.assert_array_equal(model.predict(rows[["age", "pressure"]]), direct.predict(rows[["age", "pressure"]]))
    page = (place / "report.html").read_text()
    assert "ProportionClassifier" in page
    assert "askance fit rows.csv --proportions shares.csv --bag clinic" in page


def test_it_is_printed_for_people_and_says_what_was_written(place, run):
    code, out, err = run(*FIT, "--columns", "age", "--save", "model.json")
    assert code == 0
    assert "by logistic regression on label proportions" in out
    assert "pressure" not in out
    assert "wrote model.json" in err


def test_released_counts_bring_their_noise_and_their_privacy(place, run):
    ask.Ledger.create("budget.ledger", "5", "1e-6", data_set="clinics")
    released = run(
        "release", "counts", "counts.csv", "--counts", "--bag", "clinic", "--classes", "well,ill", "--epsilon", "2",
        "--ledger", "budget.ledger", "--out", "counts.json",
    )  # fmt: skip
    assert released[0] == 0, released[2]
    code, out, err = run("fit", "rows.csv", "--proportions", "counts.json", "--bag", "clinic", "--json")
    assert code == 0, err
    said = json.loads(out)
    assert said["guarantee"]["epsilon"] == 2
    assert "epsilon 2" in said["summary"]["privacy"]
    # Noise of deviation .7 in counts of about 20: errors of the slope stay below .4 or so.
    assert said["summary"]["estimates"]["age"]["estimate"] == pytest.approx(2, abs=1.5)


def test_methods_without_standard_errors_say_so(place, run):
    code, out, err = run(*FIT, "--method", "mean-map", "--loss", "square", "--ridge", "1")
    assert code == 0, err
    assert "mean-map" in out
    forest = (*FIT, "--method", "bag-classifier", "--seed", "1", "--json")
    first, second = (json.loads(run(*forest)[1]) for _ in range(2))
    assert first == second
    assert first["coef"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--bag", "village"), "village"),
        (("--columns", "age,height"), "height"),
        (("--columns", ","), "names between commas"),
        (("--method", "hybrid"), "hybrid is for counted regions"),
        (("--method", "magic"), "--method magic for rows in bags"),
        (("--formula", "ill ~ age"), "--formula for rows in bags"),
        (("--engine", "dask"), "--engine for rows in bags"),
        (("--loss", "square"), "--loss square"),
        (("--proportions", "nothing.csv"), "nothing.csv"),
        (("--proportions", "rows.csv"), "several rows"),
        (("--save", "shares.csv", "--overwrite"), "would be written over"),
        (("--method", "bag-classifier", "--save", "model.json"), "a linear method"),
    ],
)
def test_bad_input_ends_with_2_and_nothing_is_written(place, run, options, said):
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    code, out, err = run(*FIT, *options)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_rows_without_proportions_are_told_what_is_missing(place, run):
    code, _, err = run("fit", "rows.csv")
    assert code == 2
    assert "--proportions FILE" in err
    code, _, err = run("fit", "rows.csv", "--bag", "clinic")
    assert code == 2
    assert "--bag for reports; expected --bag with rows in bags (--proportions) only" in err
