"""Reports in folds: lines are fitted to all folds but one, and judged by that one.

A record carries the number of its fold as a last feature. It is that of its row, counted through all partitions, so
that folds are the same however rows are split over files, threads or machines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from askance.learning.face.release_records import DecodedPartition, ReleaseRecords
from askance.statistics.base import Records

FOLDS = 10  # a line from nine tenths of the reports is nearly as good as one from all


def with_fold(records: Records, first: int = 0) -> Records:
    """Return records with the number of their fold; ``first`` is how many records come before."""
    number = (first + np.arange(len(records))) % FOLDS
    return Records(np.column_stack([records.features, number]), records.codes, records.weights)


def in_folds(records: Records, folds: int) -> Iterator[Records]:
    """Yield the records of each fold."""
    number = records.features[:, -1]
    for fold in range(folds):
        rows = np.flatnonzero(number == fold)
        weights = None if records.weights is None else records.weights[rows]
        yield Records(records.features[rows], records.codes[rows], weights)


@dataclass(frozen=True)
class FoldedPartition(DecodedPartition):
    """One partition of a release, whose records get the number of their fold where they are read."""

    first: int

    def load(self) -> Records:
        return with_fold(super().load(), self.first)


@dataclass(frozen=True, eq=False)
class FoldedRecords:
    """All records of a release, each with the number of its fold."""

    records: ReleaseRecords

    @property
    def num_rows(self) -> int:
        return self.records.num_rows

    def partitions(self) -> Sequence[FoldedPartition]:
        made, first = [], 0
        for part in self.records.release.partitions():
            made.append(FoldedPartition(part, self.records.decoder, first))
            first += part.num_rows
        return made
