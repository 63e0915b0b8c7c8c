"""``askance ledger``: budgets of privacy on disk."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from askance.cli.options import Json, Overwrite, Quiet, check_targets, out_option

_MOST_SHOWN = 10  # groups of people with different pasts: more are no longer read

ledger = typer.Typer(
    name="ledger", help="Make and read budgets of privacy.", no_args_is_help=True, add_completion=False
)


@ledger.command("create")
def create(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The file to make.")],
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="All the epsilon that may ever be spent.")],
    data_set: Annotated[str, typer.Option(metavar="NAME", help="What the data set is called.")],
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="All the delta that may ever be spent.")] = "0",
    rule: Annotated[
        Literal["auto", "sums", "gdp", "renyi", "either"],
        typer.Option("--filter", help="How it is decided whether one more release is allowed; auto: by the first one."),
    ] = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a budget for the people of a data set. It can be spent, and neither raised nor given back.

    It is the budget of each person: releases add up for those who are in both, by their identifiers, and the one on
    whom most was spent counts. The ledger keeps keyed hashes of the identifiers. Make one ledger for all files about
    the same people.
    """
    from askance.cli.output import print_json, say
    from askance.mechanisms.ledger import Ledger

    made = Ledger.create(path, epsilon, delta, data_set=data_set, filter=rule)
    if as_json:
        print_json(made.to_dict())
    if not quiet:
        say(f"made {made!r}")


@ledger.command("show")
def show_ledger(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger.")],
    receipt: Annotated[
        Path | None, typer.Option(help="A receipt: refuse a ledger that does not go on from where it was made.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what was spent, on what, and what is left."""
    from askance.cli.output import print_json, show
    from askance.mechanisms.ledger import Ledger
    from askance.mechanisms.ledger_chain import Receipt

    book = Ledger(path)
    if receipt is not None:
        book.check_receipt(Receipt.read(receipt))
    if as_json:
        print_json(book.to_dict())
        return
    show(f"{book.data_set}: {book.remaining} left of {book.budget}", style="bold")
    for entry in book.entries:
        delta = "" if entry.delta == "0" else f", delta {entry.delta}"
        came = "no release: spent all the same" if entry.release is None else f"sha256 {entry.release[:16]}"
        what = f"{entry.what}{' [a wave of ' + entry.panel + ']' if entry.panel else ''}"
        level = f"epsilon {entry.epsilon}{delta}"
        show(f"{entry.number:>4}  {entry.time}  {level}  {what}  {entry.whom}  {came}")
    _print_people(book.to_dict())
    if book.budget.delta and len(book.entries) > 1:
        total = f"epsilon {book.total():.4g}, delta {float(book.budget.delta):.3g}"
        show(f"Had this list been fixed in advance, it would cost the worst person {total} in all.")
    if receipt is not None:
        show(f"The ledger goes on from where {receipt} was made.")


def _print_people(account: dict[str, Any]) -> None:
    """Print how many people have spent how much, if they are not all alike."""
    from askance.cli.output import show

    pasts = account.get("pasts", [])
    if len(pasts) < 2:
        return
    show(f"{account['known_people']:,} people are known by their identifiers. What was spent on them, by addition:")
    for past in pasts[:_MOST_SHOWN]:
        spent = past["spent"]
        delta = "" if spent["delta"] == "0" else f", delta {spent['delta']}"
        show(f"  {past['people']:>9,}  epsilon {spent['epsilon']}{delta}")
    if len(pasts) > _MOST_SHOWN:
        show("  and others, who spent less")


@ledger.command("receipt")
def receipt(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger.")],
    out: Annotated[Path, out_option("The receipt to write (JSON). Keep it where the ledger is not.")],
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write down the head of a ledger: askance ledger show --receipt then notices a file that was set back."""
    import json

    from askance.cli.output import print_json, say
    from askance.files.kinds import RECEIPT
    from askance.files.targets import write_text
    from askance.mechanisms.ledger import Ledger

    check_targets([(out, RECEIPT)], overwrite=overwrite, inputs=[path])
    made = Ledger(path).receipt()
    write_text(out, json.dumps(made.to_dict(), indent=2) + "\n", RECEIPT)
    if as_json:
        print_json(made.to_dict() | {"written": [str(out)]})
    if not quiet:
        say(f"{out}: {made.events} events of {made.data_set}, head {made.head[:16]}")
