"""Figures of metrics: curves, calibration and confusion on a pair of axes that may be given."""

from typing import TYPE_CHECKING, Any

import numpy as np

from askance.reports.axes import new_axes

if TYPE_CHECKING:
    from askance.metrics.decisions import ConfusionMatrix
    from askance.metrics.probabilities import Calibration
    from askance.metrics.ranking import RocCurve

_SIZE = (5.2, 4.2)  # inches: what is square is nearly so with its labels
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
    ax = new_axes(_SIZE, ax)
    ax.imshow(found.shares, cmap="Blues", vmin=0, vmax=max(float(found.shares.max()), 0))
    dark = float(found.shares.max()) / 2
    for (true, said), share in np.ndenumerate(found.shares):
        text = f"{share:.3f}\n± {_TWO_SIDED * found.std_errors[true, said]:.3f}"
        ax.text(said, true, text, ha="center", va="center", color="white" if share > dark else "black")
    names = [str(label) for label in found.classes.tolist()]
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="predicted", ylabel="truth (estimated shares of all rows, 95%)")
    return ax
