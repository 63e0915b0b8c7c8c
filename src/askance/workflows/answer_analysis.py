"""From a release to a report: the estimates, and beside them the analysis that forgets the channel."""

import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

import askance
from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.labels.finite import Identity
from askance.engines.base import Engine, engine_from
from askance.errors import AskanceWarning
from askance.learning.answers.indirect_classifier import IndirectClassifier
from askance.learning.answers.prevalence import Prevalence
from askance.learning.face.formula import Formula
from askance.learning.face.release_records import NumericColumns, checked_columns, records_of
from askance.releases.header import Covariate, Question
from askance.releases.release import Release
from askance.reports.report import Comparison, DesignFacts, Diagnostics, LawCheck, Report
from askance.statistics.frequencies import ReportCounts, ReportFrequencies
from askance.workflows.hidden_covariates import notes_on_hidden_covariates

_STANDARD_ERRORS = {
    "information": "from the observed information",
    "sandwich": "sandwich (robust to a wrong model)",
}


@dataclass(frozen=True, eq=False)
class Analysis:
    """A report, and the fitted model behind its main numbers."""

    report: Report
    model: IndirectClassifier | Prevalence


def analyse(
    release: Release,
    *,
    question: str | None = None,
    formula: str | None = None,
    method: str = "marginal",
    ridge: str | float = "auto",
    covariance: str = "auto",
    level: float = 0.95,
    weight: str | None = None,
    engine: str | Engine = "local",
    whole_person: Guarantee | None = None,
    command: str = "",
) -> Analysis:
    """Estimate proportions, and a regression if there is a formula, with the naive analysis beside both.

    Parameters
    ----------
    release : Release
    question : str, optional
        Which question, if there are several and no formula names one.
    formula : str, optional
        Such as ``"cheated ~ age + C(school)"``.
    method, ridge, covariance
        As for :class:`~askance.IndirectClassifier`.
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
    >>> import pyarrow as pa
    >>> from askance import Release, Warner
    >>> from askance.releases.header import Header, Question
    >>> from askance.workflows.answer_analysis import analyse
    >>> answers = pa.table({"cheated": ["no"] * 600 + ["yes"] * 400})
    >>> release = Release.from_table(answers, Header((Question("cheated", Warner(0.8)),)))
    >>> report = analyse(release).report
    >>> [float(table["estimate"]["yes"].round(4)) for table in (report.prevalence.askance, report.prevalence.naive)]
    [0.3333, 0.4]
    """
    if formula is not None and question is None:
        question = Formula(formula).left
    asked = release.question(question)
    checked_columns(release, [weight] if weight else [])
    attenuated = () if formula is None else notes_on_hidden_covariates(release, asked, formula)
    runs = engine_from(engine)

    def proportions(source: Release) -> Prevalence:
        return Prevalence(method=method).fit_release(source, runs, question=asked.name, weight=weight)

    def regression(source: Release) -> IndirectClassifier:
        return IndirectClassifier(method=method, ridge=ridge, covariance=covariance).fit_release(
            source, runs, question=asked.name, formula=formula, weight=weight
        )

    with warnings.catch_warnings():
        # The report carries them as notes; those of the naive analysis concern nobody.
        warnings.simplefilter("ignore", AskanceWarning)
        naive_release = _taken_as_the_truth(release, asked)
        fitted = proportions(release)
        naive = None if naive_release is None else proportions(naive_release)
        model, naive_model = None, None
        if formula is not None:
            model = regression(release)
            naive_model = None if naive_release is None else regression(naive_release)

    counts = _report_counts(release, asked, weight, runs)
    expected = _expected(asked, counts.weight, fitted.proportions_)
    report = Report(
        study=release.header.study,
        title=release.header.title,
        question=asked.name,
        text=asked.text,
        designs=_designs(asked, counts.weight, expected),
        guarantee=asked.guarantee,
        whole_person=whole_person or release.header.guarantee,
        prevalence=_comparison(fitted, naive, level),
        regression=None if model is None else _comparison(model, naive_model, level),
        formula=formula,
        diagnostics=_diagnostics(fitted, model, weight, None if weight else _check(asked, counts, expected)),
        notes=(*fitted.notes_, *(model.notes_ if model is not None else ()), *attenuated),
        command=command,
        version=askance.__version__,
    )
    return Analysis(report, fitted if model is None else model)


def _taken_as_the_truth(release: Release, asked: Question) -> Release | None:
    """The same rows with reports read as answers, where the two have the same labels."""
    classes = asked.label_channel.classes
    if any(set(design.report_labels) != set(classes) for design in asked.designs.values()):
        return None
    header = release.header
    plain = Question(asked.name, Identity(classes), asked.text)
    questions = tuple(plain if question.name == asked.name else question for question in header.questions)
    bare = replace(header, questions=questions)
    # The design column, which no question needs any more, may still be a covariate.
    loose = [Covariate(name, "category") for name in header.design_columns if name not in bare.schema.names]
    return replace(release, header=replace(bare, covariates=(*header.covariates, *loose)))


def _comparison(fitted: Any, naive: Any, level: float) -> Comparison:
    return Comparison(fitted.summary(level), None if naive is None else naive.summary(level))


def _report_counts(release: Release, asked: Question, weight: str | None, engine: Engine) -> ReportCounts:
    source = records_of(release, asked.name, NumericColumns(()), weight)
    return engine.reduce(ReportFrequencies(asked.label_channel.matrix.shape[0]), source)


def _blocks(asked: Question) -> list[slice]:
    ends = np.cumsum([0, *(len(design.report_labels) for design in asked.designs.values())])
    return [slice(first, last) for first, last in pairwise(ends.tolist())]


def _expected(asked: Question, observed: Floats, proportions: Floats) -> Floats:
    """Report counts under the estimated proportions, with each design's total as it was."""
    law: Floats = asked.label_channel.matrix @ proportions
    totals = [np.full(rows.stop - rows.start, observed[rows].sum()) for rows in _blocks(asked)]
    expected: Floats = law * np.concatenate(totals)
    return expected


def _designs(asked: Question, observed: Floats, expected: Floats) -> tuple[DesignFacts, ...]:
    return tuple(
        DesignFacts(
            name=name,
            sentence=design.describe(),
            reports=tuple(map(str, design.report_labels)),
            classes=tuple(map(str, design.classes)),
            probabilities=tuple(map(tuple, design.matrix.tolist())),
            guarantee=design.guarantee,
            observed=tuple(observed[rows].tolist()),
            fitted=tuple(expected[rows].tolist()),
        )
        for (name, design), rows in zip(asked.designs.items(), _blocks(asked), strict=True)
    )


def _check(asked: Question, counts: ReportCounts, expected: Floats) -> LawCheck | None:
    from scipy.special import gammaincc

    # A report that cannot come under a design says nothing about the fit.
    possible = asked.label_channel.matrix.max(axis=1) > 0
    used = [rows for rows in _blocks(asked) if counts.weight[rows].sum() > 0]
    free = sum(int(possible[rows].sum()) - 1 for rows in used) - (len(asked.label_channel.classes) - 1)
    if free < 1:
        return None
    seen = expected > 0
    statistic = float((((counts.weight - expected)[seen]) ** 2 / expected[seen]).sum())
    return LawCheck(statistic, free, float(gammaincc(free / 2, statistic / 2)))


def _diagnostics(
    fitted: Prevalence, model: IndirectClassifier | None, weight: str | None, check: LawCheck | None
) -> Diagnostics:
    direct = float((fitted.proportions_ * (1 - fitted.proportions_)).sum())
    spread = float(np.trace(fitted.covariance_))
    shares = Diagnostics(
        reports=fitted.n_reports_,
        weight_column=weight,
        worth=direct / spread if direct > 0 and spread > 0 else None,
        check=check,
        method=fitted.method,
    )
    if model is None:
        return shares
    return replace(
        shares,
        converged=bool(model.converged_),
        iterations=int(model.n_iter_),
        ridge=float(model.ridge_),
        condition=_condition(model.covariance_),
        log_likelihood=None if model.log_likelihood_ is None else float(model.log_likelihood_),
        standard_errors=_STANDARD_ERRORS[model.covariance_kind_],
    )


def _condition(covariance: Floats) -> float | None:
    """Condition number of the estimates' correlations: free of the covariates' units."""
    errors = np.sqrt(np.diag(covariance))
    if not np.isfinite(errors).all() or errors.min(initial=np.inf) <= 0:
        return None
    condition = float(np.linalg.cond(covariance / np.outer(errors, errors)))
    return condition if np.isfinite(condition) else None
