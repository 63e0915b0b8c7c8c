"""``askance ratios``: the class ratios of new groups, learned from groups of which only the proportions are known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from askance.cli.fit_options import was_given

if TYPE_CHECKING:
    from askance.learning.ratios.ratio_estimator import RatioEstimator

_FORMATS = (".png", ".svg", ".pdf")
_OF_TRAINING = ("bags", "proportions", "bag", "columns", "method", "seed")


def ratios(
    context: typer.Context,
    new: Annotated[Path, typer.Argument(help="Rows of the new groups: a CSV or Parquet file of features.")],
    bags: Annotated[
        Path | None, typer.Option(help="Rows to learn from: the same features, and a column that names each row's bag.")
    ] = None,
    proportions: Annotated[
        Path | None,
        typer.Option(
            help="What is known of the bags: a CSV or Parquet file with the bag and a column of shares for each class, "
            "or counts that askance release counts wrote (JSON)."
        ),
    ] = None,
    bag: Annotated[str, typer.Option(metavar="COLUMN", help="The column of bags, in both files.")] = "bag",
    model: Annotated[
        Path | None, typer.Option(help="A model that --save wrote, in place of --bags and --proportions.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that names the new groups, if there are several.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="The features to use, between commas; all columns of --bags if not given.")
    ] = None,
    method: Annotated[
        Literal["bag-classifier", "mmd"], typer.Option(help="How the classes are told apart.")
    ] = "bag-classifier",
    target: Annotated[
        Literal["group", "population"],
        typer.Option(help="Whether intervals are about these very rows or the population they were drawn from."),
    ] = "group",
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of random features and cross-fitting.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Write the table (CSV).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a plot of the intervals (.png, .svg or .pdf).")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the fitted model (JSON).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no remarks.")] = False,
) -> None:
    """Estimate the shares of the classes in new groups, with intervals.

    Learned from bags of rows of which only the proportions of the classes are known, exactly or with the noise of a
    release. The mix of a new group may be any; how the rows of a class look must be as in the bags, and a group that
    is no mixture of the classes is pointed out.
    """
    import pandas as pd

    from askance.cli.output import print_json, say, warn
    from askance.cli.remarks import noted
    from askance.errors import InvalidInput
    from askance.files.targets import check_target, write_text
    from askance.learning.ratios.ratio_report import RatioTable, ratio_plot, save_plot
    from askance.tables.groups import GroupedRows

    inputs = [path for path in (new, bags, proportions, model) if path is not None]
    for target_file in (out, plot, save):
        if target_file is not None:
            check_target(target_file, overwrite=overwrite, inputs=tuple(inputs))
            inputs.append(target_file)
    if plot is not None and plot.suffix.lower() not in _FORMATS:
        raise InvalidInput(f"--plot {plot}", f"a name that ends with one of {', '.join(_FORMATS)}")
    with noted() as notes:
        if model is not None:
            _refuse_training_options(context)
            fitted = _loaded(model)
            if was_given(context, "target"):
                fitted.set_params(target=target)
        else:
            if bags is None or proportions is None:
                raise InvalidInput("no --bags or no --proportions", "both of them, or --model with a saved model")
            chosen = None if columns is None else [part.strip() for part in columns.split(",") if part.strip()]
            if chosen == []:
                raise InvalidInput(f"--columns {columns!r}", "the names of features, between commas")
            fitted = _fitted(bags, proportions, bag, chosen, method, target, level, seed)
        rows = GroupedRows.read(new, group, _feature_names(fitted))
        table = RatioTable.of(fitted, pd.DataFrame(rows.values, columns=list(rows.columns)), rows.groups, level)
    written = [path for path in (out, plot, save) if path is not None]
    if out is not None:
        write_text(out, table.to_csv())
    if plot is not None:
        save_plot(ratio_plot(table), plot)
    if save is not None:
        write_text(save, fitted.to_json())
    if as_json:
        print_json(
            {
                "groups": table.records(),
                "level": level,
                "intervals_for": fitted.target,
                "shifted": list(table.shifted),
                "diagnosis": str(fitted.diagnose()),
                "remarks": notes,
                "written": [*map(str, written)],
            }
        )
    else:
        typer.echo(str(table))
        typer.echo(f"\n{fitted.diagnose()}")
    if not quiet:
        for note in notes:
            warn(note)
        for path in written:
            say(f"wrote {path}")


def _fitted(
    bags: Path,
    proportions: Path,
    bag: str,
    columns: list[str] | None,
    method: str,
    target: str,
    level: float,
    seed: int,
) -> "RatioEstimator":
    import pandas as pd

    from askance.learning.ratios.ratio_estimator import RatioEstimator
    from askance.tables.groups import GroupedRows

    told, classes = _proportions(proportions, bag)
    rows = GroupedRows.read(bags, bag, columns)
    frame = pd.DataFrame(rows.values, columns=list(rows.columns))
    estimator = RatioEstimator(method, classes=classes, target=target, level=level, random_state=seed)
    return estimator.fit(frame, rows.groups, told)


def _proportions(path: Path, bag: str) -> tuple[Any, Any]:
    """Return what is told of the bags, by the text of their names; and the classes, where they are not told with it."""
    from dataclasses import replace

    from askance.releases.counts_release import CountsRelease
    from askance.tables.groups import GroupTable

    if path.suffix.lower() == ".json":
        counts = CountsRelease.read(path)
        return replace(counts, bags=tuple(map(str, counts.bags))), None
    table = GroupTable.read(path, bag)
    return table.by_group(), table.classes


def _loaded(path: Path) -> "RatioEstimator":
    from askance.errors import InvalidInput
    from askance.learning.face.saving import load_model
    from askance.learning.ratios.ratio_estimator import RatioEstimator

    loaded = load_model(path)
    if not isinstance(loaded, RatioEstimator):
        raise InvalidInput(
            f"{path} holds a {type(loaded).__name__}", "a RatioEstimator, which askance ratios --save wrote"
        )
    return loaded


def _feature_names(fitted: "RatioEstimator") -> list[str] | None:
    names = getattr(fitted, "feature_names_in_", None)
    return None if names is None else [*map(str, names)]


def _refuse_training_options(context: typer.Context) -> None:
    from askance.errors import InvalidInput

    useless = [f"--{name}" for name in _OF_TRAINING if was_given(context, name)]
    if useless:
        raise InvalidInput(f"{', '.join(useless)} beside --model", "one of them: the saved model is fitted already")
