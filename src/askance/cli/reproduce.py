"""``askance reproduce``: any figure of the papers, with the published claim beside our numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askance.cli.options import Json, Quiet, Seed, out_option

if TYPE_CHECKING:
    from rich.console import Console

    from askance.papers.findings import Finding, Outcome
    from askance.papers.registry import Entry


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Figures (linear-moments/figure-3), papers (linear-moments) or 'all'.", show_default=False),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Simulate less: seconds instead of a minute.")] = False,
    seed: Seed = 0,
    out: Annotated[Path, out_option("Folder for plots, their data and the findings.")] = Path("askance-reproduce"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce figures of the papers by formula and by simulation; without names, list them.

    Exits with 1 if a number disagrees with what was published or with our own formula.
    """
    from askance.cli.output import console, print_json, spinner
    from askance.papers.registry import entries, run_entry, select

    if not names:
        listed = list(entries().values())
        if as_json:
            print_json({"entries": [entry.to_json() for entry in listed]})
        else:
            _print_list(console(), listed)
        return
    accounts, agrees = [], True
    for entry in select(names):
        with spinner(f"{entry.name}: {entry.title}", quiet=quiet):
            outcome = run_entry(entry, out, seed, quick)
        agrees = agrees and outcome.agrees
        if as_json:
            accounts.append(entry.to_json() | {"seed": seed, "quick": quick} | outcome.to_json())
        else:
            _print_outcome(console(), entry, outcome)
    if as_json:
        print_json({"agrees": agrees, "entries": accounts})
    if not agrees:
        raise typer.Exit(1)


def _print_list(console: "Console", listed: "list[Entry]") -> None:
    from rich.table import Table

    table = Table(title="Figures that can be reproduced", title_justify="left", show_lines=True)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it shows, and what the paper claims")
    for entry in listed:
        table.add_row(entry.name, f"{entry.title}\n[dim]{_plain(entry.claim)}\n{_plain(entry.reference)}[/dim]")
    console.print(table)
    console.print("Run one with: askance reproduce NAME, all with: askance reproduce all", highlight=False)


def _print_outcome(console: "Console", entry: "Entry", outcome: "Outcome") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    console.print(f"[bold]{entry.name}[/bold]  {_plain(entry.title)}", highlight=False)
    console.print(f"[dim]{_plain(entry.paper)}\nClaim: {_plain(entry.claim)}[/dim]", highlight=False)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    table.add_column("quantity")
    table.add_column("published", max_width=13)
    table.add_column("our formula", justify="right", no_wrap=True)
    table.add_column("simulated, numeric", justify="right", no_wrap=True)
    table.add_column("agrees", max_width=24)
    for finding in outcome.findings:
        verdict = "[green]yes[/green]" if finding.agrees else f"[bold red]NO[/bold red]: {_plain(finding.criterion)}"
        table.add_row(
            _plain(finding.quantity), _number(finding.published), _number(finding.formula), _simulated(finding), verdict
        )
    console.print(table)
    if outcome.note:
        console.print(f"[dim]{_plain(outcome.note)}[/dim]", highlight=False)
    for path in (*outcome.plots, *outcome.data):
        console.print(f"wrote {_plain(str(path))}", highlight=False, soft_wrap=True)
    console.print()


def _number(value: float | str | None) -> str:
    if value is None:
        return ""
    return _plain(value) if isinstance(value, str) else f"{value:.4g}"


def _simulated(finding: "Finding") -> str:
    error = "" if finding.standard_error is None else f" ± {finding.standard_error:.1g}"
    return _number(finding.simulation) + error


def _plain(text: str) -> str:
    """Keep rich from reading [LM] or [5, -1] as its own mark-up."""
    from rich.markup import escape

    return escape(text)
