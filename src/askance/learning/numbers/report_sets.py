"""Reports of one or several channels, and the line through what they tell.

A *report set* holds reports that were hidden by one channel. Each tells the second moments of the same columns, on a
scale and with a noise of its own; brought to one scale and weighted by their precision they are one moment matrix.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput, Unidentifiable
from askance.learning.numbers.moment_regression import SINGULAR, MomentRegression, regress_moments
from askance.learning.numbers.second_moments import (
    HiddenRows,
    MomentReader,
    MomentSums,
    ScoreProducts,
    SecondMoments,
    symmetric_matrix,
)

_REWEIGHTED = 2  # how often sets are weighted anew, by their noise about the line: the second changes little
_NOT_HIDDEN = Guarantee(
    math.inf, protects="one outcome, which was not hidden", neighbours="any two outcomes of one person"
)


@dataclass(frozen=True, eq=False)
class ReportSet:
    """Reports of one channel: how to read them, where they are, and which of their columns the model uses.

    ``names`` are the features and, last, the outcome; ``chosen`` selects (1, names) out of the reader's own columns;
    ``named`` is whether the names are the data's own, or made up for an array without any.
    """

    channel: PrivateRow | PrivateNumber | None
    reader: MomentReader
    source: RecordSource
    names: tuple[str, ...]
    chosen: Floats
    named: bool = True

    @property
    def rows(self) -> PrivateRow | None:
        """The channel, if it hides the features too."""
        return self.reader.channel if isinstance(self.reader, HiddenRows) else None

    @property
    def to_units(self) -> Floats:
        """L with (1, features, outcome) in the units of the data = L a, on the reader's own scale."""
        matrix: Floats = self.chosen @ self.reader.to_units
        return matrix

    def in_order(self, names: tuple[str, ...]) -> "ReportSet":
        """Return the set with its features in another order."""
        if self.names == names:
            return self
        if self.names[-1] != names[-1] or sorted(self.names) != sorted(names):
            raise InvalidInput(
                f"reports about {', '.join(names)} together with reports about {', '.join(self.names)}",
                "the same features and, last, the same outcome in all",
            )
        rows = [0, *(self.names.index(name) + 1 for name in names)]
        return replace(self, names=names, chosen=self.chosen[rows])

    def r_squared(self, line: Floats, engine: Engine) -> float:
        """Return 1 - E[(outcome - line)^2] / Var(outcome), by unbiased estimates of the moments.

        Few or noisy reports may say more than 1, which no line can reach.

        Parameters
        ----------
        line : array, 1 + d
            Intercept and slopes, in the units of the data.
        """
        sums = engine.reduce(SecondMoments(self.reader), self.source)
        if not sums.weight > 0:
            raise InvalidInput(f"{sums.rows} reports of total weight 0", "at least one report")
        second = symmetric_matrix(sums.mean)
        missed, outcome = self.to_units.T @ np.append(line, -1.0), self.to_units[-1].copy()
        outcome[0] = 0.0  # where the outcome is counted from does not matter to its variance
        variance = outcome @ second @ outcome - (second[0] @ outcome) ** 2
        if not variance > 0:
            raise Unidentifiable(
                f"the score of {sums.rows} reports that do not tell how much the outcome varies",
                "more reports, or a mechanism that tells squares",
                "Where outcomes are known use score(X, outcomes, of='truth').",
            )
        return float(1 - missed @ second @ missed / variance)


def worst_guarantee(channels: Sequence[PrivateRow | PrivateNumber | None]) -> Guarantee:
    """Return the privacy of what a line was learned from: that of its channel, or of the weakest of several."""
    each = [_NOT_HIDDEN if channel is None else channel.guarantee for channel in channels]
    worst = max(each, key=lambda guarantee: guarantee.epsilon)
    if len(each) == 1:
        return worst
    return replace(
        worst,
        protects=f"{worst.protects}, in the weakest of {len(each)} report sets",
        neighbours=f"{worst.neighbours}; whoever is in several gives away the sum",
    )


@dataclass(frozen=True)
class LineFit:
    """A line in the units of the data, with its covariance, and how it was found."""

    parameters: Floats
    covariance: Floats
    solved: MomentRegression
    noise: float
    rows: int


def fit_line(sets: Sequence[ReportSet], engine: Engine, ridge: float | None, intercept: bool) -> LineFit:
    """Regress the last of the sets' columns on the others."""
    sets = [reports.in_order(sets[0].names) for reports in sets]
    common = _common_scale(sets[0], intercept)
    moments = [
        _SetMoments(
            reports,
            engine.reduce(SecondMoments(reports.reader), reports.source),
            np.linalg.inv(common) @ reports.to_units,
        )
        for reports in sets
    ]
    _refuse_too_few(moments)
    pilot = np.array([one.precision * one.sums.weight for one in moments])
    line = _Line.through(moments, pilot, ridge, intercept, engine)
    for _ in range(_REWEIGHTED if len(moments) > 1 else 0):
        line = _Line.through(moments, line.precisions, ridge, intercept, engine)
    to_units, shift = _line_in_units(common, intercept)
    return LineFit(
        to_units @ line.solved.parameters + shift,
        to_units @ line.covariance @ to_units.T,
        line.solved,
        line.noise,
        sum(one.sums.rows for one in moments),
    )


@dataclass(frozen=True, eq=False)
class _SetMoments:
    """The moments that a report set tells, and the change to the common scale."""

    reports: ReportSet
    sums: MomentSums
    change: Floats

    @property
    def second(self) -> Floats:
        """The moment matrix of (1, features, outcome); its last entry is NaN where reports tell no squares."""
        matrix = symmetric_matrix(self.sums.mean)
        whole: Floats = self.change @ np.nan_to_num(matrix) @ self.change.T
        if np.isnan(matrix[-1, -1]):
            whole[-1, -1] = np.nan
        return whole

    @property
    def _variance(self) -> Floats:
        """The variance of the moments of features and outcome, but for what a shift of the origin adds."""
        own = symmetric_matrix(np.nan_to_num(self.sums.variance))
        stretch = self.change[1:, 1:] ** 2
        scaled: Floats = stretch @ own[1:, 1:] @ stretch.T
        return scaled

    @property
    def people(self) -> float:
        """How many reports of equal weight these are worth; rows of weight zero are worth nothing."""
        return self.sums.weight**2 / self.sums.squared_weight if self.sums.squared_weight > 0 else 0.0

    @property
    def noise(self) -> float:
        """The mean variance of a moment; none where the features are public and only the outcome is noisy."""
        return float(self._variance.mean()) if self.reports.rows is not None else 0.0

    @property
    def outcome_noise(self) -> float:
        """The variance of the outcome's mean square; none where the outcome itself is known."""
        return float(self._variance[-1, -1]) if self.reports.channel is not None else 0.0

    @property
    def precision(self) -> float:
        """The inverse of the variance that one report of weight one leaves in a moment with the outcome."""
        alone = self._variance[:, -1] if self._variance.size > 1 else self._variance[0]
        spread = float(alone[:-1].mean() if len(alone) > 1 else alone.mean())
        return self.sums.squared_weight / self.sums.weight**2 / spread if spread > 0 else 1.0


def _common_scale(reports: ReportSet, intercept: bool) -> Floats:
    """The scale of the first set; without an intercept its origin is that of the data, through which the line goes."""
    scale: Floats = reports.to_units @ reports.chosen.T
    return scale if intercept else np.diag(np.diag(scale))


@dataclass(frozen=True, eq=False)
class _Line:
    """A line on the common scale, and what each report set contributes to its noise.

    The covariance is that of the delta method: the noise of the normal equations, through the inverse of their slope.
    """

    solved: MomentRegression
    noise: float
    covariance: Floats
    precisions: Floats  # of the report sets, about this line

    @classmethod
    def through(
        cls, moments: Sequence[_SetMoments], precisions: Floats, ridge: float | None, intercept: bool, engine: Engine
    ) -> "_Line":
        """Weight every report set by its precision, and fit a line to all together."""
        shares = precisions / precisions.sum()
        noise = float(np.sqrt(sum(share**2 * one.noise for share, one in zip(shares, moments, strict=True))))
        second, outcome = _together(moments, shares)
        solved = regress_moments(second, noise, ridge, intercept, outcome)
        direction = np.concatenate([solved.parameters if intercept else np.r_[0.0, solved.parameters], [-1.0]])
        inverse = np.linalg.pinv(solved.jacobian, SINGULAR, hermitian=True)
        equations = slice(0 if intercept else 1, len(direction) - 1)
        covariance, precise = np.zeros_like(inverse), np.zeros(len(moments))
        for number, (share, one) in enumerate(zip(shares, moments, strict=True)):
            scores = engine.reduce(ScoreProducts(one.reports.reader, one.change.T @ direction), one.reports.source)
            spread = one.change @ scores @ one.change.T / one.sums.weight**2
            left_over = np.nan_to_num(one.second) @ direction
            about_mean = spread - one.sums.squared_weight / one.sums.weight**2 * np.outer(left_over, left_over)
            covariance += share**2 * (inverse @ about_mean[equations, equations] @ inverse)
            variance = float(np.trace(inverse @ spread[equations, equations] @ inverse))
            precise[number] = 1 / variance if variance > 0 else np.inf
        if not np.isfinite(precise).all():  # a set without any error leaves nothing to weigh
            precise = precisions
        # As in ordinary regressions: what was fitted looks a little better than it is.
        people = sum(one.people for one in moments)
        small = people / (people - len(inverse)) if people > len(inverse) else 1.0
        return cls(solved, noise, small * (covariance + covariance.T) / 2, precise)


def _together(moments: Sequence[_SetMoments], shares: Floats) -> tuple[Floats, float]:
    """The moments of all report sets together, and the standard error of the outcome's square."""
    second = sum(share * np.nan_to_num(one.second) for share, one in zip(shares, moments, strict=True))
    knows = np.array([bool(np.isfinite(one.second[-1, -1])) for one in moments])
    matrix = np.asarray(second)
    if not knows.any():
        matrix[-1, -1] = np.nan
        return matrix, 0.0
    own = np.where(knows, shares, 0.0) / shares[knows].sum()
    matrix[-1, -1] = sum(part * np.nan_to_num(one.second[-1, -1]) for part, one in zip(own, moments, strict=True))
    variance = sum(part**2 * one.outcome_noise for part, one in zip(own, moments, strict=True))
    return matrix, float(np.sqrt(variance))


def _line_in_units(common: Floats, intercept: bool) -> tuple[Floats, Floats]:
    """T and t so that intercept and slopes in the units of the data = T (those on the common scale) + t."""
    scale, origin = np.diag(common)[1:], common[1:, 0]
    slopes = scale[-1] / scale[:-1]
    if not intercept:
        return np.diag(slopes), np.zeros(len(slopes))
    matrix = np.diag([scale[-1], *slopes])
    matrix[0, 1:] = -slopes * origin[:-1]
    return matrix, np.array([origin[-1], *np.zeros(len(slopes))])


def _refuse_too_few(moments: Sequence[_SetMoments]) -> None:
    rows, weight = sum(one.sums.rows for one in moments), sum(one.sums.weight for one in moments)
    needed = len(moments[0].reports.names) + 1 if any(one.reports.channel is not None for one in moments) else 1
    if sum(one.people for one in moments) < needed * (1 - 1e-9):  # weights that are equal but for rounding
        raise InvalidInput(
            f"{rows} reports (n_samples={rows}) of total weight {weight:g} for a line with "
            f"{len(moments[0].reports.names)} parameters",
            f"at least {needed}, and many more for a useful answer",
        )
