"""``askance dossier``: everything about the privacy of a study on one page, to be signed."""

from pathlib import Path
from typing import Annotated

import typer

from askance.cli.options import Json, Overwrite, Quiet, out_option
from askance.cli.standard_input import as_written
from askance.printing import shell_command

SOMETHING_WRONG = 1  # as audits end where a defect was found


def dossier(
    study: Annotated[Path, typer.Argument(help="The study file (TOML).")],
    release: Annotated[Path | None, typer.Argument(help="The release of the study, if there is one (Parquet).")] = None,
    out: Annotated[
        Path | None, out_option("Write it: a page (.html) or Markdown (.md). Printed as text if not given.")
    ] = None,
    audit: Annotated[bool, typer.Option("--audit", help="Audit every channel: draw reports and check them.")] = False,
    draws: Annotated[
        int | None, typer.Option(min=1, help="Of the audit: reports to draw for each question; a million if not given.")
    ] = None,
    ledger: Annotated[Path | None, typer.Option(help="The ledger that should have paid for the release.")] = None,
    key: Annotated[Path | None, typer.Option(help="The public key (PEM) of who should have signed it.")] = None,
    on_device: Annotated[
        bool, typer.Option("--on-device", help="Answers were hidden on the respondents' own devices.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the dossier on privacy that a data-protection impact assessment can quote.

    The level of all answers of one person together comes first; then what is not protected, what the promise rests on,
    who holds what, purpose and retention (as a table [privacy] of the study file says), what was checked, dates and
    digests. It holds no result of the study.

    Ends with 0, with 1 if a check or an audit failed, and with 2 if the input cannot be used.
    """
    from askance.cli.options import check_targets
    from askance.cli.output import print_json, progress_bar, say, show_lines
    from askance.errors import InvalidInput
    from askance.reports.dossier_file import dossier_kind, write_dossier
    from askance.workflows.dossier import make_dossier

    if draws is not None and not audit:
        raise InvalidInput("--draws without --audit", "both, or neither")
    if out is not None:
        check_targets([(out, dossier_kind(out))], overwrite=overwrite, inputs=[study, release, ledger, key])
    options = [*(["--audit"] if audit else []), *([] if draws is None else ["--draws", draws])]
    options += [] if ledger is None else ["--ledger", ledger]
    options += [] if key is None else ["--key", key]
    options += ["--on-device"] if on_device else []
    named = [study, *([] if release is None else [release]), *options]
    command = shell_command("askance", "dossier", *map(as_written, named))
    with progress_bar("auditing", quiet=quiet) as progress:
        made = make_dossier(
            study,
            release,
            ledger=ledger,
            key=key,
            audit=audit,
            draws=draws,
            on_device=on_device,
            command=command,
            progress=progress,
        )
    if out is not None:
        write_dossier(out, made, overwrite=overwrite)
        if not quiet:
            say(f"wrote {out}")
    if as_json:
        print_json(made.to_dict())
    elif out is None:
        show_lines(str(made))
    if not made.passed:
        raise typer.Exit(SOMETHING_WRONG)
