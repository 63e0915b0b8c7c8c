"""``askance audit``: is the privacy that is promised the privacy that is given?"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askance.cli.options import Json, Quiet
from askance.printing import one_line

if TYPE_CHECKING:
    from askance.planning.auditing.audit_report import AuditReport
    from askance.planning.auditing.release_audit import ReleaseAudit
    from askance.releases.counts_release import CountsRelease
    from askance.releases.header import Header
    from askance.releases.mean_operator_release import MeanOperatorRelease

    Reports = dict[str, AuditReport | ReleaseAudit]

_DATA = "A release with its data"
_WANTED = (
    "a study file (TOML), a release (Parquet, or JSON with --data; Parquet may have it too), a channel (JSON, such as "
    """'{"channel": "warner", "p": 0.8}'), or --all"""
)


def audit(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY_OR_RELEASE]",
            help="A study file (TOML), a release (Parquet or JSON), or a channel (JSON: a file, or the text itself).",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every mechanism that there is: each kind of channel, each way to release.")
    ] = False,
    draws: Annotated[
        int | None,
        typer.Option(min=1, help="Reports to draw for each question; a million, or fewer where they are costly."),
    ] = None,
    error_rate: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Probability with which honest channels may fail, all questions together."),
    ] = 0.001,
    data: Annotated[
        Path | None,
        typer.Option(
            help="What a release was made of: true answers (of a Parquet release), private labels or counts.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="Of a mean operator: the public features.", rich_help_panel=_DATA)
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="The column of identifiers, in both files.", rich_help_panel=_DATA),
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of labels.", rich_help_panel=_DATA)
    ] = None,
    bag: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Of counts: the column of bags.", rich_help_panel=_DATA)
    ] = None,
    shuffled: Annotated[
        bool,
        typer.Option(
            "--shuffled",
            help="Of a Parquet release: its rows are in another order than those of --data; only totals are compared.",
            rich_help_panel=_DATA,
        ),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check every channel of a study or a release, one channel, a release with its data, or everything.

    Epsilon is computed exactly from the whole numbers that reports are drawn with. Reports are drawn with the entropy
    that protects real answers: every probability of a list of choices, and every mean estimate of hidden numbers, is
    checked, and a level which the reports surely exceed is estimated. Calls, rows and attributes must be independent,
    noise must have its tails, and nothing but the random bytes may decide a report.

    A release of totals (JSON) is audited with its data: --data labels.csv --features x.csv --id COLUMN --label COLUMN
    for a mean operator; --data and --label COLUMN, or a table of counts, for counts. Nothing is spent.

    A release of privatised rows (Parquet) with its true answers, --data truth.csv, is compared with them: the reports
    given the truths must have the promised law, be independent, and tell the truth no more often than promised. Rows
    are matched by --id COLUMN, which both must hold, or by their order; nothing is drawn.

    Ends with 0 if all channels pass, 1 if one fails, 2 if the input cannot be used.
    """
    from askance.cli.output import print_json, progress_bar
    from askance.errors import InvalidInput

    if everything == (what is not None):
        raise InvalidInput("both --all and something to audit" if everything else "nothing to audit", _WANTED)
    header = None
    options = {"data": data, "features": features, "id_column": id_column, "label": label, "bag": bag}
    with progress_bar("auditing", quiet=quiet) as progress:
        if what is None:
            from askance.planning.auditing.every_mechanism import audit_everything

            reports: Reports = dict(audit_everything(draws, error_rate, progress))
        else:
            spec = _spec(what)
            made = None if spec is not None else _totals(Path(what))
            if spec is not None:
                from askance.planning.auditing.channel_audit import audit as audit_channel

                reports = {"the channel": audit_channel(spec, draws, error_rate)}
            elif made is not None:
                reports = {Path(what).name: _audit_totals(made, options, draws, error_rate)}
            elif data is not None:
                reports = {Path(what).name: _audit_made_rows(Path(what), options, draws, error_rate, shuffled)}
            else:
                header = _header(Path(what))
                reports = _audit_questions(header, draws, error_rate, progress)
    passed = all(report.passed for report in reports.values())
    if as_json:
        by_name = {name: report.to_dict() for name, report in reports.items()}
        said = {"passed": passed, "error_rate": error_rate, "draws": draws, "questions": by_name}
        if header is not None:
            said["person"] = header.guarantee.to_dict() | {"in_words": header.guarantee.in_words()}
        print_json(said)
    else:
        _print(reports, passed, error_rate)
        if header is not None and any(question.hides_features for question in header.questions):
            _print_record(header)
    raise typer.Exit(0 if passed else 1)


def _spec(what: str) -> Any:
    """Return the channel that a text or a JSON file describes; None if it is something else."""
    import json

    from askance.channels.specs import channel_from_spec
    from askance.errors import InvalidInput

    text = what.strip()
    if not text.startswith("{"):
        path = Path(what)
        if path.suffix != ".json" or not path.is_file() or path.stat().st_size > _LARGEST_SPEC:
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("a channel that is not JSON", _WANTED) from None
    if not isinstance(fields, dict) or "channel" not in fields:
        if what.strip().startswith("{"):
            raise InvalidInput("a channel without its kind", '{"channel": "warner", "p": 0.8}')
        return None
    return channel_from_spec(fields)


_LARGEST_SPEC = 1 << 26  # bytes of a file that may describe one channel: a table of two thousand choices takes these


def _totals(path: Path) -> "CountsRelease | MeanOperatorRelease | None":
    """Return the release of totals that a file holds; None if it is something else."""
    from askance.releases.counts_release import CountsRelease
    from askance.releases.mean_operator_release import MeanOperatorRelease
    from askance.releases.reading import read_release

    if path.suffix != ".json" or not path.is_file():
        return None
    release = read_release(path)
    return release if isinstance(release, CountsRelease | MeanOperatorRelease) else None


def _audit_totals(
    made: "CountsRelease | MeanOperatorRelease", options: dict[str, Any], draws: int | None, rate: float
) -> "ReleaseAudit":
    from askance.errors import InvalidInput
    from askance.releases.counts_release import CountsRelease

    if options["data"] is None:
        raise InvalidInput("a release of totals without its data", "--data FILE: the labels, or counts, behind it")
    if isinstance(made, CountsRelease):
        return _audit_made_counts(made, options, draws, rate)
    missing = [f"--{name}" for name in ("features", "id_column", "label") if options[name] is None]
    if missing:
        raise InvalidInput(
            f"a mean operator without {', '.join(missing).replace('--id_column', '--id')}",
            "--data labels.csv --features x.csv --id COLUMN --label COLUMN",
        )
    return _audit_made_operator(made, options, draws, rate)


def _audit_made_operator(
    made: "MeanOperatorRelease", options: dict[str, Any], draws: int | None, rate: float
) -> "ReleaseAudit":
    from askance.planning.auditing.mean_operator_audit import audit_mean_operator
    from askance.tables.people import PeopleFeatures, read_labels

    public = PeopleFeatures.read(
        options["features"], options["id_column"], list(made.columns), private=options["label"]
    )
    labels = read_labels(options["data"], options["id_column"], options["label"], made.classes, public.ids)
    if made.features is not None:
        made.check_features(public.ids, public.columns, public.values)
    return audit_mean_operator(
        public.values,
        labels,
        made.guarantee.epsilon,
        made.guarantee.delta,
        made.mechanism,
        classes=made.classes,
        fit_intercept=made.intercept,
        draws=draws,
        error_rate=rate,
        made=made,
    )


def _audit_made_counts(
    made: "CountsRelease", options: dict[str, Any], draws: int | None, rate: float
) -> "ReleaseAudit":
    from askance.planning.auditing.counts_audit import audit_counts, level_of_a_bag
    from askance.tables.counted_people import count_people, read_count_table

    if options["label"] is None:
        table = read_count_table(options["data"], options["bag"], made.classes)
    else:
        table = count_people(
            options["data"], options["label"], options["bag"], made.classes, options["id_column"], overlapping=True
        ).table
    known = dict(zip(map(str, table.bags), table.counts, strict=True))
    counts = [known.get(str(bag)) for bag in made.bags] if len(made.bags) > 1 else list(table.counts)
    if len(counts) != len(made.bags) or any(row is None for row in counts):
        from askance.errors import InvalidInput

        raise InvalidInput(f"{len(table.bags)} bags in {options['data']}", f"the {len(made.bags)} bags of the release")
    level = level_of_a_bag(made) or made.guarantee  # what is wrong then is said by the audit
    return audit_counts(counts, level.epsilon, level.delta, made.mechanism, draws=draws, error_rate=rate, made=made)


def _audit_made_rows(
    path: Path, options: dict[str, Any], draws: int | None, rate: float, shuffled: bool
) -> "ReleaseAudit":
    from askance.errors import InvalidInput
    from askance.planning.auditing.row_release_audit import audit_rows
    from askance.releases.reading import open_release
    from askance.releases.release import Release

    unused = [f"--{name}" for name in ("features", "label", "bag") if options[name] is not None]
    unused += [] if draws is None else ["--draws"]
    if unused:
        raise InvalidInput(
            f"{', '.join(unused)} with a release of privatised rows and its data",
            "--data truth.csv [--id COLUMN]",
            "The header says which columns are what, and the reports that were made are looked at: none are drawn.",
        )
    if not path.exists():
        raise InvalidInput(f"there is nothing at {path}", _WANTED)
    return audit_rows(
        open_release(path, Release),
        options["data"],
        id_column=options["id_column"],
        shuffled=shuffled,
        error_rate=rate,
    )


def _audit_questions(header: "Header", draws: int | None, error_rate: float, progress: Any) -> "Reports":
    from askance.planning.auditing.channel_audit import audit as audit_channel

    reports: Reports = {}
    for done, question in enumerate(header.questions):
        progress(done, len(header.questions))
        # The stated rate is for the whole command.
        reports[question.name] = audit_channel(question.channel, draws, error_rate / len(header.questions))
    return reports


def _header(path: Path) -> "Header":
    from askance.errors import InvalidInput
    from askance.releases.reading import open_release
    from askance.releases.release import Release
    from askance.releases.study import Study

    if not path.exists():
        raise InvalidInput(f"there is nothing at {path}", _WANTED)
    if path.is_file() and path.suffix != ".parquet":
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                return Study.read(path).header()
    return open_release(path, Release).header


def _print(reports: "Reports", passed: bool, error_rate: float) -> None:
    from rich.table import Table

    from askance.cli.output import console, show
    from askance.planning.auditing.audit_report import AttributeAudit
    from askance.planning.auditing.release_audit import ReleaseAudit

    table = Table(
        "question", "design", "epsilon promised", "enumerated", "sampled at least", "checks", "smallest p", ""
    )
    for name, report in reports.items():
        if isinstance(report, ReleaseAudit):
            table.add_row(
                one_line(name),
                one_line(report.what),
                _level(report.promised_epsilon),
                "",
                "",
                f"{report.checks:,}",
                f"{report.smallest_p:.2g}",
                "passed" if report.passed else "FAILED",
            )
            continue
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
        for design in () if isinstance(report, ReleaseAudit) else report.designs:
            if isinstance(design, AttributeAudit):
                show(f"{name}: {design.in_words()}")
            for problem in design.problems:
                show(f"{name}{', ' + design.name if design.name else ''}: {problem}", style="red")
    _print_questions(reports)
    show("All channels passed." if passed else "Some channel FAILED.", style="bold")
    show(f"If every channel is honest, this audit fails with probability {error_rate:g} at most.")


def _print_questions(reports: "Reports") -> None:
    """Print what was asked besides, and what each question may spend of the error rate."""
    from rich.table import Table

    from askance.cli.output import console, show
    from askance.planning.auditing.release_audit import ReleaseAudit

    table = Table("question", "asked", "share of the error rate", "tests", "smallest p", "alarm below", "")
    for name, report in reports.items():
        for question in report.questions:
            table.add_row(
                one_line(name),
                question.name,
                f"{100 * question.share:g}%",
                f"{question.tests:,}",
                f"{question.smallest_p:.2g}",
                f"{question.level:.2g}",
                "passed" if question.passed else "FAILED",
            )
    console().print(table)
    for name, report in reports.items():
        for wrong in report.wrong if isinstance(report, ReleaseAudit) else ():
            show(f"{name}: {wrong}", style="red")
        for remark in report.remarks if isinstance(report, ReleaseAudit) else ():
            show(f"{name}: {remark}")
        for question in report.questions:
            if question.note:
                show(f"{name}, {question.name}: {question.note}")
            for problem in question.problems:
                show(f"{name}, {problem}", style="red")


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
