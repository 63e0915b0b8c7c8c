"""The page of a report about a question with choices: how many, who, and how the truth was hidden."""

from collections.abc import Sequence
from html import escape

from askance.reports.figures import coefficient_plot, coefficient_rows, prevalence_plot, share_rows
from askance.reports.number_format import number, percent
from askance.reports.page import alerts, card, facts, notes, summary_table, table
from askance.reports.question_page import cards, interval_figure, privacy
from askance.reports.report import NAIVE, Comparison, DesignFacts, Report
from askance.reports.summary import Summary
from askance.reports.units import Unit, in_units, unit_rows


def answer_sections(report: Report) -> list[str]:
    """Return the sections of the page, in order."""
    by_design = facts((design.name, str(design.guarantee)) for design in report.designs if design.name)
    return [
        alerts(report.prevalence.askance.alerts),
        alerts(report.cautions, "Caution"),
        _at_a_glance(report),
        notes(report.notes),
        _prevalence(report.prevalence),
        "" if report.regression is None else _regression(report.regression, report.formula or "", report.units),
        "" if report.unknowns is None else _unknowns(report.unknowns),
        _design(report.designs),
        privacy(report, by_design),
        _diagnostics(report),
    ]


def _at_a_glance(report: Report) -> str:
    summary, naive = report.prevalence.askance, report.prevalence.naive
    shown = len(summary.names) - 1 if len(summary.names) == 2 else int(summary.values[:, 0].argmax())
    estimate, _, _, _, low, high = summary.values[shown].tolist()
    beside = ""
    if naive is not None:
        beside = f'<p class="wrong">Reports taken as the truth would say {percent(float(naive.values[shown, 0]))}.</p>'
    interval = f'{summary.percent} interval <span class="whole">{percent(low)} to {percent(high)}</span>'
    if summary.alerts:
        interval = "unbiased estimate: the design was not followed, so there is no interval"
    kind = "exposed" if summary.alerts else ""
    found = card(f"truly answer “{summary.names[shown]}”", percent(estimate), f"<p>{interval}</p>{beside}", kind)
    worth = report.diagnostics.worth
    precision = "" if worth is None else f"<p>As precise as asking about {worth:,.0f} people directly.</p>"
    return cards(found, report, report.diagnostics.reports, precision)


def _prevalence(comparison: Comparison) -> str:
    summary = comparison.askance
    heads = ["true answer", "estimate", f"{summary.percent} interval", "std. error"]
    rows = [
        [name, percent(e, 2), f"{percent(low, 2)} to {percent(high, 2)}", percent(s, 2)]
        for name, (e, s, _, _, low, high) in zip(summary.names, summary.values.tolist(), strict=True)
    ]
    if comparison.naive is not None:
        heads.append("naive (wrong)")
        for row, naive in zip(rows, comparison.naive.values.tolist(), strict=True):
            row.append(percent(naive[0], 2))
    drawn = interval_figure(
        prevalence_plot(summary, comparison.naive),
        comparison,
        "Share of each true answer",
        share_rows(summary),
        share=True,
    )
    return (
        f"<h2>How many</h2>{table(heads, rows, wrong=comparison.naive is not None)}{_naive_sentence(comparison)}{drawn}"
    )


def _regression(comparison: Comparison, formula: str, units: Sequence[Unit]) -> str:
    summary = comparison.askance
    naive = None if comparison.naive is None else in_units(comparison.naive, units)
    shown, compared = Comparison(in_units(summary, units), naive), ""
    if units:
        compared = table(
            *unit_rows(summary, units, odds=True), caption="In units that can be compared, as in the figure"
        )
    drawn = interval_figure(
        coefficient_plot(shown.askance, shown.naive, "change in log-odds, in units that can be compared"),
        shown,
        "Coefficients",
        coefficient_rows(summary),
    )
    return (
        f"<h2>Who</h2><p>{escape(summary.title)}: <strong>{escape(formula)}</strong>. Coefficients are changes in "
        f"log-odds for one unit of the covariate.</p>{drawn}{summary_table(summary, comparison.naive)}{compared}"
    )


def _unknowns(summary: Summary) -> str:
    return f"<h2>{escape(summary.title)}</h2>{summary_table(summary)}{facts(summary.facts)}"


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
        parts += [table(heads, rows, caption="Probability of each report")]
    return "".join(parts)


def _diagnostics(report: Report) -> str:
    rows = []
    for design in report.designs:
        total = sum(design.observed) or 1.0  # a design that nobody used has no shares
        for name, seen, fitted in zip(design.reports, design.observed, design.fitted, strict=True):
            label = f"{design.name}: {name}" if design.name else name
            rows.append([label, f"{seen:,.10g}", percent(seen / total, 2), percent(fitted / total, 2)])
    counts = table(["report", "count", "observed", "fitted"], rows, caption="Reports, and what the estimate implies")
    return f"<h2>Can it be trusted</h2>{facts(report.diagnostics.lines())}{counts}"


def _naive_sentence(comparison: Comparison) -> str:
    if comparison.naive is None:
        return '<p class="quiet">Reports and answers have different labels, so there is no naive analysis.</p>'
    return f'<p class="quiet">Naive: {NAIVE}, as if nobody had randomised. It is shown for comparison only.</p>'
