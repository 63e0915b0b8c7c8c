"""``askance crosstab``: ecological inference, from totals of units to a cross-table with intervals."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from askance.cli.options import (
    Json,
    Level,
    Overwrite,
    Quiet,
    Report,
    Save,
    Seed,
    check_targets,
    out_option,
    plot_option,
    repeated_command,
)
from askance.cli.standard_input import as_written


def crosstab(
    context: typer.Context,
    rows: Annotated[
        Path, typer.Argument(help="A CSV or Parquet file: a row for each unit, a column of counts for each row.")
    ],
    columns: Annotated[
        Path,
        typer.Argument(
            help="The same units, a column of counts for each column; or counts released with noise (JSON)."
        ),
    ],
    unit: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column that names the unit, in both files.")
    ] = "unit",
    unmatched: Annotated[
        Literal["refuse", "remainder", "scale"],
        typer.Option(help="Where totals differ: refuse, a row or column of their own, or scale rows to columns."),
    ] = "refuse",
    level: Level = 0.95,
    seed: Seed = 0,
    out: Annotated[Path | None, out_option("Write the cross-table with intervals (CSV).")] = None,
    units: Annotated[Path | None, typer.Option("--units", help="Write the cross-table of every unit (CSV).")] = None,
    plot: Annotated[Path | None, plot_option("Write a plot of the cross-table (.png, .svg or .pdf).")] = None,
    save: Save = None,
    report: Report = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ecological inference: who chose what, from totals of many units, with intervals.

    ROWS says how many people of each group are in each unit, COLUMNS how many of the same people chose what: votes of
    two elections by polling station, or groups of people and votes by district. Nobody is followed; units that differ
    tell how the people of each row choose. Units are matched by name.
    """
    from askance.cli.output import print_json, show_lines, tell_end, write_csv
    from askance.files.kinds import CROSSTAB, MODEL, PICTURES, PNG, REPORT, UNIT_TABLES
    from askance.files.targets import write_figure
    from askance.learning.ecology.crosstab_table import crosstab_records, text_table, to_csv
    from askance.reports.html import write_report
    from askance.workflows.crosstab import crosstab_report, fit_crosstab
    from askance.workflows.origin import with_origin
    from askance.workflows.remarks import collected_remarks

    picture = PNG if plot is None else PICTURES[plot.suffix.lower()]
    targets = [(out, CROSSTAB), (units, UNIT_TABLES), (plot, picture), (report, REPORT), (save, MODEL)]
    check_targets(targets, overwrite=overwrite, inputs=[rows, columns])
    with collected_remarks() as remarks:
        model = fit_crosstab(rows, columns, unit, unmatched=unmatched, seed=seed)
    records = crosstab_records(model, level)
    if out is not None:
        write_csv(out, to_csv(records), CROSSTAB)
    if units is not None:
        write_csv(units, to_csv(model.unit_frame().to_dict("records")), UNIT_TABLES)
    if plot is not None:
        write_figure(plot, model.plot().figure)
    if report is not None:
        made = crosstab_report(model, level, repeated_command(context))
        write_report(report, with_origin(made, [(as_written(each), each) for each in (rows, columns)]), overwrite=True)
    if save is not None:
        model.save(save)
    written = [str(path) for path, _ in targets if path is not None]
    if as_json:
        print_json(
            {
                "cells": records,
                "level": level,
                "units": model.n_units_,
                "people": model.n_people_,
                "guarantee": None if model.guarantee_ is None else model.guarantee_.to_dict(),
                "remarks": remarks,
                "written": written,
            }
        )
    else:
        show_lines(f"{text_table(model, level)}\n\nprivacy: {model.privacy_statement_}")
    tell_end(remarks, written, quiet=quiet)
