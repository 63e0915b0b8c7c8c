"""From true answers to a release: the step at which the truth stays behind.

Only what a study declares goes on: reports in place of answers, designs and covariates as they are.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from askance.entropy.bits import system_bits
from askance.errors import InvalidInput
from askance.files.kinds import REPORTS
from askance.files.location import StrPath
from askance.files.targets import refuse_misnamed
from askance.releases.answers import Answers, answers_to
from askance.releases.answers_told import AnswersTold
from askance.releases.declared_columns import public_columns as declared_public
from askance.releases.declared_columns import stored
from askance.releases.header import Header
from askance.releases.partition import TablePartition
from askance.releases.release import Release
from askance.releases.study import Study
from askance.releases.writer import ReleaseWriter
from askance.tables.column_kinds import Column
from askance.tables.columns import Fault, check_present, converted, refuse
from askance.tables.data_files import Data, DataFile, open_data
from askance.tables.made_up_mark import holds_made_up_answers, refuse_reports

BEYOND_RADIUS = "rows beyond the radius"  # what is counted where a channel shortens rows


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


@dataclass(frozen=True)
class Privatizer:
    """Turns tables of answers into tables of reports: the header is looked at once for all of them."""

    header: Header
    public_columns: tuple[str, ...] = ()

    def told(self) -> AnswersTold:
        """Return what looks at tables, one after the other, for public columns or an order that tell answers."""
        return AnswersTold(self.header, self.public_columns)

    @cached_property
    def _answers(self) -> list[Answers]:
        return [answers_to(question) for question in self.header.questions]

    @cached_property
    def _columns(self) -> list[Column]:
        return [*(column for answers in self._answers for column in answers.columns), *declared_public(self.header)]

    def truths(self, table: pa.Table) -> tuple[dict[str, Any], pa.Table, list[Fault]]:
        """Return what reports are drawn for, question by question; the public columns; and what is wrong.

        For who audits a release with its data: nothing is drawn. If something is wrong, there are no truths.
        """
        arrays, faults = self._converted(table)
        if faults:
            return {}, table.select([]), faults
        asked = {one.question.name: one.prepared(arrays).values for one in self._answers}
        public = [column for column in self.header.schema if column.name not in asked]
        return asked, stored(arrays, pa.schema(public)), []

    def faults(self, table: pa.Table, told: AnswersTold | None = None) -> list[Fault]:
        """Say what is wrong with the answers of a table; nothing is drawn."""
        arrays, faults = self._converted(table)
        if not faults:
            if told is not None:
                told.look(arrays)
            for answers in self._answers:
                answers.prepared(arrays)  # which refuses what a channel cannot take
        return faults

    def _converted(self, table: pa.Table) -> tuple[dict[str, pa.Array], list[Fault]]:
        arrays, faults = {}, []
        for column in self._columns:
            arrays[column.name], fault = converted(column, table.column(column.name))
            faults += [fault] if fault else []
        return arrays, faults

    def hide(self, table: pa.Table, told: AnswersTold | None = None) -> Hidden:
        """Draw a report for every answer of a table; nothing is drawn if any column has a fault.

        ``told`` looks at the answers too, for who asks it afterwards whether something published tells them.
        """
        arrays, faults = self._converted(table)
        clipped: Counter[str] = Counter()
        if faults:
            return Hidden(None, faults, clipped)
        if told is not None:
            told.look(arrays)
        reports = {}
        for answers in self._answers:
            name, prepared = answers.question.name, answers.prepared(arrays)
            drawn = answers.channel.draw(prepared.values, system_bits())
            reports[name] = answers.channel.store(drawn)
            clipped.update({column or name: count for column, count in prepared.clipped.items()})
            clipped += Counter({BEYOND_RADIUS: prepared.shortened})
        return Hidden(stored(arrays | reports, self.header.schema), [], clipped)

    def hide_file(
        self, file: DataFile, writer: ReleaseWriter, faults: dict[str, Fault], row_groups: Sequence[int] | None = None,
        *, where: str = "", progress: Callable[[int], None] | None = None, told: AnswersTold | None = None,
    ) -> Counter[str]:  # fmt: skip
        """Write the reports of a file, and return how many values were clipped.

        The first fault of each column is added to ``faults``. After a fault nothing is written any more, but the other
        columns are still looked at. ``told`` is for who looks at several files together.
        """
        clipped: Counter[str] = Counter()
        alone = told is None
        told = self.told() if told is None else told
        for chunk in file.chunks(self.header.source_columns, row_groups):
            hidden = self.hide(chunk.table, told)
            clipped += hidden.clipped
            for fault in hidden.faults:
                faults.setdefault(fault.column, replace(fault, row=fault.row + chunk.first_row, where=where))
            if hidden.table is not None and not faults:
                writer.write(hidden.table)
            if progress:
                progress(chunk.bytes_read)
        if alone and not faults:
            told.refuse()
        return clipped


def privatize_table(study: Study, table: Any, *, public_columns: Sequence[str] = ()) -> Release:
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
    table = table if isinstance(table, pa.Table) else pa.table(table)
    header = header_of(study, table)
    check_present(header.source_columns, table.schema.names, "the table")
    refuse_reports(table, "the table")
    privatizer = Privatizer(header, tuple(public_columns))
    told = privatizer.told()
    hidden = privatizer.hide(table, told)
    refuse(hidden.faults, "the table")
    told.refuse()
    return Release(header, (TablePartition(hidden.table),))


def privatize_file(
    study: Study,
    data: StrPath,
    out: StrPath,
    *,
    overwrite: bool = False,
    rows_per_part: int | None = None,
    public_columns: Sequence[str] = (),
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
    public_columns : sequence of str
        Covariates that may be known although they tell nearly every answer: others that do are refused.
    progress : callable, optional
        Called with bytes read and bytes in all.

    Raises
    ------
    InvalidInput
        With the first fault of every column; if a covariate or the order of the rows tells the answers. Nothing is
        written then.
    """
    opened = open_data(data)
    header = header_of(study, opened)
    dropped = check_data(opened, header, out)
    total = sum(file.size for file in opened.files)
    faults: dict[str, Fault] = {}
    clipped: Counter[str] = Counter()
    privatizer = Privatizer(header, tuple(public_columns))
    with ReleaseWriter(out, header, overwrite=overwrite, rows_per_part=rows_per_part) as writer:
        before, told = 0, privatizer.told()
        for file in opened.files:
            where = f" of {file.path.name}" if len(opened.files) > 1 else ""
            counted = _from(before, total, progress)
            clipped += privatizer.hide_file(file, writer, faults, where=where, progress=counted, told=told)
            before += file.size
        refuse(list(faults.values()), str(data))
        told.refuse()
        if not writer.num_rows:
            raise InvalidInput(f"{data} has no rows", "at least one")
    return Privatized(Release.read(out), dropped, clipped)


def header_of(study: Study, data: Data | pa.Table) -> Header:
    """Return what a release of some answers says about itself: made-up ones stay so."""
    return replace(study.header(), made_up=holds_made_up_answers(data))


def check_data(data: Data, header: Header, out: StrPath) -> tuple[str, ...]:
    """Check that every file can serve, and is not where the release goes; return the columns that stay behind."""
    if os.path.exists(out) and os.path.samefile(data.path, out):
        raise InvalidInput(f"the release would replace the data {data.path}", "another place for the release")
    refuse_misnamed(Path(out), REPORTS)
    for file in data.files:
        if file.is_release:
            raise InvalidInput(
                f"{file.path} is a release: what it holds are reports already, not answers",
                "the true answers",
                "To fit a model to it: askance fit.",
            )
    data.check_columns(header.source_columns)
    refuse_reports(data, str(data.path))
    found = dict.fromkeys(name for file in data.files for name in file.columns)
    return tuple(name for name in found if name not in header.source_columns)


def _from(before: int, total: int, progress: Callable[[int, int], None] | None) -> Callable[[int], None] | None:
    """Return what counts on from the bytes of earlier files."""
    return None if progress is None else lambda read: progress(before + read, total)
