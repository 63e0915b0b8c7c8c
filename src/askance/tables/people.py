"""Tables of people by identifier: public features, and labels that go with them, in one common order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from askance.channels.alphabet import Label, listed
from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.tables.column_kinds import Column, LabelColumn, NumberColumn
from askance.tables.columns import Fault, check_present, converted, refuse
from askance.tables.data_files import open_data
from askance.tables.digest import id_order, id_texts


@dataclass(frozen=True, eq=False)
class PeopleFeatures:
    """Public features in the order of the identifiers.

    Parameters
    ----------
    ids : Arrow array of text
    columns : tuple of str
    values : array, m x d
    """

    ids: pa.Array
    columns: tuple[str, ...]
    values: NDArray[np.float64]

    @classmethod
    def read(cls, path: StrPath, id_column: str, columns: Sequence[str] | None = None) -> "PeopleFeatures":
        """Read features from CSV or Parquet; all columns but the identifier, unless some are chosen."""
        names = column_names(path) if columns is None else list(columns)
        names = [name for name in names if name != id_column]
        if not names:
            raise InvalidInput(f"{path} has no column besides {id_column!r}", "features")
        ids, found = read_keyed(path, id_column, [NumberColumn(name) for name in names])
        order = id_order(ids)
        values = np.empty((len(order), len(names)))
        for j, array in enumerate(found):
            values[:, j] = array.to_numpy(zero_copy_only=False)[order]
        return cls(ids.take(pa.array(order)), tuple(names), values)


def read_labels(
    path: StrPath, id_column: str, label_column: str, classes: tuple[Label, ...], people: pa.Array
) -> NDArray[Any]:
    """Read one label for each of some people, in their order.

    Raises
    ------
    InvalidInput
        If a label is not one of the classes, or if the file is not about exactly these people.
    """
    ids, (labels,) = read_keyed(path, id_column, [LabelColumn(label_column, classes)])
    order = pa.array(id_order(ids))
    mine = ids.take(order)
    if not mine.equals(people):
        _say_who_differs(mine, people, path)
    found: NDArray[Any] = np.array(classes, dtype=object)[labels.indices.take(order).to_numpy()]
    return found


def column_names(path: StrPath) -> list[str]:
    """Return the columns of a CSV or Parquet file, or of the first of a folder."""
    return list(open_data(path)[0].columns)


def read_keyed(path: StrPath, key: str, wanted: Sequence[Column]) -> tuple[pa.Array, list[pa.Array]]:
    """Read a key, as text, and converted columns of a file, or of all files of a folder."""
    table, arrays = read_columns(path, wanted, key)
    return id_texts(table.column(key)), arrays


def read_columns(path: StrPath, wanted: Sequence[Column], *besides: str) -> tuple[pa.Table, list[pa.Array]]:
    """Read the converted columns of a file, or of all files of a folder; and a table that has others, as they are."""
    names = [*besides, *(column.name for column in wanted)]
    tables = []
    for file in open_data(path):
        check_present(names, file.columns, str(file.path))
        tables += [chunk.table for chunk in file.chunks(names)]
    if not tables or not (table := pa.concat_tables(tables, promote_options="permissive")).num_rows:
        raise InvalidInput(f"{path} has no rows", "some rows")
    arrays, faults = [], list[Fault]()
    for column in wanted:
        array, fault = converted(column, table.column(column.name))
        arrays.append(array)
        faults += [fault] if fault else []
    refuse(faults, str(path))
    return table, arrays


def _say_who_differs(mine: pa.Array, people: pa.Array, path: StrPath) -> None:
    without_label = people.filter(pc.invert(pc.is_in(people, value_set=mine)))
    without_features = mine.filter(pc.invert(pc.is_in(mine, value_set=people)))
    said = []
    if len(without_label):
        said.append(
            f"{len(without_label):,} people have features and no label ({listed(without_label[:3].to_pylist())})"
        )
    if len(without_features):
        some = listed(without_features[:3].to_pylist())
        said.append(f"{len(without_features):,} people have a label and no features ({some})")
    raise InvalidInput(
        f"{path} and the features are not about the same people: {'; '.join(said)}",
        "one label for everybody who has features, and nobody else",
        "Agree on the people first: who is in is public.",
    )
