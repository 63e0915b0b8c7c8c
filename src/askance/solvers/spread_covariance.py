"""Standard errors of a collapsed fit: the sandwich H^-1 J H^-1.

J sums squares of the reports' scores, H is the curvature of the penalised likelihood. The normal approximation makes
the likelihood a working one, and for that the sandwich is right where the inverse information need not be. That the
prior was learned from the same reports is not counted; in simulations its share is too small to see.
"""

import numpy as np
from numpy.typing import NDArray

from askance.solvers.collapsed_spread import CollapsedLikelihood

Floats = NDArray[np.float64]

MOST_PARAMETERS = 200
_STEP = 1e-5


def sandwich(likelihood: CollapsedLikelihood, theta: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Return the covariance of the free parameters, and the share of each one's curvature that is the ridge's.

    Free parameters are theta itself (1 x p) for two classes, and for more the rows against the first class, flattened.
    """
    free = theta if likelihood.rows == 1 else theta[1:] - theta[:1]
    rows = len(likelihood.features.mean)
    weights = np.full((rows, 1), 1 / rows)

    def gradient(point: Floats) -> Floats:
        told = likelihood.loss(_full(point.reshape(free.shape), likelihood.rows)[None], weights, ridge)[1][0]
        slope: Floats = (told if likelihood.rows == 1 else told[1:]).ravel()
        return slope

    at = free.ravel()
    scale = _STEP / np.sqrt(np.concatenate([[1.0], np.maximum(likelihood.spread, 1e-12)]))
    steps = np.tile(scale, len(free))
    curvature = np.empty((at.size, at.size))
    for j, step in enumerate(steps):
        shift = np.zeros(at.size)
        shift[j] = step
        curvature[j] = (gradient(at + shift) - gradient(at - shift)) / (2 * step)
    curvature = (curvature + curvature.T) / 2
    scores = report_scores(likelihood, theta)
    inverse = np.linalg.inv(curvature)
    covariance: Floats = inverse @ (scores.T @ scores / rows**2) @ inverse
    penalty = ridge * np.tile(np.concatenate([[likelihood.intercept_metric], likelihood.metric]), len(free))
    return covariance, penalty / np.maximum(np.diag(curvature), 1e-300)


def report_scores(likelihood: CollapsedLikelihood, theta: Floats) -> Floats:
    """Derivatives of each report's log-likelihood by the free parameters, n x parameters."""
    mean, variance = likelihood.logits(theta)
    if likelihood.rows > 1:
        mean, variance = mean[:, None], np.broadcast_to(variance, mean.shape)[:, None]
    slopes = likelihood.slopes(mean, variance)
    by_mean = slopes.by_mean.reshape(len(mean), -1)
    by_variance = slopes.by_variance.reshape(len(mean), -1)
    features = likelihood.features
    centred = features.mean - likelihood.centre
    parts = []
    for k in range(likelihood.rows):
        slope = by_mean[:, [k]] * centred + 2 * by_variance[:, [k]] * features.variance * theta[k, 1:]
        level = by_mean[:, [k]] if likelihood.intercept else np.zeros((len(centred), 1))
        parts.append(np.column_stack([level, slope]))
    if likelihood.rows == 1:
        return parts[0]
    average = np.mean(parts, axis=0)
    return np.hstack([part - average for part in parts[1:]])


def _full(free: Floats, rows: int) -> Floats:
    if rows == 1:
        return free
    whole = np.vstack([np.zeros((1, free.shape[1])), free])
    centred: Floats = whole - whole.mean(axis=0)
    return centred
