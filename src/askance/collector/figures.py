"""What a collection says so far, from tallies: so many people in each cell, however many there are."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from askance.collector.questionnaire import Questionnaire
from askance.collector.store import Standing
from askance.errors import AskanceError, AskanceWarning
from askance.learning.answers.indirect_classifier import IndirectClassifier
from askance.learning.answers.prevalence import Prevalence
from askance.learning.face.formula import Formula
from askance.releases.declarations import Covariate, Question
from askance.releases.release import Release
from askance.reports.summary import Summary

_LEVEL = 0.95  # of the intervals on the dashboard, as summaries have if nothing else is asked for


def live_figures(asked: Questionnaire, standing: Standing, tallies: Mapping[str, int]) -> dict[str, Any]:
    """Return counts, and estimates if there are enough responses for them."""
    settings = asked.settings
    people = sum(tallies.values())
    shown: dict[str, Any] = {
        "study": asked.study.title or asked.study.name,
        "closed": standing.closed,
        "access": settings.access,
        "invitations": standing.invitations,
        "responses": people,
        "days": [[day, count] for day, count in standing.days],
        "threshold": settings.threshold,
        "guarantee": str(asked.study.guarantee),
        "whole": standing.reports == standing.tallied == standing.spent,
        "questions": [],
        "regressions": [],
    }
    if people < settings.threshold:
        # One more answer than a moment ago would show in counts by day as in estimates.
        return shown | {"responses": f"fewer than {settings.threshold}", "days": [], "suppressed": True}
    table = asked.columns(list(tallies))
    counts = np.fromiter(tallies.values(), dtype=np.int64)
    shown["questions"] = [_shares(asked, question, table, counts) for question in asked.study.questions]
    shown["regressions"] = [_regression(asked, formula, table, counts) for formula in settings.formulas]
    return shown | {"suppressed": False}


def _shares(asked: Questionnaire, question: Question, table: pa.Table, counts: Any) -> dict[str, Any]:
    """Proportions of the answers to a question, and what the tests of its design say."""
    said: dict[str, Any] = {"question": question.name, "text": question.text}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        try:
            fitted = Prevalence(question.label_channel)
            rows = np.repeat(np.arange(table.num_rows), counts)
            reports = table[question.name].take(rows)
            design = table[question.design_column].take(rows) if question.design_column else None
            fitted.fit(reports, design=design)
        except AskanceError as error:
            return said | {"problem": str(error)}
    test = getattr(fitted, "design_test_", None)
    summary = fitted.summary(_LEVEL)
    said |= _told(summary) | {"test": test.sentence if test else ""}
    if asked.settings.precision is not None:
        said["plan"] = _against_plan(summary, asked.settings.precision, int(counts.sum()))
    return said


def _against_plan(summary: Summary, planned: float, people: int) -> str:
    """Compare the widest interval with the one that was planned for."""
    half = float(np.nanmax(summary.values[:, -1] - summary.values[:, -2])) / 2
    if half <= planned:
        return f"The widest interval is ± {half:.3f}: as narrow as planned (± {planned:g})."
    # Half-widths shrink with the root of the number of people.
    needed = math.ceil(people * (half / planned) ** 2)
    return (
        f"The widest interval is ± {half:.3f}; for ± {planned:g} about {needed - people:,} more responses are needed."
    )


def _regression(asked: Questionnaire, formula: str, table: pa.Table, counts: Any) -> dict[str, Any]:
    """Fit a formula to cells; how many people are in one is a number of people, not a sampling weight."""
    said: dict[str, Any] = {"formula": formula}
    header = asked.study.header()
    people = next(name for name in ("people", "people_", "people__") if name not in table.schema.names)
    with_people = replace(header, covariates=(*header.covariates, Covariate(people, "number")))
    try:
        parsed = Formula.of(formula)
        question = header.question_about(None, parsed.left)
        cells = table.append_column(people, pa.array(counts.astype(float)))
        for column in parsed.columns:
            cells = cells.filter(cells[column].is_valid())
        release = Release.from_table(cells, with_people)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskanceWarning)
            model = IndirectClassifier(covariance="information")
            model.fit_release(release, question=question.name, formula=formula, weight=people)
            left_out = int(counts.sum() - sum(cells[people].to_pylist()))
            dropped = {"left_out": left_out} if left_out else {}
            return said | _told(model.summary(_LEVEL)) | dropped
    except AskanceError as error:
        return said | {"problem": str(error)}


def _told(summary: Summary) -> dict[str, Any]:
    everything = summary.to_dict()
    return {name: everything[name] for name in ("estimates", "notes", "alerts")}
