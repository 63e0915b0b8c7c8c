"""From a release of hidden numbers to a report: a line, or a mean, with its errors."""

import warnings
from collections.abc import Sequence

from askance.engines.base import Engine
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.face.formula import in_formula
from askance.learning.numbers.indirect_regressor import HELD_OUT, IndirectRegressor
from askance.reports.number_report import NumberFacts, NumberReport
from askance.reports.report import Comparison
from askance.workflows.covariate_notes import notes_on_covariates
from askance.workflows.fit_result import FitResult, question_result
from askance.workflows.report_files import OpenReports


def analyse_numbers(opened: OpenReports, engine: str | Engine = "local", command: str = "") -> FitResult:
    """Fit a line to hidden rows, or to a hidden number and public covariates; without any, estimate its mean.

    Parameters
    ----------
    opened : OpenReports
        About a question that hides numbers.
    engine : "local" or an engine
    command : str
        What makes the report again.
    """
    request, release, asked = opened.request, opened.release, opened.asked
    formula, channel = request.formula, asked.channel
    if channel.hides != "numbers":
        raise InvalidInput(f"the question {asked.name!r}, which has choices", "a question that hides numbers")
    features: Sequence[str] | None = None
    notes: tuple[str, ...] = ()
    if channel.sources(asked.name) == (asked.name,):  # one number, beside public covariates
        notes = notes_on_covariates(opened, engine)
        if formula is None:
            features = [c.name for c in release.header.covariates if c.type == "number" and c.name != request.weight]
    terms = ["1"] if formula is None else [str(term) for term in formula.right]
    if not terms:
        raise InvalidInput(f"the formula {str(formula)!r}", "columns or an intercept right of ~")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)  # the report carries them as notes
        model = IndirectRegressor(ridge=request.ridge, fit_intercept="1" in terms).fit_release(
            release, engine, question=asked.name, formula=formula, features=features, weight=request.weight
        )
    summary = model.summary(request.level)
    report = NumberReport(
        **opened.about((*model.notes_, *notes), command),
        sentence=channel.describe(),
        columns=channel.public_bounds(asked.name),
        outcome=model.outcome_,
        formula=_written(model.outcome_, model.parameter_names_[1:]) if formula is None else formula.text,
        regression=Comparison(summary, None),
        diagnostics=NumberFacts(
            reports=model.n_reports_,
            weight_column=request.weight,
            ridge=float(model.ridge_),
            projected=bool(model.projected_),
            r_squared=dict(summary.facts).get(HELD_OUT),
        ),
    )
    return question_result(report, model)


def _written(outcome: str, features: Sequence[str]) -> str:
    return f"{in_formula(outcome)} ~ {' + '.join(map(in_formula, features)) or '1'}"
