"""How many vectors of whole numbers have sum zero and a given size: logarithms, by counting compositions."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats


def log_vectors(count: int, up: NDArray[np.int64], down: NDArray[np.int64]) -> Floats:
    """Return log of how many whole vectors have positive numbers of sum ``up`` and negative ones of sum -``down``.

    Of p positive numbers there are C(up - 1, p - 1), and C(down + q - 1, q - 1) of q others.

    Examples
    --------
    >>> np.exp(log_vectors(3, np.array([1]), np.array([1]))).round(6)
    array([6.])
    """
    total = np.full(np.broadcast(up, down).shape, -np.inf)
    for p in range(count + 1):
        ways = _log_binomial(count, p) + _positive_parts(up, p) + _other_parts(down, count - p)
        total = np.logaddexp(total, ways)
    return total


def _positive_parts(total: NDArray[np.int64], parts: int) -> Floats:
    if parts == 0:
        return np.where(total == 0, 0.0, -np.inf)
    return np.where(total >= parts, _log_binomial(total - 1, parts - 1), -np.inf)


def _other_parts(total: NDArray[np.int64], parts: int) -> Floats:
    if parts == 0:
        return np.where(total == 0, 0.0, -np.inf)
    return _log_binomial(total + parts - 1, parts - 1)


def _log_binomial(n: Any, k: Any) -> Floats:
    from scipy.special import gammaln

    chosen = np.maximum(n, k)
    return np.asarray(gammaln(chosen + 1.0) - gammaln(k + 1.0) - gammaln(chosen - k + 1.0))


def rim_probabilities(classes: int, epsilon: float, most: int) -> Floats:
    """Return delta for every radius from 1 to ``most``.

    What the neighbour cannot reach are the vectors on the rim with z_i <= 0 and z_j >= 0: its noise is one larger
    there.
    """
    radii = np.arange(most + 1)
    whole = np.logaddexp.accumulate(log_vectors(classes, radii, radii) - epsilon * radii)
    rim = np.full(most + 1, -np.inf)
    for p in range(1, classes):
        ways = _positive_parts(radii, p)
        if p <= classes - 1:  # j among the positive, i among the others
            rim = np.logaddexp(rim, _choose(classes - 2, p - 1) + ways + _other_parts(radii, classes - p))
        if p <= classes - 2:  # j is zero, i among the others
            rim = np.logaddexp(rim, _choose(classes - 2, p) + ways + _other_parts(radii, classes - p - 1))
    probabilities: Floats = np.exp(rim - epsilon * radii - whole)
    return probabilities[1:]


def _choose(n: int, k: int) -> float:
    return math.log(math.comb(n, k)) if k <= n else -math.inf
