"""The spread of estimates of which a few are far out."""

import math

import numpy as np
from scipy.special import ndtri

from askance.arrays import Floats

_OUTSIDE = 0.05  # of the estimates, the outermost on both sides: what a 95% interval leaves out


def middle_spread(values: Floats) -> Floats:
    """The standard deviation of the middle 95% of the estimates, over that of the middle of a normal law.

    An estimate of few carriers is now and then far out, or runs away: of 1500 studies with a standard error of .24, a
    few such made the plain deviation 16% larger, which tells of no interval that anybody will see.

    Examples
    --------
    >>> middle_spread(np.random.default_rng(0).normal(size=(100_000, 1))).round(2)
    array([1.])
    """
    ordered, outer = np.sort(values, axis=0), round(_OUTSIDE / 2 * len(values))
    return np.asarray(ordered[outer : len(values) - outer].std(axis=0, ddof=1) / _of_normal(outer, len(values)))


def _of_normal(outer: int, studies: int) -> float:
    """The deviation of what is left of normal numbers without their outermost ones on both sides."""
    if not outer:
        return 1.0
    share = 1 - 2 * outer / studies
    end = float(ndtri(0.5 + share / 2))
    density = math.exp(-(end**2) / 2) / math.sqrt(2 * math.pi)
    return math.sqrt(1 - 2 * end * density / share)
