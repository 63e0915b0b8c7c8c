"""A report as plain text, for the terminal."""

import textwrap

from askance.reports.number_format import decimals_for, number, p_value
from askance.reports.number_report import NumberReport
from askance.reports.report import NAIVE, Comparison, QuestionReport, Report
from askance.reports.summary import Summary
from askance.reports.text_table import aligned

_WIDTH = 100


def report_text(report: Report | NumberReport) -> str:
    """Return a report for the terminal: question, design, privacy, tables, notes."""
    heading = report.title or report.study or "Results"
    asked = f"{report.question}: {report.text}" if report.text else report.question
    tables = []
    if isinstance(report, NumberReport):
        designs = [_paragraph("Design: ", report.sentence)]
    else:
        designs = [
            _paragraph(f"Design {design.name}: " if design.name else "Design: ", design.sentence)
            for design in report.designs
        ]
        tables += ["", *_prevalence(report.prevalence)]
    if report.regression is not None:
        tables += ["", *_regression(report.regression, report.formula or "")]
    facts = [_paragraph(f"{name}: ", text) for name, text in report.diagnostics.lines()]
    notes = [_paragraph("Note: ", note) for note in report.notes]
    return "\n".join([heading, asked, "", *designs, *_privacy(report), *tables, "", *facts, *notes])


def _privacy(report: QuestionReport) -> list[str]:
    exact = "NO privacy guarantee. " if not report.private else f"epsilon {report.guarantee.epsilon:.6g}. "
    lines = [_paragraph("Privacy: ", exact + report.guarantee.in_words())]
    if report.whole_person != report.guarantee:
        lines += [_paragraph("Whole person: ", f"{report.whole_person}.")]
    return lines


def _paragraph(label: str, text: str) -> str:
    return textwrap.fill(label + text, _WIDTH, subsequent_indent="  ", break_long_words=False)


def _level(summary: Summary) -> str:
    return f"{100 * summary.level:g}%"


def _prevalence(comparison: Comparison) -> list[str]:
    summary = comparison.askance
    heads = ["", "estimate", "std. error", f"{_level(summary)} from", "to", *_naive_head(comparison)]
    rows = []
    for i, (name, row) in enumerate(zip(summary.names, summary.values.tolist(), strict=True)):
        estimate, error, _, _, low, high = row
        rows.append([name, *(number(value, 4) for value in (estimate, error, low, high)), *_naive(comparison, i, 4)])
    return ["Proportions of the true answers", *aligned(heads, rows), *_naive_legend(comparison)]


def _regression(comparison: Comparison, formula: str) -> list[str]:
    summary = comparison.askance
    heads = ["", "estimate", "std. error", "z", "p", f"{_level(summary)} from", "to", *_naive_head(comparison)]
    rows = []
    for i, (name, row) in enumerate(zip(summary.names, summary.values.tolist(), strict=True)):
        estimate, error, z, p, low, high = row
        digits = decimals_for(error)
        rows.append(
            [
                name,
                number(estimate, digits),
                number(error, digits),
                number(z, 2),
                p_value(p),
                number(low, digits),
                number(high, digits),
                *_naive(comparison, i, digits),
            ]
        )
    return [f"{summary.title}: {formula}", *aligned(heads, rows), *_naive_legend(comparison)]


def _naive_head(comparison: Comparison) -> list[str]:
    return [] if comparison.naive is None else ["naive (wrong)"]


def _naive(comparison: Comparison, row: int, digits: int) -> list[str]:
    return [] if comparison.naive is None else [number(float(comparison.naive.values[row, 0]), digits)]


def _naive_legend(comparison: Comparison) -> list[str]:
    return [] if comparison.naive is None else [f"naive: {NAIVE}."]
