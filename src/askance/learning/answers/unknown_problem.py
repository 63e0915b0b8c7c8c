"""What is fitted where a channel has unknown numbers: which features explain the answers, and which the unknowns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource, RecordSource
from askance.learning.answers.feature_geometry import COLLINEAR, Geometry
from askance.learning.answers.unknown_objective import JointModel
from askance.statistics.base import Records
from askance.statistics.frequencies import ReportCounts

_CONSTANT = 1e-12  # variance of a column, against its mean square, that is rounding alone


@dataclass(frozen=True, eq=False)
class UnknownProblem:
    """What is to be fitted.

    Parameters
    ----------
    channel : channel with ``unknowns``
    feature_names : names of all features that the records have
    columns : which of them the softmax model has
    unknown_columns : which of them the logit of each unknown number has, by name; none if it is not there
    intercept : bool
    ridge : float, optional
        0: exact maximum likelihood or a refusal. None: log-F where there is no finite maximum.
    weighted : bool
        Whether records have sampling weights, so that likelihood ratios must be scaled.
    penalty : "auto" or "log-f"
        "log-f" penalises every parameter; "auto" those that would run away.
    intervals : "auto", "profile" or "wald"
        Which parameters get a profile: those that need one, all, or only those that a penalty moved.
    """

    channel: Any
    feature_names: Sequence[str]
    columns: Sequence[int]
    unknown_columns: Mapping[str, Sequence[int]] = field(default_factory=dict)
    intercept: bool = True
    ridge: float | None = None
    weighted: bool = False
    penalty: str = "auto"
    intervals: str = "auto"
    max_iterations: int = 200

    def model(self, counts: ReportCounts, source: RecordSource, engine: Engine, notes: list[str]) -> JointModel:
        """Return what is summed over the records; columns that say nothing of their own are left out, with a note."""
        unknown = tuple(np.array(self.unknown_columns.get(name, ()), np.int64) for name in self.channel.unknowns)
        width = len(self.feature_names)
        unit = float(counts.weight.sum() / counts.squared_weight.sum())
        if not len(self.columns) and not any(map(len, unknown)) and self.intercept:
            return counted_model(self.channel, counts)
        geometry = Geometry.of(source, engine, width, True)
        columns = self._telling(geometry, self.columns, self.intercept, "", notes)
        unknown = tuple(
            self._telling(geometry, each, True, f"{name}: ", notes)
            for name, each in zip(self.channel.unknowns, unknown, strict=True)
        )
        variance = np.diag(geometry.second)[1:]
        spread = np.sqrt(np.where(variance > 0, variance, np.maximum(geometry.centre**2, np.finfo(float).tiny)))
        corners = self.channel.corners
        return JointModel(
            corners, columns, unknown, self.intercept, geometry.centre, spread, unit, engine.cache(source), engine
        )

    def _telling(
        self, geometry: Geometry, columns: Iterable[int], intercept: bool, of: str, notes: list[str]
    ) -> NDArray[np.int64]:
        """Leave out columns that are constant, or that those before them determine, and say so."""
        moments = geometry.second[1:, 1:] + (0.0 if intercept else np.outer(geometry.centre, geometry.centre))
        size = np.diag(geometry.second)[1:] + geometry.centre**2
        kept: list[int] = []
        asked = [int(column) for column in columns]
        for column in asked:
            left = moments[column, column]
            if kept and left > 0:
                across = moments[np.ix_(kept, [column])][:, 0]
                left -= across @ np.linalg.lstsq(moments[np.ix_(kept, kept)], across, rcond=None)[0]
            if left > COLLINEAR * moments[column, column] and left > _CONSTANT * size[column]:
                kept.append(column)
        dropped = [f"{of}{self.feature_names[column]}" for column in asked if column not in kept]
        if dropped:
            notes.append(
                f"Left out, because the column is constant or follows from those before it: {', '.join(dropped[:6])}. "
                "Its coefficient is 0, without a standard error."
            )
        return np.array(kept, np.int64)


def counted_model(channel: Any, counts: ReportCounts) -> JointModel:
    """Return the model without covariates: how often each report came is all there is to know."""
    reports = channel.corners.shape[-2]
    records = Records(np.empty((reports, 0)), np.arange(reports), counts.weight)
    none = np.empty(0, np.int64)
    unit = float(counts.weight.sum() / counts.squared_weight.sum())
    return JointModel(
        channel.corners, none, (none,) * len(channel.unknowns), True, np.empty(0), np.empty(0), unit,
        ArraySource(records), LocalEngine(), counts.squared_weight,
    )  # fmt: skip
