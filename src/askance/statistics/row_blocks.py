"""Batches in pieces that fit a core's cache, so that a pass reads the data from memory once."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.statistics.base import Records

BLOCK_ROWS = 4096  # of 30 columns: a megabyte, which is the second cache of a core; fewer rows cost more calls


_SLOPE_BYTES = 1 << 21  # of what is read twice and not copied; half and twice as many are as fast


def blocks(records: Records, rows: int = BLOCK_ROWS) -> Iterator[Records]:
    """Cut a batch into cache-sized blocks."""
    for start in range(0, len(records), rows):
        yield records.rows(start, start + rows)


def small_blocks(records: Records) -> Iterator[Records]:
    """Cut a batch into blocks that stay in the cache however many columns they have, for sums that cost little each."""
    by_row = records.features.shape[1] * records.features.itemsize
    return blocks(records, min(BLOCK_ROWS, max(_SLOPE_BYTES // max(by_row, 1), 1)))


def gram(rows: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return sum_i weights_i z_i z_i'.

    A matrix times its own transpose takes half of the products, which numpy knows to use: so weights are drawn into the
    rows by their roots, and rows of negative weight are summed apart.
    """
    if weights is None:
        product: NDArray[np.float64] = rows.T @ rows
        return product
    below = weights < 0
    if below.any():
        return gram(rows[~below], weights[~below]) - gram(rows[below], -weights[below])
    return gram(rows * np.sqrt(weights)[:, None])


def with_intercept(
    features: NDArray[np.float64],
    intercept: bool,
    centre: NDArray[np.float64] | None = None,
    dtype: type[np.floating[Any]] = np.float64,
) -> NDArray[Any]:
    """Return the features, less their centre, with a leading column of ones; without an intercept, as they are."""
    if not intercept:
        return features.astype(dtype, copy=False)
    rows = np.empty((features.shape[0], features.shape[1] + 1), dtype)
    rows[:, 0] = 1.0
    # Subtracted as they came, rounded after: columns far from zero keep their digits.
    np.subtract(features, 0.0 if centre is None else centre, out=rows[:, 1:], dtype=np.float64, casting="same_kind")
    return rows
