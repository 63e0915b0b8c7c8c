"""Tables of counts against tables of probabilities: exact levels, exact tests of every cell, what reveals most."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askance.planning.auditing.clopper_pearson import limits

Table = NDArray[np.int64]

_POWER = 0.99  # the probability with which what is called detectable would be noticed


def enumerated_epsilon(counts: Table) -> float:
    """Return the exact level of a table of counts, reports x truths, in exact integer arithmetic."""
    worst = Fraction(1)
    for row in counts.tolist():
        most, least = max(row), min(row)
        if most == 0:
            continue  # a report that nobody gives
        if least == 0:
            return math.inf
        worst = max(worst, Fraction(most, least))
    return math.log1p(worst - 1)


def binomial_p_values(drawn: Table, each: Table, expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two-sided exact p-values: twice the smaller tail."""
    from scipy.stats import binom

    below = binom.cdf(drawn, each, expected)
    above = binom.sf(drawn - 1, each, expected)
    doubled: NDArray[np.float64] = np.minimum(1.0, 2 * np.minimum(below, above))
    return doubled


def most_revealing(drawn: Table, level: float) -> tuple[int, int, int]:
    """Return the report, the truth that it favours and the truth that it disfavours, by the sure log-ratio."""
    lower, upper = limits(drawn, drawn.sum(axis=0), level)
    favoured, disfavoured = lower.argmax(axis=1), upper.argmin(axis=1)
    rows = np.arange(len(drawn))
    report = int((lower[rows, favoured] / upper[rows, disfavoured]).argmax())
    return report, int(favoured[report]), int(disfavoured[report])


def detectable(expected: NDArray[np.float64], each: int, level: float) -> float:
    """About how far off a probability must be to be noticed with probability 0.99 (normal approximation)."""
    from scipy.special import ndtri

    spread = float(np.sqrt(expected * (1 - expected)).max() / math.sqrt(each))
    once = -math.log(1 - _POWER) / each  # what should never happen is noticed when it happens once
    return max(once, float((-ndtri(level / 2) + ndtri(_POWER)) * spread))
