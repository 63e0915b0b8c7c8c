"""From answers out of a list of choices to a report: the estimates, and the analysis that forgets the channel."""

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.finite import Identity
from askance.engines.base import Engine, engine_from
from askance.errors import AskanceWarning
from askance.learning.answers.indirect_classifier import IndirectClassifier
from askance.learning.answers.prevalence import Prevalence
from askance.learning.face.release_records import NumericColumns, checked_columns, records_of
from askance.mechanisms.accounting.shuffling import level_if_shuffled
from askance.printing import as_options
from askance.releases.header import Covariate, Question
from askance.releases.release import Release
from askance.reports.report import Comparison, DesignFacts, Diagnostics, LawCheck, Report
from askance.statistics.frequencies import ReportCounts, ReportFrequencies
from askance.workflows.covariate_notes import notes_on_covariates
from askance.workflows.fit_result import FitResult, question_result
from askance.workflows.report_files import OpenReports
from askance.workflows.units import units_of
from askance.workflows.unknown_numbers import known_question, unknown_summary

_STANDARD_ERRORS = {
    "cluster (CR2)": "between clusters (CR2, Bell and McCaffrey's degrees of freedom)",
    "stratified": "within strata",
    "replicate weights": "from replicate weights",
    "information": "from the observed information",
    "sandwich": "sandwich (robust to a wrong model)",
}


def analyse_answers(opened: OpenReports, engine: str | Engine = "local", command: str = "") -> FitResult:
    """Estimate proportions, and a regression if there is a formula, with the naive analysis beside both.

    Parameters
    ----------
    opened : OpenReports
        About a question with choices.
    engine : "local" or an engine
    command : str
        What makes the report again.
    """
    request, release, asked = opened.request, opened.release, opened.asked
    formula, weight, sampled = request.formula, request.weight, request.sampled
    checked_columns(release, [weight] if weight else [])
    runs = engine_from(engine)
    notes = notes_on_covariates(opened, runs)

    def proportions(source: Release) -> Prevalence:
        return Prevalence(method=request.method).fit_release(source, runs, question=asked.name, **sampled)

    def regression(source: Release) -> IndirectClassifier:
        own = request.unknown_formulas if source is release else None
        model = IndirectClassifier(
            method=request.method,
            ridge=request.ridge,
            penalty=request.penalty,
            intervals=request.intervals,
            covariance=request.covariance,
            unknowns=own,
        )
        return model.fit_release(source, runs, question=asked.name, formula=formula, **sampled)

    def naively(source: Release) -> IndirectClassifier:
        # Answers that were never hidden may be separated where those behind them are not.
        ridge = request.ridge or "auto"
        model = IndirectClassifier(method=request.method, ridge=ridge, penalty=request.penalty, intervals="wald")
        return model.fit_release(source, runs, question=asked.name, formula=formula, **sampled)

    with warnings.catch_warnings():
        # The report carries them as notes; those of the naive analysis concern nobody.
        warnings.simplefilter("ignore", AskanceWarning)
        naive_release = _taken_as_the_truth(release, asked)
        fitted = proportions(release)
        naive = None if naive_release is None else proportions(naive_release)
        model, naive_model = None, None
        if formula is not None:
            model = regression(release)
            naive_model = None if naive_release is None else naively(naive_release)

    known = known_question(asked, fitted)
    counts = _report_counts(release, asked, weight, runs, len(known.label_channel.matrix))
    expected = _expected(known, counts.weight, fitted.proportions_)
    last = fitted if model is None else model
    report = Report(
        **opened.about((*fitted.notes_, *(model.notes_ if model is not None else ()), *notes), command),
        designs=_designs(asked, known, counts.weight, expected),
        prevalence=_comparison(fitted, naive, request.level, len(fitted.classes_)),
        regression=None if model is None else _comparison(model, naive_model, request.level, len(model.parameters_)),
        unknowns=unknown_summary(last, request.level),
        units=() if formula is None else units_of(opened, runs),
        formula=None if formula is None else formula.text,
        diagnostics=_diagnostics(fitted, model, weight, _check(known, counts, expected, fitted)),
        shuffled=level_if_shuffled(asked.channel, counts.rows),
    )
    if command and report.diagnostics.intervals:
        said = as_options(report.diagnostics.intervals)
        report = replace(report, diagnostics=replace(report.diagnostics, intervals=said))
    return question_result(report, last)


def _taken_as_the_truth(release: Release, asked: Question) -> Release | None:
    """The same rows with reports read as answers, where the two have the same labels."""
    classes = asked.label_channel.classes
    if any(set(design.report_labels) != set(classes) for design in asked.designs.values()):
        return None
    header = release.header
    plain = Question(asked.name, Identity(classes), asked.text)
    questions = tuple(plain if question.name == asked.name else question for question in header.questions)
    # The design column, which no question may need any more, may still be a covariate.
    taken = {question.design_column for question in questions} | {covariate.name for covariate in header.covariates}
    loose = [Covariate(name, "category") for name in header.design_columns if name not in taken]
    return replace(release, header=replace(header, questions=questions, covariates=(*header.covariates, *loose)))


def _comparison(fitted: Any, naive: Any, level: float, rows: int) -> Comparison:
    """The rows of answers or coefficients; unknown numbers, which come after them, have a table of their own."""
    summary = fitted.summary(level)
    own = replace(summary, names=summary.names[:rows], values=summary.values[:rows])
    return Comparison(own, None if naive is None else naive.summary(level))


def _report_counts(release: Release, asked: Question, weight: str | None, engine: Engine, reports: int) -> ReportCounts:
    source = records_of(release, asked, NumericColumns(()), weight)
    return engine.reduce(ReportFrequencies(reports), source)


def _blocks(asked: Question) -> list[slice]:
    ends = np.cumsum([0, *(len(design.report_labels) for design in asked.designs.values())])
    return [slice(first, last) for first, last in pairwise(ends.tolist())]


def _expected(asked: Question, observed: Floats, proportions: Floats) -> Floats:
    """Report counts under the estimated proportions, with each design's total as it was."""
    law: Floats = asked.label_channel.matrix @ proportions
    totals = [np.full(rows.stop - rows.start, observed[rows].sum()) for rows in _blocks(asked)]
    expected: Floats = law * np.concatenate(totals)
    return expected


def _designs(asked: Question, known: Question, observed: Floats, expected: Floats) -> tuple[DesignFacts, ...]:
    """What is said of the designs as they were asked, with their law at the estimates of what was unknown."""
    return tuple(
        DesignFacts(
            name=name,
            sentence=design.describe(),
            reports=tuple(map(str, design.report_labels)),
            classes=tuple(map(str, design.classes)),
            probabilities=tuple(map(tuple, known.designs[name].matrix.tolist())),
            guarantee=design.guarantee,
            observed=tuple(observed[rows].tolist()),
            fitted=tuple(expected[rows].tolist()),
        )
        for (name, design), rows in zip(asked.designs.items(), _blocks(known), strict=True)
    )


def _check(asked: Question, counts: ReportCounts, expected: Floats, fitted: Prevalence) -> LawCheck | None:
    from scipy.special import gammaincc

    # A report that cannot come under a design says nothing about the fit.
    possible = asked.label_channel.matrix.max(axis=1) > 0
    used = [rows for rows in _blocks(asked) if counts.weight[rows].sum() > 0]
    estimated = len(asked.label_channel.classes) - 1 + len(getattr(fitted, "unknowns_", {}))
    free = sum(int(possible[rows].sum()) - 1 for rows in used) - estimated
    if free < 1:
        return None
    # Weighted reports tell as much as fewer equal ones would: the first correction of Rao and Scott.
    total, squared = (
        np.concatenate([np.full(rows.stop - rows.start, part[rows].sum()) for rows in _blocks(asked)])
        for part in (counts.weight, counts.squared_weight)
    )
    seen = (expected > 0) & (squared > 0)
    unit = total[seen] / squared[seen]
    statistic = float((unit * (counts.weight - expected)[seen] ** 2 / expected[seen]).sum())
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
        sample=fitted.summary().fact("sample"),
        design_effect=max(effects) if (effects := getattr(fitted, "design_effects_", ())) else None,
        design_test=test.sentence if (test := getattr(fitted, "design_test_", None)) else None,
    )
    if model is None:
        return shares
    facts = dict(model.summary().facts)
    return replace(
        shares,
        converged=bool(model.converged_),
        iterations=int(model.n_iter_),
        ridge=float(model.ridge_),
        condition=_condition(model.covariance_),
        log_likelihood=None if model.log_likelihood_ is None else float(model.log_likelihood_),
        standard_errors=_STANDARD_ERRORS[model.covariance_kind_],
        penalty=facts.get("penalty", "none"),
        intervals=facts.get("intervals", "Wald"),
    )


def _condition(covariance: Floats) -> float | None:
    """Condition number of the estimates' correlations: free of the covariates' units."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))  # rounding leaves less where one row decides
    if not np.isfinite(errors).all() or errors.min(initial=np.inf) <= 0:
        return None
    condition = float(np.linalg.cond(covariance / np.outer(errors, errors)))
    return condition if np.isfinite(condition) else None
