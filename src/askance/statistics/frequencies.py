"""How often each report occurs."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.compiled import compiled
from askance.statistics.base import Records, add_fields


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

    @property
    def as_frequencies(self) -> "ReportCounts":
        """The same counts with weights read as numbers of respondents."""
        return self._replace(squared_weight=self.weight)


def counted(
    codes: NDArray[np.integer], weights: NDArray[np.float64] | None, states: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of weights, and of their squares, over the records that have each code."""
    if weights is None:
        counts = _count(codes, np.zeros((4, states), np.int64)).sum(axis=0).astype(float)
        return counts, counts
    first, second = (np.bincount(codes, each, minlength=states).astype(float) for each in (weights, weights**2))
    return first, second


@compiled
def _count(codes, counts):  # type: ignore[no-untyped-def]
    # Four tables in turn: two equal codes in a row need not wait for each other.
    for i in range(codes.shape[0]):
        counts[i & 3, codes[i]] += 1
    return counts


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
        return ReportCounts(len(records), *counted(records.codes, records.weights, self.reports))

    def merge(self, first: ReportCounts, second: ReportCounts) -> ReportCounts:
        return add_fields(first, second)
