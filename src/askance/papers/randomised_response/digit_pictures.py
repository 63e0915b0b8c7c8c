"""Rows of pictures of digits: clean, as they were reported, and as they can be reconstructed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.papers.data.digits import Digits, States
from askance.reports.colours import GREY, INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = tuple[str, Sequence[Floats]]

_FEW = 100  # pictures of each digit, where simulations are to be quick
_SEARCHED = 500  # pictures of a digit among which a typical one is looked for: with more it is no easier to read


class Pictures(NamedTuple):
    """Pictures to hide, as states: one of each digit that is shown, then others from which priors are learned."""

    states: States
    labels: States


def pictures_to_hide(digits: Digits, most: int, rng: np.random.Generator, quick: bool) -> Pictures:
    """Draw at most so many pictures of each digit, and put a typical one of each before them."""
    each, _ = digits.most_each(most, 0)
    others = digits.split(min(each, _FEW) if quick else each, 0, rng)
    shown = [typical(digits, digit) for digit in digits.classes]
    states = np.vstack([digits.pictures[shown], others.X])
    return Pictures(states, np.concatenate([digits.labels[shown], others.y]))


@dataclass
class Gallery:
    """A typical picture of each digit: clean, then as it was sent and reconstructed at each level of noise."""

    digits: Digits
    clean: Floats
    sent: list[Floats] = field(default_factory=list)
    guessed: list[Floats] = field(default_factory=list)

    def add(self, sent: Floats, guessed: Floats) -> None:
        """Add a level of noise; brightness is from 0 to 1."""
        self.sent.append(sent)
        self.guessed.append(guessed)

    def draw(self, levels: Sequence[str]) -> "Figure":
        """Draw two rows for each digit, under titles for the levels."""
        rows: list[Row] = []
        for k, digit in enumerate(self.digits.classes):
            rows.append((f"“{digit}”, as sent", [self.clean[k], *(level[k] for level in self.sent)]))
            rows.append(("reconstructed", [self.clean[k], *(level[k] for level in self.guessed)]))
        return draw_rows(self.digits, ["clean", *levels], rows)


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
    mine = np.flatnonzero(digits.labels == digit)[:_SEARCHED]
    pictures = digits.pictures[mine].astype(float)
    gaps = ((pictures - pictures.mean(axis=0)) ** 2).sum(axis=1)
    return int(mine[gaps.argmin()])
