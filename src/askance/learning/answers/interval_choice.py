"""Which intervals a fit gets: Wald's where the likelihood is a parabola, profile likelihood ratios elsewhere."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from askance.arrays import Flags, Floats
from askance.learning.answers.information_inverse import inverse_information
from askance.learning.answers.penalised_fit import PenaltyKind, StandardisedFit
from askance.learning.answers.softmax_problem import SoftmaxTask
from askance.solvers.newton import Solution
from askance.solvers.profile_likelihood import Profile, ProfileSearch
from askance.statistics.softmax_score import ScoreSums
from askance.statistics.softmax_values import CubedReaches, SoftmaxValues

_END = 1.959963984540054  # standard errors from the estimate to the end of a 95% interval
# How far, as a share, the likelihood ratio at a Wald interval's ends may be from the quantile that the interval is made
# of. Raised from .25 after Wald intervals everywhere, of fits without log-F, had covered .92 to 1.00 in cells of 100 to
# 200 sets (prevalence .05 to .5, n 200 and 2000); coverage given the bend itself was too noisy to choose by.
_BENT = 0.7


# At most so much of a cubed reach is missing from a parabola: a sixth of two third cumulants (CubedReaches).
_MISSING = 2 / (6 * 6 * np.sqrt(3))


def bent(task: SoftmaxTask, theta: Floats, sums: ScoreSums) -> Flags:
    """Find the parameters along which the objective is no parabola as far as a Wald interval reaches.

    One pass over the records bounds the difference, and finds it small enough for most; another evaluates the objective
    at both ends of the intervals of the others.
    """
    steps = _to_the_ends(task, sums.information)
    possibly: Flags = ~(_bend_at_most(task, steps, sums) <= _BENT)
    if possibly.any():
        possibly[possibly] = bend(task, theta, steps[possibly]) > _BENT
    return possibly


def _to_the_ends(task: SoftmaxTask, information: Floats) -> Floats:
    """The step from the estimate to each parameter's upper end, with the others moved as they would be."""
    spread = task.as_reported(inverse_information(information))
    errors = np.sqrt(np.maximum(np.diag(task.as_reported(spread.T)), np.finfo(float).tiny))
    steps: Floats = _END * spread / errors[:, None]
    return steps


def _bend_at_most(task: SoftmaxTask, steps: Floats, sums: ScoreSums) -> Floats:
    ends = task.softmax(steps.reshape(-1, *task.zero().shape))
    reaches = CubedReaches(ends, task.problem.intercept, task.geometry.centre)
    cubes = task.engine.reduce(reaches, task.source).values
    parabola = ((steps @ sums.information) * steps).sum(axis=1)
    missing: Floats = np.abs(parabola - _END**2) + 2 * np.abs(steps @ sums.gradient) + 2 * _MISSING * cubes
    return missing / _END**2


def bend(task: SoftmaxTask, theta: Floats, steps: Floats) -> Floats:
    """Return how far, as a share, the objective's loss at a Wald interval's ends is from a parabola's."""
    flat = theta.ravel()
    points = np.vstack([flat, flat + steps, flat - steps]).reshape(-1, *theta.shape)
    problem = task.problem
    table = task.table(problem.method)
    statistic = SoftmaxValues(task.softmax(points), table, problem.method, problem.intercept, task.geometry.centre)
    values = task.engine.reduce(statistic, task.source).values
    lost = 2 * (values[0] - values[1:]).reshape(2, -1) / _END**2
    off: Floats = np.abs(lost - 1).max(axis=0)
    return off


@dataclass(frozen=True, eq=False)
class Profiler:
    """Profiles of the parameters of one fit, as they are reported."""

    fit: StandardisedFit
    penalty: PenaltyKind

    def at(self, solution: Solution) -> Solution:
        """A solution in parameters of z as one in standardised parameters."""
        u = self.fit.standardised(solution.theta)
        return replace(solution, theta=u, local=self.fit.objective(self.penalty)(u))

    def profiles(self, solution: Solution, which: Flags) -> tuple[Solution, list[Profile | None]]:
        """Profile some parameters, from a fit in standardised parameters; the fit is better where one led higher."""
        fit = self.fit
        rows = fit.reported[which]
        # Directions of unit length: what is far is then the same for all, and values are turned back below.
        lengths = np.linalg.norm(rows, axis=1)
        search = ProfileSearch(
            fit.objective(self.penalty),
            fit.start,
            ratio_scale=partial(fit.ratio_scale, kind=self.penalty) if fit.task.problem.robust else None,
            unpenalised=fit.objective("faint") if self.penalty == "log-f" else None,
        )
        solution, found = search.all_profiles(solution, list(rows / lengths[:, None]))
        placed: list[Profile | None] = [None] * len(which)
        for place, length, one in zip(np.flatnonzero(which).tolist(), lengths.tolist(), found, strict=True):
            placed[place] = one.scaled(length)
        return solution, placed
