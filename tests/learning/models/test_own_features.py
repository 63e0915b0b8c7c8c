"""Features of a user's own: of several maxima of the likelihood of reports the highest is found, and that is said."""

import numpy as np
import pytest

import askance as ask
from askance.learning.models.gradient_search import FINE, Summit, are_several, ascend, is_at_rest

CLASSES = ["a", "b", "c"]


def features(x):
    return np.kron(np.eye(3)[:, 1:], np.r_[1.0, x])


def people(seed, n=80):
    """Few reports under strong noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    scores = np.column_stack([np.zeros(n), X @ [2.0, 0.0], X @ [0.0, -2.0]])
    channel = ask.RandomizedResponse(CLASSES, epsilon=0.8)
    truth = np.array(CLASSES)[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]
    return X, channel, channel.simulate(truth, rng)


def penalised_likelihood(theta, X, channel, reports, ridge):
    scores = np.einsum("nkp,p->nk", np.array([features(x) for x in X]), theta)
    prior = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    law = channel.matrix[channel.encode_reports(reports)]
    return np.log((law * prior).sum(axis=1)).sum() - 0.5 * ridge * theta @ theta


def test_the_highest_of_several_maxima_is_found_and_said():
    """One of 60 sets that were looked at; from zero alone the search ended 1.3 lower and said nothing."""
    X, channel, reports = people(1027)
    with pytest.warns(ask.AskanceWarning, match="several maxima"):
        model = ask.IndirectModel(ask.States(features), channel, ridge=0.05).fit(X, reports)
    reached = penalised_likelihood(model.parameters_, X, channel, reports, 0.05)
    assert reached == pytest.approx(-82.1352, abs=1e-3)
    assert model.converged_


def test_one_maximum_is_not_called_several():
    X, channel, reports = people(5, n=2000)
    model = ask.IndirectModel(ask.States(features), channel).fit(X, reports)
    assert not model.notes_


def test_a_plain_far_away_is_no_maximum():
    """The logarithm of a chance that has gone to a constant: no slope, and no curvature."""

    def bump(theta):
        return float(-np.tanh(theta @ theta)), -2 * theta / np.cosh(theta @ theta) ** 2

    top = ascend(bump, np.array([0.3, 0.2]), 1, 100, FINE)
    assert top.theta == pytest.approx([0, 0], abs=1e-6)
    far = Summit(np.array([9.0, 0.0]), -1.0, 1, True)
    assert is_at_rest(bump(far.theta)[1], 2 * np.eye(2))
    for curved, several in ((np.zeros((2, 2)), False), (np.eye(2), True)):
        assert are_several(top, [far], 2 * np.eye(2), lambda t: bump(t)[1], lambda _, c=curved: c) is several
