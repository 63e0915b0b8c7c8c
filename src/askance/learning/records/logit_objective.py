"""A penalised mean log-likelihood of label reports as a function of a linear model, and its maximum.

Parameters are ``theta``, rows x (1 + d), intercept first: one row for two classes, and one for each of more, which sum
to zero. The intercept is the logit at the *centre* of the features. Several sets of row weights, the folds of a
cross-validation, are fitted at once: their products with the tables are one matrix product.

Where the reports are is left open: in memory (``collapsed_likelihood``), or in parts that an engine sums over
(``summed_likelihood``).
"""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from askance.arrays import Floats

# A curvature of the labels' log-likelihood below this comes from noise that leaves nothing; it only sets the pace.
_LEAST_CURVATURE = 0.01


class Fit(NamedTuple):
    """Where L-BFGS stopped: theta is sets x rows x (1 + d)."""

    theta: Floats
    value: float
    iterations: int
    converged: bool


class HeldOut(ABC):
    """Log-likelihoods of label reports, each by the fit that did not see it."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Of a report."""

    @abstractmethod
    def behind(self, other: Any) -> tuple[float, float]:
        """By how much others of the same reports are larger in the mean, and the standard error of that."""


class LogitObjective(ABC):
    """The likelihood of label reports given feature reports, whatever the features are."""

    metric: Floats  # d: the penalty is ``ridge / 2 * sum_j metric_j w_j^2`` off the mean log-likelihood, for every row
    intercept: bool
    centre: Floats  # d
    spread: Floats  # d: the variance of the features, as far as reports tell
    intercept_metric: float

    # -- what depends on where the reports are ---------------------------------------------------------

    @property
    @abstractmethod
    def reports(self) -> float:
        """How many there are, or the sum of their weights."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many there are."""

    @property
    @abstractmethod
    def label_table(self) -> tuple[Floats, Floats]:
        """P(label report | class) of some reports, and how often each came."""

    @abstractmethod
    def shares(self, weights: Floats | None) -> Floats:
        """What each report counts for in the mean log-likelihoods of some sets, in the form that data_loss takes."""

    @abstractmethod
    def data_loss(self, theta: Floats, shares: Floats) -> tuple[float, Floats]:
        """Minus the mean log-likelihood, summed over sets, and its gradient, for theta of sets x rows x (1 + d)."""

    @abstractmethod
    def total(self, theta: Floats) -> float:
        """The log-likelihood of all reports, for theta of rows x (1 + d)."""

    @abstractmethod
    def gradients(self, points: Floats, ridge: float) -> Floats:
        """Gradients of the penalised loss at several points, each rows x (1 + d)."""

    @abstractmethod
    def score_squares(self, theta: Floats) -> Floats:
        """Sum over reports of the outer products of their scores: derivatives by the free parameters."""

    @abstractmethod
    def held_out(self, theta: Floats, weights: Floats) -> HeldOut:
        """The log-likelihood of each report by the set that leaves it out."""

    @abstractmethod
    def roughly(self) -> Self:
        """The same with tables in half the precision and a rough integral, for fits that are only compared."""

    @abstractmethod
    def thinned(self, most: int) -> Self:
        """The same of about so many reports, spread evenly."""

    @abstractmethod
    def joint(self) -> "LogitObjective":
        """The same with correlated logits, for three or more classes."""

    # -- what does not ---------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """How many features there are."""
        return len(self.metric)

    @property
    def rows(self) -> int:
        """Of theta: one for two classes, else one for each."""
        return 1 if self.classes == 2 else self.classes

    @property
    def penalties(self) -> Floats:
        """The metric of all parameters, that of the intercept first where there is one."""
        return np.concatenate([[self.intercept_metric] * self.intercept, self.metric])

    def loss(self, theta: Floats, shares: Floats, ridge: float) -> tuple[float, Floats]:
        """Minus the penalised mean log-likelihood, summed over sets, and its gradient.

        Parameters
        ----------
        theta : sets x rows x (1 + d)
        shares : what :meth:`shares` returned
        ridge : float
        """
        if self.rows > 1:
            theta = theta - theta.mean(axis=1, keepdims=True)
        value, gradient = self.data_loss(theta, shares)
        penalty = self.penalty(ridge)
        return value + 0.5 * float((penalty * theta**2).sum()), gradient + penalty * theta

    def penalty(self, ridge: float) -> Floats:
        """What squares of the parameters are multiplied by, 1 + d; an intercept that is none has zero."""
        return ridge * np.concatenate([[self.intercept_metric if self.intercept else 0.0], self.metric])

    def fit(
        self,
        ridge: float,
        weights: Floats | None = None,
        *,
        start: Floats | None = None,
        tolerance: float = 1e-6,
        max_iterations: int = 500,
    ) -> Fit:
        """Maximise by L-BFGS, in coordinates that make the curvature about one.

        Parameters
        ----------
        ridge : float
        weights : array with the sets last, optional
            As :meth:`shares` takes them; one set with equal weights unless given.
        start : sets x rows x (1 + d), optional
        tolerance : float
            Of the gradient, relative to that of no parameters at all.
        max_iterations : int
        """
        from scipy.optimize import minimize

        shares = self.shares(weights)
        shape = (1 if weights is None else weights.shape[-1], self.rows, self.width + 1)
        pace = _Pace(self.pace(ridge))

        def evaluate(point: Floats) -> tuple[float, Floats]:
            value, gradient = self.loss(pace.parameters(point.reshape(shape)), shares, ridge)
            return value, pace.slopes(gradient).ravel()

        first = np.zeros(shape) if start is None else pace.point(start)
        # 12 corrections, two more than usual: folds are fitted together, and each has curvature of its own.
        options = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "maxcor": 12, "ftol": 0.0}
        # In these coordinates a gradient of g leaves about g^2 / 2 of log-likelihood to gain.
        options["gtol"] = tolerance
        found = minimize(evaluate, first.ravel(), jac=True, method="L-BFGS-B", options=options)
        theta: Floats = pace.parameters(found.x.reshape(shape))
        if self.rows > 1:
            theta = theta - theta.mean(axis=1, keepdims=True)
        return Fit(theta, float(found.fun), int(found.nit), bool(np.abs(found.jac).max() <= 10 * tolerance))

    def pace(self, ridge: float) -> Floats:
        """What turns coordinates of about unit curvature into parameters: a factor for each, or a matrix (rows)."""
        diagonal = self.label_curvature * np.concatenate([[1.0], self.spread])
        diagonal += ridge * np.concatenate([[self.intercept_metric], self.metric])
        scale: Floats = 1 / np.sqrt(np.maximum(diagonal, 1e-12 * diagonal.max()))  # what never varies has no pace
        return scale

    @property
    def label_curvature(self) -> float:
        """The curvature of the log-likelihood by a logit, where all logits are zero: what label noise leaves of 1/4."""
        table, counts = self.label_table
        centred = table / table.mean(axis=1, keepdims=True) - 1
        mean = float(np.average((centred**2).mean(axis=1), weights=counts))
        return max(mean / self.classes, _LEAST_CURVATURE)


class _Pace:
    """Coordinates in which a solver moves, by factors or by a matrix."""

    def __init__(self, given: Floats) -> None:
        self._given = given

    def parameters(self, point: Floats) -> Floats:
        return point * self._given if self._given.ndim == 1 else point @ self._given

    def slopes(self, gradient: Floats) -> Floats:
        return gradient * self._given if self._given.ndim == 1 else gradient @ self._given.T

    def point(self, parameters: Floats) -> Floats:
        if self._given.ndim == 1:
            return parameters / self._given
        found: Floats = np.linalg.solve(self._given.T, parameters[..., None])[..., 0].astype(float)
        return found


def typical_direction(covariance: Floats, metric: Floats, rows: int) -> float:
    """The variance along a principal direction, weighted by itself and measured by the metric: sum l^2 / sum l.

    That of ``CollapsedLikelihood``, which estimates it from some pairs of records, over all pairs. What a record has
    in common with itself is taken off as if features were normal: of n records it is a share of about d / n.
    """
    tiny = float(np.finfo(float).tiny)
    scaled = covariance / np.maximum(metric, 1e-300)
    total, squares = float(np.trace(scaled)), float(np.einsum("ij,ji->", scaled, scaled))
    if total <= 0:
        return 1.0
    among_others = (rows * squares - (total**2 + 2 * squares)) / max(rows - 1, 1)
    return max(among_others / total, total / len(metric), tiny)
