"""Tables of rows in groups: features of each row, and the name of its group; proportions by group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.mechanisms.person_keys import id_texts
from askance.tables.column_kinds import Column, LabelColumn, NumberColumn
from askance.tables.data_files import open_data
from askance.tables.people import read_columns


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
    def read(
        cls,
        path: StrPath,
        group_column: str | None,
        columns: Sequence[str] | None = None,
        categories: Mapping[str, tuple[str, ...]] | None = None,
    ) -> "GroupedRows":
        """Read rows from CSV or Parquet; the features are all columns but the group's, unless some are chosen.

        A column of categories becomes an indicator for each but the first, such as ``town[south]``.
        """
        data = open_data(path)
        names = [name for name in data.columns if name != group_column] if columns is None else list(columns)
        if not names:
            raise InvalidInput(f"{path} has no column besides {group_column!r}", "features")
        if group_column in names:
            raise InvalidInput(f"{group_column!r}, both a feature and the name of a row's group", "one or the other")
        if twice := {name for name in names if names.count(name) > 1}:
            raise InvalidInput(f"the features {listed(names)}", f"{listed(sorted(twice))} once")
        labels = {name: of for name, of in (categories or {}).items() if name in names}
        wanted: list[Column] = [
            LabelColumn(name, labels[name]) if name in labels else NumberColumn(name) for name in names
        ]
        groups = None
        if group_column is None:
            found = read_columns(data, wanted)[1]
        else:
            table, found = read_columns(data, wanted, group_column)
            groups = _group_names(table.column(group_column), path, group_column)
        made: dict[str, Any] = {}
        for name, array in zip(names, found, strict=True):
            if name in labels:
                codes = array.indices.to_numpy()
                made.update({f"{name}[{label}]": codes == k for k, label in enumerate(labels[name]) if k})
            else:
                made[name] = array.to_numpy(zero_copy_only=False)
        return cls(groups, tuple(made), np.column_stack([*made.values()]).astype(float))


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
        data = open_data(path)
        names = [name for name in data.columns if name != group_column]
        table, found = read_columns(data, [NumberColumn(name) for name in names], group_column)
        keys = _group_names(table.column(group_column), path, group_column)
        groups, times = np.unique(keys, return_counts=True)
        if times.max() > 1:
            raise InvalidInput(
                f"{path} has several rows for {listed(groups[times > 1].tolist())}", "one row for each group"
            )
        if len(names) < 2:
            raise InvalidInput(f"{path} has {len(names)} columns beside {group_column!r}", "a column for each class")
        values = np.column_stack([array.to_numpy(zero_copy_only=False) for array in found])
        return cls(tuple(keys.tolist()), tuple(names), values)

    def by_group(self) -> dict[str, list[float]]:
        """Return a mapping from each group to its numbers."""
        return dict(zip(self.groups, self.values.tolist(), strict=True))


def _group_names(column: pa.ChunkedArray, path: StrPath, name: str) -> NDArray[np.str_]:
    given = column.combine_chunks()
    missing = given.is_null()
    if pa.types.is_string(given.type) or pa.types.is_large_string(given.type):
        missing = pc.or_(missing, pc.equal(given.fill_null(""), ""))
    if pc.any(missing).as_py():
        row = pc.index(missing, True).as_py() + 1
        raise InvalidInput(
            f"{path}, column {name!r}: row {row} names no group ({pc.sum(missing).as_py():,} such in all)",
            "the name of its group for each row",
            "Leave such rows out, or give them a name.",
        )
    if pa.types.is_temporal(given.type) or pa.types.is_boolean(given.type):
        given = given.cast(pa.string())  # days and yes or no are names too
    return np.asarray(id_texts(given).to_pylist(), dtype=np.str_)
