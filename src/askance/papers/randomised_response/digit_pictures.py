"""Rows of pictures of digits: clean, as they were reported, and as they can be reconstructed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from askance.arrays import Floats
from askance.papers.data.digits import Digits
from askance.reports.colours import GREY, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = tuple[str, Sequence[Floats]]


def draw_rows(digits: Digits, titles: Sequence[str], rows: Sequence[Row]) -> "Figure":
    """Draw named rows of pictures under column titles, black ink on white, with the source below.

    Brightness is from 0 to 1; what noise moved beyond is clipped.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.35 * len(titles) + 0.9, 1.42 * len(rows) + 0.55), dpi=160, layout="constrained")
    axes = figure.subplots(len(rows), len(titles), squeeze=False)
    for line, (name, pictures) in zip(axes, rows, strict=True):
        for axis, picture in zip(line, pictures, strict=True):
            shown = np.asarray(picture).reshape(digits.side, digits.side)
            axis.imshow(shown, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
            axis.set(xticks=[], yticks=[])
            for spine in axis.spines.values():
                spine.set_color(GREY)
        line[0].set_ylabel(name, fontsize=9, color=INK)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=10, color=INK)
    figure.supxlabel(f"Pictures: {digits.source}", fontsize=7, color=GREY)
    return figure


def typical(digits: Digits, digit: int) -> int:
    """The number of the picture that is nearest to its digit's mean: one that everybody can read."""
    mine = np.flatnonzero(digits.labels == digit)[:500]
    pictures = digits.pictures[mine].astype(float)
    gaps = ((pictures - pictures.mean(axis=0)) ** 2).sum(axis=1)
    return int(mine[gaps.argmin()])
