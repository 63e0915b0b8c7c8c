"""``askance fit`` for reports: open them, see what was asked, fit, and say how to go on."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from askance.printing import shell_command

if TYPE_CHECKING:
    from askance.releases.declarations import Covariate
    from askance.workflows.fit_request import FitRequest
    from askance.workflows.fit_result import FitResult
    from askance.workflows.report_files import OpenReports

_SUGGESTED = 4  # covariates in an example of a formula, which should fit on a line


def fit_reports(
    context: typer.Context, data: str, study: Path | None, request: "FitRequest", engine: str, command: str, quiet: bool
) -> "tuple[FitResult, str]":
    """Fit to reports; return a hint how to go on, too."""
    from askance.cli.fit_kinds import check_options, kind_of_question
    from askance.engines.base import running
    from askance.engines.local.engine import LocalEngine
    from askance.releases.study import Study
    from askance.workflows.analysis import analyse_reports
    from askance.workflows.report_files import open_reports

    written = None if study is None else Study.read(study)
    opened = open_reports(data, written, request)
    kind = kind_of_question(opened.asked)
    check_options(context, (kind,), opened.asked.name)
    with running(LocalEngine(progress=not quiet) if engine == "local" else engine) as where:
        done = analyse_reports(opened, where, command)
    if opened.asked.hides_sequences:
        save = context.params["save"]
        return done, kind.use.format(model=shell_command(save)) if save else ""
    return done, "" if request.formula or opened.asked.hides_features else _how_to_add_a_formula(
        opened, (opened.release.header if written is None else written).covariates
    )


def _how_to_add_a_formula(opened: "OpenReports", covariates: Sequence["Covariate"]) -> str:
    from askance.learning.face.formula import in_formula

    asked, request = opened.asked, opened.request
    if not all(map(_can_be_written, asked.sources)):
        return ""
    # What says how people were asked or drawn explains no answers.
    passed_over = {asked.design_column, request.weight, request.strata, request.cluster, request.fpc}
    passed_over |= set(request.replicate_weights or ())
    useful = [one for one in covariates if _can_be_written(one.name) and one.name not in passed_over]
    useful = [one for one in useful if one.type != "words"]  # texts are for taggers
    names = [in_formula(c.name) if c.type == "number" else f"C({in_formula(c.name)})" for c in useful]
    if len(asked.sources) > 1:
        *features, outcome = map(in_formula, asked.sources)
        model = f"{outcome} ~ {' + '.join(features[:_SUGGESTED])}"
        return f"Another model? Name hidden columns: {shell_command('--formula', model)}"
    if not names:
        kind = "This is the mean" if asked.hides_numbers else "These are proportions"
        return f"{kind} only. With covariates in the study, --formula adds a regression."
    wanted = "Another model?" if asked.hides_numbers else "Who are they? Add a regression:"
    model = f"{in_formula(asked.name)} ~ {' + '.join(names[:_SUGGESTED])}"
    return f"{wanted} {shell_command('--formula', model)}"


def _can_be_written(name: str) -> bool:
    """Whether a formula can name a column: its own quotes and line breaks have no spelling there."""
    return "`" not in name and "\n" not in name
