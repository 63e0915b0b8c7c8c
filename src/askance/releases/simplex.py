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


def whole_counts(shares: Floats, size: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the whole numbers nearest to size times share that sum to the size, for one group or a row for each.

    Examples
    --------
    >>> whole_counts(np.array([0.5, 0.3, 0.2]), 9)
    array([4, 3, 2])
    """
    wanted = shares * np.expand_dims(size, -1)
    whole = np.floor(wanted + 1e-9).astype(np.int64)
    missing = np.expand_dims(size - whole.sum(axis=-1), -1)
    by_remainder = np.argsort(np.argsort(whole - wanted, axis=-1, kind="stable"), axis=-1)
    counts: NDArray[np.int64] = whole + (by_remainder < missing)
    return counts
