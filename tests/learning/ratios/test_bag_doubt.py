"""What the bags say against an estimate of ratios: shrinking, left-out bags, overstated differences."""

import numpy as np
import pytest

import askance as ask
from askance.learning.bags.copies import row_copies
from askance.learning.ratios.bag_doubt import BagDoubt, overstatement
from askance.learning.ratios.bag_posterior import _folds
from askance.learning.ratios.ratio_model import RatioEstimate


def doubt(correlation, overall=(0.3, 0.7), between=0.0, overstated=1.0):
    flat = np.array([[1.0, -1.0], [-1.0, 1.0]])
    freedom = 5.0 if between else np.inf
    return BagDoubt(np.array(overall), correlation, 0.01 * flat, between * flat, freedom, overstated)


def estimate(share, variance, rows=100):
    free = np.array([1 - share, share])
    return RatioEstimate(free, free, variance * np.array([[1.0, -1.0], [-1.0, 1.0]]), {}, rows)


def test_an_estimate_is_shrunk_by_how_little_bags_differ():
    for correlation in (0.0, 0.02, 0.5):
        prior = (correlation + (1 - correlation) / 100) * 0.21
        weight = prior / (prior + 0.01)
        found = doubt(correlation).applied(estimate(0.9, 0.01))
        assert found.ratios[1] == pytest.approx(0.7 + weight * 0.2)
        assert found.free[1] == 0.9
        np.testing.assert_array_equal(found.covariance, estimate(0.9, 0.01).covariance)
    assert doubt(1.0).applied(estimate(0.9, 1e-9)).ratios[1] == pytest.approx(0.9)
    assert doubt(0.0).applied(estimate(0.9, 1e6)).ratios[1] == pytest.approx(0.7, abs=1e-6)


def test_what_is_not_known_widens_and_students_quantiles_do():
    from scipy.stats import norm, t

    plain, unlike = doubt(0.5), doubt(0.5, between=0.02)
    assert plain.wider(0.95) == 1
    assert unlike.wider(0.95) == pytest.approx(t.ppf(0.975, 5) / norm.ppf(0.975))
    found = unlike.applied(estimate(0.8, 0.01))
    assert found.covariance[1, 1] == pytest.approx(0.03)
    assert found.parts["bags"][1, 1] == pytest.approx(0.02)
    overstated = doubt(0.5, overstated=4.0)
    found = overstated.applied(estimate(0.8, 0.01))
    assert found.covariance[1, 1] == pytest.approx(0.01 + 9 * (0.1**2 + 0.01))
    assert "4.0 times" in overstated.notes[0]
    assert plain.notes == ()
    again = BagDoubt.from_dict(unlike.to_dict())
    assert again.freedom == unlike.freedom
    np.testing.assert_array_equal(again.between, unlike.between)


def test_scores_of_classes_vary_within_bags_at_least_as_their_mixture_does():
    rng = np.random.default_rng(0)
    shares = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2]])
    codes = np.repeat(np.arange(3), 4000)
    y = np.array([rng.choice(3, p=shares[code]) for code in codes])
    ones = np.ones(len(codes))
    right = np.eye(3)[y]
    assert overstatement(right, codes, ones, shares) == pytest.approx(1, abs=0.03)
    noisy = right + rng.normal(size=right.shape)
    assert overstatement(noisy, codes, ones, shares) < 0.6
    # Scores that only know the bag: they tell the bags' ratios well, and nothing about rows.
    only_bags = shares[codes] + 0.01 * rng.normal(size=right.shape)
    assert overstatement(only_bags, codes, ones, shares) > 20
    assert overstatement(right, np.arange(len(codes)), ones, np.eye(3)[y]) == 0  # bags of one row show nothing


def ecological(rng, n=1500):
    """Rows whose class goes with age a little, in bags by age: these differ in age far more than the classes do."""
    age = rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-age))).astype(int)
    X = np.column_stack([age, y + rng.normal(size=n), rng.normal(size=n)])
    return X, y, np.digitize(age, [-1.2, -0.4, 0.4, 1.2])


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
def test_intervals_do_not_collapse_on_bags_by_an_attribute():
    held, trials = 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y, bags = ecological(rng)
        model = ask.RatioEstimator("mmd", random_state=0).fit(X, bags, np.bincount(bags, y) / np.bincount(bags))
        assert model.doubt_.overstated > 1.5
        assert any("vary too little" in note for note in model.notes_)
        new, truth, _ = ecological(rng)
        for share in (0.1, 0.5, 0.9):
            ones = int(200 * share)
            group = np.concatenate([new[truth == 1][:ones], new[truth == 0][: 200 - ones]])
            low, high = model.predict_interval(group)[1]
            held += low <= share <= high
            trials += 1
    assert held == trials  # of intervals at .95 that are wider still; without the bags' doubt none holds .1 or .9


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
@pytest.mark.parametrize("method", ["mmd", "bag-classifier"])
def test_bags_dealt_at_random_leave_the_overall_mix(method):
    rng = np.random.default_rng(5)
    y = (rng.random(800) < 0.3).astype(int)
    X = rng.normal(size=(800, 3)) + 0.5 * y[:, None]
    bags = np.arange(500) % 5
    shares = np.bincount(bags, y[:500]) / 100
    model = ask.RatioEstimator(method, random_state=0).fit(X[:500], bags, shares)
    overall = y[:500].mean()
    free = [model.model_.estimate(X[500 + 100 * g : 600 + 100 * g]).free[1] for g in range(3)]
    ratios = [model.predict(X[500 + 100 * g : 600 + 100 * g])[1] for g in range(3)]
    assert np.abs(np.array(ratios) - overall).max() < 0.12  # 100 rows at random are within .09 of it, at two errors
    assert (np.abs(np.array(ratios) - overall) <= np.abs(np.array(free) - overall) + 1e-9).all()
    low, high = model.predict_interval(X[500:600])[1]
    assert low <= free[0] <= high or not 0 <= free[0] <= 1


def test_copies_of_a_row_are_held_out_together():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 2))
    X = rows[rng.integers(60, size=200)]
    fold = _folds(X, rng.integers(4, size=200), 5, rng)
    for row in rows:
        assert len(set(fold[(row == X).all(axis=1)].tolist())) <= 1
    assert len(set(fold.tolist())) == 5
    few_values = rng.integers(2, size=(200, 2)).astype(float)
    np.testing.assert_array_equal(row_copies(few_values), np.arange(200))
