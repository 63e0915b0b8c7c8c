"""Rows of several groups, and tables by group and class."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.bags.bags import bag_codes
from askance.learning.ratios.ratio_model import RatioEstimate

Progress = Callable[[int, int], None]  # is told how many groups are done, and of how many


class Group(NamedTuple):
    """The rows of one group; without a name if it is the only one."""

    name: Any
    rows: Floats


class GroupEstimate(NamedTuple):
    """What is said of a group; ``interval`` is K x 2."""

    name: Any
    estimate: RatioEstimate
    interval: Floats


def split_groups(rows: Floats, groups: Any) -> list[Group]:
    """Return the groups in the order of their sorted names, or all rows as one group."""
    if groups is None:
        found = [Group(None, rows)]
    else:
        codes, names = bag_codes(groups, len(rows), "group")
        order = np.argsort(codes, kind="stable")
        parts = np.split(rows[order], np.cumsum(np.bincount(codes))[:-1])
        found = [Group(name, part) for name, part in zip(names, parts, strict=True)]
    for group in found:
        if len(group.rows) < 2:
            which = "a group" if group.name is None else f"the group {group.name!r}"
            raise InvalidInput(f"{which} of {len(group.rows)} row", "at least 2 rows in a group")
    return found


def one_by_one(groups: list[Group], progress: Progress | None) -> Iterator[Group]:
    """Yield the groups, and tell how many of them are done."""
    for done, group in enumerate(groups, 1):
        yield group
        if progress is not None:
            progress(done, len(groups))


def ratio_frame(groups: list[Group], classes: list[Any], ratios: Floats) -> Any:
    """A frame of ratios: groups by classes."""
    import pandas as pd

    return pd.DataFrame(ratios, index=pd.Index([group.name for group in groups], name="group"), columns=classes)


def interval_frame(groups: list[GroupEstimate], classes: list[Any]) -> Any:
    """A frame with a row for each class, or group and class: estimate, lower and upper end."""
    import pandas as pd

    index = pd.Index(classes, name="class")
    if groups[0].name is not None:
        index = pd.MultiIndex.from_product([[group.name for group in groups], classes], names=["group", "class"])
    values = np.vstack([np.column_stack([group.estimate.ratios, group.interval]) for group in groups])
    return pd.DataFrame(values, index=index, columns=["estimate", "lower", "upper"])
