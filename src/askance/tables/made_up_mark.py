"""The mark of made-up rows: a column that says what they are, so that true answers are never taken for reports.

Both have the same words where a design hides an answer among the choices: nothing else in a table tells them apart.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from askance.errors import InvalidInput
from askance.tables.column_kinds import TextColumn
from askance.tables.columns import converted
from askance.tables.data_files import Data

MARK = "made_up"  # the column; no study declares it, so that it never gets into a release
ANSWER, REPORT = "simulated answer", "simulated report"


def refuse_answers(data: Data | pa.Table, name: str) -> None:
    """Refuse made-up true answers where reports are expected, and made-up rows among others.

    Examples
    --------
    >>> refuse_answers(pa.table({"cheated": ["no"], "made_up": [ANSWER]}), "a.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.InvalidInput: true answers in a.csv, as its column 'made_up' says; expected reports...
    """
    marked = _marked(data)
    if marked.answers:
        raise InvalidInput(
            f"true answers in {name}, as its column {MARK!r} says",
            "reports",
            "Hide them first: askance privatize STUDY DATA --out RELEASE. Or make up reports: askance simulate STUDY "
            "--reports.",
        )
    _refuse_mixture(marked, name)


def holds_made_up_reports(data: Data | pa.Table) -> bool:
    """Whether some row says that it is a made-up report."""
    return _marked(data).reports > 0


def holds_made_up_answers(data: Data | pa.Table) -> bool:
    """Whether some row says that it is a made-up answer."""
    return _marked(data).answers > 0


def refuse_reports(data: Data | pa.Table, name: str) -> None:
    """Refuse made-up reports where true answers are expected, and made-up rows among others.

    Examples
    --------
    >>> refuse_reports(pa.table({"cheated": ["no"], "made_up": [REPORT]}), "a.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.InvalidInput: reports in a.csv, as its column 'made_up' says; expected true answers...
    """
    marked = _marked(data)
    if marked.reports:
        raise InvalidInput(
            f"reports in {name}, as its column {MARK!r} says",
            "true answers: to hide what is hidden already would hide it twice",
            "Fit a model to them: askance fit DATA --study STUDY. Or make up answers: askance simulate STUDY, without "
            "--reports.",
        )
    _refuse_mixture(marked, name)


class _Marked(NamedTuple):
    """How many rows say that they are made up, and how many there are."""

    answers: int = 0
    reports: int = 0
    rows: int = 0


def _refuse_mixture(marked: _Marked, name: str) -> None:
    made_up = marked.answers + marked.reports
    if 0 < made_up < marked.rows:
        raise InvalidInput(
            f"{made_up:,} made-up rows among the {marked.rows:,} of {name}, as its column {MARK!r} says",
            "rows of people only, or made-up rows only",
            f"What both say together is about nobody: leave out the rows with a word in {MARK!r}.",
        )


def _marked(data: Data | pa.Table) -> _Marked:
    marked = _Marked()
    for table in _tables(data):
        marks = [column for name, column in zip(table.column_names, table.columns, strict=True) if _is_mark(name)]
        texts = [converted(TextColumn(MARK, missing=True), column)[0].fill_null("") for column in marks]
        said = pc.binary_join_element_wise(*texts, " ") if texts else pa.nulls(table.num_rows, pa.string())
        answers, reports = (
            pc.sum(pc.match_substring(said, word, ignore_case=True), min_count=0).as_py() for word in (ANSWER, REPORT)
        )
        marked = _Marked(marked.answers + answers, marked.reports + reports, marked.rows + table.num_rows)
    return marked


def _tables(data: Data | pa.Table) -> Iterator[pa.Table]:
    """All rows, with the marks among the columns; nothing where no column is a mark."""
    if isinstance(data, pa.Table):
        yield data
    elif any(_is_mark(name) for file in data.files for name in file.columns):
        for file in data.files:
            names = [*dict.fromkeys(filter(_is_mark, file.columns))] or file.columns[:1]
            yield from (chunk.table for chunk in file.chunks(names))


def _is_mark(name: str) -> bool:
    # Whoever merges two tables has made_up_x and made_up_y, or made_up.1; whoever types a head anew has Made_up.
    return name.strip().casefold().startswith(MARK)
