"""Where records come from: arrays in memory, or partitions that are read when their turn comes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from askance.statistics.base import Records

PARTITION_ROWS = 1 << 16


class RecordPartition(Protocol):
    """A part of the records: small to hold and to send, read on demand."""

    @property
    def num_rows(self) -> int:
        """How many records there are."""

    def records(self) -> Records:
        """Read them."""


class Source(Protocol):
    """All records of a data set, in partitions."""

    def partitions(self) -> Sequence[RecordPartition]:
        """The parts; together they hold every record once."""

    @property
    def num_rows(self) -> int:
        """How many records there are in all."""


@dataclass(frozen=True, eq=False)
class ArrayPartition:
    """A range of rows of arrays in memory."""

    source: Records
    start: int
    stop: int

    @property
    def num_rows(self) -> int:
        return self.stop - self.start

    def records(self) -> Records:
        return self.source.rows(self.start, self.stop)


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Arrays in memory, cut into ranges of rows."""

    data: Records
    partition_rows: int = PARTITION_ROWS

    @property
    def num_rows(self) -> int:
        return len(self.data)

    def partitions(self) -> list[ArrayPartition]:
        starts = range(0, max(self.num_rows, 1), self.partition_rows)
        return [ArrayPartition(self.data, start, min(start + self.partition_rows, self.num_rows)) for start in starts]


def sample(source: Source, rows: int) -> ArraySource:
    """Return about ``rows`` records spread evenly over a source: a cheap look at the whole."""
    parts = source.partitions()
    most_parts = max(1, min(len(parts), 16))
    chosen = [parts[i] for i in np.linspace(0, len(parts) - 1, most_parts).astype(int)]
    stride = max(1, sum(part.num_rows for part in chosen) // rows)
    looked_at = [part.records() for part in chosen]
    every = [Records(r.features[::stride], r.codes[::stride], _every(r, stride)) for r in looked_at]
    return ArraySource(concatenate(every))


def _every(records: Records, stride: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]] | None":
    return None if records.weights is None else records.weights[::stride]


def concatenate(parts: Sequence[Records]) -> Records:
    """Put batches one after the other."""
    weights = [part.weights for part in parts if part.weights is not None]
    return Records(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.codes for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def held_in_memory(source: Source, limit_bytes: int) -> Source:
    """Read a source once for all if it fits in ``limit_bytes``: iterative fits then read no file twice."""
    if isinstance(source, ArraySource) or not source.num_rows:
        return source
    parts = source.partitions()
    first = next(part for part in parts if part.num_rows)
    records = first.records()
    bytes_a_row = sum(array.nbytes for array in records if array is not None) / len(records)
    if bytes_a_row * source.num_rows > limit_bytes:
        return source
    return ArraySource(concatenate([records if part is first else part.records() for part in parts]))
