"""The spread likelihood of three or more classes, with all logits integrated out together.

Given a report the logits are normal and *correlated*: they are sums over the same hidden features. Their covariance
W V(x~) W' needs a product with V for each pair of classes, and E[softmax] a sum over points
(``softmax_normal``), so a step costs some times that of ``CollapsedLikelihood``, which takes the logits for
independent: near enough to choose a ridge and to start from, while its coefficients come out up to a third too long.
"""

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood
from askance.learning.records.softmax_normal import LabelSlopes, label_slopes


class JointLikelihood(CollapsedLikelihood):
    """The likelihood of label reports given feature reports, for three or more classes.

    Parameters are those of ``CollapsedLikelihood``.
    """

    def log_likelihood(self, theta: Floats) -> Floats:
        """Of each report, n x sets."""
        return np.column_stack([self._slopes_at(one).value for one in theta])

    def data_loss(self, theta: Floats, shares: Floats) -> tuple[float, Floats]:
        value, gradient = 0.0, np.zeros_like(theta)
        for one, share, into in zip(theta, shares.T, gradient, strict=True):
            slopes = self._slopes_at(one)
            value -= float(share @ slopes.value)
            slope = self._pulled(one, share[:, None] * slopes.by_mean, share[:, None] * slopes.by_covariance)
            into[1:] -= slope
            into[0] += slope.sum(axis=0)
        return value, gradient

    def report_scores(self, theta: Floats) -> Floats:
        """Derivatives of each report's log-likelihood by the rows against the first class, n x parameters."""
        slopes, against = self._slopes_at(theta), theta[1:] - theta[:1]
        centred = self.features.mean - self.centre
        parts = [slope[:, None] * centred for slope in slopes.by_mean.T]
        for a, b, slope in zip(*self._pairs, slopes.by_covariance.T, strict=True):
            pull = slope[:, None] * self.features.variance
            parts[a] += pull * against[b, 1:]
            parts[b] += pull * against[a, 1:]
        levels = slopes.by_mean.T if self.intercept else np.zeros_like(slopes.by_mean.T)
        return np.hstack([np.column_stack([level, part]) for level, part in zip(levels, parts, strict=True)])

    @property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        first, second = np.tril_indices(self.rows - 1)
        return first, second

    def _slopes_at(self, theta: Floats) -> LabelSlopes:
        theta = np.column_stack([theta[:, 0] - theta[:, 1:] @ self.centre, theta[:, 1:]])
        mean, covariance = joint_logits(*self.features, theta)
        return label_slopes(mean, covariance, self.label_likelihood)

    def _pulled(self, theta: Floats, by_mean: Floats, by_covariance: Floats) -> Floats:
        """The derivatives by the rows against the first class, from those by the logits' moments."""
        weights = theta[1:, 1:] - theta[:1, 1:]
        level = by_mean.sum(axis=0)
        slope = by_mean.T @ self.features.mean - level[:, None] * self.centre
        if len(self.features.variance) == 1:
            spread = by_covariance.sum(axis=0)[:, None] * self.features.variance
        else:
            spread = by_covariance.T @ self.features.variance
        for a, b, pull in zip(*self._pairs, spread, strict=True):
            slope[a] += pull * weights[b]
            slope[b] += pull * weights[a]
        return np.column_stack([level if self.intercept else np.zeros_like(level), slope])


def joint_logits(mean: Floats, variance: Floats, theta: Floats) -> tuple[Floats, Floats]:
    """Means and covariances, as rows of the lower triangle, of logits against the first class.

    Parameters
    ----------
    mean, variance : n x d
        Of the features given their reports; variances may be one row for all.
    theta : K x (1 + d)
        Intercept first.
    """
    against = theta[1:] - theta[:1]
    first, second = np.tril_indices(len(against))
    weights = against[:, 1:]
    return mean @ weights.T + against[:, 0], variance @ (weights[first] * weights[second]).T
