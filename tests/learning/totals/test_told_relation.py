"""Totals that noise may have made are said to show no relation, those with one are not."""

import numpy as np
import pytest

import askance as ask
from askance.learning.totals.told_relation import in_contrasts, relation_p_value
from askance.releases.mean_operator_release import simulate_mean_operator_release


def people(n, slope, rng, classes=("no", "yes"), base=0.0):
    X = rng.normal(size=(n, 4)) * [1.0, 100.0, 0.01, 1.0]
    scores = np.column_stack([np.zeros(n), *(base + slope * k * X[:, 0] for k in range(1, len(classes)))])
    return X, np.array(classes)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]


@pytest.mark.parametrize(("classes", "base"), [(("no", "yes"), 0.0), (("no", "yes"), -3.5), (("a", "b", "c"), -1.0)])
def test_p_values_of_labels_at_random_are_uniform(classes, base):
    """300 sets: the shares below .05 and .5 are within [.015, .095] and [.41, .59], 99.8% of seeds."""
    rng, p_values = np.random.default_rng(len(classes)), []
    for _ in range(300):
        X, y = people(400, 0.0, rng, classes, base)
        z = np.column_stack([np.ones(400), X / [1.0, 100.0, 0.01, 1.0]])
        indicators = (y[:, None] == np.array(classes)).astype(float)
        values = indicators.T @ z / 400
        values = values[1:] - values[:1] if len(classes) == 2 else values
        noise = 0.05 * rng.normal(size=values.shape)
        totals, covariance = in_contrasts(values + noise, 0.05**2 * np.eye(values.size))
        p_values.append(relation_p_value(totals, covariance, z.T @ z / 400, 400))
    assert 0.015 < np.mean(np.array(p_values) < 0.05) < 0.095
    assert 0.41 < np.mean(np.array(p_values) < 0.5) < 0.59


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
@pytest.mark.parametrize("options", [{}, {"shape": "none"}])
def test_a_total_that_noise_may_have_made_is_said_to_be_one(classes, options):
    rng = np.random.default_rng(2)
    X, y = people(400, 2.0, rng, classes)
    X /= [1.0, 100.0, 0.01, 1.0]
    strong = simulate_mean_operator_release(X, y, 5.0, rng=rng, classes=classes, **options)
    assert ask.MeanOperatorClassifier().fit(X, strong).notes_ == ()
    weak = simulate_mean_operator_release(X, y, 0.002, rng=rng, classes=classes, **options)
    with pytest.warns(ask.AskanceWarning, match="no relation of the labels with the features"):
        model = ask.MeanOperatorClassifier().fit(X, weak)
    assert "no relation" in str(model.summary())
    assert ask.MeanOperatorClassifier().fit(X, y).notes_ == ()
