"""What counts surely say about probabilities, and about the ratio of two."""

import math

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def limits(drawn: Counts, each: Counts, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Clopper and Pearson's limits, each of which fails with probability at most level / 2."""
    from scipy.special import betaincinv

    lower = np.where(drawn > 0, betaincinv(np.maximum(drawn, 1), each - drawn + 1, level / 2), 0.0)
    upper = np.where(drawn < each, 1 - betaincinv(np.maximum(each - drawn, 1), drawn + 1, level / 2), 1.0)
    return lower, upper


def sure_level(drawn: Counts, each: Counts, level: float) -> float:
    """Bound log(P(event | truth) / P(event | other)) from below; 0 is always true.

    Parameters
    ----------
    drawn, each : array of two
        How often the event came for the truth and for the other, out of how many draws.
    level : float
        The probability with which the bound may fail.

    Examples
    --------
    >>> import numpy as np
    >>> round(sure_level(np.array([750, 250]), np.array([1000, 1000]), 0.01), 2)
    0.91
    """
    lower, upper = limits(drawn, each, level)
    ratio = float(lower[0] / upper[1])
    return max(0.0, math.log(ratio)) if ratio > 0 else 0.0
