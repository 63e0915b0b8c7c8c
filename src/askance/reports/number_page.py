"""The page of a report about hidden numbers: what explains them, and how they were hidden."""

from html import escape

from askance.reports.figures import coefficient_plot, coefficient_rows
from askance.reports.number_format import decimals_for, number
from askance.reports.number_report import NumberReport
from askance.reports.page import alerts, card, facts, notes, summary_table, table
from askance.reports.question_page import cards, interval_figure, privacy
from askance.reports.report import Comparison
from askance.reports.units import Unit, in_units, unit_rows


def number_sections(report: NumberReport) -> list[str]:
    """Return the sections of the page, in order."""
    return [
        alerts(report.cautions, "Caution"),
        _at_a_glance(report),
        notes(report.notes),
        _regression(report),
        _design(report),
        privacy(report),
        f"<h2>Can it be trusted</h2>{facts(report.diagnostics.lines())}",
    ]


def _at_a_glance(report: NumberReport) -> str:
    summary = report.regression.askance
    if report.only_mean:
        estimate, error, _, _, low, high = summary.values[0].tolist()
        digits = decimals_for(error)
        label, big = f"mean of “{report.outcome}”", number(estimate, digits)
        words = f'{summary.percent} interval <span class="whole">{number(low, digits)} to {number(high, digits)}</span>'
    else:
        slopes = [i for i, name in enumerate(summary.names) if name != "Intercept"]
        clear = sum(low * high > 0 for low, high in summary.values[slopes][:, 4:].tolist())
        label, big = f"of the coefficients of “{report.outcome}”", f"{clear} of {len(slopes)}"
        words = f"have a {summary.percent} interval without zero."
    return cards(card(label, big, f"<p>{words}</p>"), report, report.diagnostics.reports)


def _regression(report: NumberReport) -> str:
    summary = report.regression.askance
    title = f"{escape(summary.title)}: <strong>{escape(report.formula)}</strong>."
    if report.only_mean:
        return f"<h2>How much</h2><p>{title} The intercept is the mean.</p>{summary_table(summary)}"
    shown, unit = _comparable(report)
    drawn = interval_figure(
        coefficient_plot(shown.askance, None, unit), shown, "Coefficients", coefficient_rows(summary)
    )
    in_ranges = "" if shown is report.regression else table(*unit_rows(summary, _ranges(report), odds=False))
    over = "" if shown is report.regression else " In the figure: for the whole way between its public bounds."
    return (
        f"<h2>What explains it</h2><p>{title} Coefficients are changes in {escape(report.outcome)} for one unit of the "
        f"column.{over}</p>{drawn}{summary_table(summary)}{in_ranges}"
    )


def _comparable(report: NumberReport) -> tuple[Comparison, str]:
    """Coefficients of hidden columns over the whole of their bounds, so that their units do not matter."""
    summary = report.regression.askance
    slopes = [name for name in summary.names if name != "Intercept"]
    if not all(name in report.columns for name in slopes):  # public covariates have no bounds
        return report.regression, "change for one unit"
    units = _ranges(report)
    return Comparison(in_units(summary, units), None), "change from the lowest to the highest value"


def _ranges(report: NumberReport) -> list[Unit]:
    return [
        Unit(name, report.columns[name][1] - report.columns[name][0], "its public bounds")
        for name in report.regression.askance.names
        if name in report.columns
    ]


def _design(report: NumberReport) -> str:
    rows = [[name, f"{low:,.10g}", f"{high:,.10g}"] for name, (low, high) in report.columns.items()]
    bounds = table(["hidden column", "lowest", "highest"], rows, caption="Public bounds; values outside were clipped")
    return f"<h2>How the truth was hidden</h2><p>{escape(report.sentence)}</p>{bounds}"
