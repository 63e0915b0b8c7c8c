"""The penalised likelihood of a model with unknown numbers, as a function of its standardised parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.solvers.log_f import LogF
from askance.solvers.newton import Local
from askance.statistics.base import Records
from askance.statistics.joint_score import JointScore
from askance.statistics.softmax_score import ScoreSums


@dataclass(frozen=True, eq=False)
class JointModel:
    """What is summed over the records, and in which units.

    Parameters
    ----------
    corners : array, 2 x ... x 2 x report codes x K
        The channel's matrices with every unknown number at 0 or 1.
    columns, unknown_columns : integers
        The features of the softmax model, and those of each unknown number.
    intercept : bool
        Whether the softmax model has one; the unknown numbers always do.
    centre, spread : arrays, d
        Mean and standard deviation of the features. Parameters are those of standardised features.
    unit : float
        What the sums are multiplied by: the effective number of records for each unit of weight.
    source, engine
        Where the records are.
    squared : array, optional
        For records that stand for many: the sums of their squared weights, for sandwiches.
    """

    corners: Floats
    columns: NDArray[np.int64]
    unknown_columns: tuple[NDArray[np.int64], ...]
    intercept: bool
    centre: Floats
    spread: Floats
    unit: float
    source: RecordSource
    engine: Engine
    squared: Floats | None = None

    @property
    def classes(self) -> int:
        return int(self.corners.shape[-1])

    @property
    def width(self) -> int:
        """Parameters of one class."""
        return len(self.columns) + self.intercept

    @property
    def free(self) -> int:
        """Parameters of the softmax model."""
        return (self.classes - 1) * self.width

    @property
    def size(self) -> int:
        return self.free + sum(len(columns) + 1 for columns in self.unknown_columns)

    @cached_property
    def unknown_slices(self) -> list[slice]:
        """Where the parameters of each unknown number are; its intercept is the first of them."""
        ends = np.cumsum([self.free, *(len(columns) + 1 for columns in self.unknown_columns)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    @cached_property
    def scaling(self) -> Floats:
        """What turns standardised parameters into those of centred features."""
        own = np.concatenate([np.ones(int(self.intercept)), 1 / self.spread[self.columns]])
        unknown = [np.concatenate([[1.0], 1 / self.spread[columns]]) for columns in self.unknown_columns]
        return np.concatenate([np.tile(own, self.classes - 1), *unknown])

    @cached_property
    def uncentring(self) -> Floats:
        """The matrix that turns standardised parameters into those of the features as they came."""
        blocks = [(self.columns, self.intercept)] * (self.classes - 1)
        blocks += [(columns, True) for columns in self.unknown_columns]
        back = np.diag(self.scaling)
        start = 0
        for columns, intercept in blocks:
            if intercept:
                places = slice(start + 1, start + 1 + len(columns))
                back[start, places] = -self.centre[columns] / self.spread[columns]
            start += len(columns) + int(intercept)
        return back

    def sums(self, standardised: Floats, with_outer: bool = False) -> ScoreSums:
        """Sum over the records, in standardised units, an effective record counting one."""
        scaling = self.scaling
        score = self.score_at(standardised, with_outer and self.squared is None)
        sums = self.engine.reduce(score, self.source)
        outer = sums.outer
        if with_outer and self.squared is not None:
            (part,) = self.source.partitions()
            records = part.load()
            each = score.record_scores(Records(records.features, records.codes))
            outer = (each * self.squared[:, None]).T @ each
        square = np.outer(scaling, scaling)
        return sums._replace(
            objective=self.unit * sums.objective,
            gradient=self.unit * scaling * sums.gradient,
            information=self.unit * square * sums.information,
            outer=None if outer is None else self.unit**2 * square * outer,
        )

    def score_at(self, standardised: Floats, with_outer: bool = False) -> JointScore:
        """The statistic of the records at standardised parameters, in the units of centred features."""
        flat = standardised * self.scaling
        theta = flat[: self.free].reshape(self.classes - 1, self.width)
        gammas = [flat[places] for places in self.unknown_slices]
        return JointScore(
            theta, gammas, self.corners, self.columns, self.unknown_columns, self.intercept, self.centre, with_outer
        )

    def with_known(self, number: int, value: float) -> "JointModel":
        """Return the model with one unknown number set."""
        low, high = (np.take(self.corners, end, axis=number) for end in (0, 1))
        rest = (*self.unknown_columns[:number], *self.unknown_columns[number + 1 :])
        return replace(self, corners=(1 - value) * low + value * high, unknown_columns=rest)


@dataclass(frozen=True, eq=False)
class Penalties:
    """What is taken off the likelihood.

    Parameters
    ----------
    ridge : array, size x size
        Of a quadratic penalty, which may be zero.
    log_f : sequence of (places, LogF)
        Penalties on some of the parameters.
    """

    ridge: Floats
    log_f: tuple[tuple[NDArray[np.int64], LogF], ...] = ()

    def __call__(self, flat: Floats) -> Local:
        pull = self.ridge @ flat
        value, gradient, information = -0.5 * float(flat @ pull), -pull, self.ridge.copy()
        for places, penalty in self.log_f:
            here = penalty(flat[places])
            value += here.value
            gradient[places] += here.gradient
            information[np.ix_(places, places)] += here.information
        return Local(value, gradient, information)


def objective(model: JointModel, penalties: Penalties | None = None) -> Callable[[Floats], Local]:
    """Return value, gradient and information of the penalised likelihood as a function of standardised parameters."""

    def local(flat: Floats) -> Local:
        sums = model.sums(flat)
        if penalties is None:
            return Local(sums.objective, sums.gradient, sums.information)
        off = penalties(flat)
        return Local(sums.objective + off.value, sums.gradient + off.gradient, sums.information + off.information)

    return local


def class_places(model: JointModel, columns: Sequence[int]) -> NDArray[np.int64]:
    """The places of some columns of the softmax model, class by class."""
    starts = np.arange(model.classes - 1) * model.width
    places: NDArray[np.int64] = (starts[:, None] + np.asarray(columns, dtype=np.int64)).ravel()
    return places


def outer(sums: ScoreSums) -> Floats:
    """The summed outer products of the scores, which are there if they were asked for."""
    return np.zeros_like(sums.information) if sums.outer is None else sums.outer
