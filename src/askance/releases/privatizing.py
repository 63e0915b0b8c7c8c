"""From true answers to a release: the step at which the truth stays behind.

Only what a study declares goes on: reports in place of answers, designs and covariates as they are.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.releases.attribute_columns import attribute_rows
from askance.releases.declarations import Question
from askance.releases.declared_columns import answer_columns, public_columns, report_column, stored
from askance.releases.header import Header
from askance.releases.release import Release
from askance.releases.study import Study
from askance.releases.writer import ReleaseWriter
from askance.tables.columns import Fault, check_present, converted, refuse
from askance.tables.data_files import DataFile, open_data


@dataclass(frozen=True)
class Privatized:
    """What came of privatising a file, for the data owner: none of it but the release is for others.

    Parameters
    ----------
    release : Release
    dropped_columns : tuple of str
        Columns that were left behind.
    clipped : Counter
        How many values of which column lay outside their public bounds, and were brought inside.
    """

    release: Release
    dropped_columns: tuple[str, ...]
    clipped: Counter[str]


class Hidden(NamedTuple):
    """A table of reports, or what is wrong with the answers; and how many values were clipped."""

    table: pa.Table | None
    faults: list[Fault]
    clipped: Counter[str]


def privatize_table(study: Study, table: Any) -> Release:
    """Draw a report for every answer of a table in memory (Arrow, pandas, polars, or a dict of columns).

    Examples
    --------
    >>> from askance import Study
    >>> from askance.releases.privatizing import privatize_table
    >>> study = Study.parse('''
    ... [questions.cheated]
    ... choices = ["no", "yes"]
    ... channel = { design = "warner", p = 0.8 }
    ... ''')
    >>> privatize_table(study, {"cheated": ["no", "yes", "no"], "name": ["Ada", "Bob", "Cy"]}).columns
    ['cheated']
    """
    header = study.header()
    table = table if isinstance(table, pa.Table) else pa.table(table)
    check_present(header.source_columns, table.schema.names, "the table")
    hidden, faults, _ = hidden_or_faults(table, header)
    refuse(faults, "the table")
    return Release.from_table(hidden, header)


def privatize_file(
    study: Study,
    data: StrPath,
    out: StrPath,
    *,
    overwrite: bool = False,
    rows_per_part: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Privatized:
    """Stream true answers from CSV or Parquet into a release, in bounded memory.

    Parameters
    ----------
    study : Study
    data : path
        A CSV or Parquet file, or a folder of them, with a column for each question, design and covariate.
    out : path
        The release: written whole, or not at all.
    overwrite, rows_per_part
        As for :class:`~askance.releases.ReleaseWriter`.
    progress : callable, optional
        Called with bytes read and bytes in all.

    Raises
    ------
    InvalidInput
        With the first fault of every column. Nothing is written then.
    """
    header = study.header()
    files = open_data(data)
    dropped = check_files(files, header, data, out)
    total = sum(file.size for file in files)
    faults: dict[str, Fault] = {}
    clipped: Counter[str] = Counter()
    with ReleaseWriter(out, header, overwrite=overwrite, rows_per_part=rows_per_part) as writer:
        before = 0
        for file in files:
            for chunk in file.chunks(header.source_columns):
                hidden, found, outside = hidden_or_faults(chunk.table, header)
                clipped += outside
                for fault in found:
                    where = f" of {file.path.name}" if len(files) > 1 else ""
                    faults.setdefault(fault.column, replace(fault, row=fault.row + chunk.first_row, where=where))
                # After a fault nothing will be written, but the other columns are still looked at.
                if hidden is not None and not faults:
                    writer.write(hidden)
                if progress:
                    progress(before + chunk.bytes_read, total)
            before += file.size
        refuse(list(faults.values()), str(data))
        if not writer.num_rows:
            raise InvalidInput(f"{data} has no rows", "at least one")
    return Privatized(Release.read(out), dropped, clipped)


def check_files(files: Sequence[DataFile], header: Header, data: StrPath, out: StrPath) -> tuple[str, ...]:
    """Check that every file can serve, and is not where the release goes; return the columns that stay behind."""
    if os.path.exists(out) and os.path.samefile(data, out):
        raise InvalidInput(f"the release would replace the data {data}", "another place for the release")
    for file in files:
        if file.is_release:
            raise InvalidInput(
                f"{file.path} is a release: what it holds are reports already, not answers",
                "the true answers",
                "To fit a model to it: askance fit.",
            )
        check_present(header.source_columns, file.columns, str(file.path))
    found = dict.fromkeys(name for file in files for name in file.columns)
    return tuple(name for name in found if name not in header.source_columns)


def hidden_or_faults(table: pa.Table, header: Header) -> Hidden:
    """Draw a report for every answer of a table; nothing is drawn if any column has a fault."""
    arrays, faults = {}, []
    answers = [column for question in header.questions for column in answer_columns(question)]
    for column in [*answers, *public_columns(header)]:
        arrays[column.name], fault = converted(column, table.column(column.name))
        faults += [fault] if fault else []
    clipped: Counter[str] = Counter()
    if faults:
        return Hidden(None, faults, clipped)
    reports = {}
    for question in header.questions:
        reports[question.name], outside = _reports(question, arrays)
        clipped += outside
    return Hidden(stored(arrays | reports, header.schema), [], clipped)


def _reports(question: Question, arrays: dict[str, pa.Array]) -> tuple[pa.Array, Counter[str]]:
    channel = question.channel
    if isinstance(channel, PrivateNumber | PrivateRow):
        inside, outside = channel.clip(np.column_stack([arrays[name].to_numpy() for name in question.sources]))
        counted = outside if isinstance(outside, dict) else {question.name: outside}
        return channel.layout.to_arrow(channel.privatize(inside)), +Counter(counted)
    if isinstance(channel, FeatureChannel):
        rows, moved = channel.clip(attribute_rows(question, arrays))
        return channel.stored(channel.privatize(rows)), +Counter({question.name: moved})
    answers = arrays[question.name]
    if isinstance(channel, DesignPerRow):
        drawn = channel.privatize(answers, arrays[str(question.design_column)])
    else:
        drawn = question.designs[""].privatize(answers)
    return report_column(question).convert(pa.array(drawn)), Counter()
