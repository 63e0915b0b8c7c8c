"""Objective perturbation (Chaudhuri, Monteleoni & Sarwate 2011, algorithm 2): what [MO] section 4 compares itself with.

Minimise (1/n) sum log(1 + exp(-y theta.x)) + (lambda / 2) |theta|^2 + b.theta / n, with |x| <= 1 and b of density
exp(-alpha' |b| / 2). It hides whole records, features and label, from who sees theta; nothing else may be shared. For
alpha' the curvature of the loss, at most c = 1/4, takes log(1 + 2c / (n lambda) + (c / (n lambda))^2) off alpha; where
that leaves nothing, lambda grows until it leaves half.
"""

import math
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats

CURVATURE = 0.25  # of the logistic loss, at most


class Calibration(NamedTuple):
    """The level that is left for the noise, and what is added to lambda."""

    level: float
    more: float


def calibrated(alpha: float, rows: int, penalty: float) -> Calibration:
    """Return alpha' and what is added to lambda.

    Examples
    --------
    >>> calibrated(1.0, 10_000, 0.01).level > 0.99
    True
    >>> calibrated(0.01, 100, 0.001).level
    0.005
    """
    share = CURVATURE / (rows * penalty)
    left = alpha - math.log1p(2 * share + share**2)
    if left > 0:
        return Calibration(left, 0.0)
    return Calibration(alpha / 2, CURVATURE / (rows * math.expm1(alpha / 4)) - penalty)


def perturbed(X: Floats, y: Floats, alpha: float, penalty: float, rng: np.random.Generator) -> Floats:
    """Return theta of rows of 2-norm at most 1 with labels -1 and 1, private at the level alpha."""
    level, more = calibrated(alpha, len(X), penalty)
    direction = rng.standard_normal(X.shape[1])
    noise = np.asarray(direction / np.linalg.norm(direction) * rng.gamma(X.shape[1], 2 / level))
    return minimiser(X, y, penalty + more, noise)


def minimiser(X: Floats, y: Floats, penalty: float, noise: Floats) -> Floats:
    """Minimise the perturbed risk."""
    from scipy.optimize import minimize

    signed, rows = y[:, None] * X, len(X)

    def risk(theta: Floats) -> tuple[float, Floats]:
        margins = signed @ theta
        pull = -0.5 * (1 - np.tanh(margins / 2))
        value = float(np.logaddexp(0, -margins).mean() + penalty / 2 * theta @ theta + noise @ theta / rows)
        return value, np.asarray(pull @ signed / rows + penalty * theta + noise / rows)

    options = {"ftol": 1e-12, "gtol": 1e-8, "maxiter": 500}
    found: Floats = minimize(risk, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=options).x
    return found


def with_constant(X: Floats) -> Floats:
    """Add a constant to rows of 2-norm at most 1, and leave them at that."""
    return np.asarray(np.column_stack([np.ones(len(X)), X]) / math.sqrt(2))
