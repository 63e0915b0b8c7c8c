"""Wide problems are searched by slopes: second derivatives of many columns cost as much as dozens of slopes.

Limited-memory BFGS in coordinates in which the features are uncorrelated, where likelihoods of labels are nearly round,
leads to within a fraction of a standard error. The information there is then good for what is left of the way.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from askance.arrays import Floats
from askance.engines.local.engine import one_thread_algebra
from askance.engines.sources import RecordSource
from askance.learning.answers.softmax_problem import SoftmaxTask
from askance.solvers.newton import CONVERGED, Solution
from askance.statistics.softmax_score import NARROW, Method

_MOST_STEPS = 100  # 784 made-up columns took 7 to 29; what takes longer runs away, which Newton's method sees
# Slope of an average record at which to stop, times the root of their number: some .02 standard errors of a coordinate
# where another fit starts from here, and .001 of all 784 together where this is the last one.
_ROUGHLY, _FLAT = 0.003, 1e-5
FAR = 10.0  # root mean square logit: as far as that, a fit may be running away
_SAME = 3.0  # standard errors between ends, of all coordinates together, below which one of them is enough
# Standard errors, of all parameters together, within which the information is that of the maximum, to some five digits.
_THERE = 0.003
_MOST_TURNS = 8  # steps by the same information, of which each is hundreds of times shorter than the one before


class End(NamedTuple):
    """Where slopes lead from a start, and the objective there. Far: farther than is followed, and back at the start."""

    theta: Floats
    value: float
    far: bool = False


@dataclass(frozen=True, eq=False)
class SlopeApproach:
    """The way to a maximum of one problem, as far as slopes lead."""

    task: SoftmaxTask
    method: Method
    source: RecordSource
    penalty: Floats

    @property
    def pays(self) -> bool:
        """Whether columns are so many that it is the shorter way."""
        return self.task.width > NARROW

    def from_start(self, start: Floats, *, roughly: bool, known: Sequence[End] = ()) -> End | None:
        """Go from a start to near a maximum; to none where the way comes by an end that is known."""
        task, shape = self.task, start.shape
        white, unwhite = task.geometry.whitening
        total = float(task.reports.weight.sum()) * self.source.num_rows / task.reports.rows
        origin = (start @ unwhite).ravel()

        def loss(turned: Floats) -> tuple[float, Floats]:
            theta = turned.reshape(len(start), -1) @ white.T
            value, gradient = task.slope(theta, self.source, self.penalty, self.method)
            return -value / total, -(gradient.reshape(shape) @ white).ravel() / total

        # The search goes as far as one unit first. With the curvature of a label that is known, that should be where a
        # parabola has its maximum.
        unit = 4 * float(np.linalg.norm(loss(origin)[1]))
        unit = unit if unit > 0 else 1.0

        def in_units(place: Floats) -> tuple[float, Floats]:
            value, gradient = loss(unit * place)
            return value, unit * gradient

        ends = [(end.theta @ unwhite).ravel() for end in known if not end.far]

        def stop_early(place: Floats) -> None:
            if self._too_far(unit * place, len(start)) or self._near_one(ends, unit * place, len(start)):
                raise StopIteration

        flat = (_ROUGHLY if roughly else _FLAT) / math.sqrt(self.source.num_rows)
        options = {"maxiter": _MOST_STEPS, "gtol": flat * unit, "ftol": 0.0, "maxcor": 20}
        with one_thread_algebra():
            found = minimize(in_units, origin / unit, jac=True, method="L-BFGS-B", options=options, callback=stop_early)
        if self._near_one(ends, unit * found.x, len(start)):
            return None
        far = self._too_far(unit * found.x, len(start))
        theta: Floats = (unit * found.x).reshape(len(start), -1) @ white.T
        return End(start if far else theta, -total * float(found.fun), far)

    def from_starts(self, starts: Sequence[Floats], *, roughly: bool) -> list[End]:
        """The ends of the ways from several starts, each once.

        Where the way from the first leads too far to tell, the records are too few to tell maxima apart: others are not
        gone. (A sample of 16 rows for each of 600 columns, epsilon 1: all three led to logits of 150 and more.)
        """
        ends: list[End] = []
        for start in starts:
            end = self.from_start(start, roughly=roughly, known=ends)
            if end is not None:
                ends.append(end)
            if roughly and ends[0].far:
                break
        return ends

    def settled(self, theta: Floats, unit: float) -> Solution | None:
        """Go the rest of the way by the information near its end; nothing where that does not lead there."""
        task, used = self.task, self.task.used
        here = task.objective(self.source, self.penalty, unit, self.method, with_outer=task.with_outer)(theta.ravel())
        try:
            factor = cho_factor(here.information + np.diag(np.where(used, 0.0, 1.0)))
        except LinAlgError:
            return None
        flat, gradient, previous = theta.ravel(), here.gradient, _THERE
        for turn in range(_MOST_TURNS):
            step = cho_solve(factor, gradient)
            distance = math.sqrt(max(float(gradient @ step), 0.0))
            if not distance <= previous:
                return None
            flat = flat + step
            if distance <= CONVERGED or (turn and distance * (distance / previous) <= CONVERGED):
                found = flat.reshape(theta.shape)
                return Solution(found, here, turn + 1, converged=True, diverged=False, measured=True)
            previous = distance
            value, gradient = task.slope(flat.reshape(theta.shape), self.source, self.penalty, self.method)
            gradient = unit * used * gradient
            here = here._replace(value=unit * value, gradient=gradient)
        return None

    def _near_one(self, ends: Sequence[Floats], place: Floats, rows: int) -> bool:
        """Whether a place is that of an end to the records, in coordinates in which the features are uncorrelated."""
        # A logit tells at most 1/4 of a record about itself: distances in standard errors are no longer than that.
        near = 2 * _SAME / math.sqrt(self.source.num_rows)
        return any(self._root_mean_square(place - end, rows) < near for end in ends)

    def _too_far(self, place: Floats, rows: int) -> bool:
        return not self._root_mean_square(place, rows) <= FAR

    def _root_mean_square(self, place: Floats, rows: int) -> float:
        """The largest root mean square logit, where features are uncorrelated."""
        return float(np.linalg.norm(self.task.softmax(place.reshape(rows, -1)), axis=1).max())
