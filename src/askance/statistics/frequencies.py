"""How often each report occurs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.statistics.base import Records


class ReportCounts(NamedTuple):
    """Sums by report code."""

    rows: int
    weight: NDArray[np.float64]
    squared_weight: NDArray[np.float64]

    @property
    def law(self) -> NDArray[np.float64]:
        """The observed law of reports; a report that never occurred counts as half of one."""
        seen = np.maximum(self.weight, 0.5 * self.weight.sum() / max(self.rows, 1))
        law: NDArray[np.float64] = seen / seen.sum()
        return law


@dataclass(frozen=True)
class ReportFrequencies:
    """Count reports, weighted.

    Examples
    --------
    >>> import numpy as np
    >>> from askance.statistics.base import Records
    >>> batch = Records(np.empty((3, 0)), np.array([0, 1, 1]))
    >>> ReportFrequencies(2).observe(batch).weight
    array([1., 2.])
    """

    reports: int

    def empty(self) -> ReportCounts:
        return ReportCounts(0, np.zeros(self.reports), np.zeros(self.reports))

    def observe(self, records: Records) -> ReportCounts:
        weights = records.weights
        plain = np.bincount(records.codes, weights, minlength=self.reports).astype(float)
        if weights is None:
            return ReportCounts(len(records), plain, plain)
        squared = np.bincount(records.codes, weights**2, minlength=self.reports).astype(float)
        return ReportCounts(len(records), plain, squared)

    def merge(self, first: ReportCounts, second: ReportCounts) -> ReportCounts:
        return ReportCounts(
            first.rows + second.rows,
            first.weight + second.weight,
            first.squared_weight + second.squared_weight,
        )
