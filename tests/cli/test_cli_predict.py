"""``askance predict``: saved models and new rows."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import askance as ask


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.normal(size=(400, 2)), columns=["age", "pressure"])
    truth = np.where(rng.random(400) < 1 / (1 + np.exp(-2 * X["age"])), "ill", "well")
    channel = ask.Warner(0.9, classes=("well", "ill"))
    ask.IndirectClassifier(channel).fit(X, channel.simulate(truth, rng)).save("model.json")
    X.assign(name=[f"p{n}" for n in range(400)], other="x")[:20].to_csv("new.csv", index=False)
    ask.Prevalence(channel).fit(["ill", "well"]).save("prevalence.json")
    return tmp_path


def test_classes_with_probabilities_as_csv_json_and_a_file(place, run):
    code, out, err = run("predict", "model.json", "new.csv", "--id", "name")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(out.splitlines()))
    model, new = ask.load_model("model.json"), pd.read_csv("new.csv")
    assert [row["id"] for row in rows] == new["name"].tolist()
    assert [row["predicted"] for row in rows] == model.predict(new[["age", "pressure"]]).tolist()
    shares = [float(row["probability of ill"]) for row in rows]
    np.testing.assert_allclose(shares, model.predict_proba(new[["age", "pressure"]])[:, 1], rtol=1e-12)
    code, said, err = run("predict", "model.json", "new.csv", "--id", "name", "--out", "p.csv", "--json", "--quiet")
    assert (code, err) == (0, "")
    assert (place / "p.csv").read_text() == out
    assert json.loads(said)["written"] == ["p.csv"]
    assert [row["id"] for row in json.loads(said)["rows"]] == new["name"].tolist()


def test_numbers_of_a_regression(place, run):
    rng = np.random.default_rng(9)
    X = pd.DataFrame({"age": rng.uniform(0, 1, 500)})
    channel = ask.PrivateNumber(0, 2, epsilon=4.0)
    ask.IndirectRegressor(channel).fit(X, channel.simulate(X["age"].to_numpy() + 0.5, rng)).save("line.json")
    code, out, err = run("predict", "line.json", "new.csv")
    assert code == 0, err
    assert out.splitlines()[0] == "predicted"
    assert len(out.splitlines()) == 21


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("prevalence.json", "new.csv"), "predict nobody's answer"),
        (("nothing.json", "new.csv"), "there is no file nothing.json"),
        (("model.json", "nothing.csv"), "nothing.csv"),
        (("model.json", "bare.csv"), "age"),
        (("model.json", "new.csv", "--id", "nobody"), "no column 'nobody'"),
        (("model.json", "new.csv", "--out", "new.csv", "--overwrite"), "would be written over"),
        (("new.csv", "new.csv"), "new.csv"),
    ],
)
def test_bad_input_ends_with_2(place, run, words, said):
    (place / "bare.csv").write_text("pressure\n1\n2\n")
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    code, out, err = run("predict", *words)
    assert (code, out) == (2, "")
    assert said in err
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
