"""Groups of any mix, and the baseline that they are given to."""

import numpy as np
import pytest

from askance.papers.class_ratio.proportion_svm import _labelled, fit_proportion_svm
from askance.papers.data import ratio_sets
from askance.papers.data.ratio_sets import RatioSet, rotated
from askance.solvers.simplex import whole_counts

SMALL = RatioSet("small", "made up", np.arange(60.0)[:, None], np.repeat([0, 1, 2], 20))


def test_groups_have_the_shares_that_are_asked_for():
    rng = np.random.default_rng(0)
    rows, shares = SMALL.group(np.array([0.5, 0.25, 0.25]), 40, rng)
    assert shares.tolist() == [0.5, 0.25, 0.25]
    codes = (rows[:, 0] // 20).astype(int)
    assert np.bincount(codes).tolist() == [20, 10, 10]
    assert len(np.unique(rows)) == 40  # nobody twice while there are enough
    assert whole_counts(np.array([1, 1, 1]) / 3, 100).sum() == 100


def test_bags_and_halves_share_no_row():
    rng = np.random.default_rng(1)
    first, second = SMALL.halves(rng)
    assert sorted([*first.features[:, 0], *second.features[:, 0]]) == list(range(60))
    X, bags, shares = first.bags(rotated(3, 0.1), 10, rng)
    assert X.shape == (60, 1)
    assert np.bincount(bags).tolist() == [10] * 6
    assert np.allclose(shares, rotated(3, 0.1))


@pytest.mark.parametrize("load", [ratio_sets.census, ratio_sets.marital_status, ratio_sets.higgs])
def test_stand_ins_where_there_is_no_data(load, monkeypatch):
    monkeypatch.delenv("ASKANCE_DATA", raising=False)
    data = load()
    assert data.stand_in
    assert np.isfinite(data.features).all()
    assert np.bincount(data.codes).min() > 1000


def test_the_labels_of_a_turn_are_the_best_ones():
    """Against all labellings of two small bags."""
    rng = np.random.default_rng(2)
    scores, bags, shares = rng.normal(size=8), np.repeat([0, 1], 4), np.array([0.25, 0.75])
    labels, objective = _labelled(scores, bags, shares, 0.5, 3.0)

    def cost(labels):
        losses = 0.5 * np.maximum(0, 1 - labels * scores).sum()
        return losses + 3.0 * sum(abs(np.mean(labels[bags == bag] > 0) - shares[bag]) for bag in (0, 1))

    every = [np.array([1 if code >> i & 1 else -1 for i in range(8)]) for code in range(256)]
    mixed = [each for each in every if all(0 < np.sum(each[bags == bag] > 0) < 4 for bag in (0, 1))]
    assert objective == pytest.approx(cost(labels))
    assert objective == pytest.approx(min(map(cost, mixed)))


def test_the_machine_tells_separated_classes():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 0, 1], [80, 20, 20, 80])
    X = rng.normal(size=(200, 2)) + 5 * y[:, None]
    machine = fit_proportion_svm(
        X, np.repeat([0, 1], 100), np.array([0.2, 0.8]), gamma=0.1, rng=rng, cost=1.0, proportion_cost=100.0
    )
    assert machine.share(X[y == 1]) > 0.95
    assert machine.share(X[y == 0]) < 0.05
