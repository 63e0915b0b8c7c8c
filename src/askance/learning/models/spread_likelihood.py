"""The recipe of [RR] section 4 for any model of true states, or of nodes that stand for numbers, and any corruption.

Maximise  sum_r count_r log sum_k S[r, k] p_theta(k)  over theta, for a log-probability that somebody else wrote. Its
gradient is the posterior mean of the model's own score, so all that is needed of the model are the derivatives of its
log-probabilities by theta; where they are not given, central differences of these (and not of the summed likelihood,
which would lose digits) stand in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.models.fitted import differenced
from askance.learning.models.gradient_search import FINE, Summit, ascend, is_at_rest

LogProbability = Callable[[Floats], NDArray[np.float64]]
Gradient = Callable[[Floats], NDArray[np.float64]]
FitWeighted = Callable[[Floats], NDArray[np.float64]]

_STEP = float(np.finfo(float).eps ** (1 / 3))  # of central differences: rounding and truncation are equal there
_RARE = 1e-280  # probabilities of a report below are summed by logarithms: products of smaller ones lose their digits
_SLOPE_ERROR = 1e-2  # relative, of a gradient: differences are off by 1e-10 of smooth laws, by more at their corners
_NORMALISED = 1e-6  # by which probabilities may miss a sum of one: single precision keeps that


@dataclass(frozen=True, eq=False)
class SpreadSolution:
    """Where the search ended, with the observed information there and the second moments of the scores."""

    summit: Summit
    information: Floats
    score_moments: Floats


@dataclass(frozen=True, eq=False)
class SpreadLikelihood:
    """The likelihood of reports under a model of the truth.

    Parameters
    ----------
    log_probability : function of theta
        log p_theta(k) for every state (K), or for every state and row (R x K) where rows have their own law.
    log_likelihood : R x K
        log P(report_r | truth k), of each distinct report, or of each row.
    counts : R
    gradient : function of theta, optional
        The derivatives by theta: K x P, or R x K x P.
    log_weights : K, optional
        Where states are nodes of a quadrature: what each weighs. Log-probabilities are then those of a density, and
        are made to sum to one on the grid, or a search might gain by a peak between its nodes.
    """

    log_probability: LogProbability
    log_likelihood: Floats
    counts: Floats
    gradient: Gradient | None = None
    log_weights: Floats | None = None

    def _given(self, theta: Floats) -> Floats:
        """What the model says, with the weights of nodes."""
        given = self.log_probability(theta)
        try:
            logs = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise InvalidInput(f"a {type(given).__name__} from log_probability", "an array of numbers") from None
        rows, states = self.log_likelihood.shape
        if logs.ndim != 2 or logs.shape != (rows, states):
            logs = logs.reshape(-1) if logs.size == states else logs
        if logs.shape not in ((states,), (rows, states)):
            raise InvalidInput(
                f"log-probabilities of shape {logs.shape}",
                f"({states},), one for each true state, or ({rows}, {states}), one row for each report",
            )
        if np.isnan(logs).any() or (logs == np.inf).any():
            raise InvalidInput(
                f"a log-probability that is no number at theta = {theta}",
                "numbers, or minus infinity",
                "The search may try any theta: let parameters be logits, or logarithms of what must be positive.",
            )
        return logs if self.log_weights is None else logs + self.log_weights

    def logs(self, theta: Floats) -> Floats:
        """The model's log-probabilities, checked."""
        logs = self._given(theta)
        if self.log_weights is not None:
            normalised: Floats = logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True)
            return normalised
        total = np.exp(logs).sum(axis=-1)
        if np.abs(total - 1).max() > _NORMALISED:
            worst = float(np.ravel(total)[np.abs(total - 1).argmax()])
            raise InvalidInput(
                f"probabilities that sum to {worst:.6g} at theta = {theta}",
                "1: log_probability returns the log of a law on the true states",
                "Subtract the log-partition.",
            )
        return logs

    def mass(self, theta: Floats) -> Floats:
        """What the law of each row sums to on the grid."""
        return np.atleast_1d(np.exp(np.logaddexp.reduce(self._given(theta), axis=-1)))

    def posterior(self, theta: Floats) -> tuple[Floats, float]:
        """P(truth | report), R x K, and the log-likelihood."""
        chances, evidence = _normalised(self.log_likelihood + self.logs(theta))
        return chances, float(self.counts @ evidence)

    def derivatives(self, theta: Floats) -> Floats:
        """Of the model's log-probabilities: K x P, or R x K x P."""
        if self.gradient is None:
            return self._differences(theta)
        given = np.asarray(self.gradient(theta), dtype=float)
        shape = (*self.logs(theta).shape, len(theta))
        if given.size != int(np.prod(shape)):
            raise InvalidInput(f"a gradient of shape {given.shape}", f"{shape}: one number more for each parameter")
        slopes = given.reshape(shape)
        if self.log_weights is None:
            return slopes
        mean: Floats = np.einsum("...k,...kp->...p", np.exp(self.logs(theta)), slopes)
        return slopes - mean[..., None, :]

    def refuse_other_gradient(self, theta: Floats) -> None:
        """Refuse a gradient that is not that of the log-probabilities: the standard errors are made of it."""
        if self.gradient is None:
            return
        given, made, weights = self.derivatives(theta), self._differences(theta), np.exp(self.logs(theta))
        gap, size = (np.einsum("...k,...kp->p", weights, part**2) for part in (given - made, made))
        worst = int(np.argmax(gap - _SLOPE_ERROR**2 * size))
        if gap[worst] > _SLOPE_ERROR**2 * size[worst] + _STEP**2 * weights.sum():
            raise InvalidInput(
                f"a gradient that differs from differences of log_probability by {np.sqrt(gap[worst]):.3g} on average, "
                f"where these are {np.sqrt(size[worst]):.3g}, along parameter {worst + 1} at theta = {theta}",
                "derivatives of log_probability by theta",
                "Do not forget those of the log-partition, or leave the gradient out.",
            )

    def _differences(self, theta: Floats) -> Floats:
        columns = []
        for j in range(len(theta)):
            step = np.zeros_like(theta)
            step[j] = _STEP * max(1.0, abs(theta[j]))
            with np.errstate(invalid="ignore"):
                slope = (self.logs(theta + step) - self.logs(theta - step)) / (2 * step[j])
            columns.append(np.where(np.isfinite(slope), slope, 0.0))  # an impossible state stays impossible
        return np.stack(columns, axis=-1)

    def scores(self, theta: Floats) -> tuple[Floats, float]:
        """The score of each report, R x P, and the log-likelihood."""
        slopes, logs = self.derivatives(theta), self.logs(theta)
        if slopes.ndim == 3:
            posterior, value = self.posterior(theta)
            return np.einsum("rk,rkp->rp", posterior, slopes), value
        tops, likelihood = self._scaled
        chances = np.exp(logs)
        shares = likelihood @ chances  # no table of posteriors: with nodes for states it may be large
        scores = likelihood @ (chances[:, None] * slopes) / np.maximum(shares, _RARE)[:, None]
        evidence = tops + np.log(np.maximum(shares, _RARE))
        rare = shares < _RARE
        if rare.any():
            posterior, evidence[rare] = _normalised(self.log_likelihood[rare] + logs)
            scores[rare] = posterior @ slopes
        return scores, float(self.counts @ evidence)

    @cached_property
    def _scaled(self) -> tuple[Floats, Floats]:
        """The largest logarithm of each row, and the likelihood in units of its exponential."""
        tops = _tops(self.log_likelihood)
        return tops, np.exp(self.log_likelihood - tops[:, None])

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """The log-likelihood and its gradient."""
        scores, value = self.scores(theta)
        return value, self.counts @ scores

    def gradients(self, points: Floats) -> Floats:
        """The gradients at several points, points x parameters."""
        return np.array([self.value_and_gradient(theta)[1] for theta in points])


def _tops(logs: Floats) -> Floats:
    """The largest of each row; zero where nothing is possible."""
    tops: Floats = logs.max(axis=1)
    return np.where(np.isfinite(tops), tops, 0.0)


def _normalised(joint: Floats) -> tuple[Floats, Floats]:
    """Return P(truth | report) and log P(report) from log P(report, truth), rows x truths, whatever their size."""
    tops = _tops(joint)
    shares = np.exp(joint - tops[:, None])
    total = shares.sum(axis=1)
    with np.errstate(divide="ignore"):
        evidence: Floats = np.log(total) + tops
    return shares / np.where(total > 0, total, 1.0)[:, None], evidence


def climb(likelihood: SpreadLikelihood, start: Floats, max_iterations: int) -> SpreadSolution:
    """Maximise by the gradient."""
    found = ascend(likelihood.value_and_gradient, start, likelihood.counts.sum(), max_iterations, FINE)
    return _solution(likelihood, found)


def alternate(
    likelihood: SpreadLikelihood, start: Floats, fit_weighted: FitWeighted, max_iterations: int, tolerance: float
) -> SpreadSolution:
    """Maximise by expectation-maximisation: ``fit_weighted`` takes expected counts of the truth and returns theta."""
    theta, before = start, -np.inf
    for iteration in range(1, max_iterations + 1):
        posterior, value = likelihood.posterior(theta)
        expected = posterior * likelihood.counts[:, None]
        shared = likelihood.logs(theta).ndim == 1
        theta = np.asarray(fit_weighted(expected.sum(axis=0) if shared else expected), dtype=float)
        if theta.shape != start.shape or not np.isfinite(theta).all():
            raise InvalidInput(f"fit_weighted returned {theta!r}", f"{start.size} finite parameters")
        if abs(value - before) <= tolerance * likelihood.counts.sum():
            return _solution(likelihood, Summit(theta, value, iteration, True))
        before = value
    return _solution(likelihood, Summit(theta, before, max_iterations, False))


def _solution(likelihood: SpreadLikelihood, found: Summit) -> SpreadSolution:
    scores, value = likelihood.scores(found.theta)
    moments = (scores * likelihood.counts[:, None]).T @ scores
    information = differenced(likelihood.gradients, found.theta)
    converged = found.converged and is_at_rest(likelihood.counts @ scores, information)
    return SpreadSolution(Summit(found.theta, value, found.iterations, converged), information, moments)
