"""First and second moments of the features: their scale, and which of them say the same thing."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.statistics.base import Records, add_fields
from askance.statistics.row_blocks import blocks, with_intercept


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
            weighted = rows if block.weights is None else rows * block.weights[:, None]
            weight = float(len(block)) if block.weights is None else float(block.weights.sum())
            total = self.merge(total, FeatureSums(len(block), weight, weighted.T @ rows))
        return total

    def merge(self, first: FeatureSums, second: FeatureSums) -> FeatureSums:
        return add_fields(first, second)
