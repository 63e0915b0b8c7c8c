"""Mergeable sums: the only thing that an engine knows how to compute.

A statistic is a recipe for a sum over records. ``empty`` is the neutral element, ``observe`` the sum over one
batch, ``merge`` the sum of two; so rows may be split in any way, over threads, files or machines.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes

Value = TypeVar("Value")
Batch = TypeVar("Batch", contravariant=True)


Sums = TypeVar("Sums", bound=tuple[Any, ...])


def add_fields(first: Sums, second: Sums) -> Sums:
    """Add two named tuples field by field; what is None in both, because it was not asked for, stays so.

    Examples
    --------
    >>> from askance.statistics.frequencies import ReportFrequencies
    >>> counts = ReportFrequencies(2).empty()
    >>> add_fields(counts, counts)
    ReportCounts(rows=0, weight=array([0., 0.]), squared_weight=array([0., 0.]))
    """
    kind: Any = type(first)
    total: Sums = kind(*(None if a is None else a + b for a, b in zip(first, second, strict=True)))
    return total


class Records(NamedTuple):
    """A batch of records as statistics see them."""

    features: NDArray[np.float64]  # n x d, without intercept
    codes: Codes  # n report codes: row numbers of the channel's matrix
    weights: NDArray[np.float64] | None = None  # n, or None for all ones

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def nbytes(self) -> int:
        """How many bytes the arrays take."""
        return sum(array.nbytes for array in self if array is not None)

    def rows(self, start: int, stop: int) -> "Records":
        """Return the records of a range of rows, without copying."""
        weights = None if self.weights is None else self.weights[start:stop]
        return Records(self.features[start:stop], self.codes[start:stop], weights)

    def every(self, stride: int, first: int = 0) -> "Records":
        """Return a copy of every ``stride``-th record, beginning with number ``first``."""
        rows = slice(first, None, stride)
        weights = None if self.weights is None else self.weights[rows].copy()
        return Records(self.features[rows].copy(), self.codes[rows].copy(), weights)


class Statistic(Protocol[Batch, Value]):
    """A sum over batches of rows (mostly :class:`Records`), with values of type ``Value``."""

    def empty(self) -> Value:
        """The sum over no records."""

    def observe(self, records: Batch, /) -> Value:
        """The sum over one batch."""

    def merge(self, first: Value, second: Value) -> Value:
        """The sum over both; associative and commutative."""


def merged(statistic: Statistic[Any, Value], sums: Iterable[Value]) -> Value:
    """Return the sum of sums, merged in their order."""
    total = statistic.empty()
    for value in sums:
        total = statistic.merge(total, value)
    return total
