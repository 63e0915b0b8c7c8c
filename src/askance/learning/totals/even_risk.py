"""The part of a linear-odd risk that needs no label, and its derivatives: sums over features alone."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.learning.totals.losses import Loss
from askance.statistics.base import Records, add_fields

BLOCK_ROWS = 2048  # so many rows, and what is computed from them, fit the cache of a core


class EvenSums(NamedTuple):
    """Sums over records at one parameter value."""

    rows: int
    value: float
    gradient: Floats
    curvature: Floats | None


@dataclass(frozen=True, eq=False)
class EvenRisk:
    """Sum even(theta.z), even'(theta.z) z and even''(theta.z) z z' over records, with z = (1, x - centre), or x.

    Parameters
    ----------
    loss : Loss
    theta : array, p
        The intercept's entry first, if there is one.
    intercept : bool
    centre : array, d, optional
        Subtracted from the features where there is an intercept.
    with_curvature : bool
        Whether to sum the second derivatives, which take most of the time.
    """

    loss: Loss
    theta: Floats
    intercept: bool
    centre: Floats | None = None
    with_curvature: bool = True

    def empty(self) -> EvenSums:
        size = len(self.theta)
        return EvenSums(0, 0.0, np.zeros(size), np.zeros((size, size)) if self.with_curvature else None)

    def merge(self, first: EvenSums, second: EvenSums) -> EvenSums:
        return add_fields(first, second)

    def observe(self, records: Records) -> EvenSums:
        total = self.empty()
        room = np.empty((min(BLOCK_ROWS, len(records)), len(self.theta)))  # one for all blocks: it stays in cache
        for start in range(0, len(records), BLOCK_ROWS):
            block = records.features[start : start + BLOCK_ROWS]
            total = self.merge(total, self._observe_block(block, room[: len(block)]))
        return total

    def _observe_block(self, features: Floats, rows: Floats) -> EvenSums:
        first = int(self.intercept)
        rows[:, :first] = 1.0
        np.subtract(features, 0.0 if self.centre is None or not first else self.centre, out=rows[:, first:])
        scores = rows @ self.theta
        if not self.with_curvature:
            even, slope = self.loss.even(scores), self.loss.even_slope(scores)
            return EvenSums(len(rows), float(even.sum()), slope @ rows, None)
        even, slope, curvature = self.loss.derivatives(scores)
        gradient = slope @ rows
        if self.loss.convex:  # a matrix times its own transpose is half the work
            rows *= np.sqrt(curvature)[:, None]
            second = rows.T @ rows
        else:
            second = (rows * curvature[:, None]).T @ rows
        return EvenSums(len(rows), float(even.sum()), gradient, second)
