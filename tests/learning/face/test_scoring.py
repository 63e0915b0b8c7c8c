"""A score is about the truth: what cannot be reports of the channel is noticed."""

import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import askance as ask
from askance.learning.face.scoring import accuracy_from_reports

WARNER = ask.Warner(0.8)


def people(n, slope=1.0, seed=0, channel=WARNER):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    truth = np.where(X @ [slope, -slope, slope / 2] + rng.logistic(size=n) > 0, "yes", "no")
    return X, truth, channel.simulate(truth, rng)


def test_truth_that_a_pipeline_takes_for_reports_is_noticed():
    X, truth, reports = people(6000)
    model = make_pipeline(StandardScaler(), ask.IndirectClassifier(WARNER)).fit(X[:2000], reports[:2000])
    measured = np.mean(model.predict(X[2000:]) == truth[2000:])
    # Without metadata routing, scikit-learn's Pipeline drops of= without a word.
    with pytest.warns(ask.AskanceWarning, match="surest predictions .* of='truth'"):
        assert model.score(X[2000:], truth[2000:], of="truth") > measured + 0.1
    assert model[-1].score(model[:-1].transform(X[2000:]), truth[2000:], of="truth") == pytest.approx(measured)


def test_reports_that_a_model_knows_by_heart_are_noticed():
    X, _, reports = people(400)
    forest = RandomForestClassifier(20, random_state=0)
    with pytest.warns(ask.AskanceWarning, match="raise max_iter"):  # two rounds are enough to learn by heart
        model = ask.IndirectClassifier(WARNER, base_estimator=forest, max_iter=2).fit(X, reports)
    with pytest.warns(ask.AskanceWarning, match="did not see"):
        model.score(X, reports)


@pytest.mark.parametrize(
    "channel",
    [WARNER, ask.ForcedResponse(0.1, 0.3), ask.DesignPerRow({"a": WARNER, "b": ask.Warner(0.6)}), ask.Identity()],
    ids=repr,
)
def test_proper_reports_of_new_people_are_not_suspected(channel):
    # 200 sets at a rate of 1e-6 each, and predictions as sure as they can be.
    design = np.arange(500) % 2
    named = {"design": np.array(["a", "b"])[design]} if channel.needs_design else {}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 500)
        reports = channel.simulate(np.array(["no", "yes"])[truth], rng, **named)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            codes = channel.encode_reports(reports, **named)
            accuracy_from_reports(truth, rng.random(500), codes, channel)
