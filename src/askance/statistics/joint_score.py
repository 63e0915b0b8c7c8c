"""Likelihood, score and information of a softmax model under a channel with unknown numbers.

Record i has the likelihood L_i = sum_k S(psi_i)[o_i, k] p(k | x_i), with logit psi_ij = gamma_j . z_i for every unknown
number j. S is affine in each psi_j: an average of the matrices at the corners of their cube. The parameters are
those of the softmax model, class by class, and then gamma_1, gamma_2 and so on, one linear predictor after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from askance.arrays import Codes, Floats
from askance.solvers.softmax import posterior
from askance.statistics.base import Records, add_fields
from askance.statistics.row_blocks import blocks, with_intercept
from askance.statistics.softmax_score import ScoreSums

_SMALLEST = float(np.finfo(float).tiny)  # an impossible report has a logarithm too


@dataclass(frozen=True, eq=False)
class JointScore:
    """Likelihood, gradient and information at ``theta`` and ``gammas``.

    Parameters
    ----------
    theta : array, K-1 x p
        Against the reference class; column 0 is the intercept if there is one.
    gammas : sequence of arrays
        For every unknown number the parameters of its logit, intercept first.
    corners : array, 2 x ... x 2 x report codes x K
        The channel's matrices with every unknown number at 0 or 1.
    columns : integers
        Which features the softmax model has.
    unknown_columns : sequence of integers, one for each unknown number
        Which features its logit has beside the intercept.
    intercept : bool
        Whether the softmax model has one.
    centre : array, d
        Subtracted from the features where there is an intercept.
    with_outer : bool
        Also sum the outer products of the scores.
    """

    theta: Floats
    gammas: Sequence[Floats]
    corners: Floats
    columns: NDArray[np.int64]
    unknown_columns: Sequence[NDArray[np.int64]]
    intercept: bool
    centre: Floats
    with_outer: bool = False

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return self.theta.size + sum(len(gamma) for gamma in self.gammas)

    def empty(self) -> ScoreSums:
        size = self.size
        outer = np.zeros((size, size)) if self.with_outer else None
        return ScoreSums(0, 0.0, 0.0, np.zeros(size), np.zeros((size, size)), outer)

    def merge(self, first: ScoreSums, second: ScoreSums) -> ScoreSums:
        return add_fields(first, second)

    def observe(self, records: Records) -> ScoreSums:
        total = self.empty()
        for block in blocks(records):
            total = self.merge(total, self._observe_block(block))
        return total

    def record_scores(self, records: Records) -> Floats:
        """Return the weighted score of each record, n x parameters."""
        predictors = self._predictors(records)
        _, score, _ = self._differentiate(predictors, records.codes)
        weights = np.ones(len(records)) if records.weights is None else records.weights
        return np.hstack([(weights * s)[:, None] * rows for s, rows in zip(score, predictors, strict=True)])

    def record_laws(self, records: Records) -> tuple[Floats, Floats]:
        """Return the probability of each record's report given each class, and that of the classes; n x K both."""
        predictors, free = self._predictors(records), len(self.theta)
        logits = np.column_stack([rows @ t for rows, t in zip(predictors[:free], self.theta, strict=True)])
        psi = [expit(rows @ gamma) for rows, gamma in zip(predictors[free:], self.gammas, strict=True)]
        return self._law([(1 - value, value) for value in psi], records.codes), posterior(logits).probabilities

    def record_likelihoods(self, records: Records) -> Floats:
        """Return the probability of each record's report."""
        log_likelihood, _, _ = self._differentiate(self._predictors(records), records.codes)
        likelihood: Floats = np.exp(log_likelihood)
        return likelihood

    def _observe_block(self, records: Records) -> ScoreSums:
        predictors = self._predictors(records)
        log_likelihood, score, curvature = self._differentiate(predictors, records.codes)
        weights = np.ones(len(records)) if records.weights is None else records.weights
        ends = np.cumsum([0, *(rows.shape[1] for rows in predictors)])
        information = np.zeros((self.size, self.size))
        for a, first in enumerate(predictors):
            for b in range(a + 1):
                block = (first * (weights * curvature[a][b])[:, None]).T @ predictors[b]
                information[ends[a] : ends[a + 1], ends[b] : ends[b + 1]] = block
                information[ends[b] : ends[b + 1], ends[a] : ends[a + 1]] = block.T
        parts = [rows.T @ (weights * s) for s, rows in zip(score, predictors, strict=True)]
        outer = None
        if self.with_outer:
            scores = np.hstack([(weights * s)[:, None] * rows for s, rows in zip(score, predictors, strict=True)])
            outer = scores.T @ scores
        value = float(weights @ log_likelihood)
        return ScoreSums(len(records), float(weights.sum()), value, np.concatenate(parts), information, outer)

    def _predictors(self, records: Records) -> list[Floats]:
        """The rows that each linear predictor is made of: of every class but the first, then of the unknowns."""
        rows = with_intercept(records.features[:, self.columns], self.intercept, self.centre[self.columns])
        unknown = [with_intercept(records.features[:, c], True, self.centre[c]) for c in self.unknown_columns]
        return [rows] * len(self.theta) + unknown

    def _differentiate(self, predictors: list[Floats], codes: Codes) -> tuple[Floats, list[Floats], list[list[Floats]]]:
        """Log-likelihood of each record, its derivative by each linear predictor, and minus its second derivatives."""
        free, unknowns = len(self.theta), len(self.gammas)
        logits = np.column_stack([rows @ t for rows, t in zip(predictors[:free], self.theta, strict=True)])
        p = posterior(logits).probabilities
        psi = [
            expit(rows @ gamma if len(gamma) > 1 else gamma)
            for rows, gamma in zip(predictors[free:], self.gammas, strict=True)
        ]
        slope = [value * (1 - value) for value in psi]
        mean = [(1 - value, value) for value in psi]
        law = self._law(mean, codes)
        likelihood = np.maximum((law * p).sum(axis=1), _SMALLEST)
        by_psi = [self._law(_with_difference(mean, j), codes) for j in range(unknowns)]
        by_psi_mean = [(derivative * p).sum(axis=1) for derivative in by_psi]

        score = [p[:, k] * (law[:, k] - likelihood) / likelihood for k in range(1, free + 1)]
        score += [slope[j] * by_psi_mean[j] / likelihood for j in range(unknowns)]
        second: dict[tuple[int, int], Floats] = {}
        for a in range(free):
            k = a + 1
            for b in range(a + 1):
                m = b + 1
                cross = p[:, m] * (law[:, m] - likelihood)
                value = -p[:, k] * p[:, m] * (law[:, k] - likelihood) - p[:, k] * cross
                second[a, b] = value + (p[:, k] * (law[:, k] - likelihood) if a == b else 0.0)
        for j in range(unknowns):
            for b in range(free):
                second[free + j, b] = slope[j] * p[:, b + 1] * (by_psi[j][:, b + 1] - by_psi_mean[j])
            for i in range(j):
                both = self._law(_with_difference(_with_difference(mean, j), i), codes)
                second[free + j, free + i] = slope[j] * slope[i] * (both * p).sum(axis=1)
            second[free + j, free + j] = slope[j] * (1 - 2 * psi[j]) * by_psi_mean[j]
        curvature = [
            [score[a] * score[b] - second[a, b] / likelihood for b in range(a + 1)] for a in range(free + unknowns)
        ]
        return np.log(likelihood), score, curvature

    def _law(self, weights: Sequence[tuple[Floats, Floats]], codes: Codes) -> Floats:
        """Average the corners of the cube, n x K; a table for all records first where psi is the same for all."""
        if all(np.size(low) == 1 for low, _ in weights):
            table = self.corners
            for low, high in weights:
                table = table[0] * low + table[1] * high
            return table[codes]
        table = self.corners[..., codes, :]
        for low, high in weights:
            table = table[0] * low[:, None] + table[1] * high[:, None]
        return table


def _with_difference(weights: Sequence[tuple[Floats, Floats]], number: int) -> list[tuple[Floats, Floats]]:
    """The weights of the derivative by one unknown number: its upper end less its lower end."""
    one = np.ones(1)
    return [(-one, one) if j == number else pair for j, pair in enumerate(weights)]
