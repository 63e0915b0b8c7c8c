"""Families of many parameters, or of a user's own: value and gradient are sums over records, maximised by L-BFGS."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from askance.arrays import Floats
from askance.learning.answers.untold_parameters import untold_directions, untold_note, untold_refusal
from askance.learning.models.fitted import (
    DIFFERENCE_ERROR,
    MOST_DIFFERENCED,
    Fitted,
    differenced,
    inverse_within,
)

_PAIRS = 10  # of steps and gradients that L-BFGS keeps: more cost memory, and spared no pass on the tags of a treebank
_SLOPE = 1e-7  # of the gradient, for each record: further steps change no digit that anybody reads


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
    callback: Callable[[Floats], None] | None = None,
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
    callback : function of the parameters, optional
        Called after each iteration.
    """

    def negative(theta: Floats) -> tuple[float, Floats]:
        value, gradient = problem.value_and_gradient(theta)
        return 0.5 * ridge * float(theta @ theta) - value, ridge * theta - gradient

    options = {"maxiter": max_iterations, "maxcor": _PAIRS, "gtol": _SLOPE * records, "ftol": 1e-12}
    found = minimize(negative, np.zeros(problem.size), jac=True, method="L-BFGS-B", options=options, callback=callback)
    theta: Floats = found.x
    notes = []
    converged = bool(found.success)
    if not converged and found.nit >= max_iterations:
        notes.append(f"The solver stopped after {found.nit} iterations before it converged: raise max_iter.")
    value = ridge * float(theta @ theta) / 2 - float(found.fun)
    if problem.size > MOST_DIFFERENCED:
        return Fitted(theta, None, None, None, value, ridge, int(found.nit), converged, tuple(notes))
    information = differenced(problem.gradients, theta)
    complete = differenced(clean.gradients, theta) if marginal else information
    total, products = problem.score_sums(theta)
    if marginal:
        lost = untold_directions(products, complete, DIFFERENCE_ERROR)
        if lost and not ridge:
            raise untold_refusal(lost, problem.size)
        if lost:
            notes.append(untold_note(lost, problem.size, f"the ridge of {ridge:g}"))
    bread = inverse_within(information + ridge * np.eye(problem.size), complete)
    sandwich = bread @ (products - np.outer(total, total) / max(records, 1)) @ bread
    return Fitted(
        theta,
        bread if marginal else sandwich,
        sandwich,
        bread if marginal else None,
        value,
        ridge,
        int(found.nit),
        converged,
        tuple(notes),
    )
