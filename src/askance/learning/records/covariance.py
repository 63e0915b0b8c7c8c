"""Standard errors of a collapsed fit: the sandwich H^-1 J H^-1.

J sums squares of the reports' scores, H is the curvature of the penalised likelihood. The normal approximation makes
the likelihood a working one, and for that the sandwich is right where the inverse information need not be. That the
prior was learned from the same reports is not counted; in simulations its share is too small to see.
"""

import numpy as np

from askance.arrays import Floats
from askance.learning.records.logit_objective import LogitObjective

# Each takes two evaluations of the gradient, and nobody reads a table of more intervals than that.
MOST_PARAMETERS = 200
_STEP = 1e-5  # of central differences, in standard deviations of a feature: the cube root of rounding errors
_ROWS = 10_000  # from which the curvature for three or more classes is estimated: to a percent, in bounded time


def sandwich(likelihood: LogitObjective, theta: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Return the covariance of the free parameters, and the share of each one's curvature that is the ridge's.

    Free parameters are theta itself (1 x p) for two classes. For more they are the rows against the first class,
    flattened, and the likelihood is to be the joint one.
    Without intercept its places are kept, and zero.
    """
    free = theta if likelihood.rows == 1 else theta[1:] - theta[:1]
    seen = likelihood if likelihood.rows == 1 else likelihood.thinned(_ROWS)
    scale = _STEP / np.sqrt(np.concatenate([[1.0], np.maximum(likelihood.spread, 1e-12)]))
    steps = np.diag(np.tile(scale, len(free)))
    points = [_full((free.ravel() + step).reshape(free.shape), seen.rows) for step in (*steps, *-steps)]
    slopes = seen.gradients(np.stack(points), ridge)
    ahead, back = np.split((slopes if likelihood.rows == 1 else slopes[:, 1:]).reshape(len(points), -1), 2)
    curvature = (ahead - back) / (2 * np.diag(steps)[:, None])
    curvature = (curvature + curvature.T) / 2
    # An intercept that is fixed at zero is no parameter: how the others' slopes hang on it must not be counted.
    moves = np.tile(np.arange(free.shape[1]) > 0, len(free)) | likelihood.intercept
    inverse = np.zeros_like(curvature)
    inverse[np.ix_(moves, moves)] = np.linalg.inv(curvature[np.ix_(moves, moves)])
    covariance: Floats = inverse @ (likelihood.score_squares(theta) / likelihood.reports**2) @ inverse
    penalty = ridge * np.tile(np.concatenate([[likelihood.intercept_metric], likelihood.metric]), len(free))
    return covariance, penalty / np.maximum(np.diag(curvature), 1e-300)


def _full(free: Floats, rows: int) -> Floats:
    if rows == 1:
        return free
    whole = np.vstack([np.zeros((1, free.shape[1])), free])
    centred: Floats = whole - whole.mean(axis=0)
    return centred
