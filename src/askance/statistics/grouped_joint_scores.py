"""Scores of a model with unknown numbers, summed by sampling unit."""

from dataclasses import dataclass

import numpy as np

from askance.arrays import Codes, Floats
from askance.statistics.base import Records, add_fields
from askance.statistics.grouped_scores import GroupSums, no_sums
from askance.statistics.joint_score import JointScore
from askance.statistics.row_blocks import blocks


@dataclass(frozen=True, eq=False)
class GroupedJointScores:
    """Sum the scores of a :class:`JointScore`, and their expected information or outer products, by unit.

    The records have the number of their unit as their last feature, which no column of the model is; without units, all
    are summed together.

    Parameters
    ----------
    score : JointScore
    designs : tuple of (start, stop)
        The report codes that belong to each design.
    units : int
    outer : bool
        Sum outer products of scores instead of information.
    """

    score: JointScore
    designs: tuple[tuple[int, int], ...]
    units: int = 0
    outer: bool = False

    def empty(self) -> GroupSums:
        return no_sums(max(self.units, 1), self.score.size)

    def merge(self, first: GroupSums, second: GroupSums) -> GroupSums:
        return add_fields(first, second)

    def observe(self, records: Records) -> GroupSums:
        total = self.empty()
        for block in blocks(records):
            numbers = block.features[:, -1] if self.units else np.zeros(len(block))
            units = numbers.astype(np.int64)
            weights = np.ones(len(block)) if block.weights is None else block.weights
            scores = self.score.record_scores(block)
            np.add.at(total.rows, units, 1.0)
            np.add.at(total.weight, units, weights)
            np.add.at(total.score, units, scores)
            if self.outer:
                np.add.at(total.second, units, scores[:, :, None] * scores[:, None, :])
            else:
                self._add_information(total.second, block, units, weights)
        return total

    def _add_information(self, total: Floats, block: Records, units: Codes, weights: Floats) -> None:
        """Add the expected information: every report that the record's design can give, by its probability."""
        for start, stop in self.designs:
            here = (block.codes >= start) & (block.codes < stop)
            if not here.any():
                continue
            for report in range(start, stop):
                asked = Records(block.features[here], np.full(int(here.sum()), report))
                scores, law = self.score.record_scores(asked), self.score.record_likelihoods(asked)
                heft = (weights[here] * law)[:, None, None]
                np.add.at(total, units[here], heft * scores[:, :, None] * scores[:, None, :])
