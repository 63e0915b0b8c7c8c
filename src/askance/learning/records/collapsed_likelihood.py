"""The spread likelihood of a linear classifier with its features integrated out in one dimension.

Given a report x~, a logit is a sum of many independent terms w_j x_j, so it is nearly normal, with mean w.m(x~) + b and
variance w'V(x~)w; m and V are closed form (``posterior``). The likelihood of a label report
is then sum_c S(c~ | c) E[softmax_c], an integral in one dimension (``logistic_normal``), smooth in
w. A step costs two products with tables that are looked up once: m and V.

The approximation is good for many coordinates, or for noise that is small; for a few binary ones it is not, and
``enumerated_likelihood`` is exact.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from askance.arrays import Floats
from askance.learning.records.logistic_normal import expected_sigmoid, expected_softmax, softmax_pullback
from askance.learning.records.logit_objective import HeldOut, LogitObjective
from askance.learning.records.posterior import Moments
from askance.learning.records.prior import column_variances

Kind = TypeVar("Kind", bound="CollapsedLikelihood")

_TINY = 1e-300  # in place of a probability of zero: its logarithm is a number
_PROBES = 64  # rows from which the size of a typical direction is estimated: to some per cent, which is all it takes


class Slopes(NamedTuple):
    """Log-likelihood of every label report, and its derivatives by mean and variance of the logits.

    n x sets for two classes; n x sets x classes for more.
    """

    value: Floats
    by_mean: Floats
    by_variance: Floats


@dataclass(frozen=True, eq=False)
class HeldOutReports(HeldOut):
    """Log-likelihoods of n reports in memory."""

    each: Floats
    counts: Floats | None = None

    @property
    def mean(self) -> float:
        return float(np.average(self.each, weights=self.counts))

    def behind(self, other: "HeldOutReports") -> tuple[float, float]:
        difference = other.each - self.each
        if self.counts is None:
            return float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))
        mean = float(np.average(difference, weights=self.counts))
        return mean, float(np.sqrt(self.counts**2 @ (difference - mean) ** 2) / self.counts.sum())


@dataclass(frozen=True, eq=False)
class CollapsedLikelihood(LogitObjective):
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
    counts : n, optional
        What each report counts for.
    """

    features: Moments
    label_likelihood: Floats
    metric: Floats
    intercept: bool = True
    counts: Floats | None = None
    rough: bool = field(default=False, init=False)
    centre: Floats = field(init=False)
    spread: Floats = field(init=False)
    intercept_metric: float = field(init=False)

    def __post_init__(self) -> None:
        mean = self.features.mean
        middle = np.average(mean, axis=0, weights=self.counts)
        centre = middle if self.intercept else np.zeros(mean.shape[1])
        vars(self).update(centre=centre, spread=column_variances(mean, middle, self.counts))
        vars(self).update(intercept_metric=1 / max(self._typical_direction(), _TINY))

    @classmethod
    def without_reports(cls, classes: int, **known: Any) -> Self:
        """A likelihood of no reports, of which metric, intercept, centre, spread and intercept_metric are known."""
        width = len(known["metric"])
        none = Moments(np.empty((0, width)), np.empty((0, width)))
        frame = object.__new__(cls)
        vars(frame).update(known, features=none, label_likelihood=np.empty((0, classes)), rough=False, counts=None)
        return frame

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
    def reports(self) -> float:
        return len(self.label_likelihood) if self.counts is None else float(self.counts.sum())

    @property
    def _weights(self) -> Floats:
        return np.ones(len(self.label_likelihood)) if self.counts is None else self.counts

    @property
    def classes(self) -> int:
        return int(self.label_likelihood.shape[1])

    @property
    def label_table(self) -> tuple[Floats, Floats]:
        return self.label_likelihood, self._weights

    def roughly(self) -> Self:
        mean, variance = self.features
        # About the centre: what is far from zero would have no digits left.
        about: Any = np.subtract(mean, self.centre, out=np.empty(mean.shape, np.float32), casting="same_kind")
        tables = Moments(about, variance.astype(np.float32))
        return self.changed(type(self), features=tables, centre=np.zeros_like(self.centre), rough=True)

    def thinned(self, most: int) -> Self:
        every = -(-len(self.label_likelihood) // most)
        mean, variance = self.features
        tables = Moments(mean[::every], variance if len(variance) == 1 else variance[::every])
        counts = None if self.counts is None else self.counts[::every]
        return self.changed(type(self), features=tables, label_likelihood=self.label_likelihood[::every], counts=counts)

    def joint(self) -> "CollapsedLikelihood":
        from askance.learning.records.joint_likelihood import JointLikelihood

        return self.changed(JointLikelihood)

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

    def slopes(self, mean: Floats, variance: Floats) -> Slopes:
        """The log-likelihood of label reports as a function of the logits' moments (sets last, or classes last)."""
        table = self.label_likelihood
        if self.rows == 1:
            link = expected_sigmoid(mean, variance, rough=self.rough)
            first, gap = table[:, :1], table[:, 1:] - table[:, :1]
            chance = np.maximum(first + gap * link.probability, _TINY)
            pull = gap / chance
            return Slopes(np.log(chance), pull * link.by_mean, pull * link.by_variance)
        soft = expected_softmax(mean, variance)
        table = table[:, None, :]
        chance = np.maximum((table * soft.probability).sum(axis=-1, keepdims=True), _TINY)
        pull = soft.probability * (table / chance - 1)
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

    def total(self, theta: Floats) -> float:
        return float(self._weights @ self.log_likelihood(theta[None])[:, 0])

    def held_out(self, theta: Floats, weights: Floats) -> HeldOutReports:
        return HeldOutReports((self.log_likelihood(theta) * (weights == 0)).sum(axis=1), self.counts)

    def shares(self, weights: Floats | None) -> Floats:
        """Weights of the reports, n x sets, as shares of one in each set; one set with equal weights unless given."""
        counted = self._weights[:, None] * (1.0 if weights is None else weights)
        normalised: Floats = counted / counted.sum(axis=0)
        return normalised

    def data_loss(self, theta: Floats, shares: Floats) -> tuple[float, Floats]:
        sets = len(theta)
        flat = theta.reshape(sets * self.rows, -1)
        slopes = self.slopes(*self._shaped(*self.logits(flat), sets))
        pull = shares if self.rows == 1 else shares[:, :, None]
        by_mean = (pull * slopes.by_mean).reshape(len(shares), -1)
        by_variance = (pull * slopes.by_variance).reshape(len(shares), -1)
        gradient = np.empty_like(flat)
        level = by_mean.sum(axis=0)
        gradient[:, 0] = -level if self.intercept else 0.0
        kind = self.features.mean.dtype
        slope = by_mean.T.astype(kind, copy=False) @ self.features.mean - level[:, None] * self.centre
        if len(self.features.variance) == 1:
            spread = by_variance.sum(axis=0)[:, None] * self.features.variance
        else:
            spread = by_variance.T.astype(kind, copy=False) @ self.features.variance
        gradient[:, 1:] = -(slope + 2 * flat[:, 1:] * spread)
        whole = gradient.reshape(theta.shape)
        if self.rows > 1:
            whole = whole - whole.mean(axis=1, keepdims=True)
        return -float((shares * slopes.value).sum()), whole

    def gradients(self, points: Floats, ridge: float) -> Floats:
        shares = self.shares(None)
        return np.stack([self.loss(point[None], shares, ridge)[1][0] for point in points])

    def score_squares(self, theta: Floats) -> Floats:
        scores = self.report_scores(theta) * self._weights[:, None]
        return scores.T @ scores

    def report_scores(self, theta: Floats) -> Floats:
        """Derivatives of each report's log-likelihood by the parameters of two classes (1 x (1 + d)), n x (1 + d)."""
        slopes = self.slopes(*self.logits(theta))
        slope = slopes.by_mean * (self.features.mean - self.centre)
        slope += 2 * slopes.by_variance * self.features.variance * theta[0, 1:]
        return np.column_stack([slopes.by_mean if self.intercept else np.zeros_like(slopes.by_mean), slope])
