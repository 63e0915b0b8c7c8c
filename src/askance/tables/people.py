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
from askance.tables.columns import Fault, converted, refuse
from askance.tables.data_files import Data, open_data
from askance.tables.identifiers import Identifiers
from askance.tables.made_up_mark import refuse_reports

_MOST_CLASSES = 10  # that a message says how to declare: more are numbers, or texts, and no labels


@dataclass(frozen=True, eq=False)
class PeopleFeatures:
    """Public features in the order of the identifiers.

    Parameters
    ----------
    ids : Identifiers
    columns : tuple of str
    values : array, m x d
    """

    ids: Identifiers
    columns: tuple[str, ...]
    values: NDArray[np.float64]

    @classmethod
    def read(
        cls, path: StrPath, id_column: str, columns: Sequence[str] | None = None, private: str | None = None
    ) -> "PeopleFeatures":
        """Read features from CSV or Parquet; all columns but the identifier, unless some are chosen.

        A column of the name ``private`` is never taken for a feature: it is refused, whoever chose it. So is the
        identifier, if it was chosen.
        """
        data = open_data(path)
        if columns is not None and id_column in columns:
            raise InvalidInput(
                f"the column of identifiers, {id_column!r}, among the chosen features of {path}",
                "features without it",
                "Leave it out: identifiers say who is who, and nothing else.",
            )
        names = [name for name in (data.columns if columns is None else columns) if name != id_column]
        if private in names:
            raise InvalidInput(
                f"the private column {private!r} among the public features of {path}",
                "features without it",
                "Name the features, or take the private column out of that file: features are published.",
            )
        if not names:
            raise InvalidInput(f"{path} has no column besides {id_column!r}", "features")
        table, found = read_columns(data, [NumberColumn(name) for name in names], id_column)
        ids, order = Identifiers.sorted(table.column(id_column))
        values = np.empty((len(order), len(names)))
        for j, array in enumerate(found):
            values[:, j] = array.to_numpy(zero_copy_only=False)[order]
        return cls(ids, tuple(names), values)


def read_labels(
    path: StrPath, id_column: str, label_column: str, classes: tuple[Label, ...], people: Identifiers
) -> NDArray[Any]:
    """Read one label for each of some people, in their order.

    Raises
    ------
    InvalidInput
        If a label is not one of the classes, or if the file is not about exactly these people.
    """
    ids, codes = read_all_labels(path, id_column, label_column, classes)
    if not ids.texts.equals(people.texts):
        _say_who_differs(ids.texts, people.texts, path)
    found: NDArray[Any] = np.array(classes, dtype=object)[codes]
    return found


def read_all_labels(
    path: StrPath, id_column: str, label_column: str, classes: tuple[Label, ...]
) -> tuple[Identifiers, NDArray[Any]]:
    """Read the people of a file, in the order of their identifiers, and which class each of them has."""
    table, labels = labels_of_people(path, LabelColumn(label_column, classes), id_column)
    ids, order = Identifiers.sorted(table.column(id_column))
    return ids, labels.indices.to_numpy()[order]


def labels_of_people(path: StrPath, column: LabelColumn, *besides: str) -> tuple[pa.Table, pa.Array]:
    """Read the true label of each person of a file; and a table that has other columns, as they are."""
    data = open_data(path)
    refuse_reports(data, str(path))
    try:
        table, (labels,) = read_columns(data, [column], *besides)
    except InvalidInput:
        _refuse_other_classes(data, column, path)
        raise
    return table, labels


def _refuse_other_classes(data: Data, column: LabelColumn, path: StrPath) -> None:
    """Say what to declare where no label is one of the classes: nobody miswrote all of them."""
    if column.name not in data.columns:
        return
    values = data.read([column.name]).column(column.name)
    found = sorted(word for word in map(str, values.unique().drop_null().to_pylist()) if word.strip())
    if 1 < len(found) <= _MOST_CLASSES and not set(found) & set(map(str, column.labels)):
        raise InvalidInput(
            f"{path}: the labels in {column.name!r} are {listed(found)}",
            column.wanted(),
            f"If these are all classes there may be, say so, the one that is asked about last: "
            f"classes={','.join(found)!r}.",
        )


def read_columns(data: Data, wanted: Sequence[Column], *besides: str) -> tuple[pa.Table, list[pa.Array]]:
    """Read the converted columns of all files; and a table that has others, as they are."""
    names = [*besides, *(column.name for column in wanted)]
    if len(set(names)) < len(names):
        # An identifier or a bag that is the label would publish it.
        raise InvalidInput(
            f"the columns {listed(names)}", "different columns of labels, features, bags and identifiers"
        )
    table = data.read(names)
    arrays, faults = [], list[Fault]()
    for column in wanted:
        array, fault = converted(column, table.column(column.name))
        arrays.append(array)
        faults += [fault] if fault else []
    refuse(faults, str(data.path))
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
