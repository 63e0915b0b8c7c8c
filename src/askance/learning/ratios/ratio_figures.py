"""Figures of class ratios: those of new groups with intervals, and how well the training bags are explained."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from askance.learning.bags.bag_fit import COLOURS, MARKERS, bag_fit_figure
from askance.learning.ratios.mmd import MmdRatios
from askance.learning.ratios.ratio_report import RatioTable
from askance.reports.colours import BLUE, GREY, MIST
from askance.reports.estimator_report import ReportFigure
from askance.reports.svg import plain_label


def ratio_figure(table: RatioTable) -> ReportFigure:
    """Return the figure of the ratios of new groups."""
    said = "; ".join(
        f"{group}: {', '.join(f'{label} {ratio:.3g}' for label, ratio in zip(table.classes, row, strict=True))}"
        for group, row in zip(table.groups[:8], table.ratios, strict=False)
    )
    title = f"Class ratios with {100 * table.level:g}% intervals."
    more = ", and more" if len(table.groups) > 8 else ""
    return ReportFigure(title, f"{title} {said}{more}.", partial(_with_legend, table=table), (5.2, ratio_height(table)))


def bag_figures(
    model: MmdRatios, classes: Sequence[Any], bandwidths: Sequence[float], errors: Sequence[float]
) -> tuple[ReportFigure, ...]:
    """Return the figures of a fit: the training bags as mixtures of the classes, and the choice of the bandwidth."""
    found, bags = model.bag_ratios(), model.bags
    count = len(bags.sizes)
    points = np.vstack(
        [
            np.column_stack([np.full(count, k), found[:, k], bags.proportions[:, k], bags.sizes])
            for k in range(len(classes))
        ]
    )
    explained = bag_fit_figure(
        points, classes, "Given shares of the training bags, and those of the mixture of classes nearest to their rows."
    )
    if not bandwidths:
        return (explained,)
    best = int(np.argmin(errors))
    choice = ReportFigure(
        "Error of held-out bags by the kernel's bandwidth.",
        f"Root mean square error of the proportions of held-out bags for {len(bandwidths)} bandwidths: least, "
        f"{errors[best]:.3g}, at {bandwidths[best]:.3g}.",
        partial(_draw_bandwidths, bandwidths=bandwidths, errors=errors),
    )
    return explained, choice


def ratio_height(table: RatioTable) -> float:
    """Return the height in inches of a figure of ratios: room for every group and class, 60 at most."""
    shown = 1 if len(table.classes) == 2 else len(table.classes)
    return min(1.3 + len(table.groups) * (0.32 if shown == 1 else 0.2 + 0.16 * shown), 60.0)


def draw_ratios(axes: Any, table: RatioTable) -> list[Any]:
    """Draw the ratios with their intervals, group by group, and return what a legend shows; of two classes one."""
    shown = [1] if len(table.classes) == 2 else list(range(len(table.classes)))
    step = 0.8 / len(shown)
    places = np.arange(len(table.groups))[::-1]
    drawn: list[Any] = []  # containers, which a legend takes for artists
    for j, k in enumerate(shown):
        at = places + 0.4 - step * (j + 0.5)
        bars = axes.errorbar(
            table.ratios[:, k],
            at,
            # Rounding may put an end of an interval on the wrong side of an estimate at the border.
            xerr=np.maximum([table.ratios[:, k] - table.low[:, k], table.high[:, k] - table.ratios[:, k]], 0),
            fmt=MARKERS[k % len(MARKERS)],
            color=COLOURS[(k if len(shown) > 1 else 0) % len(COLOURS)],
            ms=4.5,
            elinewidth=1.6,
        )
        drawn.append(bars)
    labels = [plain_label(name) + " *" * (name in table.shifted) for name in table.groups]
    axes.set_yticks(places, labels, parse_math=False)
    axes.set_ylim(-0.6, len(table.groups) - 0.4)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel(
        (f"share of {table.classes[1]}" if len(shown) == 1 else "share of each class")
        + f", with {100 * table.level:g}% intervals"
        + "\n* no mixture of the classes: do not trust" * bool(table.shifted),
        parse_math=False,
    )
    axes.grid(axis="x", color=MIST, lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return drawn


def _with_legend(axes: Any, table: RatioTable) -> None:
    drawn = draw_ratios(axes, table)
    if len(drawn) > 1:
        for text in axes.legend(drawn, table.classes, frameon=False, fontsize=9).get_texts():
            text.set_parse_math(False)


def _draw_bandwidths(axes: Any, bandwidths: Sequence[float], errors: Sequence[float]) -> None:
    axes.plot(bandwidths, errors, "o-", color=BLUE, markersize=4.5)
    axes.set_xscale("log")
    axes.set_xlabel("bandwidth, in standard deviations of the features", color=GREY)
    axes.set_ylabel("error of held-out bags", color=GREY)
    axes.spines[["top", "right"]].set_visible(False)
