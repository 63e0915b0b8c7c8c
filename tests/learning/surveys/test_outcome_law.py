"""A linear outcome whose law is not normal is fitted by corrected scores, and said to be none; a normal one is not."""

import warnings

import numpy as np
import pytest

import askance as ask

CHANNEL = ask.Warner(0.85)


def fitted(error, n, rng):
    x = rng.normal(size=n)
    cheated = rng.random(n) < 1 / (1 + np.exp(1 - 0.5 * x))
    grade = 0.3 * x + 0.8 * cheated + error(x, rng)
    reports = {"cheated": CHANNEL.simulate(np.where(cheated, "yes", "no"), rng)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        return ask.HiddenPredictor({"cheated": CHANNEL}).fit(x[:, None], grade, reports)


@pytest.mark.parametrize(
    "error",
    [
        lambda x, rng: rng.exponential(size=len(x)) - 1,
        lambda x, rng: np.exp(rng.normal(size=len(x))),
        lambda x, rng: np.exp(0.7 * x) * rng.normal(size=len(x)),
        lambda x, rng: np.where(np.arange(len(x)) == 0, 50.0, rng.normal(size=len(x))),
    ],
    ids=["skewed", "long-tailed", "spread by a covariate", "one outlier"],
)
def test_another_law_is_noticed_and_corrected_scores_cover_the_truth(error):
    """20 sets: of 95% intervals at most 4 miss, but for one seed in 400; by likelihood alone one in five missed."""
    rng, held = np.random.default_rng(12), []
    for _ in range(20):
        model = fitted(error, 1_500, rng)
        assert model.method_ == "moments"
        assert any("normal around its line" in note or "Corrected scores" in note for note in model.notes_)
        row = model.summary().to_frame().loc["hidden(cheated)"]
        held.append(row["lower"] <= 0.8 <= row["upper"])
    assert sum(held) >= 16


def test_normal_outcomes_are_hardly_ever_said_to_be_another():
    """100 sets at a stated rate of .01, which is kept: more than 4 of them one seed in 300."""
    rng = np.random.default_rng(13)
    notes = [fitted(lambda x, rng: rng.normal(size=len(x)), 300, rng).notes_ for _ in range(100)]
    assert sum("normal around its line" in " ".join(one) for one in notes) <= 4
