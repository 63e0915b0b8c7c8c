"""What comes of a fit, and how far it is known: parameters, covariance, and what there is to say about them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats

_STEP = 1e-4  # of central differences of a gradient: its error, of the order of the square, and rounding are both 1e-8
DIFFERENCE_ERROR = 1e-8  # relative, of a Hessian by such differences: what is smaller is not told from zero
POINTS_AT_ONCE = 64  # whose gradients one pass over the records sums, where these are far away
MOST_DIFFERENCED = 300  # parameters up to which a Hessian is made of differences: two passes for each


@dataclass(frozen=True, eq=False)
class Fitted:
    """Parameters with their covariance.

    Parameters
    ----------
    theta : array
    covariance : array or None
        None where there are too many parameters for one.
    sandwich, information : arrays or None
        The two of which ``covariance`` is one.
    objective : float
    ridge : float
    iterations : int
    converged : bool
    notes : tuple of str
    """

    theta: Floats
    covariance: Floats | None
    sandwich: Floats | None
    information: Floats | None
    objective: float
    ridge: float
    iterations: int
    converged: bool
    notes: tuple[str, ...] = ()


def differenced(gradients: Callable[[Floats], Floats], theta: Floats) -> Floats:
    """Return minus the Hessian, from central differences of gradients at several points, points x parameters."""
    steps = _STEP * np.maximum(1.0, np.abs(theta))
    hessian = np.empty((len(theta), len(theta)))
    for first in range(0, len(theta), POINTS_AT_ONCE // 2):
        places = np.arange(first, min(first + POINTS_AT_ONCE // 2, len(theta)))
        moves = np.zeros((len(places), len(theta)))
        moves[np.arange(len(places)), places] = steps[places]
        below, above = np.split(gradients(np.vstack([theta - moves, theta + moves])), 2)
        hessian[places] = (below - above) / (2 * steps[places, None])
    return np.asarray((hessian + hessian.T) / 2)


def summed(scores: Floats) -> tuple[Floats, Floats]:
    """Return the sum of scores, records x parameters, and the sum of their products."""
    return np.asarray(scores.sum(axis=0)), np.asarray(scores.T @ scores)


def told_directions(complete: Floats) -> Floats:
    """Return a basis of what true labels would tell, parameters x directions, from their information.

    Where tags share weights, or features repeat each other, some directions change nothing about the model.
    """
    scale = np.sqrt(np.maximum(np.abs(np.diag(complete)), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(complete / np.outer(scale, scale))
    basis = (vectors[:, values > 1e-7 * values.max(initial=0.0)].T * scale).T  # errors of differences are below 1e-8
    return np.asarray(np.linalg.qr(basis)[0])


def inverse_within(information: Floats, basis: Floats) -> Floats:
    """Invert an information along some directions: along others a ridge alone would say how far anything is known."""
    return np.asarray(basis @ np.linalg.pinv(basis.T @ information @ basis, hermitian=True) @ basis.T)
