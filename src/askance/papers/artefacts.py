"""Plots and tables on disk: all figures in one style, and no half-written file."""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from askance.files.kinds import PNG, FileKind
from askance.files.targets import write_text, written_whole
from askance.papers.findings import Columns, Outcome, Result
from askance.reports.colours import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def panels(columns: int, width: float, height: float, **subplots: Any) -> "tuple[Figure, list[Axes]]":
    """Make a figure with a row of panels, without touching matplotlib's global state."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = Figure(figsize=(width, height), dpi=160, layout=layout)
    axes = list(figure.subplots(1, columns, squeeze=False, **subplots)[0])
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.spines[["left", "bottom"]].set_color(GREY)
        panel.tick_params(colors=INK, labelsize=9)
        panel.set_axisbelow(True)
    return figure, axes


class Point(NamedTuple):
    """One measured mean of a curve."""

    at: float
    mean: float
    standard_error: float


def draw_means(axis: "Axes", points: Sequence[Point], label: str, colour: str, marker: str, line: Any = "-") -> None:
    """Draw a curve of means, with bars of two standard errors on either side."""
    at, mean, error = np.array(points).T
    axis.errorbar(at, mean, 2 * error, color=colour, marker=marker, ls=line, ms=5, lw=1.8, elinewidth=1, label=label)


def save_result(result: Result, folder: Path, item: str) -> Outcome:
    """Write the figures and the table of a reproduction, named after it."""
    figures = {"": result.figure} | dict(result.more_figures)
    plots = tuple(
        save_figure(figure, folder / f"{item}{suffix}.png") for suffix, figure in figures.items() if figure is not None
    )
    table = save_table(result.table, folder / f"{item}.csv")
    return Outcome(tuple(result.findings), plots, (table,), result.note)


def save_figure(figure: "Figure", path: Path) -> Path:
    """Write a figure as PNG."""
    with written_whole(path, PNG) as part:
        figure.savefig(part, format="png")
    return path


def save_table(columns: Columns, path: Path) -> Path:
    """Write columns of equal length as CSV."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    head = text.getvalue()
    writer.writerows(zip(*columns.values(), strict=True))
    write_text(path, text.getvalue(), FileKind("a table of this figure", re.escape(head.encode())))
    return path


def save_account(account: dict[str, Any], path: Path) -> Path:
    """Write the findings, over none but those of the same figure."""
    begins = re.escape(_json({"name": account["name"]}).rstrip("\n}").encode())
    write_text(path, _json(account), FileKind("the findings of this figure", begins))
    return path


def _json(account: dict[str, Any]) -> str:
    return json.dumps(account, indent=2) + "\n"
