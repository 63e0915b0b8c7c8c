"""Hashes of rows: equal for equal numbers, wherever the rows stand."""

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.compiled import compiled

_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, and as good as random: 2^64 over the golden ratio
_HALF = np.uint64(32)
_MINUS_ZERO, _ZERO = np.uint64(1 << 63), np.uint64(0)


def row_hashes(features: Floats) -> NDArray[np.uint64]:
    """Return a number of 64 bits for each row: the same for the same numbers, and for others never in practice.

    Examples
    --------
    >>> hashes = row_hashes(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]]))
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    hashes = np.empty(len(features), dtype=np.uint64)
    _hash_rows(np.ascontiguousarray(features, dtype=np.float64).view(np.uint64), hashes)
    return hashes


@compiled
def _hash_rows(bits, hashes):  # type: ignore[no-untyped-def]
    for i in range(bits.shape[0]):
        mixed = _ZERO
        for j in range(bits.shape[1]):
            value = bits[i, j]
            if value == _MINUS_ZERO:
                value = _ZERO
            mixed = (mixed ^ value) * _MIX
            mixed ^= mixed >> _HALF
        mixed *= _MIX
        hashes[i] = mixed ^ (mixed >> _HALF)
