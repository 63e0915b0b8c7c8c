"""The class ratios of new groups: a table, and a plot of their intervals."""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.ratios.diagnosis import SHIFTED
from askance.learning.ratios.groups import Progress
from askance.learning.ratios.ratio_summary import INTERVALS_FOR, ratio_errors
from askance.printing import one_line
from askance.reports.number_format import number, p_value
from askance.reports.summary import Summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from askance.learning.ratios.ratio_estimator import RatioEstimator


@dataclass(frozen=True, eq=False)
class RatioTable:
    """Estimated ratios with intervals.

    Parameters
    ----------
    groups : tuple of str
    rows : tuple of int
        Of each group.
    classes : tuple of str
    ratios, errors, low, high : array, groups x K
    shift_p : array, groups
        The probability that a mixture of the classes is as far from its class embeddings as this group is.
    level : float
    target : str
        What errors and intervals are about: these very rows ("group"), or the population behind them.
    """

    groups: tuple[str, ...]
    rows: tuple[int, ...]
    classes: tuple[str, ...]
    ratios: Floats
    errors: Floats
    low: Floats
    high: Floats
    shift_p: Floats
    level: float
    target: str = "group"

    @classmethod
    def of(
        cls,
        model: "RatioEstimator",
        X: Any,
        groups: Sequence[str] | NDArray[Any] | None,
        level: float,
        progress: Progress | None = None,
    ) -> "RatioTable":
        """Estimate the ratios of every group of the frame X."""
        found = model.estimate_groups(X, np.full(len(X), "all rows") if groups is None else groups, level, progress)
        if any(len(group.estimate.ratios) != len(model.classes_) for group in found):
            raise ValueError(f"ratios of another number of classes than {len(model.classes_)}")  # a damaged model
        return cls(
            groups=tuple(str(group.name) for group in found),
            rows=tuple(group.estimate.rows for group in found),
            classes=tuple(map(str, model.classes_.tolist())),
            ratios=np.array([group.estimate.ratios for group in found]),
            errors=np.array([ratio_errors(group.estimate, model.target) for group in found]),
            low=np.array([group.interval[:, 0] for group in found]),
            high=np.array([group.interval[:, 1] for group in found]),
            shift_p=np.array([group.estimate.misfit_p for group in found]),
            level=level,
            target=model.target,
        )

    @property
    def shifted(self) -> tuple[str, ...]:
        """The groups that are no mixture of the classes as the training bags show them."""
        return tuple(name for name, p in zip(self.groups, self.shift_p, strict=True) if p < SHIFTED / len(self.groups))

    def records(self) -> list[dict[str, Any]]:
        """One record for each group and class."""
        return [
            {
                "group": group,
                "rows": rows,
                "class": label,
                "ratio": float(self.ratios[i, k]),
                "low": float(self.low[i, k]),
                "high": float(self.high[i, k]),
                "shift_p": float(self.shift_p[i]),
            }
            for i, (group, rows) in enumerate(zip(self.groups, self.rows, strict=True))
            for k, label in enumerate(self.classes)
        ]

    def summary(self, fit: Summary) -> Summary:
        """Return the table with the facts of the fit that it comes from; groups that have shifted come first."""
        names = self.classes
        if len(self.groups) > 1:
            names = tuple(f"{group}: {label}" for group in self.groups for label in self.classes)
        nothing = np.full_like(self.ratios, math.nan)
        columns = (self.ratios, self.errors, nothing, nothing, self.low, self.high)
        values = np.column_stack([column.ravel() for column in columns])
        about = f"{len(self.groups)} ({sum(self.rows)} rows); intervals for {INTERVALS_FOR[self.target]}"
        alerts = tuple(
            f"{group} is no mixture of the classes as the training bags show them: do not trust its ratios."
            for group in self.shifted
        )
        return replace(
            fit, title="Class ratios of new groups", names=names, values=values, level=self.level,
            facts=(("groups", about), *fit.facts), alerts=(*alerts, *fit.alerts),
        )  # fmt: skip

    def to_csv(self) -> str:
        """Return a CSV text with a line for each group and class."""
        text = io.StringIO()
        records = self.records()
        writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def __str__(self) -> str:
        header = ("group", "rows", "class", "ratio", f"{100 * self.level:g}% interval", "p of the fit")
        lines = [header]
        for i, (group, rows) in enumerate(zip(self.groups, self.rows, strict=True)):
            for k, label in enumerate(self.classes):
                first = k == 0
                odd = "  shifted" * (group in self.shifted)
                lines.append(
                    (
                        one_line(group) * first,
                        f"{rows:,}" * first,
                        one_line(label),
                        number(self.ratios[i, k], 3),
                        f"{number(self.low[i, k], 3)} to {number(self.high[i, k], 3)}",
                        (p_value(self.shift_p[i]) + odd) * first if not math.isnan(self.shift_p[i]) else "",
                    )
                )
        widths = [max(len(line[j]) for line in lines) for j in range(len(header))]
        right = (False, True, False, True, True, False)
        return "\n".join(
            "  ".join(
                cell.rjust(width) if end else cell.ljust(width)
                for cell, width, end in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        )


def ratio_plot(table: RatioTable) -> "Figure":
    """Draw the ratios with their intervals, group by group; of two classes one is enough."""
    from matplotlib.figure import Figure

    from askance.learning.ratios.ratio_figures import draw_ratios, ratio_height

    figure = Figure(figsize=(7.0, ratio_height(table)), dpi=160, layout="constrained")
    drawn = draw_ratios(figure.subplots(), table)
    if len(drawn) > 1:
        # Labels are given outright, and as they are: a class may begin with an underscore, or have dollars in its name.
        legend = figure.legend(
            drawn, table.classes, loc="outside upper center", ncols=min(len(drawn), 6), frameon=False, fontsize=9
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    return figure
