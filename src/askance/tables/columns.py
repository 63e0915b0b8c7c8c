"""Columns of strangers' tables: conversion, and the first fault of each column by row.

Whatever a column looks like when it arrives (CSV text, integers, Arrow dictionaries), it leaves with the
declared type, or with a :class:`Fault` that says which row to look at.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import pyarrow as pa
import pyarrow.compute as pc

from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.tables.column_kinds import Column


@dataclass(frozen=True)
class Fault:
    """Something in a column that cannot be used.

    ``row`` counts from 0 within the values that were looked at; ``where`` says of which file, if several.
    """

    column: str
    row: int
    problem: str
    where: str = ""


def converted(column: Column, values: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Fault | None]:
    """Convert a column, and find its first fault."""
    plain = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_dictionary(plain.type):
        plain = plain.dictionary_decode()
    result = column.convert(plain)
    if result.null_count == 0:
        return result, None
    absent = column.is_missing(plain)
    empty = result.is_null()
    bad = pc.and_not(empty, absent) if column.missing else empty
    row = pc.index(bad, True).as_py()
    if row < 0:
        return result, None
    if absent[row].as_py():
        return result, Fault(column.name, row, "the value is missing (fill it in, or leave the row out)")
    return result, Fault(column.name, row, column.problem(plain.filter(bad)))


def check_present(wanted: Sequence[str], found: Sequence[str], where: str) -> None:
    """Refuse a table that lacks a column or has it twice."""
    times = Counter(found)
    absent = [name for name in wanted if name not in times]
    if absent:
        close = [match for name in absent for match in get_close_matches(name, found, n=1)]
        hint = f"Did you mean {', '.join(map(repr, close))}? " if close else ""
        raise InvalidInput(
            f"{where} has no column {', '.join(map(repr, absent))}; it has {listed(list(found), 20)}",
            remedy=f"{hint}Rename the column in the data or in the study.",
        )
    twice = sorted({name for name in wanted if times[name] > 1})
    if twice:
        raise InvalidInput(f"{where} has two columns called {', '.join(map(repr, twice))}", "one of each")


def refuse(faults: Sequence[Fault], where: str) -> None:
    """Raise one error for the first faults of all columns."""
    if faults:
        said = "; ".join(f"column {f.column!r}, row {f.row + 1}{f.where}: {f.problem}" for f in faults)
        raise InvalidInput(
            f"{where} cannot be used: {said}",
            remedy="Rows are counted from 1, without a header line; each column's first fault is named.",
        )
