"""Wide penalised fits are approached by slopes, as wide likelihoods are (slope_approach): Newton's method ends them.

Limited-memory BFGS in coordinates in which the objective is about round: first as labels that are known would curve it,
then as it is curved where that led to. With the penalty such coordinates exist for collinear columns, too.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from askance.arrays import Floats
from askance.engines.local.engine import one_thread_algebra

# Steps in the first coordinates and in each of the others, all of which cost about as much as one evaluation of second
# derivatives and its eigenvalues, at 20,000 made-up sparse rows of 400 columns.
_MOST_STEPS = 100
_MOST_TURNS = 6  # there, 2 or 3 led to the end
_ROUGHLY, _FLAT = 0.1, 1e-4  # slopes at which to stop, in standard errors of a coordinate as it is then known
_LEAST = 1e-10  # of the largest curvature: what is less is rounding

Slope = Callable[[Floats], tuple[float, Floats]]


def approached(slope: Slope, start: Floats, known: Floats, curvature: Callable[[Floats], Floats] | None) -> Floats:
    """Go from a start to near the maximum of an objective.

    Parameters
    ----------
    slope : function of the parameters
        Value and gradient of the objective.
    start : array, flattened class by class
    known : array, p x p
        The curvature of each class's parameters that labels which are known would give.
    curvature : function of the parameters, optional
        Minus the second derivatives of the objective; none where they would cost too much.
    """
    with one_thread_algebra():
        place, _ = _searched(slope, start, _round(known), _ROUGHLY if curvature else _FLAT)
        for _ in range(_MOST_TURNS if curvature else 0):
            place, flat = _searched(slope, place, _round(curvature(place)), _FLAT)  # type: ignore[misc]
            if flat:
                break
    return place


def _round(curvature: Floats) -> Floats:
    """The matrix whose columns are steps of about a standard error each, uncorrelated."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(curvature)), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(curvature / np.outer(scale, scale))
    size = np.maximum(np.abs(values), _LEAST * np.abs(values).max())
    return np.asarray(vectors / np.sqrt(size) / scale[:, None])


def _searched(slope: Slope, start: Floats, steps: Floats, flat: float) -> tuple[Floats, bool]:
    """Where slopes lead within some steps, and whether that is flat."""
    width = len(steps)

    def placed(turned: Floats) -> Floats:
        return start + (turned.reshape(-1, width) @ steps.T).ravel()

    def loss(turned: Floats) -> tuple[float, Floats]:
        value, gradient = slope(placed(turned))
        return -value, -(gradient.reshape(-1, width) @ steps).ravel()

    # The search goes as far as one unit first, which is where a parabola of that curvature has its maximum.
    first = float(np.linalg.norm(loss(np.zeros(start.size))[1]))
    if not first > flat:
        return start, True
    unit = max(first, math.sqrt(start.size) * flat)

    def in_units(turned: Floats) -> tuple[float, Floats]:
        value, gradient = loss(unit * turned)
        return value / unit**2, gradient / unit

    options = {"maxiter": _MOST_STEPS, "gtol": flat / unit, "ftol": 0.0, "maxcor": 20}
    found = minimize(in_units, np.zeros(start.size), jac=True, method="L-BFGS-B", options=options)
    return placed(unit * np.asarray(found.x)), bool(np.abs(found.jac).max() <= flat / unit)
