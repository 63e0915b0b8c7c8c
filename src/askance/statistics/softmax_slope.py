"""The softmax objective and its slope alone: what a search over many columns can afford at every point."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.statistics.base import Records, add_fields
from askance.statistics.row_blocks import small_blocks
from askance.statistics.softmax_loops import differentiate
from askance.statistics.softmax_score import Method


class SlopeSums(NamedTuple):
    """Sums over records, at one parameter value."""

    rows: int
    objective: float
    gradient: Floats


@dataclass(frozen=True, eq=False)
class SoftmaxSlope:
    """Objective and gradient of :class:`SoftmaxScore` at ``theta``, whose parameters it has.

    Its cost grows with the columns, not with their square. Features are not copied to be centred, which costs digits
    where their centre is far from zero: it leads near to a maximum, and does not say where it is.
    """

    theta: Floats
    table: Floats
    method: Method
    intercept: bool
    centre: Floats | None = None

    def empty(self) -> SlopeSums:
        return SlopeSums(0, 0.0, np.zeros(self.theta.size))

    def merge(self, first: SlopeSums, second: SlopeSums) -> SlopeSums:
        return add_fields(first, second)

    def observe(self, records: Records) -> SlopeSums:
        free = len(self.theta)
        slopes = np.ascontiguousarray(self.theta[:, self.intercept :].T)
        centre = np.zeros(len(slopes)) if self.centre is None or not self.intercept else self.centre
        offset = (self.theta[:, 0] if self.intercept else 0.0) - centre @ slopes
        table = np.array(self.table)  # a copy: for one that nobody may write to, the loop would be compiled once more
        objective, by_column, of_all = 0.0, np.zeros((free, len(slopes))), np.zeros(free)
        for block in small_blocks(records):
            score = np.empty((len(block), free))
            curvature = np.empty((len(block), free * (free + 1) // 2))
            weights = np.empty(0) if block.weights is None else block.weights
            # Of two classes a matrix times a vector: a matrix of one column would take a slower way.
            logits = (block.features @ slopes[:, 0])[:, None] if free == 1 else block.features @ slopes
            logits += offset
            objective += differentiate(logits, block.codes, table, weights, self.method == "marginal", score, curvature)
            by_column += score[:, 0] @ block.features if free == 1 else score.T @ block.features
            of_all += score.sum(axis=0)
        gradient = by_column - np.outer(of_all, centre)
        if self.intercept:
            gradient = np.column_stack([of_all, gradient])
        return SlopeSums(len(records), objective, gradient.ravel())
