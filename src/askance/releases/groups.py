"""Tables of rows in groups: features of each row, and the name of its group; proportions by group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.releases.columns import NumberColumn
from askance.releases.people import column_names, read_columns, read_keyed
from askance.releases.release import StrPath

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Features of rows, and the group of each.

    Parameters
    ----------
    groups : array of str, n
        None if all rows are one group.
    columns : tuple of str
    values : array, n x d
    """

    groups: NDArray[np.str_] | None
    columns: tuple[str, ...]
    values: Floats

    @classmethod
    def read(cls, path: StrPath, group_column: str | None, columns: Sequence[str] | None = None) -> "GroupedRows":
        """Read rows from CSV or Parquet; the features are all columns but the group's, unless some are chosen."""
        names = [name for name in (columns or column_names(path)) if name != group_column]
        if not names:
            raise InvalidInput(f"{path} has no column besides {group_column!r}", "features")
        wanted = [NumberColumn(name) for name in names]
        if group_column is None:
            groups, found = None, read_columns(path, wanted)[1]
        else:
            keys, found = read_keyed(path, group_column, wanted)
            groups = np.asarray(keys.to_pylist(), dtype=np.str_)
        values = np.column_stack([array.to_numpy(zero_copy_only=False) for array in found])
        return cls(groups, tuple(names), values)


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Numbers by group and class, such as proportions.

    Parameters
    ----------
    groups : tuple of str
    classes : tuple of str
    values : array, groups x K
    """

    groups: tuple[str, ...]
    classes: tuple[str, ...]
    values: Floats

    @classmethod
    def read(cls, path: StrPath, group_column: str) -> "GroupTable":
        """Read a table with a row for each group, and a column for each class beside the group's."""
        names = [name for name in column_names(path) if name != group_column]
        keys, found = read_keyed(path, group_column, [NumberColumn(name) for name in names])
        groups, times = np.unique(keys.to_pylist(), return_counts=True)
        if times.max() > 1:
            raise InvalidInput(
                f"{path} has several rows for {listed(groups[times > 1].tolist())}", "one row for each group"
            )
        if len(names) < 2:
            raise InvalidInput(f"{path} has {len(names)} columns beside {group_column!r}", "a column for each class")
        values = np.column_stack([array.to_numpy(zero_copy_only=False) for array in found])
        return cls(tuple(keys.to_pylist()), tuple(names), values)

    def by_group(self) -> dict[str, list[float]]:
        """Return a mapping from each group to its numbers."""
        return dict(zip(self.groups, self.values.tolist(), strict=True))
