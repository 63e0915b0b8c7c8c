"""Wide problems are searched by slopes: second derivatives of many columns cost as much as hundreds of slopes.

Limited-memory BFGS in coordinates in which the features are uncorrelated, where likelihoods of labels are nearly round.
It leads to within a fraction of a standard error; Newton's method then has two steps to go.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from askance.arrays import Floats
from askance.engines.sources import RecordSource
from askance.learning.answers.softmax_problem import SoftmaxTask
from askance.statistics.softmax_score import NARROW, Method
from askance.statistics.softmax_slope import SoftmaxSlope

_MOST_STEPS = 100  # 784 made-up columns took 6 to 16; what takes longer runs away, which Newton's method sees
# Slope of an average record at which to stop, times the root of their number: some .02 standard errors of a coordinate.
_FLAT = 0.003
_FAR = 10.0  # root mean square logit: as far as that, a fit may be running away
_SAME = 3.0  # standard errors between ends, of all coordinates together, below which one of them is enough


@dataclass(frozen=True, eq=False)
class SlopeApproach:
    """The way to a maximum of one problem, as far as slopes lead."""

    task: SoftmaxTask

    @property
    def pays(self) -> bool:
        """Whether columns are so many that it is the shorter way."""
        return self.task.width > NARROW

    def from_start(self, method: Method, source: RecordSource, start: Floats, penalty: Floats) -> Floats | None:
        """Return parameters near a maximum; nothing where the way leads too far to tell."""
        task, shape = self.task, start.shape
        white, unwhite = task.geometry.whitening
        table = task.table(method)
        total = float(task.reports.weight.sum()) * source.num_rows / task.reports.rows

        def loss(turned: Floats) -> tuple[float, Floats]:
            theta = turned.reshape(len(start), -1) @ white.T
            score = SoftmaxSlope(theta, table, method, task.problem.intercept, task.geometry.centre)
            sums = task.engine.reduce(score, source)
            pull = penalty @ theta.ravel()
            value = sums.objective - 0.5 * float(theta.ravel() @ pull)
            gradient = (sums.gradient - pull).reshape(shape) @ white
            return -value / total, -gradient.ravel() / total

        found = minimize(
            loss,
            (start @ unwhite).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MOST_STEPS, "gtol": _FLAT / np.sqrt(source.num_rows), "ftol": 0.0, "maxcor": 20},
        )
        theta: Floats = found.x.reshape(len(start), -1) @ white.T
        lost = not np.all(np.isfinite(theta)) or task.geometry.root_mean_square_logit(theta) > _FAR
        return None if lost else theta

    def from_starts(
        self, method: Method, source: RecordSource, starts: Sequence[Floats], penalty: Floats
    ) -> list[Floats]:
        """The ends of the ways from several starts, each once; a start itself where its way leads too far."""
        ends: list[Floats] = []
        for start in starts:
            end = self.from_start(method, source, start, penalty)
            if end is None:
                ends.append(start)
            elif not any(self._same(end, other, source.num_rows) for other in ends):
                ends.append(end)
        return ends

    def _same(self, one: Floats, other: Floats, rows: int) -> bool:
        # A logit tells at most 1/4 of a record about itself: distances in standard errors are no longer than that.
        return 0.5 * math.sqrt(rows) * self.task.geometry.root_mean_square_logit(one - other) < _SAME
