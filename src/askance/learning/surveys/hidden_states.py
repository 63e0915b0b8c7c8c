"""Likelihoods of rows whose state is hidden: sums over the states, with exact derivatives.

A row i is in one of a few states h: the true answer to one question, the answers to several, an answer together with a
count. What is seen of it has the density

    L_i(theta) = sum_h exp(b_ih + f_1(i, h; theta_1) + f_2(i, h; theta_2) + ...)

where b_ih is known (the logarithm of the channel's probability of the report, or minus infinity for a state that the
row cannot be in) and each *factor* f has parameters of its own: a model of the hidden answer, a model of the outcome
given that answer. With p_ih the probability of the state given what was seen, and s_ih the score of the state, the
score of a row is sum_h p_ih s_ih, and its information is what Louis (1982) found:
- sum_h p_ih f''(i, h) - Cov_p[s_i].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from askance.arrays import Floats
from askance.learning.surveys.survey_sample import Spread, SurveySample
from askance.solvers.newton import Local


class FactorValue(NamedTuple):
    """A factor at some parameters.

    ``value`` is n x states, ``score`` n x states x parameters. ``curvature`` gives the sum of second derivatives, each
    weighted by a weight of row and state.
    """

    value: Floats
    score: Floats
    curvature: Callable[[Floats], Floats]


class Factor(Protocol):
    """A part of the log-density of rows in their states, with parameters of its own."""

    @property
    def size(self) -> int:
        """How many parameters it has."""

    def at(self, theta: Floats) -> FactorValue:
        """Value, score and curvature for all rows and states."""


class RowsLocal(NamedTuple):
    """The log-likelihood around a point, with the scores of all rows and their states' probabilities."""

    local: Local
    scores: Floats
    states: Floats


@dataclass(frozen=True, eq=False)
class HiddenStates:
    """The log-likelihood of rows with hidden states.

    Parameters
    ----------
    known : array, n x states
        Logarithms of what is known of the density; minus infinity where a state is impossible.
    factors : sequence of Factor
    weights : array, n, optional
    squares : array, n, optional
        Sums of squared weights, where a row stands for several people; the squares of the weights otherwise.
    sample : SurveySample, optional
        Clusters and strata of the rows.
    """

    known: Floats
    factors: Sequence[Factor]
    weights: Floats | None = None
    squares: Floats | None = None
    sample: SurveySample | None = None

    @cached_property
    def blocks(self) -> list[slice]:
        """Where the parameters of each factor are."""
        ends = np.cumsum([0, *(factor.size for factor in self.factors)])
        return [slice(a, b) for a, b in pairwise(ends.tolist())]

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return int(self.blocks[-1].stop)

    def __call__(self, theta: Floats) -> Local:
        """Value, gradient and information at some parameters."""
        return self.rows(theta).local

    def rows(self, theta: Floats) -> RowsLocal:
        """The same, with the score of each row and the probabilities of its states."""
        values = [factor.at(theta[block]) for factor, block in zip(self.factors, self.blocks, strict=True)]
        logs = self.known + sum(value.value for value in values)
        top = logs.max(axis=1, keepdims=True)
        if not np.isfinite(top).all():  # parameters under which a row cannot be: no solver stays there
            nothing = np.zeros((len(logs), self.size))
            return RowsLocal(Local(-np.inf, nothing.sum(axis=0), np.eye(self.size)), nothing, np.zeros(logs.shape))
        states = np.exp(logs - top)
        total = states.sum(axis=1, keepdims=True)
        states /= total
        weights = np.ones(len(states)) if self.weights is None else self.weights
        weighted = states * weights[:, None]
        score = np.concatenate([value.score for value in values], axis=2)
        mean = np.einsum("ih,ihd->id", states, score)
        flat = score.reshape(-1, self.size)
        information = (mean * weights[:, None]).T @ mean - (flat * weighted.reshape(-1, 1)).T @ flat
        for value, block in zip(values, self.blocks, strict=True):
            information[block, block] -= value.curvature(weighted)
        likelihood = float(weights @ (top + np.log(total))[:, 0])
        return RowsLocal(Local(likelihood, weights @ mean, information), mean, states)

    def score_spread(self, theta: Floats, about_mean: bool = False) -> Spread:
        """The variance of the summed score: what a sandwich has in the middle.

        Of people drawn one by one, the sum of squared scores, each times its squared weight.
        """
        if self.sample is not None:
            return self.sample.spread(self.rows(theta).scores, self.weights, self.squares, about_mean)
        squares = self.squares
        if squares is None:
            squares = np.ones(len(self.known)) if self.weights is None else self.weights**2
        return Spread(self._squared_scores(theta, squares), None)

    def information_of_scores(self, theta: Floats) -> Floats:
        """The same with each weight itself: what the information is in the mean, positive at all parameters."""
        return self._squared_scores(theta, np.ones(len(self.known)) if self.weights is None else self.weights)

    def _squared_scores(self, theta: Floats, heft: Floats) -> Floats:
        scores = self.rows(theta).scores
        return np.asarray((scores * heft[:, None]).T @ scores)
