"""Saved models are read for ever: one golden file for each format version. Run this module to write the newest anew."""

import json
from pathlib import Path

import numpy as np
import pytest

import askance as ask
from askance.learning.face.saving import _decode, _encode

GOLDEN = Path(__file__).parents[2] / "golden"


def models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    two, three = ask.Warner(0.8), ask.RandomizedResponse(["a", "b", "c"], epsilon=2.0)
    return {
        "model-v1-two-classes.json": ask.IndirectClassifier(two).fit(X, rng.choice(two.classes, 300)),
        "model-v1-three-classes.json": ask.IndirectClassifier(three, "moments", 1.0).fit(
            X, rng.choice(three.classes, 300)
        ),
        "model-v1-prevalence.json": ask.Prevalence(two).fit(rng.choice(two.classes, 300)),
    }


@pytest.mark.parametrize(
    "name", ["model-v1-two-classes.json", "model-v1-three-classes.json", "model-v1-prevalence.json"]
)
def test_golden_models_are_read(name):
    golden = ask.load_model(GOLDEN / name)
    fresh = models()[name]
    assert golden.get_params() == fresh.get_params()
    # Estimates and standard errors; tests and intervals of a fit with a ridge, which it had, are no longer given.
    said, says = golden.summary().values[:, :2], fresh.summary().values[:, :2]
    np.testing.assert_allclose(said, says, rtol=1e-6, atol=1e-9)
    assert golden.channel_ == fresh.channel_
    if hasattr(fresh, "predict_proba"):
        X = np.array([[0.5, -1.0], [2.0, 0.0]])
        np.testing.assert_allclose(golden.predict_proba(X), fresh.predict_proba(X), atol=1e-8)


def test_a_model_of_a_later_version_is_refused(tmp_path):
    text = (GOLDEN / "model-v1-prevalence.json").read_text().replace('"version": 1', '"version": 2', 1)
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(ask.ReleaseError, match="upgrade"):
        ask.load_model(tmp_path / "model.json")


def test_saving_never_leaves_half_a_file(tmp_path):
    fitted = ask.Prevalence(ask.Warner(0.8)).fit(["yes", "no", "no"])
    with pytest.raises(ask.ReleaseError, match="cannot write"):
        fitted.save(tmp_path / "absent" / "model.json")
    with pytest.raises(ask.AskanceError, match="not fitted"):
        ask.Prevalence(ask.Warner(0.8)).save(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []
    fitted.save(tmp_path / "model.json")
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", float("inf"), ["nan", 1.0], ("x", float("-inf"))])
def test_texts_and_numbers_that_look_alike_stay_apart(value):
    assert _decode(json.loads(json.dumps(_encode(value)))) == value


@pytest.mark.parametrize("source", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_generators_go_on_where_they_were(source):
    rng = np.random.Generator(source(3))
    rng.integers(9, size=5, dtype=np.int32)
    again = _decode(json.loads(json.dumps(_encode(rng))))
    assert again.integers(1 << 40, size=4).tolist() == rng.integers(1 << 40, size=4).tolist()


def test_old_random_states_go_on_where_they_were():
    rng = np.random.RandomState(3)
    again = _decode(json.loads(json.dumps(_encode(rng))))
    assert again.randint(1 << 30, size=4).tolist() == rng.randint(1 << 30, size=4).tolist()


if __name__ == "__main__":
    for file, model in models().items():
        model.save(GOLDEN / file)
