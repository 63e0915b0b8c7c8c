"""The level of one attribute, worked out once more from its law and from nothing that the channel says of itself."""

import math
from functools import singledispatch
from typing import Any

import numpy as np

from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.channels.attributes.noise_law import GaussianCoordinate, LaplaceCoordinate, NoiseCoordinate
from askance.planning.auditing.cell_tests import enumerated_epsilon

_GRID = 10_001  # places where the log-ratio of Laplace densities is looked up; it is constant beyond both truths
_HALVINGS = 60  # of an interval, until it is as narrow as the digits of a double
_NO_MORE = 38.0  # standard deviations: the normal density beyond is below the smallest double
# Where the integral is cut, so that no piece is so wide that the integrand's bulk is overlooked; the last ends beyond
# both tails.
_PIECES = ((0.0, 1.0), (1.0, 4.0), (4.0, 12.0), (12.0, 40.0), (40.0, 80.0))


@singledispatch
def exact_law_level(law: Any) -> float:
    """Return the level of one attribute; that of noise is infinite without public bounds.

    A table's is enumerated. With noise, the two truths are at the ends of the bounds. For Laplace noise the log-ratio
    of the densities is bounded, and its maximum is looked up on a grid beyond both ends. For normal noise
    delta(epsilon) is the integral of max(0, p - e^epsilon q), and epsilon is where it falls to the stated delta.

    Examples
    --------
    >>> from askance.channels.attributes.noise_law import LaplaceCoordinate
    >>> round(exact_law_level(LaplaceCoordinate(0.5, (0.0, 1.0))), 9)
    2.0
    """
    raise TypeError(f"nothing is known about the law {law!r}")


@exact_law_level.register
def _(law: FiniteCoordinate) -> float:
    return enumerated_epsilon(law.counts)


@exact_law_level.register
def _(law: LaplaceCoordinate) -> float:
    shift, standard = _shift(law), LaplaceCoordinate(1.0)
    if math.isinf(shift):
        return math.inf
    at = np.linspace(-shift - 5, shift + 5, _GRID)
    return float(np.max(np.abs(standard.log_density(at) - standard.log_density(at - shift))))


@exact_law_level.register
def _(law: GaussianCoordinate) -> float:
    return exact_normal_level(_shift(law), law.delta)


@singledispatch
def normal_shift(law: Any) -> float | None:
    """Return how far apart two truths can be, in standard deviations of normal noise; None for every other law."""
    return None


@normal_shift.register
def _(law: GaussianCoordinate) -> float | None:
    shift = _shift(law)
    return shift if math.isfinite(shift) else None


def _shift(law: NoiseCoordinate) -> float:
    """How far apart two truths can be, in sizes of the noise; infinite without bounds or noise."""
    return math.inf if law.bounds is None or law.size <= 0 else (law.bounds[1] - law.bounds[0]) / law.size


def exact_normal_level(shift: float, delta: float) -> float:
    """Return the level of normal noise at delta, for truths so many standard deviations apart."""
    if math.isinf(shift):
        return math.inf
    low, high = 0.0, 1.0
    while _delta(shift, high) > delta:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(shift, middle) > delta else (low, middle)
    return high


def _delta(shift: float, epsilon: float) -> float:
    """Integrate max(0, p(z) - e^epsilon p(z + shift)): it is positive above z = epsilon/shift - shift/2."""
    from scipy.integrate import quad

    start = epsilon / shift - shift / 2
    if start > _NO_MORE:
        return 0.0

    def surplus(z: float) -> float:
        return math.exp(-0.5 * z * z) * -math.expm1(epsilon - shift * z - 0.5 * shift * shift)

    begin = max(start, -_NO_MORE)
    area = sum(quad(surplus, begin + a, begin + b, epsabs=0, epsrel=1e-10, limit=200)[0] for a, b in _PIECES)
    return float(area / math.sqrt(2 * math.pi))
