"""The spread likelihood of a linear classifier with its features integrated out in one dimension.

Given a report x~, a logit is a sum of many independent terms w_j x_j, so it is nearly normal, with mean w.m(x~) + b and
variance w'V(x~)w; m and V are closed form (``posterior``). The likelihood of a label report
is then sum_c S(c~ | c) E[softmax_c], an integral in one dimension (``logistic_normal``), smooth in
w. A step costs two products with tables that are looked up once: m and V.

The approximation is good for many coordinates, or for noise that is small; for a few binary ones it is not, and
``enumerated_likelihood`` is exact.

Parameters are ``theta``, rows x (1 + d), intercept first: one row for two classes, and one for each of more, which sum
to zero. The intercept is the logit at the *centre* of the features. Several sets of row weights, the folds of a
cross-validation, are fitted at once: their products with the tables are one matrix product.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from askance.arrays import Floats
from askance.learning.records.logistic_normal import expected_sigmoid, expected_softmax, softmax_pullback
from askance.learning.records.posterior import Moments
from askance.learning.records.prior import column_variances

Kind = TypeVar("Kind", bound="CollapsedLikelihood")

_TINY = 1e-300
_LEAST_CURVATURE = 0.01
_PROBES = 64  # rows from which the size of a typical direction is estimated


class Slopes(NamedTuple):
    """Log-likelihood of every label report, and its derivatives by mean and variance of the logits.

    n x sets for two classes; n x sets x classes for more.
    """

    value: Floats
    by_mean: Floats
    by_variance: Floats


class Fit(NamedTuple):
    """Where L-BFGS stopped: theta is sets x rows x (1 + d)."""

    theta: Floats
    value: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class CollapsedLikelihood:
    """The likelihood of label reports given feature reports.

    Parameters
    ----------
    features : Moments
        Posterior means and variances of the coordinates.
    label_likelihood : n x C
        P(label report_i | class).
    metric : d
        The penalty is ``ridge / 2 * sum_j metric_j w_j^2`` off the *mean* log-likelihood, for every row.
    intercept : bool
    """

    features: Moments
    label_likelihood: Floats
    metric: Floats
    intercept: bool = True
    rough: bool = field(default=False, init=False)
    centre: Floats = field(init=False)
    spread: Floats = field(init=False)
    intercept_metric: float = field(init=False)

    def __post_init__(self) -> None:
        mean = self.features.mean
        middle = mean.mean(axis=0)
        centre = middle if self.intercept else np.zeros(mean.shape[1])
        vars(self).update(centre=centre, spread=column_variances(mean, middle))
        vars(self).update(intercept_metric=1 / max(self._typical_direction(), _TINY))

    def _typical_direction(self) -> float:
        """The variance along a principal direction, weighted by itself and measured by the metric: sum l^2 / sum l.

        As if the constant were one more direction of that size, the intercept is penalised with the others. A free
        intercept would win over the features wherever the ridge is strong, and would be the noise of the labels; a
        harshly penalised one would call every class equally frequent.
        """
        mean, scale = self.features.mean, 1 / np.maximum(self.metric, _TINY)
        total = float(self.spread @ scale)
        if total <= 0:
            return 1.0
        step = max(len(mean) // _PROBES, 1)
        probes = (mean[::step][:_PROBES] - mean.mean(axis=0)) * scale
        along = mean @ probes.T - mean.mean(axis=0) @ probes.T
        seen = (along**2).sum(axis=0)
        own = along[np.arange(len(probes)) * step, np.arange(len(probes))] ** 2
        squares = float((seen - own).mean()) / max(len(mean) - 1, 1)
        return max(squares / total, total / len(self.metric))

    @property
    def penalties(self) -> Floats:
        """The metric of all parameters, that of the intercept first where there is one."""
        return np.concatenate([[self.intercept_metric] * self.intercept, self.metric])

    @property
    def rows(self) -> int:
        """Of theta: one for two classes, else one for each."""
        classes = self.label_likelihood.shape[1]
        return 1 if classes == 2 else classes

    def roughly(self) -> "CollapsedLikelihood":
        """The same with tables in half the precision and a rough integral, for fits that are only compared."""
        mean, variance = self.features
        # About the centre: what is far from zero would have no digits left.
        about: Any = np.subtract(mean, self.centre, out=np.empty(mean.shape, np.float32), casting="same_kind")
        tables = Moments(about, variance.astype(np.float32))
        return self.changed(CollapsedLikelihood, features=tables, centre=np.zeros_like(self.centre), rough=True)

    def thinned(self, most: int) -> Self:
        """The same with reports left out at equal distances, so that at most so many are left."""
        every = -(-len(self.label_likelihood) // most)
        mean, variance = self.features
        tables = Moments(mean[::every], variance if len(variance) == 1 else variance[::every])
        return self.changed(type(self), features=tables, label_likelihood=self.label_likelihood[::every])

    def changed(self, kind: type[Kind], **changes: Any) -> Kind:
        """The same as a likelihood of this kind, with some fields changed; what follows from fields is kept."""
        copy = object.__new__(kind)
        vars(copy).update(vars(self) | changes)
        return copy

    # -- one evaluation ------------------------------------------------------------------------------

    def logits(self, theta: Floats) -> tuple[Floats, Floats]:
        """Means and variances of the logits, n x (sets rows), for theta of (sets rows) x (1 + d)."""
        intercepts, weights = theta[:, 0], theta[:, 1:].astype(self.features.mean.dtype, copy=False)
        mean = (self.features.mean @ weights.T).astype(float, copy=False)
        mean += intercepts - theta[:, 1:] @ self.centre
        return mean, (self.features.variance @ (weights * weights).T).astype(float, copy=False)

    def slopes(self, mean: Floats, variance: Floats, likelihood: Floats | None = None) -> Slopes:
        """The log-likelihood of label reports as a function of the logits' moments (sets last, or classes last)."""
        told = self.label_likelihood if likelihood is None else likelihood
        if self.rows == 1:
            link = expected_sigmoid(mean, variance, rough=self.rough)
            first, gap = told[:, :1], told[:, 1:] - told[:, :1]
            chance = np.maximum(first + gap * link.probability, _TINY)
            pull = gap / chance
            return Slopes(np.log(chance), pull * link.by_mean, pull * link.by_variance)
        soft = expected_softmax(mean, variance)
        told = told[:, None, :]
        chance = np.maximum((told * soft.probability).sum(axis=-1, keepdims=True), _TINY)
        pull = soft.probability * (told / chance - 1)
        return Slopes(np.log(chance[..., 0]), *softmax_pullback(soft, pull))

    def log_likelihood(self, theta: Floats) -> Floats:
        """Of each report, n x sets."""
        sets = len(theta)
        return self.slopes(*self._shaped(*self.logits(theta.reshape(sets * self.rows, -1)), sets)).value

    def _shaped(self, mean: Floats, variance: Floats, sets: int) -> tuple[Floats, Floats]:
        if self.rows == 1:
            return mean, variance
        shape = (len(mean), sets, self.rows)
        return mean.reshape(shape), np.broadcast_to(variance, mean.shape).reshape(shape)

    def loss(self, theta: Floats, weights: Floats, ridge: float) -> tuple[float, Floats]:
        """Minus the penalised mean log-likelihood, summed over sets, and its gradient.

        Parameters
        ----------
        theta : sets x rows x (1 + d)
        weights : n x sets
            Of the reports, each column sums to one.
        ridge : float
        """
        sets = len(theta)
        if self.rows > 1:
            theta = theta - theta.mean(axis=1, keepdims=True)
        flat = theta.reshape(sets * self.rows, -1)
        slopes = self.slopes(*self._shaped(*self.logits(flat), sets))
        pull = weights if self.rows == 1 else weights[:, :, None]
        by_mean = (pull * slopes.by_mean).reshape(len(weights), -1)
        by_variance = (pull * slopes.by_variance).reshape(len(weights), -1)
        gradient = np.empty_like(flat)
        level = by_mean.sum(axis=0)
        gradient[:, 0] = level if self.intercept else 0.0
        kind = self.features.mean.dtype
        slope = by_mean.T.astype(kind, copy=False) @ self.features.mean - level[:, None] * self.centre
        if len(self.features.variance) == 1:
            spread = by_variance.sum(axis=0)[:, None] * self.features.variance
        else:
            spread = by_variance.T.astype(kind, copy=False) @ self.features.variance
        gradient[:, 1:] = slope + 2 * flat[:, 1:] * spread
        penalty = ridge * np.concatenate([[self.intercept_metric if self.intercept else 0.0], self.metric])
        value = -float((weights * slopes.value).sum()) + 0.5 * float((penalty * flat**2).sum())
        whole = (penalty * flat - gradient).reshape(theta.shape)
        if self.rows > 1:
            whole = whole - whole.mean(axis=1, keepdims=True)
        return value, whole

    def report_scores(self, theta: Floats) -> Floats:
        """Derivatives of each report's log-likelihood by the parameters of two classes (1 x (1 + d)), n x (1 + d)."""
        slopes = self.slopes(*self.logits(theta))
        slope = slopes.by_mean * (self.features.mean - self.centre)
        slope += 2 * slopes.by_variance * self.features.variance * theta[0, 1:]
        return np.column_stack([slopes.by_mean if self.intercept else np.zeros_like(slopes.by_mean), slope])

    # -- the maximum ---------------------------------------------------------------------------------

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
        weights : n x sets, optional
            One set with equal weights unless given.
        start : sets x rows x (1 + d), optional
        tolerance : float
            Of the gradient, relative to that of no parameters at all.
        max_iterations : int
        """
        from scipy.optimize import minimize

        told = self.features.mean
        share = np.full((len(told), 1), 1 / len(told)) if weights is None else weights / weights.sum(axis=0)
        shape = (share.shape[1], self.rows, told.shape[1] + 1)
        curvature = self._label_curvature()
        diagonal = curvature * np.concatenate([[1.0], self.spread])
        diagonal += ridge * np.concatenate([[self.intercept_metric], self.metric])
        scale = 1 / np.sqrt(np.maximum(diagonal, 1e-12 * diagonal.max()))

        def evaluate(point: Floats) -> tuple[float, Floats]:
            value, gradient = self.loss(point.reshape(shape) * scale, share, ridge)
            return value, (gradient * scale).ravel()

        first = np.zeros(shape) if start is None else start / scale
        options = {"maxiter": max_iterations, "maxfun": 2 * max_iterations, "maxcor": 12, "ftol": 0.0}
        # In these coordinates a gradient of g leaves about g^2 / 2 of log-likelihood to gain.
        options["gtol"] = tolerance
        found = minimize(evaluate, first.ravel(), jac=True, method="L-BFGS-B", options=options)
        theta: Floats = found.x.reshape(shape) * scale
        if self.rows > 1:
            theta = theta - theta.mean(axis=1, keepdims=True)
        return Fit(theta, float(found.fun), int(found.nit), bool(np.abs(found.jac).max() <= 10 * tolerance))

    def _label_curvature(self) -> float:
        """The curvature of the log-likelihood by a logit, where all logits are zero: what label noise leaves of 1/4."""
        told = self.label_likelihood
        centred = told / told.mean(axis=1, keepdims=True) - 1
        return max(float((centred**2).mean() / told.shape[1]), _LEAST_CURVATURE)
