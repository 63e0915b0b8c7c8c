"""What a fitted estimator has to say as one self-contained page."""

import math
from html import escape

from askance.reports.estimator_report import EstimatorReport, ReportFigure
from askance.reports.page import (
    alerts,
    card,
    code,
    facts,
    figure,
    notes,
    page,
    privacy_card,
    privacy_words,
    summary_table,
    table,
)
from askance.reports.svg import inline_svg
from askance.reports.units import unit_rows

_COMPARABLE = "In units that can be compared, as in the first figure"
_NOTHING_ELSE = (
    "Nothing else that this was learned from is protected, and what else the same people are asked adds to the level."
)


def estimator_page(report: EstimatorReport) -> str:
    """Return the page: headlines and privacy, warnings, estimates, figures, facts, how to make it again.

    Examples
    --------
    >>> import askance as ask
    >>> from askance.reports import EstimatorReport, estimator_page
    >>> model = ask.Prevalence(ask.Warner(0.8)).fit(["no"] * 600 + ["yes"] * 400)
    >>> report = EstimatorReport("Who cheated", model.summary(), "Prevalence", ask.Warner(0.8).guarantee)
    >>> "ε = 1.386" in estimator_page(report)
    True
    """
    summary = report.summary
    what = f"<p>{escape(summary.title)}</p>" if summary.title != report.title else ""
    beside = table(*unit_rows(summary, report.units, odds=False), caption=_COMPARABLE) if report.units else ""
    estimates = f"<h2>Estimates</h2>{what}{summary_table(summary)}{beside}" if summary.names else ""
    drawn = "".join(_figure(shown, number) for number, shown in enumerate(report.figures, 1))
    described = facts((*summary.facts, *report.facts))
    repeat = report.how_to_repeat
    sections = [
        alerts(summary.alerts),
        alerts(summary.cautions, "Caution"),
        _cards(report),
        notes(report.all_notes),
        estimates,
        f"<h2>Figures</h2>{drawn}" if drawn else "",
        f"<h2>How it was fitted</h2>{described}" if described else "",
        _privacy(report),
        f"<h2>Cite and reproduce</h2><p>Made with askance {escape(report.version)}.</p>{code(repeat)}"
        f"{facts(report.origin)}"
        if repeat
        else "",
    ]
    return page(report.title, report.estimator, sections, report.version)


def _cards(report: EstimatorReport) -> str:
    shown = [card(h.label, h.value, f"<p>{escape(h.words)}</p>" if h.words else "") for h in report.headlines]
    promised = report.whole_person or report.guarantee
    if promised is not None:
        columns = ", ".join(report.unprotected)
        words = f"<p>Without any protection: {escape(columns)}.</p>" if columns else ""
        if report.whole_person is None and not math.isinf(promised.epsilon):
            words = f"<p>{_NOTHING_ELSE}</p>"  # of an estimator in Python nobody knows what else the same people told
        shown.append(privacy_card(promised, f"privacy of {promised.protects}", words))
    return f'<div class="cards">{"".join(shown)}</div>' if shown else ""


def _privacy(report: EstimatorReport) -> str:
    exact = f"<p>{escape(report.summary.privacy)}</p>" if report.summary.privacy else ""
    words = "" if report.guarantee is None else privacy_words(report.guarantee)
    if report.whole_person is not None and report.whole_person != report.guarantee:
        words = f"<h3>All answers of one person together</h3>{privacy_words(report.whole_person)}<h3>Here</h3>{words}"
    return f"<h2>Privacy</h2>{words or exact}" if words or exact else ""


def _figure(shown: ReportFigure, number: int) -> str:
    drawing = shown.drawing
    svg = drawing if isinstance(drawing, str) else inline_svg(drawing, shown.size, f"figure-{number}")
    return figure(svg, shown.description, escape(shown.title))
