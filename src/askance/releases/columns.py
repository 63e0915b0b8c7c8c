"""Columns as a study declares them: conversion, and the first fault of each column by row.

Whatever a column looks like when it arrives (CSV text, integers, Arrow dictionaries), it leaves with the
declared type, or with a :class:`Fault` that says which row to look at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from askance.channels.alphabet import Label, listed
from askance.channels.feature_channel import FeatureChannel
from askance.channels.private_number import PrivateNumber
from askance.channels.private_row import PrivateRow
from askance.errors import InvalidInput
from askance.releases.attribute_columns import ArrayColumn, attribute_columns
from askance.releases.column_kinds import Column as Column
from askance.releases.column_kinds import LabelColumn as LabelColumn
from askance.releases.column_kinds import NumberColumn as NumberColumn
from askance.releases.column_kinds import ReportsColumn, TextColumn
from askance.releases.declarations import Covariate, Question
from askance.releases.header import Header

_MOST_SHOWN = 40


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
        return result, Fault(column.name, row, "the value is missing")
    if isinstance(column, ArrayColumn):
        return result, Fault(column.name, row, column.problem(plain[row]))
    said = repr(plain[row].as_py())
    said = said if len(said) <= _MOST_SHOWN else f"{said[:_MOST_SHOWN]}..."
    return result, Fault(column.name, row, f"{said} is not {column.wanted()}")


def covariate_column(covariate: Covariate) -> Column:
    """Return how a covariate is converted."""
    if covariate.type == "number":
        return NumberColumn(covariate.name, covariate.missing)
    if covariate.levels is None:
        return TextColumn(covariate.name, covariate.missing)
    return LabelColumn(covariate.name, covariate.levels, covariate.missing)


def report_column(question: Question) -> Column:
    """Return how a question's reports are converted."""
    if question.hides_numbers:
        return ReportsColumn(question.name, question.arrow_type)
    return LabelColumn(question.name, question.report_labels)


def answer_columns(question: Question) -> list[Column]:
    """Return how a question's true answers are converted."""
    if isinstance(question.channel, PrivateNumber | PrivateRow):
        return [NumberColumn(name) for name in question.sources]
    if isinstance(question.channel, FeatureChannel):
        return attribute_columns(question, question.channel)
    return [LabelColumn(question.name, question.channel.classes)]


def public_columns(header: Header) -> list[Column]:
    """Return the columns that are published as they are: designs and covariates."""
    names: dict[str, tuple[Label, ...]] = {}
    for question in header.questions:
        if question.design_column:
            designs = tuple(question.designs)
            # Two questions with one design column must both know the design.
            earlier = names.get(question.design_column, designs)
            names[question.design_column] = tuple(name for name in earlier if name in designs)
    designs_only: list[Column] = [LabelColumn(name, labels) for name, labels in names.items()]
    return [*designs_only, *map(covariate_column, header.covariates)]


def conform_reports(table: Any, header: Header) -> pa.Table:
    """Convert a table of reports, designs and covariates to the header's schema, or say what is wrong."""
    table = table if isinstance(table, pa.Table) else pa.table(table)
    check_present(header.schema.names, table.schema.names, "the table")
    undeclared = [name for name in table.schema.names if name not in header.schema.names]
    if undeclared:
        raise InvalidInput(
            f"the table has columns that the header does not declare: {', '.join(map(repr, undeclared))}",
            f"{', '.join(header.schema.names)}",
            "Declare them as covariates, or leave them out: what is not declared is not published.",
        )
    return conform_columns(table.select(header.schema.names), header, "the table")


def conform_columns(table: pa.Table, header: Header, where: str) -> pa.Table:
    """Convert a table of some of a header's columns to their declared types, or say what is wrong."""
    declared = {column.name: column for column in [*map(report_column, header.questions), *public_columns(header)]}
    arrays, faults = {}, []
    for name in table.column_names:
        arrays[name], fault = converted(declared[name], table.column(name))
        faults += [fault] if fault else []
    refuse(faults, where)
    return stored(arrays, pa.schema([header.schema.field(name) for name in table.column_names]))


def stored(arrays: dict[str, pa.Array], schema: pa.Schema) -> pa.Table:
    """Put converted columns together in the types of the schema."""
    columns = []
    for field in schema:
        array = arrays[field.name]
        keeps = pa.types.is_dictionary(field.type) or not pa.types.is_dictionary(array.type)
        columns.append((array if keeps else array.dictionary_decode()).cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def check_present(wanted: Sequence[str], found: Sequence[str], where: str) -> None:
    """Refuse a table that lacks a column or has it twice."""
    absent = [name for name in wanted if name not in found]
    if absent:
        close = [match for name in absent for match in get_close_matches(name, found, n=1)]
        hint = f"Did you mean {', '.join(map(repr, close))}? " if close else ""
        raise InvalidInput(
            f"{where} has no column {', '.join(map(repr, absent))}; it has {listed(list(found), 20)}",
            remedy=f"{hint}Rename the column in the data or in the study.",
        )
    twice = sorted({name for name in wanted if list(found).count(name) > 1})
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
