"""Corrected scores: the likelihood of an outcome given hidden answers, with their unbiased estimates as weights.

For any state h, E[u_ih | truth] is 1 if h is the truth and 0 otherwise, so that sum_h u_ih log f(y_i | x_i, h) has the
mean of the log-density that the truth would have given (Nakamura 1990). Unlike the sum over states inside a logarithm
it needs no model of the hidden answer, and cannot mistake the shape of the outcome's own law for an effect of that
answer: a mixture of normal laws is also a skewed law. It is less precise.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc

from askance.arrays import Floats
from askance.learning.surveys.hidden_states import Factor, HiddenStates
from askance.learning.surveys.survey_fit import SurveyFit, smallest_eigenvalue
from askance.learning.surveys.survey_sample import Spread, SurveySample
from askance.solvers.newton import Local, Solution, maximise

_SINGULAR = 1e-9  # relative eigenvalue of an information matrix that is rounding alone
_LOST = 50.0  # a logit, or a logarithm of a mean, beyond which no estimate is meant


@dataclass(frozen=True, eq=False)
class CorrectedScore:
    """The corrected log-likelihood of an outcome: its law in each state, and how much of each row is in it."""

    factor: Factor
    unbiased: Floats
    weights: Floats | None = None

    @property
    def _heft(self) -> Floats:
        return self.unbiased if self.weights is None else self.unbiased * self.weights[:, None]

    def __call__(self, theta: Floats) -> Local:
        """Value, gradient and information at some parameters."""
        here, heft = self.factor.at(theta), self._heft
        if not np.isfinite(here.value).all():
            return Local(-np.inf, np.zeros(len(theta)), np.eye(len(theta)))
        return Local(float((heft * here.value).sum()), np.einsum("ih,ihd->d", heft, here.score), -here.curvature(heft))

    def scores(self, theta: Floats) -> Floats:
        """The score of each row, times its weight."""
        return np.asarray(np.einsum("ih,ihd->id", self._heft, self.factor.at(theta).score))


class CorrectedFit(NamedTuple):
    """Estimates with a sandwich covariance, how much each row moves them, and degrees of freedom if there are clusters.

    ``plain`` is the covariance of people drawn one by one.
    """

    theta: Floats
    covariance: Floats
    influence: Floats
    solution: Solution
    plain: Floats
    spread: Spread | None = None


def corrected_fit(score: CorrectedScore, start: Floats, sample: SurveySample | None = None) -> CorrectedFit | None:
    """Solve the corrected score from a start; None where it has no solution near by."""
    found = maximise(score, start, diverges=lambda theta, _: bool(np.abs(theta).max() > _LOST))
    information = score(found.theta).information
    if not found.converged or smallest_eigenvalue(information) <= _SINGULAR:
        return None
    influence: Floats = np.asarray(np.linalg.solve(information, score.scores(found.theta).T).T, dtype=np.float64)
    plain = np.asarray(influence.T @ influence)
    spread = None if sample is None else sample.spread(influence)
    return CorrectedFit(found.theta, plain if spread is None else spread.meat, influence, found, plain, spread)


def disagreement(fit: SurveyFit, likelihood: HiddenStates, corrected: CorrectedFit, places: list[int]) -> float:
    """P-value of the hypothesis that likelihood and corrected score estimate the same (Hausman's test)."""
    scores = likelihood.rows(fit.theta).scores
    scores = scores if likelihood.weights is None else scores * likelihood.weights[:, None]
    influence = np.linalg.lstsq(fit.objective(fit.theta).information, scores.T, rcond=None)[0].T
    apart = fit.theta[places] - corrected.theta[places]
    between = influence[:, places] - corrected.influence[:, places]
    sample = likelihood.sample
    spread = between.T @ between if sample is None else sample.plain_covariance(between)
    own = np.diag(corrected.covariance)[places]
    if smallest_eigenvalue(spread) <= _SINGULAR or (np.diag(spread) <= _SINGULAR * own).any():
        return 1.0  # the two are the same estimate, as they are without noise
    return float(gammaincc(len(places) / 2, apart @ np.linalg.solve(spread, apart) / 2))
