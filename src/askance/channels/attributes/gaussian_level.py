"""Epsilon and delta of normal noise (Balle & Wang 2018), never below the truth.

With noise of standard deviation s, truths that differ by 1 in the 2-norm, and a = 1/2s - epsilon s,

    delta(epsilon) = Phi(a) - e^epsilon Phi(-1/2s - epsilon s) = int_{-inf}^a phi(x) (1 + x / sqrt(x^2 + 2 epsilon)) dx.

The difference loses all its digits where delta is small beside Phi(a): at epsilon = delta = 1e-12 it was 3e-6 too
small. The integrand is positive, so that the integral keeps them. (Its derivative by 1/s is phi(a) on both sides.)
"""

import functools
import math
import sys

import numpy as np

from askance.arrays import Floats

_NODES = 20  # of each panel: errors of 1e-15 where a panel is no wider than the integrand's own scales
_PANELS = 12  # over which phi falls by at most e^-4 each
_NEGLIGIBLE = 48.0  # what is left out is e^-48 of what is counted, and less than the margin below
_MARGIN = 1e-12  # relative: measured errors against 60 digits are below 1e-14


def gaussian_delta(deviation: float, epsilon: float) -> float:
    """Return the delta of normal noise at epsilon, for truths that differ by 1 in the 2-norm; rounded up.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    inner, outer = 0.5 / deviation, epsilon * deviation
    if not epsilon:
        return math.erf(inner / math.sqrt(2)) * (1 + _MARGIN)
    end = inner - outer
    if not end > -38.0:  # below it no double can tell delta from 0
        return sys.float_info.min
    if end > 9.0:  # where normal numbers almost never are: less than 1e-18 is beyond
        return min(1.0, gaussian_tail(9.0, epsilon) * (1 + _MARGIN))
    # A rounding error of the end moves the integral by at most the ratio of phi to Phi, which is below 1 + |end|.
    slack = _MARGIN + 4 * sys.float_info.epsilon * (1 + abs(end)) * (inner + outer)
    return min(1.0, gaussian_tail(end, epsilon) * (1 + slack))


def gaussian_tail(end: float, epsilon: float) -> float:
    """Return the integral of phi(x) (1 + x / sqrt(x^2 + 2 epsilon)) up to ``end``."""
    farthest = min(end, 0.0)
    start = farthest - (math.sqrt(farthest * farthest + 2 * _NEGLIGIBLE) + farthest)
    # Two scales: that of phi, and around 0 that of the root, which may be many orders of magnitude smaller.
    root = math.sqrt(2 * epsilon)
    near = [0.0, *_powers(root)]
    ends = np.unique(np.clip([*np.linspace(start, end, _PANELS + 1), *near, *(-x for x in near)], start, end))
    points, weights = _legendre()
    half = np.diff(ends)[:, None] / 2
    x: Floats = (ends[:-1, None] + half) + half * points
    length = np.hypot(x, root)
    share = np.where(x < 0, root * (root / length) / (length - np.minimum(x, 0)), 1 + x / length)
    return float((np.exp(-x * x / 2) * share * weights * half).sum() / math.sqrt(2 * math.pi))


def _powers(root: float) -> list[float]:
    """Return ends of panels that grow with the distance from 0, from below the root to where phi ends."""
    count = max(0, math.ceil(math.log(20.0 / root, 4))) + 3
    return [root * 4.0 ** (k - 2) for k in range(count)]


@functools.cache
def _legendre() -> tuple[Floats, Floats]:
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    return points, weights


def gaussian_epsilon(deviation: float, delta: float) -> float:
    """Return the least epsilon that normal noise gives at delta, for truths that differ by 1 in the 2-norm.

    Examples
    --------
    >>> round(gaussian_epsilon(1.0, 0.126936737507), 6)
    1.0
    """
    low, high = 0.0, 1.0
    while gaussian_delta(deviation, high) > delta:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if gaussian_delta(deviation, middle) > delta else (low, middle)
    return high * (1 + 1e-9)  # a hair more: beyond the rounding errors of the formula
