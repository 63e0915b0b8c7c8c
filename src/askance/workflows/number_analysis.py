"""From a release of hidden numbers to a report: a line, or a mean, with its errors."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import askance
from askance.channels.guarantee import Guarantee
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.engines.base import Engine
from askance.errors import AskanceWarning, InvalidInput
from askance.learning.face.formula import Formula, in_formula
from askance.learning.numbers.indirect_regressor import IndirectRegressor
from askance.releases.header import Question
from askance.releases.release import Release
from askance.reports.number_report import NumberFacts, NumberReport
from askance.reports.report import Comparison
from askance.workflows.hidden_covariates import notes_on_hidden_covariates


@dataclass(frozen=True, eq=False)
class NumberAnalysis:
    """A report, and the fitted model behind it."""

    report: NumberReport
    model: IndirectRegressor


def analyse_numbers(
    release: Release,
    *,
    question: str | None = None,
    formula: str | None = None,
    ridge: str | float = "auto",
    level: float = 0.95,
    weight: str | None = None,
    engine: str | Engine = "local",
    whole_person: Guarantee | None = None,
    command: str = "",
) -> NumberAnalysis:
    """Fit a line to hidden rows, or to a hidden number and public covariates.

    Parameters
    ----------
    release : Release
    question : str, optional
        Which question, if there are several and no formula names one.
    formula : str, optional
        Such as ``"value ~ income + age"``. Without one, a hidden row's outcome is explained by its other columns, and a
        hidden number by all covariates that are numbers; if there are none, its mean is estimated.
    ridge : "auto" or float
        As for :class:`~askance.IndirectRegressor`.
    level : float
        Confidence level.
    weight : str, optional
        A column of sample weights.
    engine : "local" or an engine
    whole_person : Guarantee, optional
        The privacy of all answers of one person, if the release holds only some of them.
    command : str
        What makes the report again.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import Study
    >>> from askance.releases.privatizing import privatize_table
    >>> from askance.workflows.number_analysis import analyse_numbers
    >>> study = Study.parse('''
    ... [questions.income]
    ... bounds = [0, 10]
    ... channel = { design = "private-number", epsilon = 2.0 }
    ... ''')
    >>> release = privatize_table(study, {"income": np.full(20_000, 3.0)})
    >>> report = analyse_numbers(release).report
    >>> report.formula, bool(abs(report.regression.askance["estimate"]["Intercept"] - 3) < 0.5)
    ('income ~ 1', True)
    """
    asked = release.header.question_about(question, None if formula is None else Formula(formula).left)
    channel = asked.channel
    if not isinstance(channel, PrivateNumber | PrivateRow):
        raise InvalidInput(f"the question {asked.name!r}, which has choices", "a question that hides numbers")
    features: Sequence[str] | None = None
    attenuated: tuple[str, ...] = ()
    if formula is None and isinstance(channel, PrivateNumber):
        features = [c.name for c in release.header.covariates if c.type == "number" and c.name != weight]
    elif formula is not None and isinstance(channel, PrivateNumber):
        attenuated = notes_on_hidden_covariates(release, asked, formula)
    terms = ["1"] if formula is None else [str(term) for term in Formula(formula).right]
    if not terms:
        raise InvalidInput(f"the formula {formula!r}", "columns or an intercept right of ~")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)  # the report carries them as notes
        model = IndirectRegressor(ridge=ridge, fit_intercept="1" in terms).fit_release(
            release, engine, question=asked.name, formula=formula, features=features, weight=weight
        )
    report = NumberReport(
        study=release.header.study,
        title=release.header.title,
        question=asked.name,
        text=asked.text,
        guarantee=asked.guarantee,
        whole_person=whole_person or release.header.guarantee,
        notes=(*model.notes_, *attenuated),
        command=command,
        version=askance.__version__,
        sentence=channel.describe(),
        columns=_columns(asked),
        outcome=model.outcome_,
        formula=formula or _written(model.outcome_, model.parameter_names_[1:]),
        regression=Comparison(model.summary(level), None),
        diagnostics=NumberFacts(
            reports=model.n_reports_,
            weight_column=weight,
            r_squared=float(model.r_squared_) if len(model.coef_) else None,
            intercept=model.fit_intercept,
            ridge=float(model.ridge_),
            projected=bool(model.projected_),
        ),
    )
    return NumberAnalysis(report, model)


def _written(outcome: str, features: Sequence[str]) -> str:
    return f"{in_formula(outcome)} ~ {' + '.join(map(in_formula, features)) or '1'}"


def _columns(asked: Question) -> dict[str, tuple[float, float]]:
    channel = asked.channel
    if isinstance(channel, PrivateRow):
        bounds = channel.bounds
        return {n: (low, high) for n, low, high in zip(bounds.names, bounds.lower, bounds.upper, strict=True)}
    return {asked.name: channel.range} if isinstance(channel, PrivateNumber) else {}
