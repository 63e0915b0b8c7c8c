"""Standard errors of a collapsed fit: the sandwich H^-1 J H^-1.

J sums squares of the reports' scores, H is the curvature of the penalised likelihood. The normal approximation makes
the likelihood a working one, and for that the sandwich is right where the inverse information need not be. That the
prior was learned from the same reports is not counted; in simulations its share is too small to see.
"""

import numpy as np

from askance.arrays import Floats
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood

MOST_PARAMETERS = 200
_STEP = 1e-5
_ROWS = 10_000  # from which the curvature for three or more classes is estimated: to a percent, in bounded time


def sandwich(likelihood: CollapsedLikelihood, theta: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Return the covariance of the free parameters, and the share of each one's curvature that is the ridge's.

    Free parameters are theta itself (1 x p) for two classes. For more they are the rows against the first class,
    flattened, and the likelihood is to be the joint one.
    Without intercept its places are kept, and zero.
    """
    free = theta if likelihood.rows == 1 else theta[1:] - theta[:1]
    rows = len(likelihood.features.mean)
    seen = likelihood if likelihood.rows == 1 else likelihood.thinned(_ROWS)
    weights = np.full((len(seen.label_likelihood), 1), 1 / len(seen.label_likelihood))

    def gradient(point: Floats) -> Floats:
        told = seen.loss(_full(point.reshape(free.shape), seen.rows)[None], weights, ridge)[1][0]
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
    scores = likelihood.report_scores(theta)
    # An intercept that is fixed at zero is no parameter: how the others' slopes hang on it must not be counted.
    moves = np.tile(np.arange(free.shape[1]) > 0, len(free)) | likelihood.intercept
    inverse = np.zeros_like(curvature)
    inverse[np.ix_(moves, moves)] = np.linalg.inv(curvature[np.ix_(moves, moves)])
    covariance: Floats = inverse @ (scores.T @ scores / rows**2) @ inverse
    penalty = ridge * np.tile(np.concatenate([[likelihood.intercept_metric], likelihood.metric]), len(free))
    return covariance, penalty / np.maximum(np.diag(curvature), 1e-300)


def _full(free: Floats, rows: int) -> Floats:
    if rows == 1:
        return free
    whole = np.vstack([np.zeros((1, free.shape[1])), free])
    centred: Floats = whole - whole.mean(axis=0)
    return centred
