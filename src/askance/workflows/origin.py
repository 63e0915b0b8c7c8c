"""What a page was made of, when, and by which program: who has the same digests can make the same page."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

from askance import __version__
from askance.files.location import Location, StrPath
from askance.printing import shell_command
from askance.releases.reading import open_release
from askance.releases.release import Release
from askance.releases.study import Study
from askance.reports.estimator_report import EstimatorReport
from askance.reports.number_report import NumberReport
from askance.reports.report import Report
from askance.tables.data_files import open_data
from askance.workflows.program import program_digest

AnyReport = TypeVar("AnyReport", bound=Report | NumberReport | EstimatorReport)


def with_origin(
    report: AnyReport, inputs: Iterable[tuple[str, StrPath]], study: StrPath | None = None, today: date | None = None
) -> AnyReport:
    """Return the report with its day, digests of its inputs and the program, and what the study file says of purpose.

    Parameters
    ----------
    report : Report, NumberReport or EstimatorReport
    inputs : pairs of (name, path)
        What was read, under the names that are shown.
    study : path, optional
        The study file, if one was given.
    today : date, optional
        The current day, in universal time, if not given.
    """
    lines = [("Made", (datetime.now(UTC).date() if today is None else today).isoformat())]
    for name, path in inputs:
        kind, digest = _digest(path)
        lines.append((kind, f"{name}{f', sha256 {digest}' if digest else ''}"))
        if kind == "Release":
            of = "STUDY.toml" if study is None else str(study)
            lines.append(("Who holds what, audits", shell_command("askance", "dossier", of, name, "--audit")))
    if study is not None:
        lines.append(("Study file", f"{study}, sha256 {_of_file(Path(study))}"))
        said = Study.read(study).privacy
        lines += [("Purpose", said.purpose), ("Retention", said.retention), ("Deleted by", str(said.delete_by or ""))]
    lines.append(("Program", f"askance {__version__}, sha256 {program_digest()}"))
    return replace(report, origin=tuple((name, text) for name, text in lines if text))


def _digest(path: StrPath) -> tuple[str, str | None]:
    """What an input is, and what it is known by: a release by the digest that ledgers and dossiers have."""
    if Location.of(path).is_address:
        return "Data", None
    place = Path(path)
    is_table = place.is_dir() or place.suffix == ".parquet"
    if is_table and open_data(place).is_release:
        return "Release", open_release(place, Release).digest
    return "Data", _of_file(place) if place.is_file() else None


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
