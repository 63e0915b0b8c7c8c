"""``askance verify``: is a release what it says?"""

from pathlib import Path
from typing import Annotated

import typer

from askance.cli.options import Json

SOMETHING_WRONG = 1  # as audits end where a defect was found


def verify(
    path: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release of any kind: a file or a folder.")],
    ledger: Annotated[Path | None, typer.Option(help="The ledger that should have paid for it.")] = None,
    key: Annotated[Path | None, typer.Option(help="The public key (PEM) of who should have signed it.")] = None,
    as_json: Json = False,
) -> None:
    """Check a release: its format, its digest, its guarantee, who paid for it and who signed it.

    Every byte is read. Ends with 0 if nothing is wrong, with 1 if something is, and with 2 if there is nothing to
    check. To make keys: openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out
    public.pem
    """
    from askance.cli.output import print_json, show
    from askance.releases.verification import verify_release

    found = verify_release(path, ledger=ledger, key=key)
    if as_json:
        print_json(found.to_dict())
    else:
        for check in found.checks:
            show(f"{check.verdict:<8} {check.name:<10} {check.words}")
        show("nothing is wrong" if found.is_good else "WRONG: do not rely on this release", style="bold")
    if not found.is_good:
        raise typer.Exit(SOMETHING_WRONG)
