"""Newton's method on the absolute values of the curvature: for likelihoods that are not concave.

Where a direction curves upwards, the step goes uphill as far as it would downhill on the same curve; steps have a
longest length, and are halved until they gain. With a penalty that keeps parameters finite it always ends.
"""

from collections.abc import Callable

import numpy as np

from askance.arrays import Floats
from askance.solvers.downhill import downhill_step
from askance.solvers.newton import Local, Solution

_CLOSER = 0.1  # of the tolerance: a step that ends closer than this is taken without evaluating there
_SHRINKING = 0.1  # distances that fall at least so fast are those of Newton's method near a maximum
_ROUNDING = 1e-13  # of sums of doubles, relative: some hundred times the rounding of one
_FLAT = 1e-10  # relative curvature below which a direction has none that rounding leaves visible
_LEAST_CURVATURE = 1e-150  # of scaled parameters: quotients by smaller ones leave the range of numbers
_NO_SLOPE = 1e-9  # slope, in standard errors, that a direction without curvature may keep: it does not matter
_GAINS = 1e-4  # share of the promised gain that a step must bring: Armijo's rule with its usual constant
_NUDGE = 0.1  # of the distance over which a saddle point's slope becomes noticeable: leaves it, and jumps over nothing
_HALVINGS = 40  # a step of 1e-12 of its length that still gains nothing is rounding


def climb(
    evaluate: Callable[[Floats], Local],
    start: Floats,
    *,
    longest: float = 5.0,
    max_iterations: int = 100,
    tolerance: float = 1e-8,
) -> Solution:
    """Maximise a smooth function that is bounded above.

    Parameters
    ----------
    evaluate : function of theta
        Returns value, gradient and information (minus the Hessian).
    start : array
    longest : float
        The most that any parameter may change in one step. Five is far on the scale of logits, where e^5 = 148.
    max_iterations : int
    tolerance : float
        The distance to the maximum, in standard errors, at which the search ends.

    Examples
    --------
    >>> from askance.solvers import LogF
    >>> def evaluate(theta):  # three of three said yes: without the penalty there is no maximum
    ...     p = 1 / (1 + np.exp(-theta))
    ...     penalty = LogF.about(np.zeros(1))(theta)
    ...     return Local(3 * float(np.log(p[0])) + penalty.value, 3 * (1 - p) + penalty.gradient,
    ...                  np.diag(3 * p * (1 - p)) + penalty.information)
    >>> climb(evaluate, np.zeros(1)).theta.round(4)
    array([1.9459])
    """
    theta, here = start, evaluate(start)
    if not start.size:
        return Solution(theta, here, 0, converged=True, diverged=False)
    previous = np.inf
    for iteration in range(max_iterations):
        step, concave, ridge_line = _step(here)
        promised = float(here.gradient @ step)
        distance = np.sqrt(max(promised, 0.0))
        if distance <= tolerance:
            if concave:
                there = here._replace(value=here.value + 0.5 * promised)
                return Solution(theta + step, there, iteration, converged=True, diverged=False)
            # Between two hills: either way leads up, and the first that does is taken.
            trials = [theta + sign * _NUDGE * ridge_line for sign in (1.0, -1.0)]
            theta, here = max(((trial, evaluate(trial)) for trial in trials), key=lambda found: found[1].value)
            previous = np.inf
            continue
        fast = concave and distance <= _SHRINKING * previous < np.inf
        if fast and distance**3 / previous**2 <= _CLOSER * tolerance:
            there = here._replace(value=here.value + 0.5 * promised)
            return Solution(theta + step, there, iteration + 1, converged=True, diverged=False)
        reach = float(np.abs(step).max(initial=0.0))
        length = min(1.0, longest / reach) if reach > 0 else 1.0
        noise = _ROUNDING * abs(here.value)
        for _ in range(_HALVINGS):
            there = evaluate(theta + length * step)
            if there.value >= here.value + _GAINS * length * promised - noise:
                break
            length *= 0.5
        else:
            return Solution(theta, here, iteration, converged=distance <= np.sqrt(_ROUNDING), diverged=False)
        theta, here, previous = theta + length * step, there, distance if length == 1 else np.inf
    return Solution(theta, here, max_iterations, converged=False, diverged=False)


def _median(values: Floats) -> float:
    """The median of a few numbers: numpy's own takes longer than the rest of a step in few parameters."""
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _step(here: Local) -> tuple[Floats, bool, Floats]:
    """The step on the absolute curvature; whether the function curves downwards everywhere; and where it does least."""
    diagonal = np.abs(np.diag(here.information))
    typical = _median(diagonal[diagonal > 0]) if np.any(diagonal > 0) else 1.0
    scale = np.sqrt(np.where(diagonal > _FLAT * typical, diagonal, typical))
    scaled = here.information / np.outer(scale, scale)
    downhill = downhill_step(scaled, here.gradient / scale)
    if downhill is not None:
        return downhill / scale, True, np.zeros_like(scale)
    values, vectors = np.linalg.eigh(scaled)
    floor = max(_FLAT * float(np.abs(values).max(initial=0.0)), _LEAST_CURVATURE)
    along = vectors.T @ (here.gradient / scale)
    flat = (np.abs(values) <= floor) & (np.abs(along) <= _NO_SLOPE * (1 + np.abs(along).max(initial=0.0)))
    size = np.maximum(np.abs(values), floor)
    step: Floats = (vectors @ np.where(flat, 0.0, along / size)) / scale
    ridge_line: Floats = vectors[:, 0] / np.sqrt(size[0]) / scale
    return step, bool(np.all(values > -floor)), ridge_line
