"""The part of the scores' variance that is due to the device, which no population is too small for.

A sample that is half of its population knows half of all truths, and so the variance of sampling is halved. The coin
that hid each of them is none of the population: a census of randomised answers has errors, too.
"""

from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.statistics.base import Records
from askance.statistics.joint_score import JointScore
from askance.statistics.row_blocks import blocks


@dataclass(frozen=True, eq=False)
class DeviceNoise:
    """Sum the variance of each score given the truth, times the share of the population that is in the sample.

    With s(o) the score of report o, it is sum_o P(o) s(o) s(o)' - sum_y P(y) E[s | y] E[s | y]' for every record.

    Parameters
    ----------
    score : JointScore
        Without unknown numbers too: its corners are then the channel's matrix.
    designs : tuple of (start, stop)
        The report codes that belong to each design.
    fraction : array, units
        By sampling unit, whose number is the last feature of a record.
    """

    score: JointScore
    designs: tuple[tuple[int, int], ...]
    fraction: Floats

    def empty(self) -> Floats:
        return np.zeros((self.score.size, self.score.size))

    def merge(self, first: Floats, second: Floats) -> Floats:
        return first + second

    def observe(self, records: Records) -> Floats:
        total = self.empty()
        for block in blocks(records):
            weights = np.ones(len(block)) if block.weights is None else block.weights
            heft = weights**2 * self.fraction[block.features[:, -1].astype(np.int64)]
            for start, stop in self.designs:
                here = (block.codes >= start) & (block.codes < stop) & (heft > 0)
                if here.any():
                    total += self._noise(block.features[here], heft[here], range(start, stop))
        return total

    def _noise(self, features: Floats, heft: Floats, reports: range) -> Floats:
        total = self.empty()
        given = np.zeros((0, 0, 0))
        prior = np.zeros((0, 0))
        for report in reports:
            asked = Records(features, np.full(len(features), report))
            law, prior = self.score.record_laws(asked)
            scores = self.score.record_scores(asked)
            total += (scores * (heft * (law * prior).sum(axis=1))[:, None]).T @ scores
            part = law[:, :, None] * scores[:, None, :]
            given = part if not given.size else given + part
        for truth in range(prior.shape[1]):
            mean = given[:, truth]
            total -= (mean * (heft * prior[:, truth])[:, None]).T @ mean
        return total
