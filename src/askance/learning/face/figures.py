"""Figures that several estimators have: estimates and shares with their intervals."""

from collections.abc import Callable, Container
from functools import partial
from typing import Any

import numpy as np

from askance.reports.axes import new_axes
from askance.reports.estimator_report import ReportFigure
from askance.reports.figures import coefficient_rows, draw_intervals, draw_shares, interval_height, share_rows
from askance.reports.summary import Summary

_MOST_DESCRIBED = 8  # estimates that are read out: as many as a listener follows; the table has all of them
_WIDTH = 5.2  # inches: as wide as the page shows a figure


def intervals_figure(
    summary: Summary, unit: str = "change in log-odds", cuts: Container[str] = frozenset()
) -> ReportFigure:
    """Return the figure of coefficients with their intervals; intercept and cuts between classes are no changes."""
    rows = coefficient_rows(summary)
    rows = [row for row in rows if summary.names[row] not in cuts] or rows
    draw = partial(draw_intervals, estimates=summary, rows=rows, unit=unit)
    title = "Estimates" if np.isnan(summary.values[:, 1]).all() else f"Estimates with {summary.percent} intervals"
    return _figure_of(summary, rows, title, draw, "{:.3g}")


def shares_figure(summary: Summary) -> ReportFigure:
    """Return the figure of proportions with their intervals; of two that sum to one, the second alone."""
    rows = share_rows(summary)
    draw = partial(draw_shares, estimates=summary)
    return _figure_of(summary, rows, f"Shares of all respondents with {summary.percent} intervals", draw, "{:.1%}")


def _figure_of(summary: Summary, rows: list[int], title: str, draw: Callable[[Any], None], shown: str) -> ReportFigure:
    values = [f"{summary.names[row]} {shown.format(summary.values[row, 0])}" for row in rows[:_MOST_DESCRIBED]]
    more = ", and more" if len(rows) > _MOST_DESCRIBED else ""
    return ReportFigure(f"{title}.", f"{title}: {', '.join(values)}{more}.", draw, (_WIDTH, interval_height(len(rows))))


def drawn(figure: ReportFigure, ax: Any = None) -> Any:
    """Draw a figure on matplotlib axes, made anew if none are given, and return them."""
    if isinstance(figure.drawing, str):
        raise TypeError("a figure that is ready-made has no axes")
    ax = new_axes(figure.size, ax)
    figure.drawing(ax)
    return ax
