"""Records in the memory of a cluster's workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askance.engines.sources import Parts, concatenate
from askance.statistics.base import Records


@dataclass(frozen=True, eq=False)
class CachedPartition:
    """A handle of records on a worker. Should the worker be lost, Dask reads them again on another."""

    batches: Any  # a Dask future of Batches
    num_rows: int

    def load(self) -> Records:
        """Fetch the records from the worker. No engine does."""
        return concatenate(self.batches.result().records)


@dataclass(frozen=True, eq=False)
class CachedRecords(Parts[CachedPartition]):
    """Records on the workers of a cluster."""

    @classmethod
    def of(cls, batches: Sequence[Any], rows: Sequence[int]) -> "CachedRecords":
        """Take futures of batches, with so many rows each."""
        return cls(tuple(CachedPartition(future, number) for future, number in zip(batches, rows, strict=True)))
