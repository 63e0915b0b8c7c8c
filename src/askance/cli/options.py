"""Options that several commands share: each is declared once, and means the same everywhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, overload

import typer

if TYPE_CHECKING:
    from askance.files.kinds import FileKind

# Other spellings that are understood, and not shown: early versions had them.
OTHER_SPELLINGS = {"output": "out"}

# Headings in the help.
_OUTPUT, BAGS_PANEL = "Output", "Bags to learn from"
_PLOTS = (".png", ".svg", ".pdf")

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=_OUTPUT)]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace earlier files of the same kind.", rich_help_panel=_OUTPUT)
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress and no remarks.", rich_help_panel=_OUTPUT)]
Report = Annotated[
    Path | None, typer.Option("--report", help="Write a report (one HTML file).", rich_help_panel=_OUTPUT)
]
Engine = Annotated[
    str, typer.Option("--engine", help="Where it runs: local, dask, spark, or dask:ADDRESS, spark:MASTER.")
]
Save = Annotated[Path | None, typer.Option("--save", help="Write the fitted model (JSON).", rich_help_panel=_OUTPUT)]
Proportions = Annotated[
    Path | None,
    typer.Option(
        "--proportions",
        help="What is known of the bags: a CSV or Parquet file with the bag and a column of shares for each class, "
        "or counts that askance release counts wrote (JSON).",
        rich_help_panel=BAGS_PANEL,
    ),
]
Bag = Annotated[
    str,
    typer.Option("--bag", metavar="COLUMN", help="The column of bags, in both files.", rich_help_panel=BAGS_PANEL),
]
_COLUMNS = "The features to use, between commas; all columns if not given."
Columns = Annotated[str | None, typer.Option("--columns", help=_COLUMNS)]
BagColumns = Annotated[str | None, typer.Option("--columns", help=_COLUMNS, rich_help_panel=BAGS_PANEL)]
Epsilon = Annotated[str, typer.Option("--epsilon", metavar="NUMBER", help="The level of privacy of one label.")]
SumMechanism = Annotated[
    Literal["auto", "laplace", "knorm", "gaussian", "response"],
    typer.Option("--mechanism", help="How the labels are hidden; auto takes the one of least error."),
]
CountMechanism = Annotated[
    Literal[
        "auto", "discrete-laplace", "truncated-laplace", "discrete-gaussian", "laplace", "gaussian", "laplace-prior",
        "dirichlet",
    ],
    typer.Option("--mechanism", help="How the counts are hidden; auto takes the one that distorts least."),
]  # fmt: skip
Intercept = Annotated[bool, typer.Option("--intercept/--no-intercept", help="Release the mean label too.")]
FeatureShape = Annotated[
    Literal["auto", "none"],
    typer.Option("--shape", help="Whether features are scaled, turned and shortened first, or taken as they are."),
]
Anyway = Annotated[bool, typer.Option("--anyway", help="Release although a model from it would be near guessing.")]
SignKey = Annotated[
    Path | None,
    typer.Option("--sign", metavar="KEY", help="Sign the release with this private key (PEM, Ed25519): see verify."),
]
LedgerFile = Annotated[Path, typer.Option("--ledger", help="The budget that is spent: see askance ledger create.")]

_SEED = typer.Option("--seed", min=0, help="Of everything that is drawn at random: the same seed, the same result.")
Seed = Annotated[int, _SEED]
OptionalSeed = Annotated[int | None, _SEED]


def _checked_level(level: float) -> float:
    from askance.reports import checked_confidence

    return checked_confidence(level, "--level ")


Level = Annotated[float, typer.Option("--level", callback=_checked_level, help="Confidence level of the intervals.")]


def out_option(what: str) -> Any:
    """Return the option that says where the result is written."""
    return typer.Option("--out", help=what, rich_help_panel=_OUTPUT)


def plot_option(what: str) -> Any:
    """Return the option that says where a plot is written."""
    return typer.Option("--plot", help=what, callback=_checked_plot, rich_help_panel=_OUTPUT)


def _checked_plot(plot: Path | None) -> Path | None:
    from askance.errors import InvalidInput

    if plot is not None and plot.suffix.lower() not in _PLOTS:
        raise InvalidInput(f"--plot {plot}", f"a name that ends with one of {', '.join(_PLOTS)}")
    return plot


def canonical_name(name: str) -> str:
    """Return how an option is spelled today."""
    return OTHER_SPELLINGS.get(name, name)


def given_options(context: typer.Context) -> dict[str, str]:
    """Return the options that somebody wrote, by parameter, as they are spelled."""
    return {
        str(parameter.name): parameter.opts[0]
        for parameter in context.command.params
        if parameter.opts[0].startswith("-") and was_given(context, str(parameter.name))
    }


def was_given(context: typer.Context, name: str) -> bool:
    """Whether somebody wrote the option, or it has its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def repeated_command(context: typer.Context) -> str:
    """Return the command that makes a report again: as it was written, without what says how this run is told."""
    from askance.cli.standard_input import as_written
    from askance.printing import shell_command

    words: list[str] = ["askance", str(context.info_name)]
    words += [as_written(context.params[str(one.name)]) for one in context.command.params if one.opts[0][0] != "-"]
    for name, option in given_options(context).items():
        if name not in ("save", "overwrite", "as_json", "quiet"):
            given = context.params[name]
            for value in given if isinstance(given, list | tuple) else [given]:
                words += [option, as_written(value)]
    return shell_command(*words)


@overload
def between_commas(text: str, option: str) -> list[str]: ...
@overload
def between_commas(text: str | None, option: str) -> list[str] | None: ...
def between_commas(text: str | None, option: str) -> list[str] | None:
    """Read names between commas; None where the option was not given."""
    from askance.errors import InvalidInput

    if text is None:
        return None
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise InvalidInput(f"{option} {text!r}", "names between commas")
    return names


@overload
def listed_numbers(text: str, option: str) -> tuple[float, ...]: ...
@overload
def listed_numbers(text: str | None, option: str) -> tuple[float, ...] | None: ...
def listed_numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    """Read numbers between commas, fractions too; None where the option was not given."""
    from fractions import Fraction

    from askance.errors import InvalidInput

    if text is None:
        return None
    try:
        return tuple(float(Fraction(part.strip())) for part in text.split(","))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise InvalidInput(f"{option} {text}", "numbers between commas, such as 0.1 or 1/6") from None


def check_targets(
    targets: "Sequence[tuple[Path | None, FileKind]]", *, overwrite: bool, inputs: "list[Path | None]"
) -> None:
    """Refuse files that are there already or hold something else, or would be written over each other or the inputs."""
    from askance.files.targets import check_target

    taken = [path for path in inputs if path is not None]
    for target, kind in targets:
        if target is not None:
            check_target(target, kind, overwrite=overwrite, inputs=tuple(taken))
            taken.append(target)
