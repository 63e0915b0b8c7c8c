"""Proportions: points of the simplex."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def project_to_simplex(point: Floats) -> Floats:
    """Return the nearest vector of non-negative numbers that sum to one.

    Examples
    --------
    >>> project_to_simplex(np.array([1.2, -0.2]))
    array([1., 0.])
    """
    point = point - point.max()  # the same projection, and exact however large the numbers are
    ordered = np.sort(point)[::-1]
    excess = np.cumsum(ordered) - 1
    ranks = np.arange(1, len(point) + 1)
    kept = int(np.flatnonzero(ordered - excess / ranks > 0)[-1])
    projected: Floats = np.maximum(point - excess[kept] / (kept + 1), 0.0)
    return projected
