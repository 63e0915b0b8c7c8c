"""Standard errors of a collapsed fit: the sandwich H^-1 J H^-1.

J sums squares of the reports' scores, H is the curvature of the penalised likelihood. The normal approximation makes
the likelihood a working one, and for that the sandwich is right where the inverse information need not be. That the
prior was learned from the same reports is not counted; in simulations its share is too small to see.
"""

import numpy as np

from askance.arrays import Flags, Floats
from askance.learning.records.flat_likelihood import is_flat, steps_to_the_ends
from askance.learning.records.logit_objective import LogitObjective

# Each takes two evaluations of the gradient, and nobody reads a table of more intervals than that.
MOST_PARAMETERS = 200
_STEP = 1e-5  # of central differences, in standard deviations of a feature: the cube root of rounding errors
_ROWS = 10_000  # from which the curvature for three or more classes is estimated: to a percent, in bounded time


def sandwich(likelihood: LogitObjective, theta: Floats, ridge: float) -> tuple[Floats | None, Floats]:
    """Return the covariance of the free parameters, and the share of what is known of each that is the ridge's.

    The share is that of the curvature along the way on which a parameter is known least, with the others moved as they
    would be: along its own axis the curvature is large where features are correlated, or all logits grow together.
    The covariance is None where the likelihood hardly falls as far as intervals would reach.

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
    shares: Floats = (inverse**2 @ penalty) / np.maximum(np.diag(inverse), 1e-300)
    if _is_flat(likelihood.reports, seen, free, ridge, inverse, covariance, moves):
        return None, shares
    return covariance, shares


def _is_flat(
    reports: float,
    seen: LogitObjective,
    free: Floats,
    ridge: float,
    inverse: Floats,
    covariance: Floats,
    moves: Flags,
) -> bool:
    """Whether the likelihood, by its slopes on the way, hardly falls as far as some interval would reach."""
    own, robust = np.diag(inverse)[moves], np.diag(covariance)[moves]
    if not (np.isfinite(own).all() and np.isfinite(robust).all() and min(own.min(), robust.min()) > 0):
        return True
    steps = np.zeros((len(own), len(moves)))
    steps[:, moves], parabola = steps_to_the_ends(inverse[np.ix_(moves, moves)] / reports, np.sqrt(robust))
    ends = np.concatenate([steps, -steps])
    ways = np.concatenate([np.zeros_like(ends[:1]), ends / 2, ends])
    points = np.stack([_full((free.ravel() + way).reshape(free.shape), seen.rows) for way in ways])
    slopes = seen.gradients(points, ridge)
    slopes = (slopes if seen.rows == 1 else slopes[:, 1:]).reshape(len(ways), -1)
    # By Simpson's rule; of some reports alone the slope at the maximum of all is not zero.
    half, whole = np.split(((slopes[1:] - slopes[0]) * np.tile(ends, (2, 1))).sum(axis=1), 2)
    return is_flat((reports * (4 * half + whole) / 6).reshape(2, -1), parabola)


def _full(free: Floats, rows: int) -> Floats:
    if rows == 1:
        return free
    whole = np.vstack([np.zeros((1, free.shape[1])), free])
    centred: Floats = whole - whole.mean(axis=0)
    return centred
