"""Objective, score and information of the softmax model under a finite channel: where model and channel meet.

Two objectives, both sums over records, with eta the logits of record i and A its log-partition:

- moments:  sum_k R[k, o_i] eta_k - A,     concave; R is the channel's unbiasing matrix;
- marginal: log sum_k S[o_i, k] p(k | x_i), the likelihood of the report; S is the channel's matrix.

For one parameter value each is a statistic, so a solver needs nothing but an engine's ``reduce``.
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from askance.arrays import Floats, Integers
from askance.statistics.base import Records, add_fields
from askance.statistics.row_blocks import blocks, gram, with_intercept
from askance.statistics.softmax_loops import add_sums, differentiate

Method = Literal["marginal", "moments"]

_NO_WEIGHTS = np.empty(0)  # what compiled loops, which know no None, take in place of it
# Columns up to which our own loop, which copies nothing, beats copies and a matrix product of BLAS: measured at
# 3 to 785 columns, where it takes .4 (21), .7 (161), .95 (241), 1.1 (401) and 1.6 (785) times as long.
NARROW = 256


class ScoreSums(NamedTuple):
    """Sums over records, at one parameter value. Parameters are flattened class by class."""

    rows: int
    weight: float
    objective: float
    gradient: Floats
    information: Floats  # minus the Hessian
    outer: Floats | None  # sum of squared-weight score outer products, for sandwich covariances


@dataclass(frozen=True, eq=False)
class SoftmaxScore:
    """Objective, gradient and information at ``theta``.

    Parameters
    ----------
    theta : array, K-1 x p
        Parameters against the reference class; column 0 is the intercept if there is one.
    table : array, report codes x K
        The channel's matrix S (marginal) or the transposed unbiasing matrix R' (moments).
    method : "marginal" or "moments"
    intercept : bool
    with_outer : bool
        Also sum the outer products of the scores.
    centre : array, d, optional
        Subtracted from the features where there is an intercept: columns far from zero would cost digits.
    """

    theta: Floats
    table: Floats
    method: Method
    intercept: bool
    with_outer: bool = False
    centre: Floats | None = None

    def empty(self) -> ScoreSums:
        size = self.theta.size
        outer = np.zeros((size, size)) if self.with_outer else None
        return ScoreSums(0, 0.0, 0.0, np.zeros(size), np.zeros((size, size)), outer)

    def merge(self, first: ScoreSums, second: ScoreSums) -> ScoreSums:
        return add_fields(first, second)

    def observe(self, records: Records) -> ScoreSums:
        if self.theta.shape[1] <= NARROW:
            return self._observe_narrow(records)
        total = self.empty()
        for block in blocks(records):
            total = self.merge(total, self._observe_block(block))
        return total

    def _observe_narrow(self, records: Records) -> ScoreSums:
        features = np.ascontiguousarray(records.features)
        shape = (*self.theta.shape, *self.theta.shape)
        gradient, information = np.zeros(self.theta.shape), np.zeros(shape)
        outer = np.zeros(shape if self.with_outer else (0, 0, 0, 0))
        weights = _NO_WEIGHTS if records.weights is None else records.weights
        centre = np.zeros(features.shape[1]) if self.centre is None else self.centre
        objective = add_sums(
            features,
            centre,
            self.intercept,
            self.theta,
            records.codes,
            self._own_table(),
            weights,
            self.method == "marginal",
            gradient,
            information,
            outer,
        )
        return ScoreSums(
            len(records),
            _total(records),
            objective,
            gradient.ravel(),
            _mirrored(information),
            _mirrored(outer) if self.with_outer else None,
        )

    def _observe_block(self, records: Records) -> ScoreSums:
        rows = with_intercept(records.features, self.intercept, self.centre)
        free = self.theta.shape[0]
        score = np.empty((len(records), free))
        curvature = np.empty((len(records), free * (free + 1) // 2))
        weights = _NO_WEIGHTS if records.weights is None else records.weights
        objective = differentiate(
            rows @ self.theta.T, records.codes, self._own_table(), weights, self.method == "marginal", score, curvature
        )
        gradient = (score.T @ rows).ravel()
        outer = self._outer(rows, score) if self.with_outer else None
        return ScoreSums(len(records), _total(records), objective, gradient, self._information(rows, curvature), outer)

    def _own_table(self) -> Floats:
        """A copy: for the channel's own, which nobody may write to, the loops would be compiled once more."""
        return np.array(self.table)

    def _information(self, rows: Floats, curvature: Floats) -> Floats:
        classes, width = self.theta.shape
        information = np.empty((classes, width, classes, width))
        pairs = [(j, k) for j in range(classes) for k in range(j + 1)]
        for number, (j, k) in enumerate(pairs):
            block = gram(rows, curvature[:, number])
            information[j, :, k, :] = block
            information[k, :, j, :] = block.T
        return information.reshape(classes * width, classes * width)

    def _outer(self, rows: Floats, weighted_score: Floats) -> Floats:
        return gram((weighted_score[:, :, None] * rows[:, None, :]).reshape(rows.shape[0], -1))


def _total(records: Records) -> float:
    return float(len(records)) if records.weights is None else float(records.weights.sum())


@cache
def _above_the_diagonal(width: int) -> tuple[Integers, ...]:
    """Kept: to make them takes as long as the sums of a small survey."""
    return np.triu_indices(width, 1)


def _mirrored(sums: Floats) -> Floats:
    """Fill in the upper triangles, of every pair of classes and of the pairs themselves."""
    classes, width = sums.shape[:2]
    upper = _above_the_diagonal(width)
    for j in range(classes):
        for k in range(j + 1):
            block = sums[j, :, k]
            block[upper] = block.T[upper]
            sums[k, :, j] = block
    return sums.reshape(classes * width, classes * width)
