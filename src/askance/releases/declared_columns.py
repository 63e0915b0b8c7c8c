"""Columns as a study declares them: answers, reports, designs and covariates."""

from typing import Any

import pyarrow as pa

from askance.channels.alphabet import Label
from askance.errors import InvalidInput
from askance.releases.declarations import Covariate, Question
from askance.releases.header import Header
from askance.tables.column_kinds import Column, LabelColumn, NumberColumn, ReportsColumn, TextColumn
from askance.tables.columns import check_present, converted, refuse
from askance.tables.sequence_columns import LabelsColumn, WordsColumn


def covariate_column(covariate: Covariate) -> Column:
    """Return how a covariate is converted."""
    if covariate.type == "number":
        return NumberColumn(covariate.name, covariate.missing, covariate.decimal)
    if covariate.type == "words":
        return WordsColumn(covariate.name, covariate.missing)
    if covariate.levels is None:
        return TextColumn(covariate.name, covariate.missing)
    return LabelColumn(covariate.name, covariate.levels, covariate.missing, covariate.recode)


def report_column(question: Question) -> Column:
    """Return how a question's reports are converted."""
    if question.hides_sequences:
        return LabelsColumn(question.name, labels=question.report_labels)
    if question.hides_numbers:
        return ReportsColumn(question.name, question.arrow_type)
    return LabelColumn(question.name, question.report_labels, recode=question.recode)


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
