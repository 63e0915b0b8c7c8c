"""What a total of shaped rows should be under a linear model, and how it moves with it: sums over features alone."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.learning.totals.even_risk import BLOCK_ROWS
from askance.mechanisms.sums.label_shape import LabelShape
from askance.solvers.softmax import posterior
from askance.statistics.base import Records, add_fields


class ShapedTotals(NamedTuple):
    """Sums over records at one parameter value."""

    rows: int
    moments: Floats  # contrasts x k: of the expected indicators of classes times shaped rows
    slopes: Floats | None  # contrasts x k x contrasts x p: their derivative
    second: Floats  # k x k: of shaped rows
    spread: float  # of standardised rows, squared


@dataclass(frozen=True, eq=False)
class ShapedSums:
    """Sum z A'p(x) and its derivative over records, p the classes' probabilities by scores A theta.(1, x).

    Parameters
    ----------
    theta : array, (K - 1) x p
        One row for each contrast, the intercept's entry first if there is one.
    contrasts : array, K x (K - 1)
        A: orthogonal columns of sum zero.
    shape : LabelShape
    intercept : bool
    made : bool
        Whether the features are standardised and shaped rows already, side by side.
    with_slopes : bool
    """

    theta: Floats
    contrasts: Floats
    shape: LabelShape
    intercept: bool
    made: bool = False
    with_slopes: bool = True

    def empty(self) -> ShapedTotals:
        free, width = self.theta.shape
        shaped = self.shape.width + int(self.intercept)
        slopes = np.zeros((free, shaped, free, width)) if self.with_slopes else None
        return ShapedTotals(0, np.zeros((free, shaped)), slopes, np.zeros((shaped, shaped)), 0.0)

    def merge(self, first: ShapedTotals, second: ShapedTotals) -> ShapedTotals:
        return add_fields(first, second)

    def observe(self, records: Records) -> ShapedTotals:
        total = self.empty()
        for start in range(0, len(records), BLOCK_ROWS):
            total = self.merge(total, self._observe_block(records.features[start : start + BLOCK_ROWS]))
        return total

    def _observe_block(self, features: Floats) -> ShapedTotals:
        columns = self.shape.columns
        if self.made:
            standard, shaped = features[:, :columns], features[:, columns:]
        else:
            standard, shaped = self.shape.standard(features), self.shape.rows(features)
        ones = np.ones((len(features), int(self.intercept)))
        x, z = np.column_stack([ones, standard]), np.column_stack([ones, shaped])
        scores = (x @ self.theta.T) @ self.contrasts.T
        chances = posterior(scores[:, 1:] - scores[:, :1]).probabilities
        expected = chances @ self.contrasts
        slopes = None
        if self.with_slopes:
            free = self.theta.shape[0]
            slopes = np.empty((free, z.shape[1], free, x.shape[1]))
            for a in range(free):
                for b in range(a + 1):
                    moved = chances @ (self.contrasts[:, a] * self.contrasts[:, b]) - expected[:, a] * expected[:, b]
                    slopes[a, :, b] = slopes[b, :, a] = (z * moved[:, None]).T @ x
        return ShapedTotals(len(features), expected.T @ z, slopes, z.T @ z, float((standard**2).sum()))
