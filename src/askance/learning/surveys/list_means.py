"""How many say yes, from differences between groups: unbiased, whatever the items of the list are.

Single list: mean with the sensitive item minus mean without. Double list: everybody answers two lists, and the item is
in one of them; half the difference between the groups in (first count - second count). Together with direct answers
(Aronow and others 2015): who said yes directly is a yes, and the list tells how many of the others are.
"""

import math
from typing import NamedTuple

import numpy as np

from askance.arrays import Flags, Floats
from askance.learning.surveys.list_counts import ListCounts
from askance.learning.surveys.survey_sample import SurveySample


class Estimate(NamedTuple):
    """An estimate with its variance, and how much each row moves it: what it is correlated with others by."""

    value: float
    variance: float
    influence: Floats
    degrees: float = math.inf

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.variance)

    def sampled(self, sample: SurveySample | None) -> "Estimate":
        """The same with the variance of a sample with clusters or strata, if it is one."""
        if sample is None:
            return self
        variance, degrees = sample.variance(self.influence)
        return self._replace(variance=variance, degrees=degrees)


def mean_of(values: Floats, weights: Floats | None, rows: Flags) -> Estimate:
    """Return the mean over some rows, with the variance of a random sample of them."""
    heft = np.where(rows, 1.0 if weights is None else weights, 0.0)
    mean = float(heft @ values / heft.sum())
    influence = heft * (values - mean) / heft.sum()
    count = int(rows.sum())
    variance = float(influence @ influence) * count / max(count - 1, 1)
    return Estimate(mean, variance, influence, float(max(count - 1, 1)))


def combined(parts: list[tuple[float, Estimate]]) -> Estimate:
    """Return a sum of estimates, each times a number, of groups that have no row in common."""
    value = sum(times * part.value for times, part in parts)
    pieces = [(times**2 * part.variance, part.degrees) for times, part in parts]
    variance = sum(piece for piece, _ in pieces)
    # Welch and Satterthwaite: as many degrees of freedom as the variances of unequal groups have together.
    spread = sum(piece**2 / degrees for piece, degrees in pieces)
    degrees = variance**2 / spread if spread > 0 else math.inf
    return Estimate(value, variance, np.sum([times * part.influence for times, part in parts], axis=0), degrees)


def difference_in_means(data: ListCounts, number: int = 0, rows: Flags | None = None) -> Estimate:
    """Return the share of people for whom the sensitive item is true, from one list."""
    some = np.ones(len(data.treated), dtype=bool) if rows is None else rows
    long, counts = data.long_list(number), data.counts[:, number].astype(float)
    groups = [(1.0, long & some), (-1.0, ~long & some)]
    return combined([(sign, mean_of(counts, data.weights, group)) for sign, group in groups]).sampled(data.sample)


def of_double_list(data: ListCounts) -> Estimate:
    """Return the share from both lists: half the difference in (first - second count)."""
    between = (data.counts[:, 0] - data.counts[:, 1]).astype(float)
    groups = [(0.5, data.treated), (-0.5, ~data.treated)]
    return combined([(times, mean_of(between, data.weights, rows)) for times, rows in groups]).sampled(data.sample)


def with_direct_answers(data: ListCounts, direct: Flags) -> tuple[Estimate, Estimate, Estimate]:
    """Return the share who said yes directly, the share by the list among the others, and both together.

    Nobody who says yes is taken to lie: d + (1 - d) tau, with tau the difference in means among those who said no.
    """
    said = mean_of(direct.astype(float), data.weights, np.ones(len(direct), dtype=bool)).sampled(data.sample)
    hidden = difference_in_means(data, rows=~direct)
    both = combined([(1 - hidden.value, said), (1 - said.value, hidden)]).sampled(data.sample)
    return said, hidden, both._replace(value=said.value + (1 - said.value) * hidden.value)


def direct_difference(data: ListCounts, direct: Flags) -> Estimate:
    """Return the difference between the shares who said yes directly, with and without the sensitive item."""
    shares = [(1.0, data.treated), (-1.0, ~data.treated)]
    parts = [(sign, mean_of(direct.astype(float), data.weights, rows)) for sign, rows in shares]
    return combined(parts).sampled(data.sample)
