"""Finite truths with phi(x, k) = T[k] (x) x, by the statistic and the solver of the softmax model.

The logits of the truths are T Theta (1, x): those of a softmax model whose parameters are (T - T[0]) Theta. So
objective, score and information are :class:`~askance.statistics.SoftmaxScore`'s, carried over by that matrix, on any
engine.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput, Unidentifiable
from askance.learning.models.fitted import Fitted, inverse, undetermined
from askance.solvers.damped_newton import climb
from askance.solvers.newton import Local
from askance.solvers.softmax import symmetric
from askance.statistics.softmax_score import Method, SoftmaxScore

# Logits of e^30 are beyond any data: a parameter that goes there, on features of unit size, has no finite estimate.
_RUNAWAY = 30.0
_FALLBACK = 1.0  # the ridge that takes over then: as much as one observation's worth of a unit feature
NO_FINITE = (
    "There is no finite estimate without a penalty: the features separate the reports, or these are too few for the "
    "noise. A ridge of {ridge:g} was added, and standard errors are of the penalised fit."
)
NOT_TOLD = (
    "the reports do not determine {count} of {all} parameters: truths that they do not tell apart differ in them",
    "features that differ only between truths that reports tell apart, or some rows with exact labels",
    "Leave out the features that tell such truths apart, or set a ridge, which then decides about them.",
)


@dataclass(frozen=True, eq=False)
class StateProblem:
    """What is to be fitted.

    Parameters
    ----------
    table : array, states x features
        T; None for the softmax model itself, whose parameters are those of all classes but the first.
    rows : array, report codes x states (marginal), or x features of T (moments)
    method : "marginal" or "moments"
    intercept : bool
    width : int
        How many features x has, with the intercept.
    """

    table: Floats
    softmax: bool
    rows: Floats
    method: Method
    intercept: bool
    width: int

    @property
    def contrasts(self) -> Floats:
        """T - T[0], of all states but the first."""
        return np.asarray(self.table[1:] - self.table[0])

    @property
    def by_state(self) -> Floats:
        """The table that the statistic takes: by moments, weights of the states that have the wanted features."""
        if self.method == "marginal":
            return np.ascontiguousarray(self.rows)
        free = (self.rows - self.table[0]) @ np.linalg.pinv(self.contrasts)
        return np.ascontiguousarray(np.hstack([1 - free.sum(axis=1, keepdims=True), free]))

    @property
    def embedding(self) -> Floats:
        """From parameters of T to those of the softmax model, both flattened."""
        return np.asarray(np.kron(self.contrasts, np.eye(self.width)), dtype=float)

    def penalty(self, ridge: float) -> Floats:
        weights = np.full(self.width, ridge)
        if self.intercept:
            weights[0] = 0.0
        free = self.table.shape[1]
        if not self.softmax or free == 1:
            return np.asarray(np.diag(np.tile(weights, free)), dtype=float)
        coupled = symmetric(np.eye(free))
        return np.asarray(np.kron(coupled.T @ coupled, np.diag(weights)), dtype=float)


def fit_states(
    problem: StateProblem, source: RecordSource, engine: Engine, ridge: float | None, max_iterations: int
) -> Fitted:
    """Maximise the objective, and say how far the maximiser is known."""
    free = _fit(problem, source, engine, ridge or 0.0, max_iterations)
    if not _is_runaway(free.theta, free.converged):
        return free
    if ridge:
        return free
    if ridge is not None:
        raise InvalidInput(
            "ridge=0, but there is no finite estimate: the features separate the reports, or these are too few",
            "reports that have a finite estimate without a penalty",
            "Leave ridge='auto', or set a ridge.",
        )
    held = _fit(problem, source, engine, _FALLBACK, max_iterations)
    return Fitted(**(vars(held) | {"notes": (NO_FINITE.format(ridge=_FALLBACK), *held.notes)}))


def _is_runaway(theta: Floats, converged: bool) -> bool:
    return not converged or bool(np.abs(theta).max(initial=0.0) >= _RUNAWAY)


def _fit(problem: StateProblem, source: Any, engine: Engine, ridge: float, max_iterations: int) -> Fitted:
    embedding, table, penalty = problem.embedding, problem.by_state, problem.penalty(ridge)
    shape = (len(problem.contrasts), problem.width)

    def sums(theta: Floats, method: Method, with_outer: bool = False) -> Any:
        score = SoftmaxScore((embedding @ theta).reshape(shape), table, method, problem.intercept, with_outer)
        return engine.reduce(score, source)

    def local(theta: Floats) -> Local:
        found = sums(theta, problem.method)
        pull = penalty @ theta
        return Local(
            found.objective - 0.5 * float(theta @ pull),
            embedding.T @ found.gradient - pull,
            embedding.T @ found.information @ embedding + penalty,
        )

    solution = climb(local, np.zeros(embedding.shape[1]), max_iterations=max_iterations)
    theta = solution.theta
    last = sums(theta, problem.method, with_outer=True)
    information = embedding.T @ last.information @ embedding
    # By moments the curvature is that of true labels.
    complete = (
        information if problem.method == "moments" else embedding.T @ sums(theta, "moments").information @ embedding
    )
    outer = embedding.T @ last.outer @ embedding
    # By moments the table of unbiased features would not be there.
    lost, notes = undetermined(outer, complete) if problem.method == "marginal" else 0, []
    if lost:
        what, wanted, remedy = NOT_TOLD
        said = what.format(count=lost, all=len(theta))
        if not ridge and not _is_runaway(theta, solution.converged):
            raise Unidentifiable(said, wanted, remedy)
        notes.append(f"{said[0].upper()}{said[1:]}; the ridge of {ridge:g} decides about these.")
    bread = inverse(information + penalty)
    gradient = embedding.T @ last.gradient
    sandwich = bread @ (outer - np.outer(gradient, gradient) / max(last.weight, 1.0)) @ bread
    marginal = problem.method == "marginal"
    if not solution.converged:
        notes.append(f"The solver stopped after {solution.iterations} iterations before it converged: raise max_iter.")
    return Fitted(
        theta,
        bread if marginal else sandwich,
        sandwich,
        bread if marginal else None,
        last.objective,
        ridge,
        solution.iterations,
        solution.converged,
        tuple(notes),
    )
