"""Intervals allow for the chance by which the same bags taught the models: sets of bags whose truth is known."""

import numpy as np
import pytest

from askance.learning.ratios.bag_posterior import BagPosteriorModel, fit_bag_posterior
from askance.learning.ratios.bag_softmax import log_posterior
from askance.learning.ratios.posterior_table import PosteriorTable
from askance.learning.ratios.prior_shift import estimate_shifted_ratios
from askance.learning.ratios.ratio_model import RatioEstimate

BAGS, SIZE, FEATURES, GROUP, FOLDS = 10, 60, 20, 100, 5


def _rows(signal: float, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    label = (rng.random(rows) < 0.5).astype(int)
    features = rng.normal(size=(rows, FEATURES))
    features[:, 0] += signal * label
    return features, label


def _taught_by_bags(shares: np.ndarray | None, signal: float, rng: np.random.Generator) -> tuple[RatioEstimate, float]:
    """The estimate for a group of random rows, by linear models that the other folds' rows taught; and the truth.

    Bags have rows at random, or of the given shares.
    """
    codes = np.repeat(np.arange(BAGS), SIZE)
    X, y = _rows(signal, len(codes), rng)
    if shares is not None:
        wanted = np.concatenate([np.arange(SIZE) < round(SIZE * share) for share in shares]).astype(int)
        X[:, 0] += signal * (wanted - y)
        y = wanted
    share = np.bincount(codes, y) / SIZE
    overall = np.array([1 - y.mean(), y.mean()])
    lean, fold = (share - share.mean())[codes], rng.permutation(len(codes)) % FOLDS
    sums = np.array([lean[fold == f] @ X[fold == f] for f in range(FOLDS)])
    slopes = (sums.sum(axis=0) - sums) / (lean @ lean)

    def logs(rows: np.ndarray, slope: np.ndarray) -> np.ndarray:
        half = rows @ slope / 2
        return np.asarray(log_posterior(np.stack([-half, half], axis=-1) + np.log(overall)))

    held_out = np.empty((len(codes), 2))
    for f in range(FOLDS):
        held_out[fold == f] = logs(X[fold == f], slopes[f])
    table = PosteriorTable.of(held_out, codes, np.column_stack([1 - share, share]), None)
    group, hidden = _rows(signal, GROUP, rng)
    return estimate_shifted_ratios(table, np.array([logs(group, slope) for slope in slopes])), float(hidden.mean())


@pytest.mark.parametrize("signal", [0.0, 0.5])
def test_intervals_cover_where_bags_are_alike_and_an_interval_is_short_by_chance(signal: float) -> None:
    rng = np.random.default_rng(31)
    found = [_taught_by_bags(None, signal, rng) for _ in range(300)]
    errors = np.array([estimate.free[1] - truth for estimate, truth in found])
    deviations = np.sqrt([estimate.covariance[1, 1] for estimate, _ in found])
    short = deviations < 0.2
    assert short.sum() >= 150
    # .84 and .85 before the models' teaching was allowed for. Of 150 that hold .97, fewer than .93 in one of 100.
    assert (np.abs(errors[short]) < 1.96 * deviations[short]).mean() >= 0.93


def test_bags_that_differ_by_class_pay_little_for_what_taught_the_models() -> None:
    rng = np.random.default_rng(32)
    shares = np.tile([0.1, 0.9], BAGS // 2)
    found = [_taught_by_bags(shares, 2.0, rng) for _ in range(40)]
    z = [(estimate.free[1] - truth) / np.sqrt(estimate.covariance[1, 1]) for estimate, truth in found]
    # 1 if variances are right; of 40 sets the root mean square has a standard error of .11.
    assert 0.75 < np.sqrt(np.mean(np.square(z))) < 1.25


def test_a_model_that_was_saved_before_keeps_its_narrower_errors() -> None:
    rng = np.random.default_rng(33)
    X, y = _rows(1.0, 240, rng)
    codes = np.repeat(np.arange(4), 60)
    share = np.bincount(codes, y) / 60
    model = fit_bag_posterior(X, codes, np.column_stack([1 - share, share]), None, None, 0)
    saved = model.to_dict()
    again = BagPosteriorModel.from_dict(saved).estimate(X)
    assert np.array_equal(again.covariance, model.estimate(X).covariance)
    del saved["allows_for_teaching"]
    before = BagPosteriorModel.from_dict(saved).estimate(X)
    assert np.array_equal(before.ratios, again.ratios)
    assert before.covariance[1, 1] < again.covariance[1, 1]
