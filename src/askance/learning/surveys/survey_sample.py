"""How people came into the sample, for survey models: the variance of sums over clusters and strata.

Scores, or what else each person adds to an estimate, are summed over the people of a sampling unit, and the spread of
these sums is the variance: the same CR2 and the same degrees of freedom as for a regression of one answer. How much of
the information each unit has, which CR2 asks for, is taken from the outer products of its people's scores: their mean
is the information, and no model here has a cheaper one for every row.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Flags, Floats, Integers
from askance.errors import InvalidInput
from askance.learning.face.cluster_covariance import ClusterSpread, stratum_meat
from askance.learning.face.sampling_design import RowUnits, units_of_rows
from askance.statistics.grouped_scores import GroupSums


class Spread(NamedTuple):
    """The variance of a sum of scores, and its parts between clusters, if there are any."""

    meat: Floats
    clusters: ClusterSpread | None

    def degrees(self, combinations: Floats) -> tuple[float, ...]:
        """Degrees of freedom of linear combinations of the scores, one a row; none without clusters."""
        return () if self.clusters is None else tuple(self.clusters.degrees(combinations).tolist())


@dataclass(frozen=True, eq=False)
class SurveySample:
    """Clusters and strata of people, or of rows that stand for several people of one unit.

    Parameters
    ----------
    drawn : RowUnits
    unit : array, rows
        The number of each row's unit.
    """

    drawn: RowUnits
    unit: Integers

    @classmethod
    def of(cls, rows: int, strata: Any, cluster: Any) -> "SurveySample | None":
        """Return the units of rows; None for people who were drawn one by one, all alike."""
        drawn = units_of_rows(rows, strata, cluster)
        return None if drawn is None else cls(drawn, drawn.unit)

    def of_rows(self, rows: Flags) -> "SurveySample":
        """The same of some rows; units of which none is left stay units of the sample."""
        return replace(self, unit=self.unit[rows])

    def of_units(self, unit: Integers) -> "SurveySample":
        """The same for rows of which each stands for several people of a unit."""
        return replace(self, unit=unit)

    def of_groups(self, group: Integers) -> "SurveySample":
        """The same for groups of rows, each of which must lie in one unit."""
        groups = int(group.max()) + 1
        first = np.zeros(groups, dtype=np.int64)
        first[group] = self.unit
        astray = int((first[group] != self.unit).sum())
        if astray:
            what = "cluster" if self.drawn.clustered else "stratum"
            raise InvalidInput(
                f"groups that lie in several units of the sample ({astray} rows are in another {what} than the last "
                "row of their group)",
                f"groups of which each lies in one {what}",
                "Leave groups out, and name as cluster what was sampled first.",
            )
        if not self.drawn.clustered:
            raise InvalidInput(
                "groups in a sample with strata and without clusters",
                "cluster= the groups, if these were sampled, beside strata=",
                "Leave strata out where people, and not groups, were drawn.",
            )
        return replace(self, unit=first)

    def describe(self) -> str:
        """Say what the sample is made of."""
        return self.drawn.describe()

    def spread(
        self,
        scores: Floats,
        weights: Floats | None = None,
        squares: Floats | None = None,
        about_mean: bool = False,
        roots: Floats | None = None,
    ) -> Spread:
        """The variance of the sum of rows' scores, each times its weight.

        Parameters
        ----------
        scores : array, rows x parameters
        weights : array, rows, optional
        squares : array, rows, optional
            Sums of squared weights, where a row stands for several people; the squares of the weights otherwise.
        about_mean : bool
            Whether the scores do not sum to zero, as away from a maximum.
        roots : array, rows x parameters, optional
            Rows whose outer products are the information of each, up to a factor; the scores if not given.
        """
        heft = np.ones(len(scores)) if weights is None else weights
        squared = heft**2 if squares is None else squares
        sums, clustered = self._sums(scores * heft[:, None]), self.drawn.clustered
        second = self._outer_products(
            scores if roots is None or not clustered else roots, heft if clustered else squared
        )
        grouped = GroupSums(self.drawn.people, self._sums(heft[:, None])[:, 0], sums, second)
        if not clustered:
            return Spread(stratum_meat(grouped, self.drawn.fraction), None)
        between = ClusterSpread.of(grouped, self.drawn.strata, self.drawn.fraction)
        return Spread(between.meat(about_mean), between)

    def variance(self, influence: Floats) -> tuple[float, float]:
        """The variance of the sum of one number of each row, and its degrees of freedom."""
        found = self.spread(influence[:, None])
        degrees = found.degrees(np.ones((1, 1)))
        return float(found.meat[0, 0]), degrees[0] if degrees else np.inf

    def plain_covariance(self, influence: Floats) -> Floats:
        """The covariance of sums of many numbers of each row, linearised: for tests with more numbers than CR2 bears.

        Sums of units about the mean of their stratum, times n / (n - 1) for its n units.
        """
        if not self.drawn.clustered:
            return self.spread(influence).meat
        sums, strata = self._sums(influence), self.drawn.strata
        sizes = np.bincount(strata).astype(float)
        means = np.zeros((len(sizes), sums.shape[1]))
        np.add.at(means, strata, sums)
        apart = (sums - (means / sizes[:, None])[strata]) * np.sqrt(sizes / np.maximum(sizes - 1, 1))[strata][:, None]
        return np.asarray(apart.T @ apart)

    def _outer_products(self, scores: Floats, heft: Floats) -> Floats:
        """Sums of outer products of the rows of each unit."""
        found = np.zeros((self.drawn.units, scores.shape[1], scores.shape[1]))
        order = np.argsort(self.unit, kind="stable")
        ends = np.searchsorted(self.unit[order], np.arange(self.drawn.units + 1))
        for unit, (start, stop) in enumerate(pairwise(ends.tolist())):
            mine = order[start:stop]
            found[unit] = (scores[mine] * heft[mine, None]).T @ scores[mine]
        return found

    def _sums(self, rows: Floats) -> Floats:
        return sums_by_number(self.unit, self.drawn.units, rows)


def sums_by_number(number: Integers, numbers: int, rows: Floats) -> Floats:
    """Sums over the rows that have the same number, for every column."""
    width = rows.shape[1]
    cell = number[:, None] * width + np.arange(width)
    sums = np.bincount(cell.ravel(), rows.ravel(), numbers * width)
    return np.asarray(sums.reshape(numbers, width), dtype=np.float64)
