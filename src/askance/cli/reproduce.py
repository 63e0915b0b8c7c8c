"""``askance reproduce``: any figure of the papers, with the published claim beside our numbers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askance.cli.options import Json, Quiet, Seed, out_option
from askance.printing import one_line

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

    Two verdicts for each finding: whether the published statement holds, and whether our own check passes. Exits with 1
    if a check does not pass.
    """
    from askance.cli.output import console, print_json, progress_bar
    from askance.papers.registry import entries, run_entry, select

    if not names:
        listed = list(entries().values())
        if as_json:
            print_json({"entries": [entry.to_json() for entry in listed]})
        else:
            _print_list(console(), listed)
        return
    accounts, passes, chosen = [], True, list(select(names))
    for number, entry in enumerate(chosen, 1):
        which = f"{number} of {len(chosen)}: {entry.name}" if len(chosen) > 1 else entry.name
        with progress_bar(which, quiet=quiet) as progress:
            outcome = run_entry(entry, out, seed, quick, progress)
        passes = passes and outcome.passes
        if as_json:
            accounts.append(entry.to_json() | {"seed": seed, "quick": quick} | outcome.to_json())
        else:
            _print_outcome(console(), entry, outcome)
    if as_json:
        print_json({"passes": passes, "entries": accounts})
    if not passes:
        raise typer.Exit(1)


_STYLES = {"holds": "green", "does not hold": "yellow", "not stated": "dim"}


def _print_list(console: "Console", listed: "list[Entry]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Figures that can be reproduced", title_justify="left", show_lines=True)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("what it shows, and what the paper claims")
    for entry in listed:
        table.add_row(entry.name, Text.assemble(f"{entry.title}\n", (f"{entry.claim}\n{entry.reference}", "dim")))
    console.print(table)
    console.print("Run one with: askance reproduce NAME, all with: askance reproduce all")


def _print_outcome(console: "Console", entry: "Entry", outcome: "Outcome") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    console.print(Text.assemble((entry.name, "bold"), f"  {entry.title}"))
    console.print(f"{entry.paper}\nClaim: {entry.claim}", style="dim")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    table.add_column("quantity")
    table.add_column("published", max_width=13)
    table.add_column("our formula", justify="right", no_wrap=True)
    table.add_column("simulated, numeric", justify="right", no_wrap=True)
    table.add_column("the paper", max_width=13)
    table.add_column("our check", max_width=24)
    for finding in outcome.findings:
        no = Text.assemble(("FAILS", "bold red"), f": {finding.criterion}")
        verdict = Text("passes", "green") if finding.passes else no
        statement = Text(str(finding.statement), _STYLES[finding.statement])
        ours = (_number(finding.formula), _simulated(finding))
        table.add_row(finding.quantity, _number(finding.published), *ours, statement, verdict)
    console.print(table)
    counts = ", ".join(f"{many} {kind}" for kind, many in outcome.statements.items() if many)
    console.print(f"Published statements: {counts}.", style="dim")
    if outcome.note:
        console.print(outcome.note, style="dim")
    for path in (*outcome.plots, *outcome.data):
        console.print(one_line(f"wrote {path}"), soft_wrap=True)
    console.print()


def _number(value: float | str | None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:.4g}"


def _simulated(finding: "Finding") -> str:
    error = "" if finding.standard_error is None else f" ± {finding.standard_error:.1g}"
    return _number(finding.simulation) + error
