"""The rows of a release, each beside the true answers that it was made of."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from askance.errors import InvalidInput
from askance.mechanisms.person_keys import id_texts
from askance.releases.privatizing import Privatizer
from askance.releases.release import Release
from askance.tables.columns import check_present, refuse
from askance.tables.data_files import open_data
from askance.tables.made_up_mark import refuse_reports


@dataclass(frozen=True, eq=False)
class MatchedRows:
    """A release and its truth.

    Parameters
    ----------
    released : Arrow table
        The release.
    truths : mapping from questions to what their reports were drawn for
    ordered : bool
        Whether a row of the release is about the same row of the truths.
    by_identifier : bool
        Whether an identifier says so.
    how : str
        How rows were matched, in words.
    """

    released: pa.Table
    truths: dict[str, Any]
    ordered: bool
    by_identifier: bool
    how: str


def match_rows(release: Release, data: Any, id_column: str | None, shuffled: bool) -> MatchedRows:
    """Put the truth beside a release: by an identifier in both, or in the order of the rows.

    Parameters
    ----------
    release : Release
    data : path, or a table in memory
    id_column : str or None
    shuffled : bool
        Whether the order of the release is known not to be that of the data.

    Raises
    ------
    InvalidInput
        If the data cannot be those that the release was made of: other numbers of rows, other public columns.
    """
    header = release.header
    if id_column is not None and shuffled:
        raise InvalidInput("both an identifier and a shuffled release", "one of them: an identifier finds every row")
    wanted = list(dict.fromkeys([*header.source_columns, *([] if id_column is None else [id_column])]))
    if id_column is not None and id_column not in release.columns:
        raise InvalidInput(
            f"the identifier {id_column!r}, which the release does not hold",
            "a column of both",
            "Without --id, rows are matched in their order.",
        )
    table, name = _truth_table(data, wanted)
    if table.num_rows != release.num_rows:
        raise InvalidInput(
            f"{release.num_rows:,} rows in the release, and {table.num_rows:,} in {name}",
            "the data that the release was made of, row by row",
        )
    if not table.num_rows:
        raise InvalidInput("a release without rows", "at least one")
    released = release.to_table()
    if id_column is not None:
        table = table.take(_places(released.column(id_column), table.column(id_column), id_column))
    truths, public, faults = Privatizer(header).truths(table)
    refuse(faults, name)
    same = _same(released.select(public.column_names), public)
    if not same and (id_column is not None or not _same_in_some_order(released, public)):
        raise InvalidInput(
            f"the public columns {', '.join(public.column_names)} of {name} are not those of the release",
            "the data that the release was made of",
        )
    if id_column is not None:
        return MatchedRows(released, truths, True, True, f"Rows are matched by the identifier {id_column!r}.")
    if shuffled or not same:
        why = "the release is said to be shuffled" if shuffled else "the public columns agree in another order only"
        return MatchedRows(released, truths, False, False, f"Rows are not matched: {why}. Only totals are compared.")
    agree = f"; {', '.join(public.column_names)} agree in every row" if public.column_names else ""
    return MatchedRows(released, truths, True, False, f"Rows are matched by their order{agree}.")


def _truth_table(data: Any, wanted: list[str]) -> tuple[pa.Table, str]:
    if isinstance(data, pa.Table | dict):
        table = data if isinstance(data, pa.Table) else pa.table(data)
        check_present(wanted, table.column_names, "the data")
        refuse_reports(table, "the data")
        return table.select(wanted), "the data"
    opened = open_data(data)
    if opened.is_release:
        raise InvalidInput(f"{data}, which is a release", "the true answers behind the release")
    opened.check_columns(wanted)
    refuse_reports(opened, str(data))
    return opened.read(wanted), str(data)


def _places(released: pa.ChunkedArray, given: pa.ChunkedArray, column: str) -> pa.Array:
    """Return where each person of the release is in the data."""
    mine, theirs = id_texts(released), id_texts(given)
    for what, texts in (("the release", mine), ("the data", theirs)):
        if len(pc.unique(texts)) != len(texts):
            raise InvalidInput(f"a person who is twice in {what}, by {column!r}", "one row for each person")
    places = pc.index_in(mine, value_set=theirs)
    if places.null_count:
        raise InvalidInput(
            f"{places.null_count:,} people of the release who are not in the data, by {column!r}", "the same people"
        )
    return places


def _same(one: pa.Table, other: pa.Table) -> bool:
    return all(
        one.column(name).combine_chunks().equals(other.column(name).combine_chunks()) for name in one.column_names
    )


def _same_in_some_order(released: pa.Table, public: pa.Table) -> bool:
    keys = [(name, "ascending") for name in public.column_names]
    return _same(released.select(public.column_names).sort_by(keys), public.sort_by(keys))
