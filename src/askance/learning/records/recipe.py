"""The recipe of [RR] section 4 for any model with finitely many true states and any corruption of them.

Maximise  sum_r count_r log sum_k S[r, k] p_theta(k)  over theta, for a log-probability that somebody else wrote. Its
gradient is the posterior mean of the model's own score, so all that is needed of the model are the derivatives of its
log-probabilities by theta; where they are not given, central differences of these (and not of the summed likelihood,
which would lose digits) stand in.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput

LogProbability = Callable[[Floats], NDArray[np.float64]]
Gradient = Callable[[Floats], NDArray[np.float64]]
FitWeighted = Callable[[Floats], NDArray[np.float64]]

_STEP = float(np.finfo(float).eps ** (1 / 3))  # of central differences: rounding and truncation are equal there
_TWICE = float(np.finfo(float).eps ** (1 / 4))  # of differences of differences, by the same rule
_NORMALISED = 1e-6  # by which probabilities may miss a sum of one: single precision keeps that
_LEFT = 1e-4  # squared standard errors from the maximum: a hundredth of one is out of sight of any interval


@dataclass(frozen=True, eq=False)
class SpreadSolution:
    """Where the search ended, with the observed information there and the second moments of the scores."""

    theta: Floats
    log_likelihood: float
    information: Floats
    score_moments: Floats
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class SpreadLikelihood:
    """The likelihood of reports under a model of the truth.

    Parameters
    ----------
    log_probability : function of theta
        log p_theta(k) for every state (K), or for every state and row (R x K) where rows have their own law.
    likelihood : R x K
        P(report_r | truth k), of each distinct report, or of each row.
    counts : R
    gradient : function of theta, optional
        The derivatives by theta: K x P, or R x K x P.
    """

    log_probability: LogProbability
    likelihood: Floats
    counts: Floats
    gradient: Gradient | None = None

    def logs(self, theta: Floats) -> Floats:
        """The model's log-probabilities, checked."""
        logs = np.asarray(self.log_probability(theta), dtype=float)
        rows, states = self.likelihood.shape
        if logs.ndim != 2 or logs.shape != (rows, states):
            logs = logs.reshape(-1) if logs.size == states else logs
        if logs.shape not in ((states,), (rows, states)):
            raise InvalidInput(
                f"log-probabilities of shape {logs.shape}",
                f"({states},), one for each true state, or ({rows}, {states}), one row for each report",
            )
        if np.isnan(logs).any() or (logs == np.inf).any():
            raise InvalidInput(f"a log-probability that is no number at theta = {theta}", "numbers, or minus infinity")
        total = np.exp(logs).sum(axis=-1)
        if np.abs(total - 1).max() > _NORMALISED:
            worst = float(np.ravel(total)[np.abs(total - 1).argmax()])
            raise InvalidInput(
                f"probabilities that sum to {worst:.6g} at theta = {theta}",
                "1: log_probability returns the log of a law on the true states",
                "Subtract the log-partition.",
            )
        return logs

    def posterior(self, theta: Floats) -> tuple[Floats, float]:
        """P(truth | report), R x K, and the log-likelihood."""
        joint = self.likelihood * np.exp(self.logs(theta))
        evidence = joint.sum(axis=1)
        with np.errstate(divide="ignore"):
            value = float(self.counts @ np.log(evidence))
        return joint / np.maximum(evidence, np.finfo(float).tiny)[:, None], value

    def derivatives(self, theta: Floats) -> Floats:
        """Of the model's log-probabilities: K x P, or R x K x P."""
        if self.gradient is None:
            return self._differences(theta)
        given = np.asarray(self.gradient(theta), dtype=float)
        shape = (*self.logs(theta).shape, len(theta))
        if given.size != int(np.prod(shape)):
            raise InvalidInput(f"a gradient of shape {given.shape}", f"{shape}: one number more for each parameter")
        return given.reshape(shape)

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
        posterior, value = self.posterior(theta)
        slopes = self.derivatives(theta)
        scores = posterior @ slopes if slopes.ndim == 2 else np.einsum("rk,rkp->rp", posterior, slopes)
        return scores, value

    def information(self, theta: Floats) -> Floats:
        """Minus the second derivatives of the log-likelihood, by differences of its gradient."""
        relative = _STEP if self.gradient is not None else _TWICE
        rows = []
        for j in range(len(theta)):
            step = np.zeros_like(theta)
            step[j] = relative * max(1.0, abs(theta[j]))
            above, below = (self.counts @ self.scores(theta + sign * step)[0] for sign in (1, -1))
            rows.append((below - above) / (2 * step[j]))
        curved = np.array(rows)
        symmetric: Floats = 0.5 * (curved + curved.T)
        return symmetric


def climb(likelihood: SpreadLikelihood, start: Floats, max_iterations: int) -> SpreadSolution:
    """Maximise by L-BFGS."""
    from scipy.optimize import minimize

    total = likelihood.counts.sum()

    def below(theta: Floats) -> tuple[float, Floats]:
        scores, value = likelihood.scores(theta)
        return -value / total, -(likelihood.counts @ scores) / total

    options = {"maxiter": max_iterations, "ftol": 1e-14, "gtol": 1e-9, "maxls": 40}
    found = minimize(below, start, jac=True, method="L-BFGS-B", options=options)
    return _solution(likelihood, np.asarray(found.x), int(found.nit), int(found.nit) < max_iterations)


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
            return _solution(likelihood, theta, iteration, True)
        before = value
    return _solution(likelihood, theta, max_iterations, False)


def _solution(likelihood: SpreadLikelihood, theta: Floats, iterations: int, converged: bool) -> SpreadSolution:
    scores, value = likelihood.scores(theta)
    moments = (scores * likelihood.counts[:, None]).T @ scores
    information = likelihood.information(theta)
    # A maximum has no slope left to speak of, measured in standard errors.
    values, vectors = np.linalg.eigh(information)
    curved = np.maximum(np.abs(values), 1e-6 * np.abs(values).max(initial=0.0)) + np.finfo(float).tiny
    left = float(((vectors.T @ (likelihood.counts @ scores)) ** 2 / curved).sum())
    return SpreadSolution(theta, value, information, moments, iterations, converged and left < _LEFT)
