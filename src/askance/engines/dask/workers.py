"""What runs on the workers of a Dask cluster: functions of descriptions of partitions, or of cached records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from askance.engines.base import Job
from askance.engines.sources import SourcePartition
from askance.statistics.base import Records, Statistic, merged

Batch = TypeVar("Batch")
Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Batches:
    """Records in the memory of a worker."""

    records: list[Records]

    def __sizeof__(self) -> int:
        # By this Dask knows what a worker has in memory, and what moving it would cost.
        return sum(batch.nbytes for batch in self.records)


def read(parts: Sequence[SourcePartition[Records]]) -> Batches:
    """Read partitions, to keep them."""
    return Batches([part.load() for part in parts])


def bytes_a_row(part: SourcePartition[Records]) -> float:
    """Return how much memory a record takes."""
    records = part.load()
    return records.nbytes / len(records)


def observe_cached(batches: Batches, *, statistic: Statistic[Records, Value]) -> Value:
    """Sum over records that were kept."""
    return merged(statistic, map(statistic.observe, batches.records))


def observe_read(parts: Sequence[SourcePartition[Batch]], *, statistic: Statistic[Batch, Value]) -> Value:
    """Sum over partitions, each forgotten after it was read."""
    return merged(statistic, (statistic.observe(part.load()) for part in parts))


def merge(sums: Sequence[Value], *, statistic: Statistic[Any, Value]) -> Value:
    """Add sums up."""
    return merged(statistic, sums)


def thin(batches: Batches, *, stride: int) -> Batches:
    """Keep every so many-th record, counted over all batches."""
    kept, first = [], 0
    for batch in batches.records:
        kept.append(batch.every(stride, first))
        first = (first - len(batch)) % stride
    return Batches(kept)


def run(job: Job[Value]) -> Value:
    """Do a job."""
    return job.run()
