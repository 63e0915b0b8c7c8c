"""``askance simulate``: made-up answers to a study, to try every other command with."""

from pathlib import Path
from typing import Annotated

import typer

from askance.cli.options import Json, OptionalSeed, Overwrite, Quiet, out_option


def simulate(
    study: Annotated[Path, typer.Argument(help="The study file (TOML).")],
    rows: Annotated[int, typer.Option("--rows", min=1, max=10_000_000, help="How many people to make up.")] = 1000,
    reports: Annotated[
        bool,
        typer.Option("--reports", help="Reports instead of true answers, as they come back from the field."),
    ] = False,
    seed: OptionalSeed = None,
    out: Annotated[Path | None, out_option("The table to write (CSV). Printed if not given.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make up people who answer a study, to try everything before anybody is asked.

    A column for each question and covariate; the last choice is the sensitive one, and depends on the covariates. What
    was put in is said, to compare estimates with. A column made_up says whether a row holds made-up answers or made-up
    reports, so that neither are taken for the other; no release ever holds it.

    Then: askance privatize study.toml made-up.csv --out trial.parquet; with --reports: askance fit made-up.csv --study
    study.toml.
    """
    import numpy as np

    from askance.cli.options import check_targets
    from askance.cli.output import print_json, say, write_csv, write_data
    from askance.files.kinds import MADE_UP
    from askance.releases.study import Study
    from askance.tables.csv_writing import csv_text
    from askance.workflows.made_up import simulate_study

    check_targets([(out, MADE_UP)], overwrite=overwrite, inputs=[study])
    made = simulate_study(Study.read(study), rows, np.random.default_rng(seed), reports=reports)
    text = csv_text(made.table)
    if out is not None:
        write_csv(out, text, MADE_UP)
    if as_json:
        account = {"rows": rows, "seed": seed, "columns": made.table.column_names, "truth": dict(made.facts)}
        print_json(account | {"out": None if out is None else str(out)})
    elif out is None:
        write_data(text)
    if quiet:
        return
    for name, words in made.facts:
        say(f"{name}: {words}")
    say(f"Made up by chance{'' if seed is None else f' (seed {seed})'}: nobody said any of it.")
    if out is not None:
        say(f"wrote {out}")
