"""``askance ledger``: budgets of privacy on disk."""

from pathlib import Path
from typing import Annotated

import typer

from askance.cli.options import Json, Quiet

ledger = typer.Typer(
    name="ledger", help="Make and read budgets of privacy.", no_args_is_help=True, add_completion=False
)


@ledger.command("create")
def create(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The file to make.")],
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="All the epsilon that may ever be spent.")],
    data_set: Annotated[str, typer.Option(metavar="NAME", help="What the data set is called.")],
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="All the delta that may ever be spent.")] = "0",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a budget for one data set. It can be spent, and neither raised nor given back.

    Its first release fixes whose labels it is for, by a digest of the row identifiers.
    """
    from askance.cli.output import print_json, say
    from askance.mechanisms.ledger import Ledger

    made = Ledger.create(path, epsilon, delta, data_set=data_set)
    if as_json:
        print_json(made.to_dict())
    if not quiet:
        say(f"made {made!r}")


@ledger.command("show")
def show(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger.")],
    as_json: Json = False,
) -> None:
    """Print what was spent, on what, and what is left."""
    from askance.cli.output import console, print_json
    from askance.mechanisms.ledger import Ledger

    book = Ledger(path)
    if as_json:
        print_json(book.to_dict())
        return
    out = console().print
    out(f"{book.data_set}: {book.remaining} left of {book.budget}", style="bold", markup=False)
    for entry in book.entries:
        delta = "" if entry.delta == "0" else f", delta {entry.delta}"
        came = "no release: spent all the same" if entry.release is None else f"sha256 {entry.release[:16]}"
        out(f"{entry.number:>4}  {entry.time}  epsilon {entry.epsilon}{delta}  {entry.what}  {came}", markup=False)
