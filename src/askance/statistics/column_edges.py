"""How often each report came away from the ends of columns: it shows whose few other rows all say the same."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats, Integers
from askance.statistics.base import Records


class Edges(NamedTuple):
    """Of each column its lowest and highest value, and how many records of each report are above or below it."""

    total: Integers  # report codes
    lowest: Floats  # columns
    highest: Floats
    above: Integers  # columns x report codes
    below: Integers


@dataclass(frozen=True, eq=False)
class ColumnEdges:
    """Count reports above the lowest and below the highest value of some columns; rows without weight are left out.

    Examples
    --------
    >>> records = Records(np.array([[0.0], [0.0], [2.0]]), np.array([0, 1, 1], dtype=np.uint8))
    >>> ColumnEdges(np.array([0]), 2).observe(records).above
    array([[0, 1]])
    """

    columns: Integers
    codes: int

    def empty(self) -> Edges:
        none = np.zeros((len(self.columns), self.codes), dtype=np.int64)
        ends = np.full(len(self.columns), np.inf)
        return Edges(np.zeros(self.codes, dtype=np.int64), ends, -ends, none, none)

    def observe(self, records: Records) -> Edges:
        if records.weights is not None:
            weighty = records.weights > 0
            records = Records(records.features[weighty], records.codes[weighty])
        if not len(records):
            return self.empty()
        features = records.features[:, self.columns]
        lowest, highest = features.min(axis=0), features.max(axis=0)
        total = np.bincount(records.codes, minlength=self.codes).astype(np.int64)
        above, below = (np.zeros((len(self.columns), self.codes), dtype=np.int64) for _ in range(2))
        for code in np.flatnonzero(total):
            of_code = features[records.codes == code]
            above[:, code], below[:, code] = (of_code > lowest).sum(axis=0), (of_code < highest).sum(axis=0)
        return Edges(total, lowest, highest, above, below)

    def merge(self, first: Edges, second: Edges) -> Edges:
        lowest, highest = np.minimum(first.lowest, second.lowest), np.maximum(first.highest, second.highest)
        # All records of a part whose own end is inside are away from the end of both.
        above = sum(np.where((one.lowest > lowest)[:, None], one.total, one.above) for one in (first, second))
        below = sum(np.where((one.highest < highest)[:, None], one.total, one.below) for one in (first, second))
        return Edges(first.total + second.total, lowest, highest, np.asarray(above), np.asarray(below))
