"""Several hidden attributes as one: every combination of their true states, and what reports say about each.

Combinations are numbered with the last attribute running fastest. Nodes of a quadrature take the place of the states of
a hidden number.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.base import refuse_class
from askance.channels.report_columns import NumberReports, ReportColumn
from askance.errors import InvalidInput, Unidentifiable
from askance.learning.models.number_grid import NumberGrid

_LARGEST_TABLE = 20_000_000  # distinct reports x combinations of true states: 160 MB, and a few of these at a time
_SMALLEST_SINGULAR_VALUE = 1e-9  # against the largest, as of a channel for attributes: less is lost in rounding


class ReportTable(NamedTuple):
    """log P(reports | truth), rows x combinations, and how many records have each row."""

    log_likelihood: Floats
    counts: Floats


class HiddenAttribute(NamedTuple):
    """log P(report | truth), the truths, and the rows of that table that reports are."""

    log_matrix: Floats
    values: Floats
    codes: Codes


@dataclass(frozen=True, eq=False)
class HiddenStates:
    """Reports as codes, and the law of each attribute.

    Parameters
    ----------
    attributes : d columns
        Of a number the truths are nodes. Laws are kept by their logarithms: a report may be so far from all nodes where
        the truth is likely that its probability there is no double, and is told by the others even so.
    log_weights : d arrays
        Of nodes; zero for states.
    """

    attributes: tuple[HiddenAttribute, ...]
    log_weights: tuple[Floats, ...]

    @classmethod
    def of(cls, columns: Iterable[ReportColumn], grids: Sequence[NumberGrid] = ()) -> "HiddenStates":
        """Put nodes in the place of numbers; there is a grid for each number."""
        left, attributes, weights = iter(grids), [], []
        for one in columns:
            if isinstance(one, NumberReports):
                points, log_weights = next(left).nodes()
                distinct, codes = np.unique(one.reports, return_inverse=True)
                _refuse_large(len(distinct), len(points))
                attributes.append(HiddenAttribute(one.law.log_density(distinct[:, None] - points), points, codes))
                weights.append(log_weights)
            else:
                with np.errstate(divide="ignore"):  # what cannot be has a probability of zero
                    attributes.append(HiddenAttribute(np.log(one.matrix), one.values, one.codes))
                weights.append(np.zeros(len(one.values)))
        return cls(tuple(attributes), tuple(weights))

    @property
    def rows(self) -> int:
        return len(self.attributes[0].codes)

    @property
    def states(self) -> int:
        """How many combinations of true states there are."""
        return math.prod(len(one.values) for one in self.attributes)

    def truths(self) -> Floats:
        """The combinations, states x attributes."""
        axes = np.meshgrid(*(one.values for one in self.attributes), indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1)

    def state_log_weights(self) -> Floats:
        """What each combination weighs."""
        return reduce(lambda sofar, more: np.add.outer(sofar, more).ravel(), self.log_weights)

    def table(self, person: NDArray[np.int64] | None, shared: bool) -> ReportTable:
        """Return log P(reports | truth) of each distinct row, of each row, or of all rows of each person.

        Parameters
        ----------
        person : n, optional
            Numbers from zero, in the order of their first rows. Reports of one person are about one truth.
        shared : bool
            Whether all truths have one law, so that equal rows need not be told apart.
        """
        codes = np.column_stack([one.codes for one in self.attributes]).astype(np.int64)
        if person is not None:
            return self._together(self._table(codes), person)
        if not shared:
            return ReportTable(self._table(codes), np.ones(len(codes)))
        distinct, counts = np.unique(codes, axis=0, return_counts=True)
        return ReportTable(self._table(distinct), counts.astype(float))

    def _table(self, codes: NDArray[np.int64]) -> Floats:
        _refuse_large(len(codes), self.states)
        table = np.zeros((len(codes), 1))
        for j, one in enumerate(self.attributes):
            table = (table[:, :, None] + one.log_matrix[codes[:, j], None, :]).reshape(len(codes), -1)
        return table

    def _together(self, table: Floats, person: NDArray[np.int64]) -> ReportTable:
        """Multiply the laws of each person's reports ([RR] (3)): given the truth, they were drawn independently."""
        order = np.argsort(person, kind="stable")
        firsts = np.flatnonzero(np.diff(person[order], prepend=-1))
        logs = np.add.reduceat(table[order], firsts, axis=0)
        top = logs.max(axis=1)
        if not np.isfinite(top).all():
            raise InvalidInput(
                f"reports of person {int(np.flatnonzero(~np.isfinite(top))[0]) + 1} that no truth explains together",
                "reports about one truth, drawn by this channel",
            )
        return ReportTable(logs, np.ones(len(firsts)))


def _refuse_large(reports: int, states: int) -> None:
    """Refuse a table that would be too large, before it is made."""
    if reports * states > _LARGEST_TABLE:
        raise InvalidInput(
            f"{states:,} combinations of true states and {reports:,} distinct reports",
            f"a product of at most {_LARGEST_TABLE:,}",
            "This recipe enumerates the truth: it is for few attributes of few states, or one or two numbers. Numbers "
            "take many nodes where reports are far apart for their noise (an outlier?), and where the estimate runs "
            "into a law of no width: the reports then scatter no more than the noise alone.",
        )


def refuse_lost_truth(columns: Iterable[ReportColumn]) -> None:
    """Refuse noise that is not valid ([RR] section 2): its matrix must have independent columns.

    Then no two laws of the truth lead to the same law of reports. The product over attributes is valid if every
    attribute's matrix is; of added noise, normal and Laplace are.
    """
    columns = list(columns)
    for j, one in enumerate(columns):
        if isinstance(one, NumberReports):
            continue
        values = np.linalg.svd(one.matrix, compute_uv=False)
        states = one.matrix.shape[1]
        if len(values) < states or values[-1] <= _SMALLEST_SINGULAR_VALUE * values[0]:
            where = f" of attribute {j + 1}" if len(columns) > 1 else ""
            raise Unidentifiable(
                f"the noise{where} is not valid: its matrix has rank {np.linalg.matrix_rank(one.matrix)} for "
                f"{states} true states, so that different laws of the truth lead to the same reports",
                "a channel whose columns are linearly independent",
                "If the model is identifiable even so, say require_valid=False.",
            )


def read_columns(channel: Any, reports: Any) -> list[ReportColumn]:
    """What reports say about each attribute, whichever kind of channel drew them."""
    columns: list[ReportColumn]
    refuse_class(channel)
    if hasattr(channel, "report_columns"):
        columns = channel.report_columns(reports)
    elif isinstance(channel, Sequence) and channel and all(getattr(one, "hides", None) == "labels" for one in channel):
        each = zip(channel, _columns(reports, len(channel)), strict=True)
        columns = [column for one, part in each for column in one.report_columns(part)]
    else:
        raise InvalidInput(
            f"a {type(channel).__name__} as channel",
            "a finite channel, a sequence of them, a StateFlip, GaussianNoise, LaplaceNoise, or a RowChannel",
        )
    if not len(columns[0][-1]):
        raise InvalidInput("no reports", "at least one")
    return columns


def _columns(reports: Any, width: int) -> list[Any]:
    table = reports.to_numpy() if hasattr(reports, "to_numpy") else np.asarray(reports)
    if table.ndim != 2 or table.shape[1] != width:
        raise InvalidInput(f"reports of shape {table.shape}", f"a row for each record, with {width} columns")
    return list(table.T)
