"""Pieces of a self-contained page, shared by all reports: no script, no font, no picture from elsewhere."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from askance.reports.number_format import decimals_for, number, p_value
from askance.reports.report import NAIVE, Comparison, QuestionReport
from askance.reports.summary import Summary

_HARDLY_PRIVATE = 6.9  # beyond it an even guess can become more than 99.9% sure: nothing to paint green


def page(report: QuestionReport, sections: Iterable[str]) -> str:
    """Return the page: heading, sections (empty ones are left out), how to make it again."""
    style = files("askance.reports").joinpath("page.css").read_text(encoding="utf-8")
    heading = report.text or report.question
    over = " · ".join(part for part in (report.title or report.study, f"question “{report.question}”") if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="robots" content="noindex">\n'
        f"<title>{escape(heading)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<p class="over">{escape(over)}</p><h1>{escape(heading)}</h1>\n'
        + "\n".join(section for section in [*sections, _reproduction(report)] if section)
        + f"\n<footer>Made by askance {escape(report.version)}. "
        "This page holds results only: no record of any person.</footer>\n</main>\n</body>\n</html>\n"
    )


def notes(report: QuestionReport) -> str:
    """Return the warnings that belong to the numbers."""
    said = (f'<p class="note" role="note"><strong>Note.</strong> {escape(note)}</p>' for note in report.notes)
    return "\n".join(said)


def cards(found: str, report: QuestionReport, reports: int, told: str = "") -> str:
    """Return what to see first: what was found, how private it is, and out of how many reports."""
    size = f'<div class="card"><span class="label">reports</span><div class="big">{reports:,}</div>{told}</div>'
    return f'<div class="cards">{found}{_privacy_card(report)}{size}</div>'


def _privacy_card(report: QuestionReport) -> str:
    if report.private:
        green = " private" if report.guarantee.epsilon < _HARDLY_PRIVATE else ""
        return (
            f'<div class="card{green}"><span class="label">privacy of this answer</span>'
            f'<div class="big">ε = {report.guarantee.epsilon:.4g}</div>'
            f"<p>{escape(_first_sentence(report.guarantee.in_words()))}</p></div>"
        )
    return (
        '<div class="card exposed" role="alert"><span class="label">privacy of this answer</span>'
        '<div class="big">No privacy guarantee</div>'
        f"<p>{escape(report.guarantee.in_words())}</p></div>"
    )


def privacy(report: QuestionReport, by_design: str = "") -> str:
    """Return the section on privacy; ``by_design`` is a list of the designs' own levels."""
    guarantee = report.guarantee
    if report.private:
        exact = f"The exact level is ε = {guarantee.epsilon:.6g}, and it protects {guarantee.protects}."
        delta = f" It may fail with probability δ = {guarantee.delta:.3g}." if guarantee.delta else ""
        words = f"<p>{escape(guarantee.in_words())}</p><p>{escape(exact + delta)}</p>"
    else:
        words = (
            '<p class="note"><strong>There is no formal privacy guarantee (ε is infinite).</strong> '
            f"{escape(guarantee.in_words())} Treat the reports as confidential.</p>"
        )
    whole = ""
    if report.whole_person != guarantee:
        loud = "" if math.isfinite(report.whole_person.epsilon) or not report.private else ' class="note"'
        whole = f"<p{loud}>All questions of the study together: {escape(str(report.whole_person))}.</p>"
    return f"<h2>Privacy</h2>{words}{whole}" + (f"<dl>{by_design}</dl>" if by_design else "")


def _reproduction(report: QuestionReport) -> str:
    name = report.title or report.study or report.question
    cite = f"“{name}”, analysed with askance {report.version}."
    command = f"<p>This report is made again by</p><code>{escape(report.command)}</code>" if report.command else ""
    return f"<h2>Cite and reproduce</h2><p>{escape(cite)}</p>{command}"


def coefficient_table(comparison: Comparison) -> str:
    """Return a regression's estimates with errors and intervals."""
    summary = comparison.askance
    heads = ["", "estimate", "std. error", "z", "p", f"{level(summary)} interval"]
    rows = []
    digits = []
    for name, (e, s, z, p, low, high) in zip(summary.names, summary.values.tolist(), strict=True):
        d = decimals_for(s)
        digits.append(d)
        interval = f"{number(low, d)} to {number(high, d)}"
        rows.append([name, number(e, d), number(s, d), number(z, 2), p_value(p), interval])
    if comparison.naive is not None:
        heads.append("naive (wrong)")
        for row, d, naive in zip(rows, digits, comparison.naive.values.tolist(), strict=True):
            row.append(number(naive[0], d))
    return table(heads, rows, wrong=comparison.naive is not None)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, wrong: bool = False, caption: str = "") -> str:
    """Return a table; with ``wrong`` its last column is the naive one."""

    def cell(number: int, text: str, tag: str, scope: str) -> str:
        marked = ' class="wrong"' if wrong and number == len(heads) - 1 else ""
        return f"<{tag}{scope}{marked}>{escape(text)}</{tag}>"

    head = "".join(cell(i, text, "th", ' scope="col"') for i, text in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(cell(i, text, "td", "") if i else cell(i, text, "th", ' scope="row"') for i, text in enumerate(row))
        + "</tr>"
        for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="wide"><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def figure(svg: str, comparison: Comparison, what: str) -> str:
    """Return a figure with its key."""
    key = f'<span class="key"></span>askance, {level(comparison.askance)} interval'
    if comparison.naive is not None:
        key += f' &emsp;<span class="key hollow"></span><span class="wrong">{NAIVE}</span>'
    labelled = svg.replace("<svg", f'<svg role="img" aria-label="{escape(what)} with intervals"', 1)
    return f"<figure>{labelled}<figcaption>{key}</figcaption></figure>"


def facts(lines: Iterable[tuple[str, str]]) -> str:
    """Return names and texts as a list."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines) + "</dl>"


def level(summary: Summary) -> str:
    """Return the confidence level in words."""
    return f"{100 * summary.level:g}%"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."
