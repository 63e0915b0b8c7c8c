"""From a closed collection to a release: what ``askance fit`` reads."""

import os
from collections.abc import Iterator
from pathlib import Path

from askance.collector.questionnaire import Questionnaire
from askance.collector.store import Store
from askance.errors import InvalidInput
from askance.releases.declared_columns import conform_columns
from askance.releases.release import Release
from askance.releases.writer import ReleaseWriter

_ROWS_AT_A_TIME = 50_000  # that are columns at one time, beside the texts of all; the file is the same for any number


def export_release(asked: Questionnaire, store: Store, out: str | os.PathLike[str], *, overwrite: bool) -> Release:
    """Write all reports, in an order that says nothing, as a release.

    Only of a closed study: two exports of one that still runs would tell which reports came in between.
    """
    if not store.standing().closed:
        raise InvalidInput(
            "an export of a study that still takes responses",
            "a closed study",
            "Close it first: askance export --close, or the dashboard.",
        )
    cells = store.cells()
    if not cells:
        raise InvalidInput(f"{store} holds no reports", "at least one")
    header = asked.study.header()
    with ReleaseWriter(out, header, overwrite=overwrite) as writer:
        for part in _parts(cells):
            writer.write(conform_columns(asked.columns(part), header, "the store"))
    return Release.read(Path(out))


def _parts(cells: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(cells), _ROWS_AT_A_TIME):
        yield cells[start : start + _ROWS_AT_A_TIME]
