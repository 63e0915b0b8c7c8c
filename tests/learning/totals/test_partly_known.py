"""Mean operators where one class only is known: unbiased, with the noise they say, and refused where they cannot be."""

import numpy as np
import pytest

import askance as ask
from askance.learning.totals import (
    mean_operator,
    mean_operator_from_bag_labels,
    mean_operator_from_positives,
    mean_operator_from_reports,
)


def _drawn(rows, share, rng):
    labels = (rng.random(rows) < share).astype(int)
    return rng.normal(size=(rows, 2)) + labels[:, None] * [1.5, -0.5], labels


# 400 sets each: means within 4.5 standard errors and variances within 30% of what is said, two coordinates of three
# functions. A correct program fails for fewer than one seed in 10,000.
def _is_unbiased(draws):
    errors, said = zip(*draws, strict=True)
    errors, said = np.array(errors), np.mean(said, axis=0)
    seen = errors.std(axis=0)
    assert np.all(np.abs(errors.mean(axis=0)) < 4.5 * seen / np.sqrt(len(errors)))
    moving = said > 1e-12
    assert seen[moving] ** 2 == pytest.approx(said[moving], rel=0.3)


def test_positives_and_a_known_share_give_the_mean_operator():
    rng = np.random.default_rng(18)
    draws = []
    for _ in range(400):
        X, labels = _drawn(300, 0.3, rng)
        others, kinds = _drawn(400, 0.3, rng)
        found = mean_operator_from_positives(X, others[kinds == 1], share=labels.mean())
        truth = mean_operator(X, labels, classes=(0, 1)).values
        draws.append((found.values - truth, found.noise_variance))
    _is_unbiased(draws)


def test_marked_positives_are_reports_of_a_channel():
    rng = np.random.default_rng(19)
    channel = ask.FiniteChannel([[1, 0.6], [0, 0.4]], [0, 1])
    draws = []
    for _ in range(400):
        X, labels = _drawn(300, 0.3, rng)
        marked = labels * (rng.random(300) < 0.4)
        found = mean_operator_from_reports(X, marked, channel)
        draws.append((found.values - mean_operator(X, labels, classes=(0, 1)).values, found.noise_variance))
    _is_unbiased(draws)


def test_bags_with_at_least_one_positive_row():
    """The noise is taken from how rows differ within bags, which is rather too much; the mean is right."""
    rng = np.random.default_rng(20)
    errors = []
    for _ in range(200):
        X, labels = _drawn(1200, 0.15, rng)
        bags = np.arange(1200) // 4
        positive = np.bincount(bags, labels) > 0
        found = mean_operator_from_bag_labels(X, bags, positive, classes=("no", "yes"))
        errors.append(found.values - mean_operator(X, labels, classes=(0, 1)).values)
    errors = np.array(errors)
    assert np.all(np.abs(errors.mean(axis=0)) < 4.5 * errors.std(axis=0) / np.sqrt(len(errors)))
    model = ask.MeanOperatorClassifier().fit(X, found)
    assert np.mean(model.predict(X) == np.where(labels, "yes", "no")) > 0.85


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda X: mean_operator_from_positives(X, X[:, :1], share=0.3), "1 features and rows with 2"),
        (lambda X: mean_operator_from_positives(X, X[:1], share=0.3), "at least two"),
        (lambda X: mean_operator_from_positives(X, X, share=1.3), "share=1.3"),
        (lambda X: mean_operator_from_positives(X, X, share=0.3, classes=(0, 1, 2)), "two, the positive one second"),
        (lambda X: mean_operator_from_bag_labels(X, [0] * 10, [True]), "all positive"),
        (lambda X: mean_operator_from_bag_labels(X, [0] * 10, ["yes"]), "True or False"),
        (lambda X: mean_operator_from_bag_labels(X, [0] * 5 + [7] * 5, [True, False]), "from 0 to 1"),
        (lambda X: mean_operator_from_bag_labels(X, [0] * 10, [True, False]), "bag 1 is empty"),
        (lambda X: mean_operator_from_bag_labels(X, [0] * 5 + [1] * 5, [True, False], share=0.1), "at least 0.2"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    X = np.random.default_rng(0).normal(size=(10, 2))
    with pytest.raises(ask.AskanceError, match=said):
        call(X)
