"""The mark of made-up rows: a column that says what they are, so that true answers are never taken for reports.

Both have the same words where a design hides an answer among the choices: nothing else in a table tells them apart.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from askance.errors import InvalidInput
from askance.tables.data_files import Data

MARK = "made_up"  # the column; no study declares it, so that it never gets into a release
ANSWER, REPORT = "simulated answer", "simulated report"


def refuse_answers(data: Data | pa.Table, name: str) -> None:
    """Refuse made-up true answers where reports are expected.

    Examples
    --------
    >>> refuse_answers(pa.table({"cheated": ["no"], "made_up": [ANSWER]}), "a.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.InvalidInput: true answers in a.csv, as its column 'made_up' says; expected reports...
    """
    if _marked(data, ANSWER):
        raise InvalidInput(
            f"true answers in {name}, as its column {MARK!r} says",
            "reports",
            "Hide them first: askance privatize STUDY DATA --out RELEASE. Or make up reports: askance simulate STUDY "
            "--reports.",
        )


def holds_made_up_reports(data: Data | pa.Table) -> bool:
    """Whether some row says that it is a made-up report."""
    return _marked(data, REPORT)


def refuse_reports(data: Data | pa.Table, name: str) -> None:
    """Refuse made-up reports where true answers are expected.

    Examples
    --------
    >>> refuse_reports(pa.table({"cheated": ["no"], "made_up": [REPORT]}), "a.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.InvalidInput: reports in a.csv, as its column 'made_up' says; expected true answers...
    """
    if holds_made_up_reports(data):
        raise InvalidInput(
            f"reports in {name}, as its column {MARK!r} says",
            "true answers: to hide what is hidden already would hide it twice",
            "Fit a model to them: askance fit DATA --study STUDY. Or make up answers: askance simulate STUDY, without "
            "--reports.",
        )


def _marked(data: Data | pa.Table, word: str) -> bool:
    return any(pc.any(pc.equal(marks, word)).as_py() for marks in _marks(data) if pa.types.is_string(marks.type))


def _marks(data: Data | pa.Table) -> Iterable[pa.ChunkedArray]:
    if isinstance(data, pa.Table):
        if data.column_names.count(MARK) == 1:
            yield data.column(MARK)
        return
    for file in data.files:
        if file.columns.count(MARK) == 1:
            yield from (chunk.table.column(MARK) for chunk in file.chunks([MARK]))
