"""Counts of bags within regions within a country: larger groups that are released too, and agree with the bags.

Every level is counted and gets noise of its own, from an equal part of the budget: a label that changes moves one
person in one group of every level. The noisy counts of a level do not sum to those of the next. Of all unbiased
estimates that do, those of least variance follow from one walk up the levels and one down (Hay, Rastogi, Miklau & Suciu
2010). Whole numbers follow from the largest group down to the bags. Neither looks at anything but noisy counts and
public totals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.errors import InvalidInput
from askance.solvers.whole_tables import whole_rows, whole_table
from askance.tables.count_tables import bag_names

Whole = NDArray[np.int64]

EVERYBODY = "all"
_MOST_LEVELS = 8  # each has an eighth of the budget then, and hardly tells anything


@dataclass(frozen=True, eq=False)
class CountGroups:
    """The larger groups of one level, each of which holds groups of the level below.

    Parameters
    ----------
    level : str
        What they are, such as "region".
    groups : tuple
        Their names.
    holder : array of whole numbers
        For each group of the level below, bags first, the number of the group that holds it.
    totals : array of whole numbers
        How many people are in each group: public.
    raw : array, groups x K
        Noisy counts, as they were drawn.
    counts : array of whole numbers, groups x K
        Not negative; they sum to the totals, and to the counts of the level above. Those of the level below sum to
        them.
    """

    level: str
    groups: tuple[Label, ...]
    holder: Whole
    totals: Whole
    raw: Floats
    counts: Whole

    def by_group(self, values: Floats | Whole) -> dict[Label, Any]:
        """Return rows by the name of their group: ``by_group(level.counts)``."""
        return dict(zip(self.groups, values, strict=True))

    def restated(self) -> dict[str, Any]:
        """Return what a file says of them."""
        return {
            "level": self.level,
            "groups": list(self.groups),
            "holder": self.holder.tolist(),
            "totals": self.totals.tolist(),
            "raw": self.raw.tolist(),
            "counts": self.counts.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Grouping:
    """Which groups hold which, before anything is counted."""

    level: str
    groups: tuple[Label, ...]
    holder: Whole

    def summed(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of rows by group."""
        sums = np.zeros((len(self.groups), *values.shape[1:]), dtype=values.dtype)
        np.add.at(sums, self.holder, values)
        return sums


def read_groupings(within: Any, bags: Sequence[Label]) -> tuple[Grouping, ...]:
    """Check which larger groups the bags are in, from the smallest to that of everybody.

    Examples
    --------
    >>> [each.groups for each in read_groupings(["n", "n", "s"], ["a", "b", "c"])]
    [('n', 's'), ('all',)]
    """
    named = dict(within) if isinstance(within, Mapping) else {"region": within}
    if not named or len(named) > _MOST_LEVELS - 2:
        raise InvalidInput(f"within= of {len(named)} levels", f"1 to {_MOST_LEVELS - 2} levels")
    groupings: list[Grouping] = []
    below: list[Any] = list(bags)  # the name of each bag's group in the level below
    for level, names in named.items():
        if not isinstance(level, str) or not level or isinstance(names, str):
            raise InvalidInput(f"within= with a level {level!r}", "the name of a level, and a group for each bag")
        of_bag = [name.item() if isinstance(name, np.generic) else name for name in names]
        if len(of_bag) != len(bags):
            raise InvalidInput(f"within= names {len(of_bag)} groups for {len(bags)} bags", "a group for each bag")
        groups = bag_names(list(dict.fromkeys(of_bag)), len(set(of_bag)))
        holds = dict.fromkeys(zip(below, of_bag, strict=True))
        if len(holds) > len(set(below)):
            small = next(name for name in dict.fromkeys(below) if sum(one == name for one, _ in holds) > 1)
            raise InvalidInput(f"{small!r} in two groups of the level {level!r}", "every group within one larger group")
        if len(groups) == len(holds) or len(groups) == 1:
            raise InvalidInput(
                f"the level {level!r} has {len(groups)} groups for {len(holds)} below",
                "fewer groups than the level below, and more than one",
                "Everybody together is counted anyway. A level that tells nothing new would cost budget.",
            )
        number = {name: place for place, name in enumerate(groups)}
        groupings.append(Grouping(level, groups, np.array([number[holder] for _, holder in holds], dtype=np.int64)))
        below = of_bag
    last = groupings[-1]
    return (*groupings, Grouping(EVERYBODY, (EVERYBODY,), np.zeros(len(last.groups), dtype=np.int64)))


def consistent_counts(
    raw: Floats, totals: Whole, groupings: Sequence[Grouping], above: Sequence[Floats]
) -> tuple[Whole, list[Whole]]:
    """Return whole counts of the bags and of all larger groups that agree with each other.

    Without larger groups the bags sum to the counts of everybody that the noisy ones sum to, or the nearest there are.
    All noise has the same law, so that only numbers of groups matter for who is believed how much.

    Parameters
    ----------
    raw : array, bags x K
    totals : array of whole numbers
    groupings : sequence of Grouping
        From the smallest groups to everybody, or none.
    above : sequence of arrays, groups x K
        Their noisy counts.
    """
    if not groupings:
        if _is_possible(raw):
            return raw.astype(np.int64), []
        everybody = whole_rows(raw.sum(axis=0)[None], totals.sum(keepdims=True))[0]
        return whole_table(raw, totals, everybody), []
    estimates = _least_variance(raw, groupings, above)
    sizes = [totals]
    for grouping in groupings:
        sizes.append(grouping.summed(sizes[-1]))
    counts = [whole_rows(estimates[-1], sizes[-1])]
    for place in range(len(groupings) - 1, -1, -1):
        grouping, larger = groupings[place], counts[0]
        table = np.empty(estimates[place].shape, dtype=np.int64)
        for group in range(len(grouping.groups)):
            inside = np.flatnonzero(grouping.holder == group)
            table[inside] = whole_table(estimates[place][inside], sizes[place][inside], larger[group])
        counts.insert(0, table)
    return counts[0], counts[1:]


def _is_possible(raw: Floats) -> bool:
    return bool((raw >= 0).all() and (raw == np.floor(raw)).all())


def _least_variance(raw: Floats, groupings: Sequence[Grouping], above: Sequence[Floats]) -> list[Floats]:
    """Estimates of all levels that sum up, bags first; variances are in units of one noisy count's."""
    estimates, variances = [raw], [np.ones(len(raw))]
    summed = []
    for grouping, own in zip(groupings, above, strict=True):
        sums, spread = grouping.summed(estimates[-1]), grouping.summed(variances[-1])
        summed.append((sums, spread))
        believed = spread / (spread + 1)  # of the group's own noisy counts
        estimates.append(sums + believed[:, None] * (own - sums))
        variances.append(believed)
    for place in range(len(groupings) - 1, -1, -1):
        grouping, (sums, spread) = groupings[place], summed[place]
        off = (estimates[place + 1] - sums) / spread[:, None]
        estimates[place] = estimates[place] + variances[place][:, None] * off[grouping.holder]
    return estimates
