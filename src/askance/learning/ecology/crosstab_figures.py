"""Figures of a cross-table: the shares of each row, and how the units' columns are explained."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.reports.colours import BLUE, GREY, MIST
from askance.reports.estimator_report import ReportFigure
from askance.reports.svg import plain_label

_MOST_WITH_INTERVALS = 90  # cells: of more, an interval in each is too small to read
_DARK = 0.55  # of a share, from which text on it is white
_LARGE_TEXT, _SMALL_TEXT, _FEW_COLUMNS = 10, 7.5, 4  # points in a cell: few columns leave room
_LONGEST = 24  # letters of a name on an axis
_UPRIGHT = 8  # letters that fit below a cell, which is .85 inches wide or more
_MOST_DESCRIBED = 6  # rows in the words for those who do not see the figure: a sentence, not the table


def crosstab_figure(
    rows: Sequence[Any], columns: Sequence[Any], shares: Floats, low: Floats, high: Floats, percent: str
) -> ReportFigure:
    """Return the figure of the shares of each row, with intervals."""
    sentences = [f"{rows[r]} to {columns[shares[r].argmax()]} {shares[r].max():.0%}" for r in _largest(shares)]
    title = f"Of each row, the share that chose each column, with {percent} intervals."
    draw = partial(_draw_table, rows=rows, columns=columns, shares=shares, low=low, high=high)
    width = min(2.2 + 0.85 * len(columns), 14.0)
    return ReportFigure(title, f"{title} {'; '.join(sentences)}.", draw, (max(width, 5.2), 1.4 + 0.42 * len(rows)))


def explained_figure(columns: Sequence[Any], given: Floats, expected: Floats, sizes: Floats) -> ReportFigure:
    """Return the figure of the columns of each unit against what its rows make likely."""
    title = "Column shares of the units, and those that their rows alone make likely."
    weight = sizes / sizes.sum()
    about = given - weight @ given
    left = 1 - (weight @ (given - expected) ** 2) / np.maximum(weight @ about**2, 1e-300)
    sentences = "; ".join(
        f"{name}: {max(part, 0):.0%} of the variance" for name, part in zip(columns, left, strict=False)
    )
    draw = partial(_draw_explained, given=given, expected=expected, sizes=sizes)
    return ReportFigure(title, f"{title} {sentences}.", draw, (5.2, 4.0))


def _largest(shares: Floats) -> list[int]:
    known = [r for r in range(len(shares)) if np.isfinite(shares[r]).all()]
    return known[:_MOST_DESCRIBED]


def _draw_table(
    axes: Any, rows: Sequence[Any], columns: Sequence[Any], shares: Floats, low: Floats, high: Floats
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    with_intervals = shares.size <= _MOST_WITH_INTERVALS
    size = _LARGE_TEXT if shares.shape[1] <= _FEW_COLUMNS else _SMALL_TEXT
    axes.imshow(
        shares, cmap=LinearSegmentedColormap.from_list("shares", ["white", BLUE]), vmin=0, vmax=1, aspect="auto"
    )
    for (r, k), share in np.ndenumerate(shares):
        if np.isnan(share):
            continue
        text = f"{100 * share:.0f}"
        if with_intervals:
            text += f"\n{100 * low[r, k]:.0f} to {100 * high[r, k]:.0f}"
        axes.text(k, r, text, ha="center", va="center", fontsize=size, color="white" if share > _DARK else "black")
    names = [plain_label(str(name), _LONGEST) for name in columns]
    turned = {"rotation": 30, "ha": "right"} if max(map(len, names)) > _UPRIGHT else {}
    axes.set_xticks(range(len(columns)), names, parse_math=False, **turned)
    axes.set_yticks(range(len(rows)), [plain_label(str(name), _LONGEST) for name in rows], parse_math=False)
    axes.tick_params(length=0)
    axes.spines[:].set_color(MIST)
    axes.set_xlabel("per cent of the row's people", color=GREY)


def _draw_explained(axes: Any, given: Floats, expected: Floats, sizes: Floats) -> None:
    area = 4 + 40 * sizes / sizes.max()
    for k in range(given.shape[1]):
        axes.scatter(100 * expected[:, k], 100 * given[:, k], s=area, color=BLUE, alpha=0.35, linewidths=0)
    most = 100 * max(float(given.max()), float(expected.max()))
    axes.plot([0, most], [0, most], color=GREY, lw=1)
    axes.set_xlabel("expected from the unit's rows (%)", color=GREY)
    axes.set_ylabel("share of a column in a unit (%)", color=GREY)
    axes.spines[["top", "right"]].set_visible(False)
