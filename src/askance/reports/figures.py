"""Estimates with intervals as figures, and the naive analysis beside them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.reports.colours import BLUE, GREY, VERMILION
from askance.reports.summary import Summary
from askance.reports.svg import inline_svg, wrapped_label, wrapped_labels

_MOST_ROWS = 40  # of a figure: at half an inch each it fills two pages; the table beside it has all of them
_BEYOND = 0.15  # of the range of all finite ends: enough to be seen as farther out
_UNIT_WIDTH = 34  # letters of a line below the axis, which is all that names of rows leave
_MOST_TICKS = 6  # more of them, with signs and decimals, run into each other
_WIDTH = 5.2  # inches: with text of 10.5 points as large as the page's own where a figure is shown at 36rem


def coefficient_plot(estimates: Summary, naive: Summary | None, unit: str = "change in log-odds") -> str:
    """Draw coefficients with intervals; the naive ones beside them. The intercept is left to the table."""
    rows = coefficient_rows(estimates)
    draw = partial(draw_intervals, estimates=estimates, naive=naive, rows=rows, unit=unit)
    return inline_svg(draw, (_WIDTH, interval_height(len(rows))), "slopes")


def prevalence_plot(estimates: Summary, naive: Summary | None) -> str:
    """Draw the proportion of each true answer with its interval; the naive ones beside them."""
    draw = partial(draw_shares, estimates=estimates, naive=naive)
    return inline_svg(draw, (_WIDTH, interval_height(len(share_rows(estimates)))), "shares")


def share_rows(estimates: Summary) -> list[int]:
    """Return the rows of a figure of shares: of two that sum to one, one is enough."""
    return [1] if len(estimates.names) == 2 else list(range(len(estimates.names)))[:_MOST_ROWS]


def draw_shares(axes: Any, estimates: Summary, naive: Summary | None = None) -> None:
    """Draw shares of all respondents with their intervals on matplotlib axes."""
    rows = share_rows(estimates)
    draw_intervals(axes, estimates, naive, rows, "share of all respondents (%)", scale=100, zero=False)
    # From nothing, so that lengths can be compared, and never beyond everybody.
    axes.set_xlim(0, min(axes.get_xlim()[1], 100.5))


def coefficient_rows(estimates: Summary) -> list[int]:
    """Return the rows of a figure: those that are no intercept, if there are any, and not too many."""
    return _slopes(estimates)[:_MOST_ROWS]


def _slopes(estimates: Summary) -> list[int]:
    slopes = [i for i, name in enumerate(estimates.names) if name.split(": ")[-1] != "Intercept"]
    return slopes or list(range(len(estimates.names)))


def interval_height(rows: int) -> float:
    """Return the height in inches of a figure with so many intervals."""
    return 0.95 + 0.52 * rows  # the axis with its name, and two markers with some air for each row


def draw_intervals(
    axes: Any,
    estimates: Summary,
    naive: Summary | None = None,
    rows: Sequence[int] | None = None,
    unit: str = "",
    *,
    scale: float = 1.0,
    zero: bool = True,
) -> None:
    """Draw rows of a summary with their intervals on matplotlib axes, the first row on top.

    Parameters
    ----------
    axes : matplotlib axes
    estimates : Summary
    naive : Summary, optional
        Drawn beside them, hollow.
    rows : sequence of int, optional
        Which rows; all but the intercept if not given.
    unit : str
        What the numbers are.
    scale : float
        What they are multiplied by.
    zero : bool
        Draw a line at zero.
    """
    from matplotlib import rcParams

    rows = coefficient_rows(estimates) if rows is None else rows
    if len(rows) == _MOST_ROWS < (everything := len(_slopes(estimates))):
        unit = f"{unit} (the first {_MOST_ROWS} of {everything})"
    heights = np.arange(float(len(rows)))[::-1]
    shift = 0.0 if naive is None else 0.13
    _intervals(axes, scale * estimates.values[rows], heights + shift, BLUE, "o", filled=True)
    if naive is not None:
        _intervals(axes, scale * naive.values[rows], heights - shift, VERMILION, "D", filled=False)
    if zero:
        axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    # A column may be called $x$: none of these is a formula.
    axes.set_yticks(heights, wrapped_labels([estimates.names[row] for row in rows]), parse_math=False)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlabel(wrapped_label(unit, _UNIT_WIDTH), color=GREY, parse_math=False)
    axes.locator_params(axis="x", nbins=_MOST_TICKS)
    axes.tick_params(axis="x", length=3)
    axes.tick_params(axis="y", labelcolor=rcParams["text.color"], length=0)  # of a page, or of a style, dark or light
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", color=GREY, alpha=0.18, linewidth=0.8)


def _intervals(axes: Any, values: Floats, heights: Floats, colour: str, marker: str, filled: bool) -> None:
    estimate, low, high = values[:, 0], values[:, 4], values[:, 5]
    finite = values[:, [0, 4, 5]][np.isfinite(values[:, [0, 4, 5]])]
    # An open end is drawn a little beyond everything else, with an arrow that says it goes on.
    reach = _BEYOND * float(np.ptp(finite)) if finite.size else 1.0
    edges = (float(finite.min()) - reach, float(finite.max()) + reach) if finite.size else (-reach, reach)
    for ends, edge, arrow in ((low, edges[0], "<"), (high, edges[1], ">")):
        open_rows = np.isinf(ends)
        axes.plot(np.full(int(open_rows.sum()), edge), heights[open_rows], arrow, color=colour, markersize=6.5)
    low, high = np.where(np.isinf(low), edges[0], low), np.where(np.isinf(high), edges[1], high)
    axes.hlines(heights, low, high, color=colour, linewidth=2.2 if filled else 1.4, alpha=0.9)
    axes.plot(
        estimate, heights, marker, markersize=6.5 if filled else 5.5, markerfacecolor=colour if filled else "none",
        markeredgecolor=colour, markeredgewidth=1.4,
    )  # fmt: skip
