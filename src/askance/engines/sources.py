"""Where records come from: arrays in memory, or partitions that are read when their turn comes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from askance.errors import InvalidInput
from askance.releases.partition import TablePartition
from askance.statistics.base import Records

PARTITION_ROWS = 1 << 16  # a few megabytes at tens of columns: enough work for a task, little memory for a thread
# Of many columns fewer rows are as much work: one partition would leave cores to the threads of BLAS, which wait for
# each other (785 columns, 50,000 rows, a loaded machine: 27 CPU seconds for a fit, 8 with one thread to a core).
_PARTITION_BYTES = 1 << 25
_LARGE_BYTES = 1 << 20  # parts as large as that are enough work each: put together, they would all be copied
_PARTS_OF_A_SAMPLE = 16  # reading a partition has its price; so many, evenly spread, see what changes along a data set


Batch = TypeVar("Batch", covariant=True)


class SourcePartition(Protocol[Batch]):
    """A part of the rows: small to hold and to send, read on demand."""

    @property
    def num_rows(self) -> int:
        """How many rows there are."""

    def load(self) -> Batch:
        """Read them."""


class Source(Protocol[Batch]):
    """All rows of a data set, in partitions."""

    def partitions(self) -> Sequence[SourcePartition[Batch]]:
        """The parts; together they hold every row once."""

    @property
    def num_rows(self) -> int:
        """How many rows there are in all."""


RecordSource: TypeAlias = Source[Records]


@dataclass(frozen=True, eq=False)
class ArrayPartition:
    """A range of rows of arrays in memory."""

    source: Records
    start: int
    stop: int

    @property
    def num_rows(self) -> int:
        return self.stop - self.start

    def load(self) -> Records:
        return self.source.rows(self.start, self.stop)


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Arrays in memory, cut into ranges of rows: as long as each other, so that no thread waits for another."""

    data: Records
    partition_rows: int = PARTITION_ROWS

    @property
    def num_rows(self) -> int:
        return len(self.data)

    def partitions(self) -> list[ArrayPartition]:
        return self._parts

    @cached_property
    def _parts(self) -> list[ArrayPartition]:
        by_size = -(-self.data.nbytes // _PARTITION_BYTES)
        count = max(-(-self.num_rows // self.partition_rows), min(by_size, self.num_rows), 1)
        ends = [self.num_rows * number // count for number in range(count + 1)]
        return [ArrayPartition(self.data, start, stop) for start, stop in pairwise(ends)]


@dataclass(frozen=True)
class ThinnedPartition:
    """Every so many-th record of a partition; thinned where it is read."""

    part: SourcePartition[Records]
    stride: int

    @property
    def num_rows(self) -> int:
        return -(-self.part.num_rows // self.stride)

    def load(self) -> Records:
        return self.part.load().every(self.stride)


Part = TypeVar("Part", bound=SourcePartition[Records])


@dataclass(frozen=True, eq=False)
class Parts(Generic[Part]):
    """Records in given parts."""

    parts: tuple[Part, ...]

    @property
    def num_rows(self) -> int:
        return sum(part.num_rows for part in self.parts)

    def partitions(self) -> tuple[Part, ...]:
        return self.parts


def thinned(source: RecordSource, rows: int) -> Parts[ThinnedPartition]:
    """Return about ``rows`` records spread evenly over a source: some records of some of its partitions."""
    parts = source.partitions()
    chosen = [parts[i] for i in np.linspace(0, len(parts) - 1, min(len(parts), _PARTS_OF_A_SAMPLE)).astype(int)]
    stride = max(1, sum(part.num_rows for part in chosen) // rows)
    return Parts(tuple(ThinnedPartition(part, stride) for part in chosen))


def concatenate(parts: Sequence[Records]) -> Records:
    """Put batches one after the other."""
    if len(parts) == 1:
        return parts[0]
    weights = [part.weights for part in parts if part.weights is not None]
    return Records(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.codes for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def cached_in_memory(source: RecordSource, limit_bytes: int) -> RecordSource:
    """Read a source once for all if it fits in ``limit_bytes``: iterative fits then read no file twice."""
    if isinstance(source, ArraySource) or not source.num_rows:
        return source
    parts = source.partitions()
    first = next(part for part in parts if part.num_rows)
    records = first.load()
    if records.nbytes / len(records) * source.num_rows > limit_bytes:
        return source
    held = [records if part is first else part.load() for part in parts]
    if min(part.nbytes for part in held) >= _LARGE_BYTES:
        return Parts(tuple(ArrayPartition(part, 0, len(part)) for part in held))
    return ArraySource(concatenate(held))


def even_groups(parts: Sequence[SourcePartition[Any]], most: int) -> list[list[SourcePartition[Any]]]:
    """Gather neighbouring parts into at most ``most`` groups of about as many rows."""
    rows = np.array([part.num_rows for part in parts], dtype=float)
    middles = np.cumsum(rows) - rows / 2
    numbers = np.minimum(middles * most // max(rows.sum(), 1), most - 1)
    return [[parts[i] for i in np.flatnonzero(numbers == number).tolist()] for number in np.unique(numbers)]


def sendable(parts: Sequence[SourcePartition[Any]], engine: str) -> Sequence[SourcePartition[Any]]:
    """Refuse parts that hold rows: only descriptions of where rows are travel to the workers of an engine."""
    for part in parts:
        inner: Any = part
        while inner is not None:
            if isinstance(inner, TablePartition | ArrayPartition):
                raise InvalidInput(
                    f"rows in the memory of this process, for the workers of {engine}",
                    "a release on disk, or at an address, that the workers can read",
                    "Write it first: release.write(path), then fit_release(path). Or use the local engine.",
                )
            inner = getattr(inner, "part", None)
    return parts
