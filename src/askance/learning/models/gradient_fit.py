"""Families of many parameters, or of a user's own: value and gradient are sums over records, maximised by L-BFGS."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from askance.arrays import Floats
from askance.errors import Unidentifiable
from askance.learning.answers.untold_parameters import untold_directions, untold_note, untold_refusal
from askance.learning.models.fitted import (
    DIFFERENCE_ERROR,
    MOST_DIFFERENCED,
    Fitted,
    differenced,
    inverse_within,
    told_directions,
)
from askance.learning.models.gradient_search import (
    FINE,
    ROUGH,
    SEVERAL_MAXIMA,
    are_several,
    ascend,
    held_back,
    is_at_rest,
)

_NEAR = 1e-6  # of a limit: a search that is held by one comes as close as rounding lets it


class NoFiniteEstimate(Unidentifiable):
    """An objective that grows without end."""


class GradientProblem(Protocol):
    """An objective that is a sum over records."""

    @property
    def size(self) -> int:
        """How many parameters there are."""

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """The objective and its gradient."""

    def gradients(self, points: Floats) -> Floats:
        """The gradients at several points, points x parameters."""

    def score_sums(self, theta: Floats) -> tuple[Floats, Floats]:
        """The sum of the gradients of single records, and the sum of their products."""


def fit_by_gradient(
    problem: GradientProblem,
    clean: GradientProblem,
    records: int,
    ridge: float,
    max_iterations: int,
    *,
    marginal: bool,
    starts: Sequence[Floats] = (),
    callback: Callable[[Floats], None] | None = None,
    limits: Floats | None = None,
) -> Fitted:
    """Maximise, and say how far the maximiser is known.

    Parameters
    ----------
    problem : GradientProblem
    clean : GradientProblem
        The same under true labels: its curvature is what reports are compared with.
    records : int
    ridge : float
    max_iterations : int
    marginal : bool
        Whether the objective is a likelihood, whose curvature is an information.
    starts : sequence of parameters
        Where else to begin than at zero; of several maxima the highest is kept.
    callback : function of the parameters, optional
        Called after each iteration.
    limits : parameters, optional
        How large each may become. An estimate that is as large is none.

    Raises
    ------
    NoFiniteEstimate
    """
    penalised = held_back(problem.value_and_gradient, ridge)
    few = problem.size <= MOST_DIFFERENCED
    found = [
        ascend(penalised, start, records, max_iterations, FINE if few else ROUGH, callback, limits)
        for start in (np.zeros(problem.size), *starts)
    ]
    best = max(found, key=lambda summit: summit.value)
    theta, converged = best.theta, best.converged
    if limits is not None and np.any(np.abs(theta) >= limits * (1 - _NEAR)):
        raise NoFiniteEstimate(
            "reports for which some parameters have no finite estimate",
            "ridge='auto', or a ridge above 0",
            "More records, or fewer features, may have one.",
        )
    value = best.value + 0.5 * ridge * float(theta @ theta)
    if not few:
        said = tuple(_unfinished(converged, best.iterations))
        return Fitted(theta, None, None, None, value, ridge, best.iterations, converged, said)

    def curvature(at: Floats) -> Floats:
        return differenced(problem.gradients, at) + ridge * np.eye(problem.size)

    held = curvature(theta)
    converged = converged and is_at_rest(penalised(theta)[1], held)
    notes = _unfinished(converged, best.iterations)
    if are_several(best, found, held, lambda other: penalised(other)[1], curvature):
        notes.append(SEVERAL_MAXIMA)
    complete = differenced(clean.gradients, theta) if marginal else held - ridge * np.eye(problem.size)
    total, products = problem.score_sums(theta)
    if marginal:
        lost = untold_directions(products, complete, DIFFERENCE_ERROR)
        if lost and not ridge:
            raise untold_refusal(lost, problem.size)
        if lost:
            notes.append(untold_note(lost, problem.size, f"the ridge of {ridge:g}"))
    basis = told_directions(complete)
    bread = inverse_within(held, basis)
    if not ridge:  # of all parameters that are the same model the shortest, whose errors these are
        theta = basis @ (basis.T @ theta)
    sandwich = bread @ (products - np.outer(total, total) / max(records, 1)) @ bread
    return Fitted(
        theta,
        bread if marginal else sandwich,
        sandwich,
        bread if marginal else None,
        value,
        ridge,
        best.iterations,
        converged,
        tuple(notes),
    )


def moments_start(problem: GradientProblem, ridge: float, records: int, max_iterations: int) -> Floats:
    """Where moments lead, roughly; held back as by the noise of so many reports, or they may have no solution."""
    objective = held_back(problem.value_and_gradient, max(ridge, records**0.5))
    return ascend(objective, np.zeros(problem.size), records, max_iterations, ROUGH).theta


def _unfinished(converged: bool, iterations: int) -> list[str]:
    stopped = f"The search stopped after {iterations} iterations before it reached a maximum: raise max_iter."
    return [] if converged else [stopped]
