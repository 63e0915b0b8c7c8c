"""Wire loss, mean operator, penalty and solver together: from public features and a total to parameters."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from askance.arrays import Floats
from askance.engines.local.engine import one_thread_algebra
from askance.errors import InvalidInput
from askance.learning.totals.losses import Loss
from askance.learning.totals.noise_ridge import noise_penalty, rescue_penalty
from askance.learning.totals.public_features import PublicFeatures
from askance.learning.totals.risk_solver import (
    Regulariser,
    RiskSolution,
    minimise_regularised,
    minimise_risk,
    minimise_softmax,
    summing_to_the_mean,
)
from askance.learning.totals.told_relation import in_contrasts, notes_on_relation
from askance.releases.mean_operator import MeanOperator
from askance.solvers.softmax import symmetric


@dataclass(frozen=True, eq=False)
class OperatorFit:
    """Parameters of (1, x), or x: one row for two classes, otherwise one for each class.

    Parameters
    ----------
    rows : array
        What scores are made with.
    parameters : array
        What ``covariance`` is of, flattened: the rows, or those of the softmax model against the first class.
    covariance : array, optional
        None where there is no curvature to tell it from.
    ridge : float
        The penalty, on average over directions.
    risk : float
        The penalised risk.
    iterations : int
    converged : bool
    notes : tuple of str
    of_total : bool
        Whether the total's own law was fitted, with a prior, and ``covariance`` is that of the posterior.
    """

    rows: Floats
    parameters: Floats
    covariance: Floats | None
    ridge: float
    risk: float
    iterations: int
    converged: bool
    notes: tuple[str, ...]
    of_total: bool = False


@dataclass(frozen=True, eq=False)
class MeanOperatorProblem:
    """What is to be fitted.

    Parameters
    ----------
    loss : Loss
    ridge : float, optional
        None for the rule of ``noise_ridge``.
    regulariser : function, optional
        In place of the ridge.
    max_iterations : int
    """

    loss: Loss
    ridge: float | None
    regulariser: Regulariser | None = None
    max_iterations: int = 200

    @one_thread_algebra()
    def fit(self, features: PublicFeatures, operator: MeanOperator) -> OperatorFit:
        """Fit two classes, all classes at once (logistic), or each class against the rest."""
        if operator.width != features.width:
            raise wrong_width(operator, features.width - features.intercept, features.intercept)
        classes = len(operator.classes)
        shape = (classes if classes > 2 else 1, features.width)
        noise = operator.noise_covariance
        mu = features.centred(operator.values.reshape(shape))
        lift = np.kron(np.eye(shape[0]), features.centred(np.eye(features.width)).T)
        noise = lift @ noise @ lift.T
        if classes == 2:
            fit = self._binary(features, mu[0], noise)
            fit = replace(fit, rows=fit.rows[None])
        elif self.loss.softmax:
            fit = self._softmax(features, mu, noise)
        else:
            fit = self._each_against_the_rest(features, mu, noise)
        if not features.intercept:
            return fit
        remarks = notes_on_relation(*in_contrasts(mu, noise), features.moments, features.rows)
        return replace(fit, notes=(*remarks, *fit.notes))

    # -- two classes ---------------------------------------------------------------------------------

    def _binary(self, features: PublicFeatures, mu: Floats, noise: Floats) -> OperatorFit:
        slope_noise = (0.5 * self.loss.odd) ** 2 * noise
        if self.regulariser is not None:
            free = minimise_regularised(self.loss, mu, features, self.regulariser)
            return self._finished(features, free, free.theta, None, 0.0, [])

        def solve(penalty: Floats) -> RiskSolution:
            return minimise_risk(self.loss, mu, features, penalty, max_iterations=self.max_iterations)

        penalty = self._penalty(features, slope_noise, self._curvature())
        solution, penalty, notes = self._rescued(features, solve, penalty, np.eye(1))
        if self.loss.name == "rho" and not solution.theta.any():
            notes.append(_NOTHING_LEARNED)
        if not self.loss.convex:
            notes.append(f"The loss {self.loss.name} is not convex: this is a minimum, and there may be lower ones.")
        covariance = None
        if np.isfinite(solution.hessian).all():
            inner = self._label_noise(features, solution, penalty) / features.rows + slope_noise
            covariance = _sandwich(solution.hessian, inner)
        return self._finished(features, solution, solution.theta, covariance, _average(penalty), notes)

    def _curvature(self) -> float:
        return float(self.loss.even_curvature(np.zeros(1))[0]) if self.loss.smooth else 0.0

    def _label_noise(self, features: PublicFeatures, solution: RiskSolution, penalty: Floats) -> Floats:
        """E[(a/2)^2 Var(y | x) z z']: what chance of the labels themselves adds, if the model is right."""
        if self.loss.softmax:  # the information equality: it is the curvature
            return solution.hessian - penalty
        sums = features.even(_LabelVariance(self.loss), solution.theta)
        return np.zeros_like(penalty) if sums.curvature is None else sums.curvature / sums.rows

    # -- more classes --------------------------------------------------------------------------------

    def _softmax(self, features: PublicFeatures, mu: Floats, noise: Floats) -> OperatorFit:
        classes, width = mu.shape
        if self.regulariser is not None:
            free = minimise_regularised(None, mu, features, self.regulariser)
            return self._finished(features, free, free.theta, None, 0.0, [])
        noise = _as_shared(mu, noise, features)
        blocks = noise.reshape(classes, width, classes, width)
        one = np.einsum("kikj->ij", blocks) / classes
        coupling = symmetric(np.eye(classes - 1))
        coupling = coupling.T @ coupling

        def solve(penalty: Floats) -> RiskSolution:
            return minimise_softmax(mu, features, penalty, max_iterations=self.max_iterations)

        # A row's score is one half, in variance, of the difference between two of them.
        penalty = np.kron(coupling, self._penalty(features, 2 * one, 1 / classes)).astype(float)
        solution, penalty, notes = self._rescued(features, solve, penalty, coupling)
        inner = (solution.hessian - penalty) / features.rows + noise[width:, width:]
        covariance = _sandwich(solution.hessian, inner)
        return self._finished(features, solution, symmetric(solution.theta), covariance, _average(penalty), notes)

    def _each_against_the_rest(self, features: PublicFeatures, mu: Floats, noise: Floats) -> OperatorFit:
        classes, width = mu.shape
        noise = _as_shared(mu, noise, features)
        shared = summing_to_the_mean(mu, features)
        fits = []
        for k in range(classes):
            own = slice(k * width, (k + 1) * width)
            fits.append(self._binary(features, 2 * shared[k] - features.mean_row, 4 * noise[own, own]))
        covariance = None
        if all(fit.covariance is not None for fit in fits):
            covariance = np.full((classes * width, classes * width), np.nan)  # how classes vary together is not known
            for k, fit in enumerate(fits):
                own = slice(k * width, (k + 1) * width)
                covariance[own, own] = fit.covariance
        rows = np.array([fit.rows for fit in fits])
        return OperatorFit(
            rows=rows,
            parameters=rows.ravel(),
            covariance=covariance,
            ridge=float(np.mean([fit.ridge for fit in fits])),
            risk=float(np.sum([fit.risk for fit in fits])),
            iterations=max(fit.iterations for fit in fits),
            converged=all(fit.converged for fit in fits),
            notes=tuple(dict.fromkeys(note for fit in fits for note in fit.notes)),
        )

    # -- penalties -----------------------------------------------------------------------------------

    def _penalty(self, features: PublicFeatures, slope_noise: Floats, curvature: float) -> Floats:
        """What is asked for, of one row of parameters."""
        if self.ridge is None:
            if curvature == 0:  # the length of theta means nothing then, and any ridge gives the same direction
                return np.eye(features.width)
            return noise_penalty(slope_noise, features, curvature)
        weights = np.full(features.width, self.ridge)
        # The intercept is free, unless noise could carry it off, or the loss would.
        if features.intercept and not slope_noise.any() and curvature > 0:
            weights[0] = 0.0
        return np.diag(weights)

    def _rescued(
        self, features: PublicFeatures, solve: Callable[[Floats], RiskSolution], penalty: Floats, coupling: Floats
    ) -> tuple[RiskSolution, Floats, list[str]]:
        """Solve; where there is no finite minimiser, add a small ridge and say so."""
        solution = solve(penalty)
        if not solution.unbounded:
            return solution, penalty, []
        for intercept in (False, True):
            more = penalty + np.kron(coupling, rescue_penalty(features, intercept)).astype(float)
            solution = solve(more)
            if not solution.unbounded:
                break
        return solution, more, [_outside(self.ridge)]

    def _finished(
        self,
        features: PublicFeatures,
        solution: RiskSolution,
        rows: Floats,
        covariance: Floats | None,
        ridge: float,
        notes: list[str],
    ) -> OperatorFit:
        if not solution.converged:
            notes.append(
                f"The solver stopped after {solution.iterations} iterations before it converged: raise max_iter, or "
                "add ridge."
            )
        back = features.uncentring
        own = solution.theta @ back.T
        if covariance is not None:
            wide = np.kron(np.eye(len(covariance) // features.width), back)
            covariance = wide @ covariance @ wide.T
        return OperatorFit(
            rows=rows @ back.T,
            parameters=own.ravel(),
            covariance=covariance,
            ridge=ridge,
            risk=solution.value,
            iterations=solution.iterations,
            converged=solution.converged,
            notes=tuple(notes),
        )


@dataclass(frozen=True, eq=False)
class _LabelVariance(Loss):
    """As its curvature, (a/2)^2 Var(y | x) by a proper loss's own link; by others at most (a/2)^2."""

    loss: Loss
    name = "label variance"
    odd = 1.0

    def even(self, z: Floats) -> Floats:
        return np.zeros_like(z)

    def even_slope(self, z: Floats) -> Floats:
        return np.zeros_like(z)

    def even_curvature(self, z: Floats) -> Floats:
        certain = self.loss.even_slope(z) ** 2 if self.loss.proper else 0.0
        return np.maximum((0.5 * self.loss.odd) ** 2 - certain + 0 * z, 0.0)


def _as_shared(mu: Floats, noise: Floats, features: PublicFeatures) -> Floats:
    """The covariance of noisy rows after :func:`summing_to_the_mean`."""
    classes, width = mu.shape
    share = np.kron(np.eye(classes) - 1 / classes, np.eye(width))
    after: Floats = share @ noise @ share.T
    missed = np.abs(features.mean_row - mu.sum(axis=0)).max()
    independent = not np.any(noise - np.diag(np.diag(noise)))
    if independent and noise.any() and missed < 1e-3 * np.sqrt(np.diag(noise).max()):
        # The rows sum to the mean already: the given variances are those after sharing.
        after *= classes / (classes - 1)
    return after


def _sandwich(hessian: Floats, inner: Floats) -> Floats:
    scale = np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    bread = np.linalg.pinv(hessian / np.outer(scale, scale), rcond=1e-13, hermitian=True) / np.outer(scale, scale)
    covariance: Floats = bread @ inner @ bread
    return covariance


def _average(penalty: Floats) -> float:
    return float(np.trace(penalty)) / len(penalty) if len(penalty) else 0.0


def wrong_width(operator: MeanOperator, columns: int, intercept: bool) -> InvalidInput:
    """Return the error for a mean operator of other features than there are."""
    hint = ""
    if operator.width == columns and intercept:
        hint = "It seems to have no value for the intercept: use fit_intercept=False, or ask for one that has."
    elif operator.width == columns + 1 and not intercept:
        hint = "It seems to have a value for the intercept: use fit_intercept=True."
    return InvalidInput(
        f"a mean operator of width {operator.width} for {columns} features",
        f"{columns + intercept}: one value for each feature" + (", after that of the intercept" if intercept else ""),
        hint,
    )


_NOTHING_LEARNED = (
    "The rho-loss is nowhere below its value at zero, so for a mean operator that labels can have, zero is the best "
    "theta: nothing was learned. Use another loss."
)


def _outside(ridge: float | None) -> str:
    asked = "" if ridge is None else f" with ridge={ridge:g}"
    return (
        f"The risk falls without end in some direction{asked}: the mean operator lies on the edge of what labels can "
        "give, or outside (the classes are separated, or noise has carried it off). There is no finite minimiser; a "
        "small ridge was added, and the standard errors do not tell by how much it shrinks."
    )
