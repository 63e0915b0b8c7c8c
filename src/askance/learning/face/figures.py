"""Figures that several estimators have: estimates with their intervals."""

from functools import partial
from typing import Any

from askance.reports.estimator_report import ReportFigure
from askance.reports.figures import coefficient_rows, draw_intervals, interval_height
from askance.reports.summary import Summary


def intervals_figure(summary: Summary, unit: str = "change in log-odds") -> ReportFigure:
    """Return the figure of coefficients with their intervals; the intercept is left to the table."""
    rows = coefficient_rows(summary)
    shown = ", ".join(f"{summary.names[row]} {summary.values[row, 0]:.3g}" for row in rows[:8])
    return ReportFigure(
        f"Estimates with {summary.percent} intervals.",
        f"Estimates with {summary.percent} intervals: {shown}{', and more' if len(rows) > 8 else ''}.",
        partial(draw_intervals, estimates=summary, rows=rows, unit=unit),
        (5.2, interval_height(len(rows))),
    )


def drawn(figure: ReportFigure, ax: Any = None) -> Any:
    """Draw a figure on matplotlib axes, made anew if none are given, and return them."""
    if isinstance(figure.drawing, str):
        raise TypeError("a figure that is ready-made has no axes")
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=figure.size, layout="constrained").subplots()
    figure.drawing(ax)
    return ax
