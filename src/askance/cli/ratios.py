"""``askance ratios``: the class ratios of new groups, learned from groups of which only the proportions are known."""

import contextlib
from pathlib import Path
from typing import Annotated, Literal

import typer

from askance.cli.options import (
    BAGS_PANEL,
    Bag,
    BagColumns,
    Json,
    Level,
    Overwrite,
    Proportions,
    Quiet,
    Report,
    Save,
    Seed,
    between_commas,
    check_targets,
    given_options,
    out_option,
    plot_option,
    repeated_command,
)
from askance.cli.standard_input import as_written

_OF_TRAINING = ("bags", "proportions", "bag", "columns", "method", "seed")


def ratios(
    context: typer.Context,
    new: Annotated[Path, typer.Argument(help="Rows of the new groups: a CSV or Parquet file of features.")],
    bags: Annotated[
        Path | None,
        typer.Option(
            help="Rows to learn from: the same features, and a column that names each row's bag.",
            rich_help_panel=BAGS_PANEL,
        ),
    ] = None,
    proportions: Proportions = None,
    bag: Bag = "bag",
    columns: BagColumns = None,
    model: Annotated[
        Path | None, typer.Option(help="A model that --save wrote, in place of --bags and --proportions.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that names the new groups, if there are several.")
    ] = None,
    method: Annotated[
        Literal["bag-classifier", "mmd"], typer.Option(help="How the classes are told apart.")
    ] = "bag-classifier",
    target: Annotated[
        Literal["group", "population"],
        typer.Option(help="Whether intervals are about these very rows or the population they were drawn from."),
    ] = "group",
    level: Level = 0.95,
    seed: Seed = 0,
    out: Annotated[Path | None, out_option("Write the table (CSV).")] = None,
    plot: Annotated[Path | None, plot_option("Write a plot of the intervals (.png, .svg or .pdf).")] = None,
    save: Save = None,
    report: Report = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Estimate the shares of the classes in new groups, with intervals.

    Learned from bags of rows of which only the proportions of the classes are known, exactly or with the noise of a
    release. The mix of a new group may be any; how the rows of a class look must be as in the bags, and a group that
    is no mixture of the classes is pointed out.
    """
    from askance.cli.output import print_json, progress_bar, show_lines, tell_end, write_csv
    from askance.errors import InvalidInput
    from askance.files.kinds import MODEL, PICTURES, PNG, RATIOS, REPORT
    from askance.files.targets import write_figure
    from askance.learning.face.saving import used_model
    from askance.learning.ratios.ratio_report import ratio_plot
    from askance.reports.html import write_report
    from askance.workflows.origin import with_origin
    from askance.workflows.ratios import estimate_ratios, learn_ratios, load_ratios, ratio_report
    from askance.workflows.remarks import collected_remarks

    picture = PNG if plot is None else PICTURES[plot.suffix.lower()]
    targets = [(out, RATIOS), (plot, picture), (report, REPORT), (save, MODEL)]
    check_targets(targets, overwrite=overwrite, inputs=[new, bags, proportions, model])
    given = given_options(context)
    with collected_remarks() as remarks:
        if model is not None:
            if useless := [given[name] for name in _OF_TRAINING if name in given]:
                raise InvalidInput(
                    f"{', '.join(useless)} beside --model", "one of them: the saved model is fitted already"
                )
            fitted = load_ratios(model, target if "target" in given else None)
        elif bags is None or proportions is None:
            raise InvalidInput("no --bags or no --proportions", "both of them, or --model with a saved model")
        else:
            names = between_commas(columns, "--columns")
            with progress_bar("step 1 of 2: learning from the bags", quiet=quiet) as progress:
                fitted = learn_ratios(
                    bags, proportions, bag, names, method=method, target=target, level=level, seed=seed,
                    progress=progress,
                )  # fmt: skip
        used = contextlib.nullcontext() if model is None else used_model(model)
        with used, progress_bar("step 2 of 2: estimating the shares of the new groups", quiet=quiet) as progress:
            table = estimate_ratios(fitted, new, group, level, progress)
            diagnosis = str(fitted.diagnose())
    if out is not None:
        write_csv(out, table.to_csv(), RATIOS)
    if plot is not None:
        write_figure(plot, ratio_plot(table))
    if report is not None:
        made, read = ratio_report(fitted, table, repeated_command(context)), (new, bags, proportions, model)
        inputs = [(as_written(each), each) for each in read if each is not None]
        write_report(report, with_origin(made, inputs), overwrite=True)
    if save is not None:
        fitted.save(save)
    written = [str(path) for path, _ in targets if path is not None]
    if as_json:
        print_json(
            {
                "groups": table.records(),
                "level": level,
                "intervals_for": fitted.target,
                "shifted": list(table.shifted),
                "diagnosis": diagnosis,
                "remarks": remarks,
                "written": written,
            }
        )
    else:
        show_lines(f"{table}\n\n{diagnosis}")
    tell_end(remarks, written, quiet=quiet)
