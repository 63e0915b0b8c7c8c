"""A report as one self-contained page: no script, no font, no picture from elsewhere."""

import math
import os
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from askance.estimators.numbers import decimals_for, number, p_value, percent
from askance.estimators.summary import Summary
from askance.reports.figures import coefficient_plot, prevalence_plot
from askance.reports.report import NAIVE, Comparison, DesignFacts, Report
from askance.reports.writing import check_target, write_text


def write_report(path: str | os.PathLike[str], report: Report, *, overwrite: bool = False) -> Path:
    """Write a report as one HTML file, whole or not at all.

    Parameters
    ----------
    path : path
    report : Report
    overwrite : bool
        Replace an earlier file; refused otherwise.
    """
    target = Path(path)
    check_target(target, overwrite=overwrite)
    write_text(target, report_html(report))
    return target


def report_html(report: Report) -> str:
    """Return the page."""
    style = files("askance.reports").joinpath("page.css").read_text(encoding="utf-8")
    heading = report.text or report.question
    over = " · ".join(part for part in (report.title or report.study, f"question “{report.question}”") if part)
    sections = [
        f'<p class="over">{escape(over)}</p><h1>{escape(heading)}</h1>',
        _at_a_glance(report),
        *(f'<p class="note" role="note"><strong>Note.</strong> {escape(note)}</p>' for note in report.notes),
        _prevalence(report.prevalence),
        "" if report.regression is None else _regression(report.regression, report.formula or ""),
        _design(report.designs),
        _privacy(report),
        _diagnostics(report),
        _reproduction(report),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="robots" content="noindex">\n'
        f"<title>{escape(heading)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + f"\n<footer>Made by askance {escape(report.version)}. "
        "This page holds results only: no record of any person.</footer>\n</main>\n</body>\n</html>\n"
    )


def _at_a_glance(report: Report) -> str:
    summary, naive = report.prevalence.askance, report.prevalence.naive
    shown = len(summary.names) - 1 if len(summary.names) == 2 else int(summary.values[:, 0].argmax())
    estimate, _, _, _, low, high = summary.values[shown].tolist()
    beside = ""
    if naive is not None:
        beside = f'<p class="wrong">Reports taken as the truth would say {percent(float(naive.values[shown, 0]))}.</p>'
    found = (
        f'<div class="card"><span class="label">truly answer “{escape(summary.names[shown])}”</span>'
        f'<div class="big">{percent(estimate)}</div>'
        f'<p>{_level(summary)} interval <span class="whole">{percent(low)} to {percent(high)}</span></p>{beside}</div>'
    )
    if report.private:
        privacy = (
            '<div class="card private"><span class="label">privacy of this answer</span>'
            f'<div class="big">ε = {report.guarantee.epsilon:.4g}</div>'
            f"<p>{escape(_first_sentence(report.guarantee.in_words()))}</p></div>"
        )
    else:
        privacy = (
            '<div class="card exposed" role="alert"><span class="label">privacy of this answer</span>'
            '<div class="big">No privacy guarantee</div>'
            f"<p>{escape(report.guarantee.in_words())}</p></div>"
        )
    people = f"{report.diagnostics.reports:,}"
    worth = report.diagnostics.worth
    told = "" if worth is None else f"<p>As precise as asking about {worth:,.0f} people directly.</p>"
    size = f'<div class="card"><span class="label">reports</span><div class="big">{people}</div>{told}</div>'
    return f'<div class="cards">{found}{privacy}{size}</div>'


def _prevalence(comparison: Comparison) -> str:
    summary = comparison.askance
    heads = ["true answer", "estimate", "std. error", f"{_level(summary)} interval"]
    rows = [
        [name, percent(e, 2), percent(s, 2), f"{percent(low, 2)} to {percent(high, 2)}"]
        for name, (e, s, _, _, low, high) in zip(summary.names, summary.values.tolist(), strict=True)
    ]
    if comparison.naive is not None:
        heads.append("naive (wrong)")
        for row, naive in zip(rows, comparison.naive.values.tolist(), strict=True):
            row.append(percent(naive[0], 2))
    figure = _figure(prevalence_plot(summary, comparison.naive), comparison, "Share of each true answer")
    return (
        f"<h2>How many</h2>{_table(heads, rows, wrong=comparison.naive is not None)}"
        f"{_naive_sentence(comparison)}{figure}"
    )


def _regression(comparison: Comparison, formula: str) -> str:
    summary = comparison.askance
    heads = ["", "estimate", "std. error", "z", "p", f"{_level(summary)} interval"]
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
    figure = _figure(coefficient_plot(summary, comparison.naive), comparison, "Coefficients")
    return (
        f"<h2>Who</h2><p>{escape(summary.title)}: <strong>{escape(formula)}</strong>. Coefficients are changes in "
        f"log-odds for one unit of the covariate.</p>{figure}"
        f"{_table(heads, rows, wrong=comparison.naive is not None)}"
    )


def _design(designs: Sequence[DesignFacts]) -> str:
    parts = ["<h2>How the truth was hidden</h2>"]
    for design in designs:
        parts += [f"<h3>{escape(design.name)}</h3>"] if design.name else []
        parts += [f"<p>{escape(design.sentence)}</p>"]
        heads = ["report", *(f"if “{label}” is true" for label in design.classes)]
        rows = [
            [report, *(number(value, 4) for value in row)]
            for report, row in zip(design.reports, design.probabilities, strict=True)
        ]
        parts += [_table(heads, rows, caption="Probability of each report")]
    return "".join(parts)


def _privacy(report: Report) -> str:
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
    several = [design for design in report.designs if design.name]
    by_design = "".join(f"<dt>{escape(d.name)}</dt><dd>{escape(str(d.guarantee))}</dd>" for d in several)
    return f"<h2>Privacy</h2>{words}{whole}" + (f"<dl>{by_design}</dl>" if by_design else "")


def _diagnostics(report: Report) -> str:
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in report.diagnostics.lines())
    rows = []
    for design in report.designs:
        total = max(sum(design.observed), 1e-300)
        for name, seen, fitted in zip(design.reports, design.observed, design.fitted, strict=True):
            label = f"{design.name}: {name}" if design.name else name
            rows.append([label, f"{seen:,.10g}", percent(seen / total, 2), percent(fitted / total, 2)])
    counts = _table(["report", "count", "observed", "fitted"], rows, caption="Reports, and what the estimate implies")
    return f"<h2>Can it be trusted</h2><dl>{facts}</dl>{counts}"


def _reproduction(report: Report) -> str:
    name = report.title or report.study or report.question
    cite = f"“{name}”, analysed with askance {report.version}."
    command = f"<p>This report is made again by</p><code>{escape(report.command)}</code>" if report.command else ""
    return f"<h2>Cite and reproduce</h2><p>{escape(cite)}</p>{command}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, wrong: bool = False, caption: str = "") -> str:
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


def _figure(svg: str, comparison: Comparison, what: str) -> str:
    level = _level(comparison.askance)
    key = f'<span class="key"></span>askance, {level} interval'
    if comparison.naive is not None:
        key += f' &emsp;<span class="key hollow"></span><span class="wrong">{NAIVE}</span>'
    labelled = svg.replace("<svg", f'<svg role="img" aria-label="{escape(what)} with intervals"', 1)
    return f"<figure>{labelled}<figcaption>{key}</figcaption></figure>"


def _naive_sentence(comparison: Comparison) -> str:
    if comparison.naive is None:
        return '<p class="quiet">Reports and answers have different labels, so there is no naive analysis.</p>'
    return f'<p class="quiet">Naive: {NAIVE}, as if nobody had randomised. It is shown for comparison only.</p>'


def _level(summary: Summary) -> str:
    return f"{100 * summary.level:g}%"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."
