"""The level of added noise, worked out once more from its density and from nothing that the channel says of itself."""

import math

import numpy as np

from askance.channels.attributes.noise_law import GaussianCoordinate, NoiseCoordinate


def exact_noise_level(law: NoiseCoordinate) -> float:
    """Return the level of noise within public bounds; infinite without them.

    The two truths are at the ends of the bounds. For Laplace noise the log-ratio of the densities is bounded, and its
    maximum is looked up on a grid beyond both ends. For normal noise delta(epsilon) is the integral of
    max(0, p - e^epsilon q), and epsilon is where it falls to the stated delta.

    Examples
    --------
    >>> from askance.channels.attributes.noise_law import LaplaceCoordinate
    >>> round(exact_noise_level(LaplaceCoordinate(0.5, (0.0, 1.0))), 9)
    2.0
    """
    if law.bounds is None or law.size <= 0:
        return math.inf
    shift = (law.bounds[1] - law.bounds[0]) / law.size
    standard = type(law)(1.0)
    if not isinstance(law, GaussianCoordinate):
        at = np.linspace(-shift - 5, shift + 5, 10_001)
        return float(np.max(np.abs(standard.log_density(at) - standard.log_density(at - shift))))
    low, high = 0.0, 1.0
    while _delta(shift, high) > law.delta:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(shift, middle) > law.delta else (low, middle)
    return high


def _delta(shift: float, epsilon: float) -> float:
    """Integrate max(0, p(z) - e^epsilon p(z + shift)): it is positive above z = epsilon/shift - shift/2."""
    from scipy.integrate import quad

    start = epsilon / shift - shift / 2
    if start > 38:
        return 0.0

    def surplus(z: float) -> float:
        return math.exp(-0.5 * z * z) * -math.expm1(epsilon - shift * z - 0.5 * shift * shift)

    begin = max(start, -38.0)
    area = sum(quad(surplus, begin + a, begin + b, epsabs=0, epsrel=1e-10, limit=200)[0] for a, b in _PIECES)
    return float(area / math.sqrt(2 * math.pi))


_PIECES = ((0.0, 1.0), (1.0, 4.0), (4.0, 12.0), (12.0, 40.0), (40.0, 80.0))
