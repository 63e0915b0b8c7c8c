"""A plan as curves: how the margin falls with the number of respondents."""

from typing import TYPE_CHECKING, Any

import numpy as np

from askance.reports.axes import new_axes

if TYPE_CHECKING:
    from askance.planning.study_plan import Plan

_POINTS = 60  # of each curve
_AROUND = 8.0  # times fewer and more respondents than are planned


def plot_plan(plan: "Plan", ax: Any = None) -> Any:
    """Draw the widest margin of every design against the number of respondents, and mark what is planned."""
    ax = new_axes((7, 4.2), ax)
    fewest = max(2, int(min(design.n for design in plan.designs) / _AROUND))
    most = max(design.n for design in plan.designs) * _AROUND
    respondents = [int(n) for n in np.unique(np.geomspace(fewest, most, _POINTS).astype(int))]
    drawn: dict[tuple[float, ...], list[str]] = {}
    for design in plan.designs:  # equally good designs have one curve, and one entry
        curve = tuple(np.round(plan.curve(design.name, respondents), 12))
        drawn.setdefault(curve, []).append(design.name)
    for curve, names in drawn.items():
        ax.plot(
            respondents, curve, label=" = ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"
        )
    ax.plot(
        [plan.recommended.n], [plan.recommended.margin], "o", color="black", label=f"planned: {plan.recommended.n:,}"
    )
    across, upwards = "respondents", f"margin of a {100 * plan.level:g}% interval"
    if plan.quantity.is_error:
        across, upwards = "rows in all bags", "expected error of all ratios, added up"
    ax.set(xscale="log", yscale="log", xlabel=across, ylabel=upwards)
    ax.grid(True, which="both", alpha=0.25)
    ax.legend(fontsize="small", frameon=False)
    return ax
