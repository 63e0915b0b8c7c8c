"""Plots of a tagger: which tags it confuses, what its passes reached, and how its tags compare with the counts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from askance.errors import InvalidInput
from askance.reports.axes import new_axes
from askance.reports.colours import BLUE, GREEN, INK, MIST, ORANGE, PURPLE, SKY, VERMILION
from askance.reports.estimator_report import ReportFigure

if TYPE_CHECKING:
    from askance.learning.counting.count_tagger import CountTagger

_MOST_TAGS = 20  # of a figure: the most frequent ones, a quarter of an inch each
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)


def confusion_table(
    truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], tags: Sequence[str]
) -> NDArray[np.int64]:
    """Count tokens by true tag (rows) and predicted tag (columns).

    Examples
    --------
    >>> confusion_table([["NN", "VB", "NN"]], [["NN", "NN", "NN"]], ["NN", "VB"])
    array([[2, 0],
           [1, 0]])
    """
    number = {tag: place for place, tag in enumerate(tags)}
    table = np.zeros((len(tags), len(tags)), np.int64)
    for true, found in zip(truth, predicted, strict=True):
        for pair in zip(true, found, strict=True):
            for tag in pair:
                if tag not in number:
                    raise InvalidInput(f"the tag {tag!r}", f"one of the {len(tags)} tags of the table")
            table[number[pair[0]], number[pair[1]]] += 1
    return table


def plot_confusion(
    tagger: "CountTagger",
    sentences: Sequence[Sequence[str]],
    tags: Sequence[Sequence[str]],
    most: int = 15,
    axes: Any = None,
) -> Any:
    """Draw which tags are taken for which: rows are true tags, and each row's shares sum to one.

    Parameters
    ----------
    tagger : CountTagger
    sentences, tags : lists of lists
        Sentences whose true tags are known.
    most : int
        So many tags, those with the most mistakes, are drawn; the others are "(rest)".
    axes : matplotlib axes, optional
        A new figure if not given.

    Returns
    -------
    matplotlib axes
    """
    names = sorted({*tagger.classes_.tolist(), *(tag for its in tags for tag in its)})
    table, shown = _worst(confusion_table(tags, tagger.predict(sentences), names), names, most)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    size = 2.4 + 0.34 * len(shown)
    drawn = new_axes((size, size), axes, dpi=160)
    drawn.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1)  # roots: mistakes are rare, and are what one looks for
    for row, column in zip(*np.nonzero(shares >= 0.005), strict=True):
        share = shares[row, column]
        drawn.text(
            column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=7,
            color="white" if share > 0.35 else INK,
        )  # fmt: skip
    drawn.set_xticks(range(len(shown)), shown, rotation=90, fontsize=8, parse_math=False)
    drawn.set_yticks(
        range(len(shown)), [f"{tag}  {n:,}" for tag, n in zip(shown, table.sum(1), strict=True)], fontsize=8
    )
    drawn.set(xlabel="predicted tag", ylabel="true tag, with its tokens")
    drawn.set_title("per cent of each true tag's tokens", fontsize=9)
    drawn.tick_params(length=0)
    return drawn


def plot_accuracy(
    histories: "Mapping[str, CountTagger | Sequence[Mapping[str, Any]]]",
    by: Literal["passes", "seconds"] = "passes",
    axes: Any = None,
) -> Any:
    """Draw accuracy by pass or by CPU seconds, a line for each fit.

    Passes of different estimators do different work; only seconds compare what they cost.

    Parameters
    ----------
    histories : mapping
        By name: a tagger that was fitted with ``validation``, or its ``history_``.
    by : {"passes", "seconds"}
    axes : matplotlib axes, optional
        A new figure if not given.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> history = [{"stage": "marginal", "pass": 1, "cpu_seconds": 0.5, "accuracy": 0.8}]
    >>> plot_accuracy({"marginal": history}, by="seconds").get_xlabel()
    'CPU seconds'
    """
    from matplotlib.ticker import MaxNLocator

    if by not in ("passes", "seconds"):
        raise InvalidInput(f"by={by!r}", "passes or seconds")
    drawn = new_axes((4.8, 3.6), axes, dpi=160)
    for place, (name, fit) in enumerate(histories.items()):
        records = getattr(fit, "history_", fit)
        if not records or any("accuracy" not in record for record in records):
            raise InvalidInput(f"{name!r} without accuracies", "a tagger whose fit was given validation=...")
        across = [record["cpu_seconds"] for record in records] if by == "seconds" else range(1, len(records) + 1)
        heights = [record["accuracy"] for record in records]
        drawn.plot(list(across), heights, color=_COLOURS[place % len(_COLOURS)], marker="o", ms=4, lw=1.8, label=name)
    drawn.set(xlabel="CPU seconds" if by == "seconds" else "passes, of all stages", ylabel="accuracy")
    if by == "passes":
        drawn.xaxis.set_major_locator(MaxNLocator(integer=True))
    drawn.grid(color=MIST, lw=0.8)
    drawn.set_axisbelow(True)
    drawn.spines[["top", "right"]].set_visible(False)
    drawn.legend(frameon=False, fontsize=8.5, loc="lower right")
    return drawn


def accuracy_figure(history: Sequence[Mapping[str, Any]]) -> ReportFigure:
    """Return the figure of the accuracy on the validation set after each pass."""
    return ReportFigure(
        "Accuracy on the validation set after each pass.",
        f"Accuracy by pass, from {history[0]['accuracy']:.3f} to {history[-1]['accuracy']:.3f}.",
        lambda axes: plot_accuracy({"validation": history}, axes=axes),
    )


def tag_counts_figure(counts: NDArray[np.int64], tags: Sequence[str]) -> ReportFigure:
    """Return the figure of how often each tag was counted, and how often it is predicted in the same windows.

    Parameters
    ----------
    counts : array, 2 x tags
        Counted, and predicted.
    tags : sequence of str
    """
    shown = np.argsort(-counts[0], kind="stable")[:_MOST_TAGS]
    words = ", ".join(f"{tags[place]} {counts[0, place]:,} and {counts[1, place]:,}" for place in shown[:8].tolist())
    names = [tags[place] for place in shown.tolist()]
    return ReportFigure(
        "How often each tag was counted (bars), and is predicted in the same windows (marks).",
        f"Tags counted and predicted: {words}{', and more' if len(tags) > 8 else ''}.",
        partial(_draw_tag_counts, counts=counts[:, shown], names=names),
        (5.2, 0.9 + 0.25 * len(names)),
    )


def _draw_tag_counts(axes: Any, counts: NDArray[np.int64], names: list[str]) -> None:
    heights = np.arange(len(names))[::-1]
    axes.barh(heights, counts[0], color=MIST, height=0.7)
    axes.plot(counts[1], heights, "|", color=VERMILION, ms=11, mew=2)
    axes.set_yticks(heights, names, fontsize=8, parse_math=False)
    axes.set_xlabel("tokens in counted windows")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _worst(table: NDArray[np.int64], names: list[str], most: int) -> tuple[NDArray[np.int64], list[str]]:
    """Keep the tags with the most mistakes, either way, and add up the others."""
    mistakes = table.sum(axis=0) + table.sum(axis=1) - 2 * np.diag(table)
    if len(names) <= most:
        return table, names
    kept = np.sort(np.argsort(-mistakes, kind="stable")[:most])
    rest = np.setdiff1d(np.arange(len(names)), kept)
    groups = [[place] for place in kept.tolist()] + [rest.tolist()]
    merged = np.array([[table[np.ix_(rows, columns)].sum() for columns in groups] for rows in groups])
    return merged, [names[place] for place in kept] + ["(rest)"]
