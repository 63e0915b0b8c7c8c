"""Epsilon and delta of normal noise, exactly (Balle & Wang 2018).

delta(epsilon) = Phi(1/2s - epsilon s) - e^epsilon Phi(-1/2s - epsilon s), for noise of standard deviation s and truths
that differ by 1 in the 2-norm.
"""

import math


def gaussian_delta(deviation: float, epsilon: float) -> float:
    """Return the delta of normal noise at epsilon, for truths that differ by 1 in the 2-norm.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    from scipy.special import log_ndtr

    near, far = 0.5 / deviation - epsilon * deviation, -0.5 / deviation - epsilon * deviation
    first, second = float(log_ndtr(near)), epsilon + float(log_ndtr(far))
    return -math.exp(first) * math.expm1(second - first)


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
