"""Probabilities as integers out of 2^62, so that what is declared is exactly what is drawn.

A channel is a table of integer counts whose columns sum to 2^62. Samplers compare random integers with
these counts, and the privacy level is computed from them: there is no rounding between the promise and
the draw. A double with probability above 2^-9 is represented without any error.
"""

import math
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

RESOLUTION_BITS = 62  # sums stay inside a signed 64-bit integer
RESOLUTION = 1 << RESOLUTION_BITS  # what counts are out of
_GUARD_BITS = 192  # of exp(epsilon) as an integer: 130 more than counts have, so that rounding is far below one count
_DIGITS = 120  # of exp(epsilon) in decimal: e^30 has 14 before the point, 192 bits are 58 after it, the rest is spare


def exact_counts(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Turn a column-stochastic matrix into integer counts that sum to 2^62 in every column.

    A positive probability never becomes zero (that would make a report impossible for one answer only, and
    so reveal it); the rounding remainder, at most a few parts in 2^53, goes to the largest entry.
    """
    counts: NDArray[np.int64] = np.rint(np.ldexp(probabilities, RESOLUTION_BITS)).astype(np.int64)
    counts[(counts == 0) & (probabilities > 0)] = 1
    columns = np.arange(counts.shape[1])
    counts[np.argmax(counts, axis=0), columns] += RESOLUTION - counts.sum(axis=0)
    counts.setflags(write=False)
    return counts


def exact_epsilon(counts: NDArray[np.int64] | NDArray[np.object_]) -> float:
    """Return max over reports and pairs of answers of log(P(report | a) / P(report | b)).

    Infinite when some report is possible for one answer and impossible for another.
    """
    most, least = counts.max(axis=1), counts.min(axis=1)
    possible = most > 0
    if np.any(least[possible] == 0):
        return math.inf
    # Python integers: the ratio of two counts, of 62 bits or more, is formed without a rounding of either.
    return max(log_ratio(int(a), int(b)) for a, b in zip(most[possible], least[possible], strict=True))


def log_ratio(larger: int, smaller: int) -> float:
    """Return log(larger / smaller) accurately, also when the two are nearly equal."""
    return math.log1p((larger - smaller) / smaller)


def shares_within(epsilon: float, base: list[int]) -> list[int]:
    """Return counts w for a base law so that, with 2^62 - sum(w) left to the truth, the level is epsilon.

    The level of "the truth with weight T, else a draw with weights w" is log(1 + T / min(w)). With
    w_i = 2^62 b_i / (sum(b) + (e^epsilon - 1) min(b)) it would be epsilon exactly; every rounding here is
    towards more privacy, so it is never above.

    Parameters
    ----------
    epsilon : float
        The wanted level.
    base : list of int
        The base law, in any unit.
    """
    scale = 1 << _GUARD_BITS
    with localcontext() as context:
        context.prec = _DIGITS
        growth = int((Decimal(epsilon).exp() - 1) * scale) - 1
    whole = scale * sum(base) + growth * min(base)
    return [-(-RESOLUTION * scale * share // whole) for share in base]
