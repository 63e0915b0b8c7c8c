"""The search for the highest maximum of an objective by its gradient, from several starts, and whether it is there."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, minimize

from askance.arrays import Floats

_PAIRS = 10  # of steps and gradients that L-BFGS keeps: more cost memory, and spared no pass on the tags of a treebank
_LINE = 40  # evaluations on one line: twice scipy's own, for models that somebody else wrote
_LEFT = 1e-4  # squared standard errors from the maximum: a hundredth of one is out of sight of any interval
_DISTINCT = 0.01  # standard errors between two maxima: nearer ones are the same to whoever reads the table
_FLATTEST = 1e-6  # curvature, against the largest, below which a slope is not told from rounding

SEVERAL_MAXIMA = "The likelihood has several maxima; the highest that was found is reported."


Objective = Callable[[Floats], tuple[float, Floats]]  # its value and its gradient


class Precision(NamedTuple):
    """When a search ends: the slope that is left for each record, and the least relative gain of a step."""

    slope: float
    gain: float


ROUGH = Precision(1e-7, 1e-12)  # of many parameters: further steps change no digit that anybody reads
# Of few parameters, whose errors come from differences where a search ended. What is left of 99 fits in the tests is
# 4e-7 squared standard errors at most; a hundred times looser it is 3e-5 at most, in 26 steps in place of 30, and a
# hundred times stricter 4e-7 again, in 33.
FINE = Precision(1e-9, 1e-14)


class Summit(NamedTuple):
    """Where a search ended."""

    theta: Floats
    value: float
    iterations: int
    converged: bool


def held_back(objective: Objective, ridge: float) -> Objective:
    """Return the objective less a ridge."""

    def held(theta: Floats) -> tuple[float, Floats]:
        value, gradient = objective(theta)
        return value - 0.5 * ridge * float(theta @ theta), gradient - ridge * theta

    return held


def ascend(
    objective: Objective,
    start: Floats,
    records: float,
    max_iterations: int,
    precision: Precision,
    callback: Callable[[Floats], None] | None = None,
    limits: Floats | None = None,
) -> Summit:
    """Maximise by L-BFGS an objective that is a sum over records; ``converged`` if it did not run out of steps.

    Parameters may be as large as their ``limits``: where an objective grows without end, the search ends there, and not
    where numbers overflow.
    """

    def below(theta: Floats) -> tuple[float, Floats]:
        value, gradient = objective(theta)
        return -value, -gradient

    bounds = None if limits is None else Bounds(-limits, limits)
    options = {
        "maxiter": max_iterations,
        "maxcor": _PAIRS,
        "maxls": _LINE,
        "gtol": precision.slope * records,
        "ftol": precision.gain,
    }
    found = minimize(below, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=callback)
    return Summit(np.asarray(found.x), -float(found.fun), int(found.nit), int(found.nit) < max_iterations)


def is_at_rest(gradient: Floats, information: Floats) -> bool:
    """Whether there is no slope left to speak of, measured in standard errors: a line search may give up before."""
    values, vectors = np.linalg.eigh(information)
    curved = np.maximum(np.abs(values), _FLATTEST * np.abs(values).max(initial=0.0)) + np.finfo(float).tiny
    return float(((vectors.T @ gradient) ** 2 / curved).sum()) < _LEFT


def are_several(
    best: Summit,
    others: Sequence[Summit],
    information: Floats,
    gradient: Callable[[Floats], Floats],
    curvature: Callable[[Floats], Floats],
) -> bool:
    """Whether other starts led to other maxima; directions without information, that of the best, do not count."""
    gaps = [(other.theta - best.theta, other.theta) for other in others if other.converged]
    elsewhere = [theta for gap, theta in gaps if gap @ information @ gap > _DISTINCT**2]
    return best.converged and any(
        is_at_rest(gradient(theta), information) and _is_curved(curvature(theta), information) for theta in elsewhere
    )


def _is_curved(here: Floats, information: Floats) -> bool:
    """Whether a place without slope is a maximum, and not the plain far away where all is certain."""
    values, vectors = np.linalg.eigh(information)
    informed = values > _FLATTEST * values.max(initial=0.0)
    root = vectors[:, informed] / np.sqrt(values[informed])
    return bool(np.linalg.eigvalsh(root.T @ here @ root).min(initial=np.inf) > _FLATTEST)
