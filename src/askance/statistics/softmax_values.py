"""The softmax objective at several parameter values in one pass: what a step costs, or at most can cost."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.solvers.softmax import posterior
from askance.statistics.base import Records, add_fields
from askance.statistics.row_blocks import blocks, with_intercept
from askance.statistics.softmax_loops import add_cubed_reaches, add_cubes
from askance.statistics.softmax_score import NARROW, Method

_LOGITS = 1 << 18  # of doubles, two megabytes; half and twice as many take as long


class ObjectiveSums(NamedTuple):
    """Sums over records: the objective at each of several parameter values."""

    rows: int
    values: Floats


@dataclass(frozen=True, eq=False)
class SoftmaxValues:
    """Sum the objective of :class:`SoftmaxScore` at each of several parameter values.

    Parameters
    ----------
    thetas : array, m x K-1 x p
    table, method, intercept, centre
        As for :class:`SoftmaxScore`.
    """

    thetas: Floats
    table: Floats
    method: Method
    intercept: bool
    centre: Floats | None = None

    def empty(self) -> ObjectiveSums:
        return ObjectiveSums(0, np.zeros(len(self.thetas)))

    def merge(self, first: ObjectiveSums, second: ObjectiveSums) -> ObjectiveSums:
        return add_fields(first, second)

    def observe(self, records: Records) -> ObjectiveSums:
        if self.thetas.shape[2] > NARROW:
            return self._observe_wide(records)
        values = np.zeros(len(self.thetas))
        for block in blocks(records):
            rows = with_intercept(block.features, self.intercept, self.centre)
            chances = self.table[block.codes]
            weights = np.ones(len(block)) if block.weights is None else block.weights
            for number, theta in enumerate(self.thetas):
                values[number] += weights @ self._objective(rows @ theta.T, chances)
        return ObjectiveSums(len(records), values)

    def _observe_wide(self, records: Records) -> ObjectiveSums:
        """All points by one product of matrices, in blocks whose logits stay in a core's cache."""
        points, free, width = self.thetas.shape
        across, values = np.ascontiguousarray(self.thetas.reshape(-1, width).T), np.zeros(points)
        for block in blocks(records, max(_LOGITS // (points * free), 1)):
            rows = with_intercept(block.features, self.intercept, self.centre)
            chances = np.repeat(self.table[block.codes], points, axis=0)
            found = self._objective((rows @ across).reshape(-1, free), chances).reshape(-1, points)
            values += found.sum(axis=0) if block.weights is None else block.weights @ found
        return ObjectiveSums(len(records), values)

    def _objective(self, logits: Floats, chances: Floats) -> Floats:
        law = posterior(logits)
        if self.method == "marginal":
            evidence = (law.probabilities * chances).sum(axis=1)
            return np.asarray(np.log(np.maximum(evidence, np.finfo(float).tiny)))
        return np.asarray((chances[:, 1:] * logits).sum(axis=1) - law.log_partition)


@dataclass(frozen=True, eq=False)
class CubedReaches:
    """Sum the cubes of what several steps do to each record's logits: the distance that they move them apart.

    It bounds how far the objective of :class:`SoftmaxScore` is from a parabola: its third derivative along a step is
    the difference of two third cumulants, each at most reach^3 / (6 sqrt 3), whatever the channel.

    Parameters
    ----------
    steps : array, m x K-1 x p
    intercept, centre
        As for :class:`SoftmaxScore`.
    """

    steps: Floats
    intercept: bool
    centre: Floats | None = None

    def empty(self) -> ObjectiveSums:
        return ObjectiveSums(0, np.zeros(len(self.steps)))

    def merge(self, first: ObjectiveSums, second: ObjectiveSums) -> ObjectiveSums:
        return add_fields(first, second)

    def observe(self, records: Records) -> ObjectiveSums:
        values = np.zeros(len(self.steps))
        if self.steps.shape[2] <= NARROW:
            features = np.ascontiguousarray(records.features)
            centre = np.zeros(features.shape[1]) if self.centre is None else self.centre
            weights = np.empty(0) if records.weights is None else records.weights
            # In one order of memory: for each the loop is compiled anew.
            steps = np.ascontiguousarray(self.steps)
            add_cubed_reaches(features, centre, self.intercept, steps, weights, values)
            return ObjectiveSums(len(records), values)
        # A bound needs few digits, and half of them take half of the time; what they cannot hold makes it no number.
        with np.errstate(over="ignore", invalid="ignore"):
            across = self.steps.reshape(-1, self.steps.shape[2]).T.astype(np.float32, order="C")
            for block in blocks(records):
                rows = with_intercept(block.features, self.intercept, self.centre, np.float32)
                moved = (rows @ across).reshape(len(block), *self.steps.shape[:2])
                add_cubes(moved, np.empty(0) if block.weights is None else block.weights, values)
        return ObjectiveSums(len(records), values)
