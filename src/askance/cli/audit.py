"""``askance audit``: is the privacy that is promised the privacy that is given?"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askance.cli.options import Json, Quiet
from askance.printing import one_line

if TYPE_CHECKING:
    from askance.planning.auditing.audit_report import AuditReport
    from askance.releases.header import Header


def audit(
    study_or_release: Annotated[Path, typer.Argument(help="A study file (TOML) or a release (Parquet).")],
    draws: Annotated[
        int | None,
        typer.Option(min=1, help="Reports to draw for each question; a million, or fewer where they are costly."),
    ] = None,
    error_rate: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Probability with which honest channels may fail, all questions together."),
    ] = 0.001,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check every channel of a study or a release.

    Epsilon is computed exactly from the whole numbers that reports are drawn with. Reports are drawn with the entropy
    that protects real answers: every probability of a list of choices, and every mean estimate of hidden numbers, is
    checked, and a level which the reports surely exceed is estimated.
    Ends with 0 if all channels pass, 1 if one fails, 2 if the input cannot be used.
    """
    from askance.cli.output import print_json, progress_bar
    from askance.planning.auditing.channel_audit import audit as audit_channel

    header = _header(study_or_release)
    questions = header.questions
    reports = {}
    with progress_bar("auditing", quiet=quiet) as progress:
        for done, question in enumerate(questions):
            progress(done, len(questions))
            # The stated rate is for the whole command.
            reports[question.name] = audit_channel(question.channel, draws, error_rate / len(questions))
    passed = all(report.passed for report in reports.values())
    if as_json:
        by_name = {name: report.to_dict() for name, report in reports.items()}
        person = header.guarantee.to_dict() | {"in_words": header.guarantee.in_words()}
        print_json({"passed": passed, "error_rate": error_rate, "draws": draws, "questions": by_name, "person": person})
    else:
        _print(reports, passed, error_rate)
        if any(question.hides_features for question in questions):
            _print_record(header)
    raise typer.Exit(0 if passed else 1)


def _header(path: Path) -> "Header":
    from askance.errors import InvalidInput
    from askance.releases.reading import open_release
    from askance.releases.release import Release
    from askance.releases.study import Study

    if not path.exists():
        raise InvalidInput(f"there is nothing at {path}", "a study file (TOML) or a release (Parquet)")
    if path.is_file() and path.suffix != ".parquet":
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return Study.read(path).header()
    return open_release(path, Release).header


def _print(reports: "dict[str, AuditReport]", passed: bool, error_rate: float) -> None:
    from rich.table import Table

    from askance.cli.output import console, show
    from askance.planning.auditing.audit_report import AttributeAudit

    table = Table(
        "question", "design", "epsilon promised", "enumerated", "sampled at least", "checks", "smallest p", ""
    )
    for name, report in reports.items():
        for design in report.designs:
            table.add_row(
                one_line(name),
                one_line(f"{design.name}: {design.channel}" if design.name else design.channel),
                _level(design.promised_epsilon),
                _level(design.exact_epsilon),
                f"{design.lower_bound:.4g}",
                str(design.checks),
                f"{design.smallest_p:.2g}",
                "passed" if design.passed else "FAILED",
            )
    console().print(table)
    for name, report in reports.items():
        for design in report.designs:
            if isinstance(design, AttributeAudit):
                show(f"{name}: {design.in_words()}")
            for problem in design.problems:
                show(f"{name}{', ' + design.name if design.name else ''}: {problem}", style="red")
    show("All channels passed." if passed else "Some channel FAILED.", style="bold")
    show(f"If every channel is honest, this audit fails with probability {error_rate:g} at most.")


def _print_record(header: "Header") -> None:
    """Say what all that a person tells is worth together: attributes one by one look well hidden, and may not be."""
    from askance.cli.output import show

    show()
    show("Each person", style="bold")
    show(f"  {header.guarantee}")
    show(f"  {header.guarantee.in_words()}")
    show("  Every further release about the same person adds as much again.")


def _level(epsilon: float) -> str:
    return "infinite" if math.isinf(epsilon) else f"{epsilon:.6g}"
