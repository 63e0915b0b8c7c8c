"""Batches in pieces that fit a core's cache, so that a pass reads the data from memory once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from askance.statistics.base import Records

BLOCK_ROWS = 4096  # of 30 columns: a megabyte, which is the second cache of a core; fewer rows cost more calls


def blocks(records: Records) -> Iterator[Records]:
    """Cut a batch into cache-sized blocks."""
    for start in range(0, len(records), BLOCK_ROWS):
        yield records.rows(start, start + BLOCK_ROWS)


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
    features: NDArray[np.float64], intercept: bool, centre: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the features, less their centre, with a leading column of ones; without an intercept, as they are."""
    if not intercept:
        return features
    rows = np.empty((features.shape[0], features.shape[1] + 1))
    rows[:, 0] = 1.0
    np.subtract(features, 0.0 if centre is None else centre, out=rows[:, 1:])
    return rows
