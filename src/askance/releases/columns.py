"""Columns as a study declares them: conversion, and the first fault of each column by row.

Whatever a column looks like when it arrives (CSV text, integers, Arrow dictionaries), it leaves with the
declared type, or with a :class:`Fault` that says which row to look at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from askance.channels.alphabet import Label, listed
from askance.channels.private_number import PrivateNumber
from askance.channels.private_row import PrivateRow
from askance.errors import InvalidInput
from askance.releases.declarations import Covariate, Question, label_type
from askance.releases.header import Header

_MISSING_NUMBERS = pa.array(["", "na", "n/a", "nan", "null", "none"])
_NUMBER = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
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


class Column(Protocol):
    """A declared column: how to convert it and what counts as missing."""

    @property
    def name(self) -> str:
        """Its name in the data."""

    @property
    def missing(self) -> bool:
        """Whether a row may lack it."""

    def convert(self, values: pa.Array) -> pa.Array:
        """Return the values in the declared type; null where they are missing or unusable."""

    def is_missing(self, values: pa.Array) -> pa.Array:
        """Return which values are absent, rather than wrong."""

    def wanted(self) -> str:
        """What a value should have been."""


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
    said = repr(plain[row].as_py())
    said = said if len(said) <= _MOST_SHOWN else f"{said[:_MOST_SHOWN]}..."
    return result, Fault(column.name, row, f"{said} is not {column.wanted()}")


@dataclass(frozen=True)
class LabelColumn:
    """One of a fixed set of labels in every row; converts to a dictionary of exactly these labels."""

    name: str
    labels: tuple[Label, ...]
    missing: bool = False

    @cached_property
    def _known(self) -> pa.Array:
        return pa.array(self.labels, type=label_type(self.labels, self.name))

    def convert(self, values: pa.Array) -> pa.Array:
        known = self._known
        if pa.types.is_string(known.type):
            found = _as_text(values)
        elif pa.types.is_boolean(known.type):
            found = _as_truth_values(values)
        else:
            # As doubles, so that a 1 that arrives as 1.0 is still a 1.
            known, found = known.cast(pa.float64()), _as_numbers(values)
        codes = pc.index_in(found, value_set=known, skip_nulls=True)
        return pa.DictionaryArray.from_arrays(codes, self._known)

    def is_missing(self, values: pa.Array) -> pa.Array:
        return _blank(values)

    def wanted(self) -> str:
        return f"one of {listed(self.labels)}"


@dataclass(frozen=True)
class NumberColumn:
    """A finite number in every row."""

    name: str
    missing: bool = False

    def convert(self, values: pa.Array) -> pa.Array:
        numbers = _as_numbers(values)
        return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))

    def is_missing(self, values: pa.Array) -> pa.Array:
        if _is_text(values):
            lower = pc.utf8_lower(pc.utf8_trim_whitespace(values.cast(pa.string())))
            return pc.or_(values.is_null(), pc.is_in(lower, value_set=_MISSING_NUMBERS))
        return _blank(values)

    def wanted(self) -> str:
        return "a finite number"


@dataclass(frozen=True)
class TextColumn:
    """Any text in every row."""

    name: str
    missing: bool = False

    def convert(self, values: pa.Array) -> pa.Array:
        text = _as_text(values)
        return pc.if_else(_blank(text), pa.scalar(None, pa.string()), text)

    def is_missing(self, values: pa.Array) -> pa.Array:
        return _blank(values)

    def wanted(self) -> str:
        return "text or a whole number"


@dataclass(frozen=True)
class ReportsColumn:
    """Reports about numbers, packed as their channel packs them."""

    name: str
    type: pa.DataType
    missing: bool = False

    def convert(self, values: pa.Array) -> pa.Array:
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_binary(kind) or kind == self.type):
            return pa.nulls(len(values), self.type)
        try:  # Spark knows neither bytes of a fixed number nor numbers without a sign
            return values.cast(self.type)
        except pa.ArrowInvalid:
            return pa.nulls(len(values), self.type)

    def is_missing(self, values: pa.Array) -> pa.Array:
        return values.is_null()

    def wanted(self) -> str:
        return f"a report as askance packs it ({self.type})"


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


def _is_text(values: pa.Array) -> bool:
    kind = values.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _blank(values: pa.Array) -> pa.Array:
    if _is_text(values):
        return pc.or_(values.is_null(), pc.equal(values.cast(pa.string()).fill_null(""), ""))
    return values.is_null(nan_is_null=True)


def _as_text(values: pa.Array) -> pa.Array:
    kind = values.type
    if _is_text(values) or pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind):
        return values.cast(pa.string())
    return pa.nulls(len(values), pa.string())


def _as_numbers(values: pa.Array) -> pa.Array:
    kind = values.type
    if _is_text(values):
        text = pc.utf8_trim_whitespace(values.cast(pa.string()))
        try:
            return text.cast(pa.float64())
        except pa.ArrowInvalid:  # some value is no number: find out which
            numeric = pc.match_substring_regex(text, _NUMBER)
            return pc.if_else(numeric, text, pa.scalar(None, pa.string())).cast(pa.float64())
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return values.cast(pa.float64(), safe=False)
    if pa.types.is_boolean(kind):
        return values.cast(pa.int8()).cast(pa.float64())
    return pa.nulls(len(values), pa.float64())


def _as_truth_values(values: pa.Array) -> pa.Array:
    if pa.types.is_boolean(values.type):
        return values
    said = pc.utf8_lower(_as_text(values))
    yes = pc.is_in(said, value_set=pa.array(["true", "1"]))
    no = pc.is_in(said, value_set=pa.array(["false", "0"]))
    return pc.if_else(pc.or_(yes, no), yes, pa.scalar(None, pa.bool_()))
