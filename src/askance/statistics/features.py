"""First and second moments of the features: their scale, and which of them say the same thing."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.statistics.base import Records, add_fields
from askance.statistics.row_blocks import blocks, gram, with_intercept


class FeatureSums(NamedTuple):
    """Weighted sums over records of z z', where z = (1, x - centre), or x alone without intercept."""

    rows: int
    weight: float
    second: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureMoments:
    """Sum z z' over records, where z = (1, x - centre)."""

    columns: int
    intercept: bool
    centre: NDArray[np.float64] | None = None

    @property
    def width(self) -> int:
        return self.columns + self.intercept

    def empty(self) -> FeatureSums:
        return FeatureSums(0, 0.0, np.zeros((self.width, self.width)))

    def observe(self, records: Records) -> FeatureSums:
        total = self.empty()
        for block in blocks(records):
            rows = with_intercept(block.features, self.intercept, self.centre)
            weight = float(len(block)) if block.weights is None else float(block.weights.sum())
            total = self.merge(total, FeatureSums(len(block), weight, gram(rows, block.weights)))
        return total

    def merge(self, first: FeatureSums, second: FeatureSums) -> FeatureSums:
        return add_fields(first, second)


class ColumnSums(NamedTuple):
    """Weighted sums over records of the features."""

    rows: int
    weight: float
    total: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureTotals:
    """Sum the features themselves: their mean, without what each pair of them costs."""

    columns: int

    def empty(self) -> ColumnSums:
        return ColumnSums(0, 0.0, np.zeros(self.columns))

    def observe(self, records: Records) -> ColumnSums:
        weights = np.ones(len(records)) if records.weights is None else records.weights
        return ColumnSums(len(records), float(weights.sum()), weights @ records.features)

    def merge(self, first: ColumnSums, second: ColumnSums) -> ColumnSums:
        return add_fields(first, second)
