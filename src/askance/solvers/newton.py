"""Newton's method in a trust region, for objectives that come as sums.

The solver asks for value, gradient and information (minus the Hessian) at a point and never sees a record.
Steps are measured in standard errors: in the metric of the information where that is positive, so the units
of the features do not matter. The information of a marginal likelihood may be indefinite away from the
optimum; the trust region then still gives a step that goes uphill.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.solvers.downhill import downhill_step


class Local(NamedTuple):
    """The objective around a point."""

    value: float
    gradient: Floats
    information: Floats
    outer: Floats | None = None  # the scores' outer products, where they were asked for


@dataclass(frozen=True)
class Solution:
    """Where the solver stopped."""

    theta: Floats
    local: Local
    iterations: int
    converged: bool
    diverged: bool
    measured: bool = False  # whether all that ``local`` has is that of theta itself, and not of a step before it
    given_up: bool = False  # whether it diverged as far as it was followed, which proves nothing


CONVERGED = 1e-9  # remaining distance to the maximum, in standard errors
CLOSE_ENOUGH = 1e-10  # standard errors: less than the rounding of the sums
_SHRINKING = 0.1  # distances that fall at least so fast are those of Newton's method near a maximum
_ROUNDING = 1e-13  # of sums of doubles, relative: some hundred times the rounding of one
_POOR, _GOOD = 0.1, 0.75  # shares of the predicted gain below which a step was too long, and above which too short


def maximise(
    evaluate: Callable[[Floats], Local],
    start: Floats,
    *,
    diverges: Callable[[Floats, Local], bool] = lambda theta, here: False,
    max_iterations: int = 200,
    close_enough: float = CLOSE_ENOUGH,
) -> Solution:
    """Maximise a smooth function.

    Parameters
    ----------
    evaluate : function of theta
        Returns value, gradient and information.
    start : array
    diverges : function of theta and the objective there
        Says when theta has gone so far that no finite maximiser can be meant.
    max_iterations : int
    close_enough : float
        A step that ends this near to the maximum, in standard errors, is the last, and is taken without evaluating.

    Examples
    --------
    >>> def parabola(t):
    ...     return Local(float(-((t - 3) ** 2).sum()), -2 * (t - 3), 2 * np.eye(len(t)))
    >>> maximise(parabola, np.zeros(2)).theta
    array([3., 3.])
    """
    theta, here = start, evaluate(start)
    scale = _units(here.information)
    radius = np.inf
    previous = np.inf
    for iteration in range(max_iterations):
        if diverges(theta, here):
            return Solution(theta, here, iteration, converged=False, diverged=True)
        step, newton = _step(here, scale, radius)
        gain = float(here.gradient @ step - 0.5 * step @ here.information @ step)
        distance = np.sqrt(2 * max(gain, 0.0)) if newton else np.inf
        noise = _ROUNDING * abs(here.value)
        if distance <= CONVERGED:
            return Solution(theta + step, here, iteration, converged=True, diverged=False)
        # Near the maximum each distance is about the square of the last times a constant, which the last two tell.
        # Where a fit runs away, distances shrink by a constant factor instead.
        if distance <= _SHRINKING * previous < np.inf and distance**3 / previous**2 <= close_enough:
            there = here._replace(value=here.value + gain)
            return Solution(theta + step, there, iteration + 1, converged=True, diverged=False)
        there = evaluate(theta + step)
        gained = there.value - here.value
        length = float(np.linalg.norm(step * scale))
        if not np.isfinite(there.value) or (gained < _POOR * gain and gain > noise):
            radius = 0.25 * length
            if not np.isfinite(there.value) or gained <= 0:
                if radius <= 1e-14 * (1 + float(np.linalg.norm(theta * scale))):
                    return Solution(theta, here, iteration, converged=False, diverged=False)
                continue
        elif gained > _GOOD * gain and not newton:
            radius = 2 * length
        elif gained < -noise:
            # The predicted gain is below rounding, and so is what is left to gain.
            return Solution(theta, here, iteration, converged=True, diverged=False)
        theta, here, previous = theta + step, there, distance
    return Solution(theta, here, max_iterations, converged=False, diverged=diverges(theta, here))


def _units(information: Floats) -> Floats:
    """One over the standard error of each parameter alone: what makes steps comparable."""
    diagonal = np.diag(information)
    curved = diagonal > 0
    typical = float(np.median(diagonal[curved])) if curved.any() else 1.0
    return np.sqrt(np.where(curved, diagonal, typical))


def _step(here: Local, scale: Floats, radius: float) -> tuple[Floats, bool]:
    """Maximise the quadratic model inside the trust region; also say whether the plain Newton step fits."""
    scaled = here.information / np.outer(scale, scale)
    whole = downhill_step(scaled, here.gradient / scale)
    if whole is not None and np.linalg.norm(whole) <= radius:
        return whole / scale, True
    values, vectors = np.linalg.eigh(scaled)
    gradient = vectors.T @ (here.gradient / scale)
    floor = _ROUNDING * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    flat = (np.abs(values) <= floor) & (np.abs(gradient) <= 1e-9 * (1 + np.abs(gradient).max(initial=0.0)))
    if np.all((values > floor) | flat):
        full = np.where(flat, 0.0, gradient / np.where(flat, 1.0, values))
        if np.linalg.norm(full) <= radius:
            return (vectors @ full) / scale, True
    reach = radius if np.isfinite(radius) else 0.5 * float(np.linalg.norm(scale))
    shift = _shift_for(values, gradient, reach)
    return (vectors @ (gradient / np.maximum(values + shift, 1e-300))) / scale, False


def _shift_for(values: Floats, gradient: Floats, reach: float) -> float:
    """Find s with |gradient / (values + s)| = reach: the curvature to add so that the step just fits."""
    size = float(np.linalg.norm(gradient))
    low = max(0.0, -float(values.min())) + 1e-12 * max(size / reach, 1e-300)
    high = max(0.0, -float(values.min())) + size / reach + 1e-300
    for _ in range(80):  # halvings: more than a double's 53 bits, from any start
        middle = 0.5 * (low + high)
        if np.linalg.norm(gradient / (values + middle)) > reach:
            low = middle
        else:
            high = middle
    return high
