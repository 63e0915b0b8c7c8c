"""Figures of a classifier of hidden records: its coefficients, and what each ridge was worth."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.reports.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION
from askance.reports.estimator_report import ReportFigure

_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
_MOST_NAMED = 8  # attributes that a description names


def coefficients_figure(coefficients: Floats, classes: Sequence[Any]) -> ReportFigure:
    """Return the figure of coefficients without intervals, attribute by attribute: a line for each row of them."""
    labels = classes[1:] if len(coefficients) == 1 else classes
    size = np.abs(coefficients).max(axis=0)
    largest = ", ".join(f"{place + 1} ({size[place]:.3g})" for place in np.argsort(-size)[:_MOST_NAMED].tolist())

    def draw(axes: Any) -> None:
        for place, (row, label) in enumerate(zip(coefficients, labels, strict=True)):
            colour = _COLOURS[place % len(_COLOURS)]
            axes.plot(np.arange(1, len(row) + 1), row, color=colour, lw=1.2, label=str(label))
        axes.axhline(0, color=GREY, lw=0.8, zorder=0)
        axes.set(xlabel="attribute", ylabel="change in log-odds")
        axes.spines[["top", "right"]].set_visible(False)
        if len(labels) > 1:
            axes.legend(frameon=False, fontsize=8, ncols=5)

    return ReportFigure(
        "Coefficients of the attributes, in their order; they have no standard errors.",
        f"Coefficients of {coefficients.shape[1]} attributes. The largest are those of attribute {largest}.",
        draw,
    )


def ridge_figure(trials: Mapping[str, Sequence[Any]], ridges: Mapping[str, float]) -> ReportFigure:
    """Return the figure of how far behind the best each ridge was, in standard errors, on reports that were left out.

    Parameters
    ----------
    trials : mapping
        ``cv_results_``: method, ridge, behind and behind_error of every trial.
    ridges : mapping
        The ridge that was taken, by method.
    """
    methods = list(dict.fromkeys(trials["method"]))
    behind = np.array(trials["behind"]) / np.maximum(trials["behind_error"], np.finfo(float).tiny)
    behind[np.array(trials["behind"]) == 0] = 0.0  # the best is not behind itself
    table = {name: [place for place, method in enumerate(trials["method"]) if method == name] for name in methods}

    def draw(axes: Any) -> None:
        for colour, (name, places) in zip(_COLOURS, table.items(), strict=False):
            across = [trials["ridge"][place] for place in places]
            axes.plot(across, -behind[places], color=colour, marker="o", ms=4, lw=1.5, label=name)
            if name in ridges:
                axes.axvline(ridges[name], color=colour, lw=0.9, ls=":")
        axes.set_xscale("log")
        axes.set(xlabel="ridge", ylabel="standard errors below the best")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)

    taken = " and ".join(f"{ridge:.3g} ({method})" for method, ridge in ridges.items())
    return ReportFigure(
        "The likelihood of reports that were left out, by ridge; dotted: what was taken.",
        f"Held-out likelihood of {len(behind)} trials. The ridge that was taken is {taken}.",
        draw,
    )
