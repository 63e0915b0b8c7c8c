"""The law of a weighted sum of chi-squares, by its moments."""

import numpy as np


def weighted_chi_square_tail(value: float, mean: float, variance: float, skewness: float) -> float:
    """P(Q >= value) for a weighted sum of chi-squares, by the gamma law with its first three moments.

    Exact for equal weights.

    Examples
    --------
    >>> round(weighted_chi_square_tail(11.07, 5.0, 10.0, 8 * 5 / 10**1.5), 4)  # chi-square of 5 degrees of freedom
    0.05
    """
    from scipy.special import gammaincc

    shape = 4 / skewness**2
    at = shape + np.sqrt(shape) * (value - mean) / np.sqrt(max(variance, 1e-300))
    return float(gammaincc(shape, max(at, 0.0)))
