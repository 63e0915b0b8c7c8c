"""Which intervals a fit gets: Wald's where the likelihood is a parabola, profile likelihood ratios elsewhere."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from askance.arrays import Flags, Floats
from askance.channels.alphabet import listed
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
# Evaluations of value, slope and curvature that a profile takes: 40 to 90 in log-F fits of 5 to 60 made-up columns. Of
# 200 columns, about which 2,000 reports tell little, it takes a thousand: they are counted as they are taken, too.
_EVALUATIONS = 60
_PER_STEP = 10.0  # products that the eigenvalues of a step take, times the cube of the number of parameters
# Products that profiles may take unless they are asked for: a quarter of a minute to a minute of one core.
_MOST_WORK = 2e11

# At most so much of a cubed reach is missing from a parabola: a sixth of two third cumulants (CubedReaches).
_MISSING = 2 / (6 * 6 * np.sqrt(3))


class Choice(NamedTuple):
    """Of each parameter the kind of its interval; and which would have a profile if that were not too much work."""

    kinds: tuple[str, ...]
    left_out: Flags

    @property
    def profiled(self) -> Flags:
        return np.asarray(np.array(self.kinds) == "profile")

    def less_those_without(self, profiles: Sequence[Profile | None]) -> "Choice":
        """Return the choice when some profiles have not come to an end."""
        missing = self.profiled & np.array([profile is None for profile in profiles])
        kinds = np.where(missing, "none", self.kinds)
        return Choice(tuple(kinds.tolist()), self.left_out | missing)


def too_dear(task: SoftmaxTask, profiles: int) -> bool:
    """Whether so many profiles are more work than a fit is to take unless it is asked to."""
    return profiles * _EVALUATIONS > _most_evaluations(task)


def _most_evaluations(task: SoftmaxTask) -> float:
    pairs = task.free * (task.free + 1) // 2
    return _MOST_WORK / (float(task.source.num_rows) * pairs * task.width**2 + _PER_STEP * task.zero().size ** 3)


def chosen_intervals(fit: StandardisedFit, penalty: PenaltyKind, solution: Solution, sums: ScoreSums) -> Choice:
    """Choose how each parameter gets its interval, by what was asked for, by the likelihood, and by what it costs."""
    task, asked = fit.task, fit.task.problem.intervals
    known = ~task.unknown_among(task.geometry.undetermined)
    which, left_out = np.zeros_like(known), np.zeros_like(known)
    otherwise = "wald" if asked == "wald" or penalty == "none" else "none"
    if penalty == "log-f" and asked == "auto" and not too_dear(task, int(known.sum())):
        asked = "profile"
    if penalty != "shrunk" and asked == "profile":
        which = known
    elif asked == "auto" and penalty in ("none", "log-f") and solution.converged:
        which, otherwise = known & bent(fit, penalty, solution.theta, sums), "wald"
        if too_dear(task, int(which.sum())):
            which, left_out = left_out, which
    return Choice(tuple(np.where(which, "profile", np.where(left_out, "none", otherwise)).tolist()), left_out)


def bent(fit: StandardisedFit, penalty: PenaltyKind, theta: Floats, sums: ScoreSums) -> Flags:
    """Find the parameters along which the objective is no parabola as far as a Wald interval reaches.

    One pass over the records bounds the difference, and finds it small enough for most; another evaluates the objective
    at both ends of the intervals of the others.
    """
    task = fit.task
    sums = sums._replace(information=sums.information + fit.penalty_information(penalty, theta))
    steps = _to_the_ends(task, sums.information)
    penalised = fit if penalty == "log-f" else None
    possibly: Flags = ~(_bend_at_most(task, steps, sums, penalised) <= _BENT)
    if possibly.any():
        possibly[possibly] = bend(task, theta, steps[possibly], penalised) > _BENT
    return possibly


def _to_the_ends(task: SoftmaxTask, information: Floats) -> Floats:
    """The step from the estimate to each parameter's upper end, with the others moved as they would be."""
    spread = task.as_reported(inverse_information(information))
    errors = np.sqrt(np.maximum(np.diag(task.as_reported(spread.T)), np.finfo(float).tiny))
    steps: Floats = _END * spread / errors[:, None]
    return steps


def _bend_at_most(task: SoftmaxTask, steps: Floats, sums: ScoreSums, penalised: StandardisedFit | None) -> Floats:
    ends = task.softmax(steps.reshape(-1, *task.zero().shape))
    reaches = CubedReaches(ends, task.problem.intercept, task.geometry.centre)
    cubes = task.engine.reduce(reaches, task.source).values
    parabola = ((steps @ sums.information) * steps).sum(axis=1)
    slopes = steps @ sums.gradient
    if penalised is not None:
        # The penalty is a logistic likelihood of each column's own; and where it has led to, both slopes cancel.
        reach = np.ptp(np.concatenate([np.zeros_like(ends[:, :1]), ends], axis=1), axis=1)[:, penalised.columns]
        cubes, slopes = cubes + ((reach * penalised.scale) ** 3).sum(axis=1), np.zeros_like(slopes)
    missing: Floats = np.abs(parabola - _END**2) + 2 * np.abs(slopes) + 2 * _MISSING * cubes
    return missing / _END**2


def bend(task: SoftmaxTask, theta: Floats, steps: Floats, penalised: StandardisedFit | None = None) -> Floats:
    """Return how far, as a share, the objective's loss at a Wald interval's ends is from a parabola's."""
    flat = theta.ravel()
    points = np.vstack([flat, flat + steps, flat - steps]).reshape(-1, *theta.shape)
    problem = task.problem
    table = task.table(problem.method)
    statistic = SoftmaxValues(task.softmax(points), table, problem.method, problem.intercept, task.geometry.centre)
    values = task.engine.reduce(statistic, task.source).values
    if penalised is not None:
        extra = [penalised.log_f_value(penalised.standardised(point)) for point in points]
        values = values + np.array(extra) / task.effective_unit
    lost = 2 * (values[0] - values[1:]).reshape(2, -1) / _END**2
    off: Floats = np.abs(lost - 1).max(axis=0)
    return off


def left_out_note(names: Sequence[str], left_out: Flags) -> list[str]:
    """Say which parameters have no interval, because it would be too much work."""
    without = [name for name, out in zip(names, left_out, strict=True) if out]
    if not without:
        return []
    return [
        f"No interval for {listed(without, 5)}: the likelihood is no parabola there, so that a Wald interval would be "
        "wrong, and profile likelihood ratios would take far longer than the fit. Ask for intervals='profile'."
    ]


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
            most=math.inf if fit.task.problem.intervals == "profile" else _most_evaluations(fit.task),
        )
        solution, found = search.all_profiles(solution, list(rows / lengths[:, None]))
        placed: list[Profile | None] = [None] * len(which)
        for place, length, one in zip(np.flatnonzero(which).tolist(), lengths.tolist(), found, strict=False):
            placed[place] = one.scaled(length)
        return solution, placed
