"""Mean and variance of a normal number of which a report with Laplace noise is known."""

import math

import numpy as np

from askance.arrays import Floats

# The tail of a normal law is erfc(x / sqrt 2) / 2, its mean absolute number sqrt(2 / pi).
_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_FAR_OUT = 100.0  # standard deviations: beyond it an expansion of normal tails is good to 1e-9
_HUGE = 1e300  # two of these can still be added up


def laplace_posterior(reports: Floats, variance: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return mean and variance of x given x + Laplace(scale), for x ~ N(0, variance).

    Below the report the posterior is N(variance / scale, variance), above it N(-variance / scale, variance), each cut
    off at the report; their weights are normal tails. Both pieces are seen from the report, which they are close to
    where the noise is small: nothing large is ever taken off something large.

    Examples
    --------
    >>> mean, variance = laplace_posterior(np.array([[1.0]]), np.array([1.0]), 1e-6)
    >>> mean.round(5), variance.round(5)
    (array([[1.]]), array([[0.]]))
    """
    from scipy.special import erfcx

    deviation, shift = np.sqrt(variance), variance / scale
    edges = (reports - shift) / deviation, -(reports + shift) / deviation
    # Weights are normal tails over normal densities at the edge, and those are equal seen from the report.
    tails = [np.minimum(erfcx(-edge * _ROOT_HALF), _HUGE) for edge in edges]
    weight = tails[0] / (tails[0] + tails[1])
    (low, low_variance), (high, high_variance) = map(_cut_off, edges, tails)
    mean = reports + deviation * ((1 - weight) * high - weight * low)
    within = weight * low_variance + (1 - weight) * high_variance
    return mean, variance * (within + weight * (1 - weight) * (low + high) ** 2)


def _cut_off(edge: Floats, tail: Floats) -> tuple[Floats, Floats]:
    """How far below the edge the mean of a standard normal law is that is cut off there, and its variance."""
    hazard = _ROOT_TWO_OVER_PI / tail
    gap = edge + hazard
    variance = 1 - hazard * gap
    out = edge <= -_FAR_OUT
    if out.any():  # both terms of a difference are large: an expansion in this
        far = edge[out] ** -2
        gap[out] = np.sqrt(far) * (1 - 2 * far + 10 * far**2)
        variance[out] = far * (1 - 6 * far + 50 * far**2)
    return gap, variance
