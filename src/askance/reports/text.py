"""A report as plain text, for the terminal."""

import math
import textwrap
from dataclasses import replace

from askance.mechanisms.accounting.shuffling import shuffled_in_words
from askance.printing import one_line
from askance.reports.estimator_report import EstimatorReport
from askance.reports.number_format import number
from askance.reports.number_report import NumberReport
from askance.reports.report import NAIVE, Comparison, QuestionReport, Report
from askance.reports.text_table import aligned
from askance.reports.units import unit_rows

TEXT_WIDTH = 100  # of paragraphs in a terminal: as wide as the tables, and two such windows fit on a screen


def report_text(report: Report | NumberReport) -> str:
    """Return a report for the terminal: question, design, privacy, tables, notes."""
    heading = report.title or report.study or "Results"
    asked = f"{report.question}: {report.text}" if report.text else report.question
    tables, first = [], []
    if isinstance(report, NumberReport):
        designs = [paragraph("Design: ", report.sentence)]
    else:
        designs = [
            paragraph(f"Design {design.name}: " if design.name else "Design: ", design.sentence)
            for design in report.designs
        ]
        first = [paragraph("ALERT: ", alert) for alert in report.prevalence.askance.alerts]
        tables += ["", *_prevalence(report.prevalence)]
        tables += [] if report.unknowns is None else ["", str(report.unknowns)]
    first += [paragraph("CAUTION: ", words) for words in report.cautions]
    if report.regression is not None:
        tables += ["", *_regression(report.regression, report.formula or "")]
        if isinstance(report, Report) and report.units:
            heads, rows = unit_rows(report.regression.askance, report.units, odds=True)
            tables += ["", "In units that can be compared", *aligned(heads, rows)]
    facts = [paragraph(f"{name}: ", text) for name, text in report.diagnostics.lines()]
    notes = [paragraph("Note: ", note) for note in report.notes]
    top = [one_line(heading), one_line(asked), *first, ""]
    return "\n".join([*top, *designs, *_privacy(report), *tables, "", *facts, *notes])


def _privacy(report: QuestionReport) -> list[str]:
    whole = report.whole_person
    exact = "NO privacy guarantee. " if math.isinf(whole.epsilon) else f"epsilon {whole.epsilon:.6g}. "
    if whole == report.guarantee:
        lines = [paragraph("Privacy: ", exact + whole.in_words())]
    else:
        lines = [paragraph(f"Privacy of {whole.protects}: ", exact + whole.in_words())]
        lines += [paragraph("This answer alone: ", f"{report.guarantee}.")]
    if report.unprotected:
        lines += [paragraph("Without any protection: ", f"{', '.join(report.unprotected)}.")]
    if report.shuffled is not None:
        lines += [paragraph("If shuffled: ", shuffled_in_words(report.shuffled))]
    return lines


def estimator_text(report: EstimatorReport) -> str:
    """Return what a fitted estimator has to say for the terminal: table, facts, privacy, notes."""
    summary = replace(report.summary, facts=(*report.summary.facts, *report.facts), notes=report.all_notes)
    headlines = [
        paragraph(f"{shown.label}: ", f"{shown.value}. {shown.words}".rstrip(". ")) for shown in report.headlines
    ]
    words = [] if report.guarantee is None else [paragraph("In words: ", report.guarantee.in_words())]
    again = ["", "This report is made again by", report.how_to_repeat] if report.how_to_repeat else []
    return "\n".join([one_line(report.title), "", *headlines, str(summary), *words, *again])


def paragraph(label: str, text: str) -> str:
    """Return a label and a text, broken into lines."""
    return textwrap.fill(one_line(label + text), TEXT_WIDTH, subsequent_indent="  ", break_long_words=False)


def _prevalence(comparison: Comparison) -> list[str]:
    summary = comparison.askance
    heads = ["", "estimate", "std. error", f"{summary.percent} from", "to", *_naive_head(comparison)]
    rows = []
    for i, (name, row) in enumerate(zip(summary.names, summary.values.tolist(), strict=True)):
        estimate, error, _, _, low, high = row
        rows.append([name, *(number(value, 4) for value in (estimate, error, low, high)), *_naive(comparison, i, 4)])
    return ["Proportions of the true answers", *aligned(heads, rows), *_naive_legend(comparison)]


def _regression(comparison: Comparison, formula: str) -> list[str]:
    summary = comparison.askance
    heads = [*summary.heads(), *_naive_head(comparison)]
    rows = [
        [*cells, *_naive(comparison, i, digits)]
        for i, (cells, digits) in enumerate(zip(summary.cells(), summary.decimals(), strict=True))
    ]
    return [one_line(f"{summary.title}: {formula}"), *aligned(heads, rows), *_naive_legend(comparison)]


def _naive_head(comparison: Comparison) -> list[str]:
    return [] if comparison.naive is None else ["naive (wrong)"]


def _naive(comparison: Comparison, row: int, digits: int) -> list[str]:
    return [] if comparison.naive is None else [number(float(comparison.naive.values[row, 0]), digits)]


def _naive_legend(comparison: Comparison) -> list[str]:
    return [] if comparison.naive is None else [f"naive: {NAIVE}."]
