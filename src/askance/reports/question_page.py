"""What the pages about one question of a study share."""

import math
from collections.abc import Iterable
from html import escape

from askance.mechanisms.accounting.shuffling import shuffled_in_words
from askance.reports.page import card, code, figure, page, privacy_card, privacy_words
from askance.reports.report import NAIVE, Comparison, QuestionReport


def question_page(report: QuestionReport, sections: Iterable[str]) -> str:
    """Return the page: what was asked, its sections, and how it is made again."""
    over = " · ".join(part for part in (report.title or report.study, f"question “{report.question}”") if part)
    return page(report.text or report.question, over, [*sections, _reproduction(report)], report.version)


def cards(found: str, report: QuestionReport, reports: int, words: str = "") -> str:
    """Return what to see first: what was found, how private it is, and out of how many reports."""
    size = card("reports", f"{reports:,}", words)
    return f'<div class="cards">{found}{privacy_card(report.guarantee, "privacy of this answer")}{size}</div>'


def privacy(report: QuestionReport, by_design: str = "") -> str:
    """Return the section on privacy; ``by_design`` is a list of the designs' own levels."""
    whole = ""
    if report.whole_person != report.guarantee:
        loud = "" if math.isfinite(report.whole_person.epsilon) or not report.private else ' class="note"'
        whole = f"<p{loud}>All questions of the study together: {escape(str(report.whole_person))}.</p>"
    mixed = "" if report.shuffled is None else f"<p>If shuffled: {escape(shuffled_in_words(report.shuffled))}</p>"
    return f"<h2>Privacy</h2>{privacy_words(report.guarantee)}{whole}{by_design}{mixed}"


def interval_figure(svg: str, comparison: Comparison, what: str) -> str:
    """Return a figure of estimates with the key of its marks."""
    key = f'<span class="key"></span>askance, {comparison.askance.percent} interval'
    if comparison.naive is not None:
        key += f' &emsp;<span class="key hollow"></span><span class="wrong">{NAIVE}</span>'
    return figure(svg, f"{what} with intervals", key)


def _reproduction(report: QuestionReport) -> str:
    name = report.title or report.study or report.question
    cite = f"“{name}”, analysed with askance {report.version}."
    command = f"<p>This report is made again by</p>{code(report.command)}" if report.command else ""
    return f"<h2>Cite and reproduce</h2><p>{escape(cite)}</p>{command}"
