"""``askance predict``: what a saved model says about new rows."""

from pathlib import Path
from typing import Annotated

import typer

from askance.cli.options import Json, Overwrite, Quiet, check_targets, out_option


def predict(
    model: Annotated[Path, typer.Argument(help="A classifier or regression that askance fit --save wrote.")],
    rows: Annotated[
        Path, typer.Argument(help="New rows: a CSV or Parquet file with the features that the model learned from.")
    ],
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The column that names the rows, to keep their names.")
    ] = None,
    out: Annotated[Path | None, out_option("Write to this file (CSV) in place of standard output.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the class of new rows, with probabilities; or the number that a regression explains."""
    from askance.cli.output import print_json, say, write_csv, write_data
    from askance.files.kinds import PREDICTIONS
    from askance.workflows.prediction import predict_rows

    check_targets([(out, PREDICTIONS)], overwrite=overwrite, inputs=[model, rows])
    predictions = predict_rows(model, rows, id_column)
    if out is not None:
        write_csv(out, predictions.to_csv(), PREDICTIONS)
    if as_json:
        print_json({"rows": predictions.records(), "written": [] if out is None else [str(out)]})
    elif out is None:
        write_data(predictions.to_csv())
    if out is not None and not quiet:
        say(f"wrote {out}")
