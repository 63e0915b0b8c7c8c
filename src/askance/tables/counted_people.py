"""Counts from files: rows of people, counted by bag and label, or a table that was counted elsewhere."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from askance.channels.alphabet import Label
from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.mechanisms.person_keys import id_texts
from askance.tables.column_kinds import LabelColumn, NumberColumn
from askance.tables.count_tables import ONE_BAG, CountTable, count_labels, read_counts
from askance.tables.data_files import open_data
from askance.tables.identifiers import Identifiers
from askance.tables.people import labels_of_people, read_columns


class CountedPeople(NamedTuple):
    """Counts by bag, and the identifiers of the people, for a ledger: None if no column tells."""

    table: CountTable
    people: pa.Array | None


def count_people(
    path: StrPath,
    label_column: str,
    bag_column: str | None,
    classes: tuple[Label, ...],
    id_column: str | None = None,
    *,
    overlapping: bool = False,
) -> CountedPeople:
    """Count the labels of a file with a row for each person.

    Parameters
    ----------
    path : path
        CSV or Parquet.
    label_column, bag_column : str
        Without a column of bags all people are one bag.
    classes : tuple of labels
    id_column : str, optional
        A column of identifiers. With it, nobody can be in two bags unnoticed.
    overlapping : bool
        Whether people may be in several bags. Even then nobody may be in a bag twice: the label would count twice.
    """
    besides = [name for name in (bag_column, id_column) if name is not None]
    table, labels = labels_of_people(path, LabelColumn(label_column, classes), *besides)
    if bag_column is None:
        bags = np.full(len(labels), ONE_BAG[0])
    else:
        try:
            bags = np.array(id_texts(table.column(bag_column)).to_pylist())
        except InvalidInput as error:
            raise InvalidInput(f"{path}, column {bag_column!r}: {error}", "the name of a bag in every row") from None
    people = None
    if id_column is not None:
        ids = table.column(id_column)
        if overlapping:
            ids = id_texts(ids)
            _check_once_in_a_bag(ids.to_pylist(), bags.tolist())
            ids = pc.unique(ids)
        people = Identifiers.sorted(ids)[0].texts
    codes = labels.indices.to_numpy()
    counted = count_labels(codes, bags, range(len(classes)))
    return CountedPeople(CountTable(counted.counts, classes, counted.bags), people)


def read_count_table(path: StrPath, bag_column: str | None, classes: tuple[Label, ...] | None) -> CountTable:
    """Read counts from a file with a row for each bag and a column for each class, named as the class is."""
    if classes and bag_column is not None and bag_column in [str(label) for label in classes]:
        raise InvalidInput(f"the column {bag_column!r} both for bags and for counts", "different columns")
    data = open_data(path)
    names = [str(label) for label in classes] if classes else [name for name in data.columns if name != bag_column]
    besides = [] if bag_column is None else [bag_column]
    table, columns = read_columns(data, [NumberColumn(name) for name in names], *besides)
    rows = np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])
    bags = None if bag_column is None else id_texts(table.column(bag_column)).to_pylist()
    if bags is None and len(rows) > 1:
        raise InvalidInput(f"{path} has {len(rows)} rows and no column of bags", "one row, or --bag COLUMN")
    return read_counts(rows if bags else rows[0], classes or names, bags)


def groups_of_bags(
    path: StrPath, bag_column: str, columns: Sequence[str], bags: Sequence[Label]
) -> dict[str, list[str]]:
    """Return the larger groups that bags are in, by the column that names them: one for each bag.

    Parameters
    ----------
    path : path
        The file that was counted, or that has the counts.
    bag_column : str
    columns : sequence of str
        From the smallest groups to the largest.
    bags : sequence
        The bags, in the order that is wanted.
    """
    if repeated := [name for name in columns if name == bag_column or columns.count(name) > 1]:
        raise InvalidInput(
            f"the column {repeated[0]!r} for two purposes", "a column of its own for bags and each level"
        )
    table = read_columns(open_data(path), [], bag_column, *columns)[0]
    names = id_texts(table.column(bag_column)).to_pylist()
    found = {}
    for column in columns:
        of_bag: dict[str, str] = {}
        for bag, group in zip(names, id_texts(table.column(column)).to_pylist(), strict=True):
            if of_bag.setdefault(bag, group) != group:
                raise InvalidInput(
                    f"{path}: bag {bag!r} is in {of_bag[bag]!r} and in {group!r} of the column {column!r}",
                    "every bag within one larger group",
                )
        found[column] = [of_bag[str(bag)] for bag in bags]
    return found


def _check_once_in_a_bag(ids: list[str], bags: list[str]) -> None:
    seen: set[tuple[str, str]] = set()
    for each in zip(ids, bags, strict=True):
        if each in seen:
            raise InvalidInput(
                f"the identifier {each[0]!r} more than once in bag {each[1]!r}", "one row for each person"
            )
        seen.add(each)
