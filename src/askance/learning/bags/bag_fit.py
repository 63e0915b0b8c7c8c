"""How much of what is known of the bags the features of their rows tell: predicted against given proportions."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from askance.arrays import Floats, Integers
from askance.reports.colours import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, VERMILION
from askance.reports.estimator_report import ReportFigure
from askance.reports.svg import plain_label

# Of the classes of a figure, in their order; they begin again after eight.
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, GREY, INK)
MARKERS = "osD^v<>P"

# Bags are kept in groups, so that a saved model does not hold the label of anybody who was alone in a bag: ten are
# enough to see a curve, and the share of 20 rows says nothing sure of one.
_MOST_GROUPS, _LEAST_ROWS = 10, 20


def bag_fit(predicted: Floats, given: Floats, sizes: Integers) -> Floats:
    """Compare proportions, class by class, in groups of bags with similar predictions.

    Parameters
    ----------
    predicted, given : array, bags x K
    sizes : array, bags

    Returns
    -------
    array, points x 4
        Number of the class, predicted share, given share, rows.

    Examples
    --------
    >>> shares = np.array([[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]])
    >>> bag_fit(shares, shares, np.array([10, 30, 20]))[:, 1].round(2)
    array([0.35, 0.9 , 0.1 , 0.65])
    """
    least = max(int(sizes.sum()) / _MOST_GROUPS, _LEAST_ROWS)
    points = []
    for k in range(predicted.shape[1]):
        order = np.argsort(predicted[:, k], kind="stable")
        weight = sizes[order]
        group = _groups(weight.tolist(), least)
        total = np.bincount(group, weight)
        shares = [np.bincount(group, weight * table[order, k]) / total for table in (predicted, given)]
        points.append(np.column_stack([np.full(len(total), k), *shares, total]))
    return np.vstack(points)


def _groups(sizes: list[int], least: float) -> list[int]:
    """Number the groups of neighbours that have at least so many rows; what is left over joins the last."""
    groups, rows = [0], 0
    for size, left in zip(sizes, np.cumsum(sizes[::-1])[::-1].tolist(), strict=True):
        closed = rows >= least and left >= least
        groups.append(groups[-1] + closed)
        rows = size if closed else rows + size
    return groups[1:]


def bag_fit_figure(points: Floats, classes: Sequence[Any], title: str) -> ReportFigure:
    """Return the figure of predicted against given shares; of two classes the second is enough.

    Parameters
    ----------
    points : array, points x 4
        As ``bag_fit`` returns.
    classes : K labels
    title : str
    """
    shown = [1] if len(classes) == 2 else list(range(len(classes)))
    seen = points[np.isin(points[:, 0], shown)]
    error = float(np.average(np.abs(seen[:, 1] - seen[:, 2]), weights=seen[:, 3]))
    return ReportFigure(
        title,
        f"{title} They differ by {error:.3f} on average. On the diagonal the features tell all that bags differ in.",
        partial(_draw, points=points, classes=classes, shown=shown),
        (4.4, 4.0),
    )


def _draw(axes: Any, points: Floats, classes: Sequence[Any], shown: list[int]) -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, zorder=0)
    for k in shown:
        _, predicted, given, _ = points[points[:, 0] == k].T
        style = k if len(shown) > 1 else 0
        axes.plot(
            predicted,
            given,
            MARKERS[style % len(MARKERS)],
            color=COLOURS[style % len(COLOURS)],
            markersize=5.5,
            label=plain_label(str(classes[k])),
        )
    of = f" of {plain_label(str(classes[1]))}" if len(shown) == 1 else ""
    axes.set_xlabel(f"predicted share{of}", parse_math=False, color=GREY)
    axes.set_ylabel(f"given share{of}", parse_math=False, color=GREY)
    axes.spines[["top", "right"]].set_visible(False)
    if len(shown) > 1:
        for text in axes.legend(frameon=False, fontsize=9).get_texts():
            text.set_parse_math(False)
