"""Figures of metrics: curves, calibration and confusion on a pair of axes that may be given."""

from typing import TYPE_CHECKING, Any

import numpy as np

from askance.reports.axes import new_axes
from askance.reports.svg import plain_label

if TYPE_CHECKING:
    from askance.metrics.decisions import ConfusionMatrix
    from askance.metrics.probabilities import Calibration
    from askance.metrics.ranking import RocCurve

_SIZE = (5.2, 4.2)  # inches: what is square is nearly so with its labels
_LARGEST = 16.0  # inches
_FEW_CLASSES = 5  # whose cells have room for letters of the usual size
_MOST_WITH_ERRORS, _MOST_WITH_NUMBERS = 12, 24  # classes: of more, what is written in a cell is wider than the cell
_LONGEST, _UPRIGHT = 24, 8  # letters of a name on an axis, and of one that fits below a cell
_TWO_SIDED = 1.96  # standard errors to either side in a 95% interval


def draw_roc(curve: "RocCurve", ax: Any = None) -> Any:
    """Draw shares of either class at or above each threshold."""
    ax = new_axes(_SIZE, ax)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, linestyle="--")
    ax.plot(curve.false_positive, curve.true_positive, color="tab:blue", label=f"area {curve.area}")
    ax.set(xlabel="share of the others (estimated)", ylabel="share of the class (estimated)", aspect="equal")
    ax.legend(loc="lower right", frameon=False)
    return ax


def draw_calibration(found: "Calibration", ax: Any = None) -> Any:
    """Draw estimated shares with intervals against predicted probabilities."""
    ax = new_axes(_SIZE, ax)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1, linestyle="--")
    ax.errorbar(found.predicted, found.observed, _TWO_SIDED * found.std_errors, fmt="o", capsize=3, color="tab:blue")
    ax.set(xlabel="predicted probability", ylabel="true share (estimated, 95% intervals)")
    return ax


def draw_confusion(found: "ConfusionMatrix", ax: Any = None) -> Any:
    """Draw a table of shares by true and predicted class."""
    names = [plain_label(str(label), _LONGEST) for label in found.classes.tolist()]
    many = len(names)
    wanted = max(_SIZE[0], 2.2 + 0.7 * many), max(_SIZE[1], 1.6 + 0.45 * many)
    ax = new_axes((min(wanted[0], _LARGEST), min(wanted[1], _LARGEST)), ax)
    ax.imshow(found.shares, cmap="Blues", vmin=0, vmax=max(float(found.shares.max()), 0), aspect="auto")
    dark, letters = float(found.shares.max()) / 2, None if many <= _FEW_CLASSES else 7.5
    for (true, said), share in np.ndenumerate(found.shares) if many <= _MOST_WITH_NUMBERS else ():
        text = f"{share:.3f}"
        if many <= _MOST_WITH_ERRORS:
            text += f"\n± {_TWO_SIDED * found.std_errors[true, said]:.3f}"
        colour = "white" if share > dark else "black"
        ax.text(said, true, text, ha="center", va="center", fontsize=letters, color=colour)
    turned = {"rotation": 30, "ha": "right"} if max(map(len, names)) > _UPRIGHT else {}
    ax.set_xticks(range(many), names, parse_math=False, **turned)
    ax.set_yticks(range(many), names, parse_math=False)
    ax.set(xlabel="predicted", ylabel="truth (estimated shares of all rows, 95%)")
    return ax
