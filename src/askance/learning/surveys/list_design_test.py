"""Does the sensitive item change how the other items are answered? Blair and Imai's test for design effects.

With F1 and F0 the distribution functions of the counts with and without the sensitive item, the shares of people of
each kind, P(y other items are true, item true) = F0(y) - F1(y) and P(y, item not true) = F1(y) - F0(y - 1), cannot be
negative if the item leaves the other answers alone. Each of the two families is tested by how far it is from the
non-negative numbers, in its own metric; of the two p-values the smaller is doubled. Shares that are surely positive are
left out first (Andrews and Soares 2010), or the test would have little power.

Blair & Imai (2012), Statistical analysis of list experiments, section 3.1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Flags, Floats, Integers
from askance.learning.surveys.list_counts import ListCounts

_POINTS = 511  # of a Sobol sequence: they give the weights of the p-value to about .01
_NO_SPREAD = 1e-12  # variance of a share that no count could have changed


@dataclass(frozen=True, eq=False)
class DesignTest:
    """Shares of the kinds of people that the counts imply, and whether some are negative beyond chance.

    Parameters
    ----------
    shares : array, (items + 1) x 2
        By how many other items are true, and whether the sensitive one is not or is.
    errors : array, of the same shape
    p_value : float
        Of the hypothesis that no share is negative.
    """

    shares: Floats
    errors: Floats
    p_value: float


def design_test(data: ListCounts, number: int = 0) -> DesignTest:
    """Test one list for design effects."""
    long, counts = data.long_list(number), data.counts[:, number]
    with_item, moved_with = _distribution(counts, long, data.weights, data.items + 1)
    without, moved_without = _distribution(counts, ~long, data.weights, data.items + 1)
    # F0(y) - F1(y) for y = 0 .. J, and F1(y) - F0(y - 1) for y = 0 .. J.
    step = np.eye(data.items + 1, data.items + 2)
    back = np.eye(data.items + 1, data.items + 2, -1)
    yes = step @ (without - with_item)
    no = step @ with_item - back @ without
    of_yes = _covariance((moved_without - moved_with) @ step.T, data)
    of_no = _covariance(moved_with @ step.T - moved_without @ back.T, data)
    # The last share of one family and the first of the other are shares of counts, which are never negative.
    people = len(counts)
    worst = min(
        _p_value(yes[:-1], of_yes[:-1, :-1], people),
        _p_value(no[1:], of_no[1:, 1:], people),
    )
    errors = np.sqrt(np.maximum(np.column_stack([np.diag(of_no), np.diag(of_yes)]), 0.0))
    return DesignTest(np.column_stack([no, yes]), errors, min(1.0, 2 * worst))


def _distribution(counts: Integers, rows: Flags, weights: Floats | None, most: int) -> tuple[Floats, Floats]:
    """The distribution function at 0 .. most, and how much each row moves it."""
    below = (counts[:, None] <= np.arange(most + 1)).astype(float)
    heft = np.where(rows, 1.0 if weights is None else weights, 0.0)
    law = heft @ below / heft.sum()
    return law, (below - law) * (heft / heft.sum())[:, None]


def _covariance(influence: Floats, data: ListCounts) -> Floats:
    return influence.T @ influence if data.sample is None else data.sample.plain_covariance(influence)


def _p_value(shares: Floats, covariance: Floats, people: int) -> float:
    """P-value of shares that should not be negative: a mixture of chi-square laws (Kudo 1963)."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if np.any((errors <= np.sqrt(_NO_SPREAD)) & (shares < -_NO_SPREAD)):
        return 0.0
    unsure = (errors > np.sqrt(_NO_SPREAD)) & (shares < np.sqrt(np.log(people)) * errors)
    if not unsure.any() or shares[unsure].min() >= 0:
        return 1.0
    from scipy.special import gammaincc, ndtri
    from scipy.stats import qmc

    scale = errors[unsure]
    correlation = covariance[np.ix_(unsure, unsure)] / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    seen = values > _NO_SPREAD
    root = vectors[:, seen] * np.sqrt(values[seen])
    whiten = (vectors[:, seen] / np.sqrt(values[seen])).T
    statistic, _ = _distance(whiten, shares[unsure] / scale)
    normal = ndtri(qmc.Sobol(int(seen.sum()), scramble=False).random(_POINTS + 1)[1:])
    free = np.array([_distance(whiten, root @ point)[1] for point in normal])
    tails = [gammaincc(degrees / 2, statistic / 2) if degrees else 0.0 for degrees in range(len(scale) + 1)]
    return float(np.mean(np.take(tails, free)))


def _distance(whiten: Floats, point: Floats) -> tuple[float, Any]:
    """Squared distance to the non-negative numbers in the metric of the noise, and in how many directions it is."""
    from scipy.optimize import nnls

    nearest, distance = nnls(whiten, whiten @ point)
    return distance**2, min(int((nearest <= 0).sum()), len(whiten))
