"""``askance privatize``: from true answers to a release."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askance.cli.options import Engine, Json, Overwrite, Quiet, SignKey, between_commas, out_option

if TYPE_CHECKING:
    from askance.mechanisms.ledger_entries import LedgerEntry
    from askance.releases.declarations import Question
    from askance.releases.privatizing import Privatized
    from askance.releases.study import Study

_MUCH_CLIPPED = 0.05  # of a column: a mean can be off by as much of its range; fewer are outliers, which bounds are for


def privatize(
    study: Annotated[Path, typer.Argument(help="The study file (TOML): questions, channels, covariates.")],
    data: Annotated[
        Path, typer.Argument(help="True answers: a CSV or Parquet file, arrays (.npz), or a folder of them.")
    ],
    out: Annotated[Path, out_option("The release to write (Parquet).")],
    rows_per_part: Annotated[
        int | None, typer.Option(min=1, help="Write a folder of part files with this many rows each.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="A budget that these people spend before a report is drawn: see askance ledger create."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="With --ledger: who the people are. It is not in the release."),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(
            "--public-columns",
            metavar="COLUMNS",
            help="Covariates that may be known although they tell nearly every answer.",
        ),
    ] = None,
    engine: Engine = "local",
    sign: SignKey = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hide true answers as a study says, and write the release.

    Reports are drawn with the operating system's entropy; there is no seed. Only declared columns leave:
    reports in place of answers, and covariates as they are. The release is written whole or not at all.

    Asking the same people twice tells more about them. With --ledger and --id every person pays from a budget, once all
    answers have been checked and before the first report is drawn; what is refused spends nothing.

    Covariates that tell nearly every answer, and rows in the order of the answers, are refused: no noise hides those.
    """
    from askance.cli.output import print_json, progress_bar, warn
    from askance.errors import InvalidInput
    from askance.releases.paid_release import spent_all_the_same
    from askance.releases.privatizing import privatize_file
    from askance.releases.signatures import sign_release, signing_key
    from askance.releases.study import Study
    from askance.tables.data_files import open_data
    from askance.tables.made_up_mark import holds_made_up_answers

    plan = Study.read(study)
    key = None if sign is None else signing_key(sign, out)
    if engine != "local" and rows_per_part is not None:
        raise InvalidInput(
            f"--rows-per-part with --engine {engine}",
            "the local engine",
            "Elsewhere each piece of the data is a part.",
        )
    entry = None
    known = between_commas(public, "--public-columns") or ()
    if ledger is not None or id_column is not None:
        entry = _pay(plan, data, ledger, id_column, out, overwrite=overwrite, public_columns=known, quiet=quiet)
    with spent_all_the_same(out, entry):
        if engine == "local":
            how: dict[str, Any] = {"rows_per_part": rows_per_part, "public_columns": known}
            with progress_bar("privatising", quiet=quiet) as progress:
                done = privatize_file(plan, data, out, overwrite=overwrite, progress=progress, **how)
        else:
            done = _privatize_elsewhere(engine, plan, data, out, overwrite, known)
        paid = _record(ledger, entry, done)
        if key is not None:
            sign_release(out, key, done.release.digest)
    clipped = _clipped(plan, done)
    warnings = [*_warnings(plan), *_warnings_on_bounds(done, clipped)]
    if done.dropped_columns and holds_made_up_answers(open_data(data)):
        warnings.append("These answers are made up by askance simulate: nobody said any of it. The release says so.")
    warnings += [paid.remark] if paid is not None and paid.remark else []
    if as_json:
        print_json(
            {
                "release": str(out),
                "rows": done.release.num_rows,
                "dropped_columns": done.dropped_columns,
                "clipped": clipped,
                "warnings": warnings,
                "header": done.release.header.to_dict(),
                "ledger_entry": entry,
            }
        )
    else:
        _print(plan, done, clipped)
        _print_paid(ledger, paid)
    for warning in warnings:
        warn(warning)


def _pay(
    study: "Study", data: Path, ledger: Path | None, id_column: str | None, out: Path, *, quiet: bool, **how: Any
) -> int:
    """Spend what it costs the people to answer once; return the number of the entry."""
    from askance.cli.output import progress_bar
    from askance.errors import InvalidInput
    from askance.mechanisms.ledger import Ledger
    from askance.releases.paid_privatizing import pay_for_answers

    if ledger is None or id_column is None:
        raise InvalidInput(
            "--ledger without --id" if id_column is None else "--id without --ledger",
            "both, or neither",
            "A ledger knows by identifiers who was asked before.",
        )
    with progress_bar("checking", quiet=quiet) as progress:
        book = Ledger(ledger)
        return pay_for_answers(study, data, book, id_column, out, progress=progress, **how)


def _record(ledger: Path | None, entry: int | None, done: "Privatized") -> "LedgerEntry | None":
    from askance.mechanisms.ledger import Ledger

    if ledger is None or entry is None:
        return None
    book = Ledger(ledger)
    if done.release.digest is not None:
        book.record(entry, done.release.digest)
    return book.entries[entry - 1]


def _print_paid(ledger: Path | None, paid: "LedgerEntry | None") -> None:
    from askance.cli.output import show
    from askance.mechanisms.ledger import Ledger

    if ledger is not None and paid is not None:
        show()
        show(f"Paid for by {paid.whom}: {Ledger(ledger)!r}")


def _privatize_elsewhere(
    engine: str, study: "Study", data: Path, out: Path, overwrite: bool, public: Sequence[str]
) -> "Privatized":
    from askance.engines.base import running
    from askance.engines.privatizing import privatize_on

    with running(engine) as where:
        return privatize_on(where, study, data, out, overwrite=overwrite, public_columns=public)


def _print(study: "Study", done: "Privatized", clipped: dict[str, int]) -> None:
    from askance.cli.output import show
    from askance.mechanisms.accounting.shuffling import level_if_shuffled, shuffled_in_words

    show(f"{done.release.num_rows:,} rows written to {done.release.path}", style="bold")
    for question in study.questions:
        show()
        show(f"{question.name}: {question.text}".rstrip(": "), style="bold")
        for name, design in question.designs.items():
            show(f"  {name + ': ' if name else ''}{design.describe()}")
            show(f"  {design.guarantee}")
        mixed = level_if_shuffled(question.channel, done.release.num_rows)
        if mixed is not None:
            show(f"  If shuffled: {shuffled_in_words(mixed)}")
    _print_clipped(clipped, done.release.num_rows)
    show()
    show("Each person", style="bold")
    show(f"  {done.release.whole_person}")
    show(f"  {done.release.whole_person.in_words()}")
    if len(study.questions) > 1:
        show("  One person answers every question, so the levels of the questions add up.")
    reports = {question.name for question in study.questions}
    as_they_are = [name for name in done.release.columns if name not in reports]
    if as_they_are:
        show()
        show(f"Published as they are, without protection: {', '.join(as_they_are)}.")
    if done.dropped_columns:
        show(f"Left behind, because the study does not declare them: {', '.join(done.dropped_columns)}.")


def _print_clipped(clipped: dict[str, int], rows: int) -> None:
    from askance.cli.output import show

    if not clipped:
        return
    counts = [f"{name} {count:,} ({100 * count / rows:.3g}%)" for name, count in clipped.items() if count]
    show()
    show("Public bounds", style="bold")
    if counts:
        show(f"  Clipped to their bounds before they were hidden: {', '.join(counts)}.")
    else:
        show("  Every value was within its bounds; none was clipped.")
    show("  This is for you, the owner of the data: the release does not say it.")


def _clipped(study: "Study", done: "Privatized") -> dict[str, int]:
    """How many values of each hidden column were outside their bounds; those with none, too."""
    numbers = [question for question in study.questions if question.hides_numbers]
    hidden = [name for question in numbers if not question.hides_features for name in question.sources]
    # Attributes are counted together, and most have states rather than bounds.
    hidden += [question.name for question in numbers if question.hides_features and done.clipped[question.name]]
    return {name: done.clipped[name] for name in hidden}


def _warnings_on_bounds(done: "Privatized", clipped: dict[str, int]) -> list[str]:
    """Say which bounds are too tight for these data."""
    values = {q.name: done.release.num_rows * len(q.guarantee.per_attribute or (0,)) for q in _features(done)}
    shares = {name: count / values.get(name, done.release.num_rows) for name, count in clipped.items()}
    return [
        f"{100 * share:.3g}% of {name!r} lay outside the public bounds: these are too tight, and estimates are about "
        "the clipped values. Choose wider bounds, from what is known without these data."
        for name, share in shares.items()
        if share > _MUCH_CLIPPED
    ]


def _features(done: "Privatized") -> "list[Question]":
    return [question for question in done.release.header.questions if question.hides_features]


def _warnings(study: "Study") -> list[str]:
    """Say which answers are not protected at all."""
    said = []
    for question in study.questions:
        open_designs = [name for name, law in question.designs.items() if math.isinf(law.guarantee.epsilon)]
        if open_designs:
            under = f" under the design {', '.join(open_designs)}" if question.design_column else ""
            said.append(
                f"the answers to {question.name!r} have no privacy guarantee{under}: "
                "some reports rule out some truths, or all but one. Treat the release as confidential."
            )
    return said
