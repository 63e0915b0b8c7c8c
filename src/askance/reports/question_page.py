"""What the pages about one question of a study share."""

import math
from collections.abc import Iterable, Sequence
from html import escape

from askance.mechanisms.accounting.shuffling import shuffled_in_words
from askance.reports.number_format import decimals_for, number, percent
from askance.reports.page import card, code, facts, figure, page, privacy_card, privacy_words
from askance.reports.report import NAIVE, Comparison, QuestionReport

_MOST_READ_OUT = 8  # estimates of a figure: as many as a listener follows; the table has all of them


def question_page(report: QuestionReport, sections: Iterable[str]) -> str:
    """Return the page: what was asked, its sections, and how it is made again."""
    over = " · ".join(part for part in (report.title or report.study, f"question “{report.question}”") if part)
    return page(report.text or report.question, over, [*sections, _reproduction(report)], report.version)


def cards(found: str, report: QuestionReport, reports: int, words: str = "") -> str:
    """Return what to see first: what was found, how private it is, and out of how many reports."""
    size = card("reports", f"{reports:,}", words)
    return f'<div class="cards">{found}{_whole_person(report)}{size}</div>'


def _whole_person(report: QuestionReport) -> str:
    """The level that counts: of everything that one person told, and what nothing protects."""
    whole, alone, label = report.whole_person, report.guarantee, "privacy of this answer, the only one"
    words = ""
    if whole != alone:
        label = f"privacy of {whole.protects}"
        level = "no guarantee" if math.isinf(alone.epsilon) else f"ε = {alone.epsilon:.4g}"
        words = f"<p>This answer alone: {level}.</p>"
    if report.unprotected:
        words += f"<p>Without any protection: {escape(', '.join(report.unprotected))}.</p>"
    return privacy_card(whole, label, words)


def privacy(report: QuestionReport, by_design: str = "") -> str:
    """Return the section on privacy; ``by_design`` is a list of the designs' own levels."""
    whole, alone = "", ""
    if report.whole_person != report.guarantee:
        whole = f"<h3>All answers of one person together</h3>{privacy_words(report.whole_person)}"
        alone = "<h3>This answer alone</h3>"
    columns = ", ".join(report.unprotected)
    open_columns = (
        f"<p>Published as they are, without any protection: {escape(columns)}.</p>" if report.unprotected else ""
    )
    mixed = "" if report.shuffled is None else f"<p>If shuffled: {escape(shuffled_in_words(report.shuffled))}</p>"
    return f"<h2>Privacy</h2>{whole}{alone}{privacy_words(report.guarantee)}{by_design}{mixed}{open_columns}"


def interval_figure(svg: str, comparison: Comparison, what: str, rows: Sequence[int], *, share: bool = False) -> str:
    """Return a figure of estimates with the key of its marks."""
    key = f'<span class="key"></span>askance, {comparison.askance.percent} interval'
    if comparison.naive is not None:
        key += f' &emsp;<span class="key hollow"></span><span class="wrong">{NAIVE}</span>'
    return figure(
        svg, f"{what} with {comparison.askance.percent} intervals: {_read_out(comparison, rows, share)}.", key
    )


def _read_out(comparison: Comparison, rows: Sequence[int], share: bool) -> str:
    """What a figure shows, for those who do not see it."""
    shown = []
    for row in rows[:_MOST_READ_OUT]:
        estimate, error, _, _, low, high = comparison.askance.values[row].tolist()
        digits = 1 if share else decimals_for(error)
        texts = (percent(each) if share else number(each, digits) for each in (estimate, low, high))
        shown.append("{} {} (from {} to {})".format(comparison.askance.names[row], *texts))
    return "; ".join(shown) + (f"; and {len(rows) - _MOST_READ_OUT} more" if len(rows) > _MOST_READ_OUT else "")


def _reproduction(report: QuestionReport) -> str:
    name = report.title or report.study or report.question
    cite = f"“{name}”, analysed with askance {report.version}."
    command = f"<p>This report is made again by</p>{code(report.command)}" if report.command else ""
    return f"<h2>Cite and reproduce</h2><p>{escape(cite)}</p>{command}{facts(report.origin)}"
