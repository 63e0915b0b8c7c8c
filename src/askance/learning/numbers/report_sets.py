"""Reports of one or several channels, and the line through what they tell.

A *wave* is a set of reports hidden by one channel. Every wave tells the second moments of the same columns, on a scale
and with a noise of its own; brought to one scale and weighted by their precision they are one moment matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askance.arrays import Floats
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput
from askance.learning.numbers.moment_regression import MomentRegression, fit_moments
from askance.learning.numbers.second_moments import HiddenRows, MomentReader, MomentSums, ScoreProducts, SecondMoments

_REWEIGHTED = 2  # how often waves are weighted anew, by their noise about the line


@dataclass(frozen=True, eq=False)
class Wave:
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
    def to_units(self) -> Floats:
        """L with (1, features, outcome) in the units of the data = L a, on the reader's own scale."""
        matrix: Floats = self.chosen @ self.reader.to_units
        return matrix

    def in_order(self, names: tuple[str, ...]) -> "Wave":
        """Return the wave with its features in another order."""
        if self.names == names:
            return self
        if self.names[-1] != names[-1] or sorted(self.names) != sorted(names):
            raise InvalidInput(
                f"reports about {', '.join(names)} together with reports about {', '.join(self.names)}",
                "the same features and, last, the same outcome in all",
            )
        rows = [0, *(self.names.index(name) + 1 for name in names)]
        return replace(self, names=names, chosen=self.chosen[rows])


@dataclass(frozen=True)
class WaveFit:
    """A line in the units of the data, with its covariance, and how it was found."""

    parameters: Floats
    covariance: Floats
    solved: MomentRegression
    noise: float
    rows: int


def fit_waves(waves: Sequence[Wave], engine: Engine, ridge: float | None, intercept: bool) -> WaveFit:
    """Regress the last of the waves' columns on the others."""
    waves = [wave.in_order(waves[0].names) for wave in waves]
    common = _common_scale(waves[0], intercept)
    told = [
        _Told(
            wave,
            engine.reduce(SecondMoments(wave.reader), wave.source),
            np.linalg.inv(common) @ wave.to_units,
        )
        for wave in waves
    ]
    _refuse_too_few(told)
    pilot = np.array([one.precision * one.sums.weight for one in told])
    line = _Line.through(told, pilot, ridge, intercept, engine)
    for _ in range(_REWEIGHTED if len(told) > 1 else 0):
        line = _Line.through(told, line.precisions, ridge, intercept, engine)
    to_units, shift = _line_in_units(common, intercept)
    return WaveFit(
        to_units @ line.solved.parameters + shift,
        to_units @ line.covariance @ to_units.T,
        line.solved,
        line.noise,
        sum(one.sums.rows for one in told),
    )


@dataclass(frozen=True, eq=False)
class _Told:
    """What a wave told, and the change to the common scale."""

    wave: Wave
    sums: MomentSums
    change: Floats

    @property
    def second(self) -> Floats:
        """The moment matrix of (1, features, outcome)."""
        width = self.wave.reader.width
        matrix = np.zeros((width, width))
        matrix[np.triu_indices(width)] = self.sums.mean
        known = np.nan_to_num(matrix)
        whole: Floats = self.change @ (known + np.triu(known, 1).T) @ self.change.T
        if np.isnan(matrix[-1, -1]):
            whole[-1, -1] = np.nan
        return whole

    @property
    def _variance(self) -> Floats:
        """The variance of the moments of features and outcome, but for what a shift of the origin adds."""
        width = self.wave.reader.width
        own = np.zeros((width, width))
        own[np.triu_indices(width)] = np.nan_to_num(self.sums.variance)
        stretch = self.change[1:, 1:] ** 2
        scaled: Floats = stretch @ (own + np.triu(own, 1).T)[1:, 1:] @ stretch.T
        return scaled

    @property
    def people(self) -> float:
        """How many reports of equal weight these are worth; rows of weight zero are worth nothing."""
        return self.sums.weight**2 / self.sums.squared_weight if self.sums.squared_weight > 0 else 0.0

    @property
    def noise(self) -> float:
        """The mean variance of a moment; none where the features are public and only the outcome is noisy."""
        return float(self._variance.mean()) if isinstance(self.wave.reader, HiddenRows) else 0.0

    @property
    def outcome_noise(self) -> float:
        """The variance of the outcome's mean square; none where the outcome itself is known."""
        return float(self._variance[-1, -1]) if self.wave.channel is not None else 0.0

    @property
    def precision(self) -> float:
        """The inverse of the variance that one report of weight one leaves in a moment with the outcome."""
        alone = self._variance[:, -1] if self._variance.size > 1 else self._variance[0]
        spread = float(alone[:-1].mean() if len(alone) > 1 else alone.mean())
        return self.sums.squared_weight / self.sums.weight**2 / spread if spread > 0 else 1.0


def _common_scale(wave: Wave, intercept: bool) -> Floats:
    """The scale of the first wave; without an intercept its origin is that of the data, through which the line goes."""
    scale: Floats = wave.to_units @ wave.chosen.T
    return scale if intercept else np.diag(np.diag(scale))


@dataclass(frozen=True, eq=False)
class _Line:
    """A line on the common scale, and what each wave contributes to its noise.

    The covariance is that of the delta method: the noise of the normal equations, through the inverse of their slope.
    """

    solved: MomentRegression
    noise: float
    covariance: Floats
    precisions: Floats  # of the waves, about this line

    @classmethod
    def through(
        cls, told: Sequence[_Told], precisions: Floats, ridge: float | None, intercept: bool, engine: Engine
    ) -> "_Line":
        """Weight every wave by its precision, and fit what they tell together."""
        shares = precisions / precisions.sum()
        noise = float(np.sqrt(sum(share**2 * one.noise for share, one in zip(shares, told, strict=True))))
        second, outcome = _together(told, shares)
        solved = fit_moments(second, noise, ridge, intercept, outcome)
        direction = np.concatenate([solved.parameters if intercept else np.r_[0.0, solved.parameters], [-1.0]])
        inverse = np.linalg.pinv(solved.jacobian, 1e-10, hermitian=True)
        equations = slice(0 if intercept else 1, len(direction) - 1)
        covariance, precise = np.zeros_like(inverse), np.zeros(len(told))
        for number, (share, one) in enumerate(zip(shares, told, strict=True)):
            scores = engine.reduce(ScoreProducts(one.wave.reader, one.change.T @ direction), one.wave.source)
            spread = one.change @ scores @ one.change.T / one.sums.weight**2
            left_over = np.nan_to_num(one.second) @ direction
            about_mean = spread - one.sums.squared_weight / one.sums.weight**2 * np.outer(left_over, left_over)
            covariance += share**2 * (inverse @ about_mean[equations, equations] @ inverse)
            variance = float(np.trace(inverse @ spread[equations, equations] @ inverse))
            precise[number] = 1 / variance if variance > 0 else np.inf
        if not np.isfinite(precise).all():  # a wave without any error leaves nothing to weigh
            precise = precisions
        # As in ordinary regressions: what was fitted looks a little better than it is.
        people = sum(one.people for one in told)
        small = people / (people - len(inverse)) if people > len(inverse) else 1.0
        return cls(solved, noise, small * (covariance + covariance.T) / 2, precise)


def _together(told: Sequence[_Told], shares: Floats) -> tuple[Floats, float]:
    """The moments that waves tell together, and the standard error of the outcome's square."""
    second = sum(share * np.nan_to_num(one.second) for share, one in zip(shares, told, strict=True))
    knows = np.array([bool(np.isfinite(one.second[-1, -1])) for one in told])
    matrix = np.asarray(second)
    if not knows.any():
        matrix[-1, -1] = np.nan
        return matrix, 0.0
    own = np.where(knows, shares, 0.0) / shares[knows].sum()
    matrix[-1, -1] = sum(part * np.nan_to_num(one.second[-1, -1]) for part, one in zip(own, told, strict=True))
    variance = sum(part**2 * one.outcome_noise for part, one in zip(own, told, strict=True))
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


def _refuse_too_few(told: Sequence[_Told]) -> None:
    rows, weight = sum(one.sums.rows for one in told), sum(one.sums.weight for one in told)
    needed = len(told[0].wave.names) + 1 if any(one.wave.channel is not None for one in told) else 1
    if sum(one.people for one in told) < needed * (1 - 1e-9):
        raise InvalidInput(
            f"{rows} reports (n_samples={rows}) of total weight {weight:g} for a line with "
            f"{len(told[0].wave.names)} parameters",
            f"at least {needed}, and many more for a useful answer",
        )
