"""Reports of one or several channels, and the line through what they tell.

A *wave* is a set of reports hidden by one channel. Every wave tells the second moments of the same columns, on a scale
and with a noise of its own; brought to one scale and weighted by their precision they are one moment matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.channels.private_number import PrivateNumber
from askance.channels.private_row import PrivateRow
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput
from askance.solvers.moment_regression import MomentRegression, fit_moments
from askance.statistics.second_moments import HiddenRows, MomentReader, MomentSums, ScoreProducts, SecondMoments

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Wave:
    """Reports of one channel: how to read them, where they are, and which of their columns the model uses.

    ``names`` are the features and, last, the outcome; ``chosen`` selects (1, names) out of the reader's own columns.
    """

    channel: PrivateRow | PrivateNumber | None
    reader: MomentReader
    source: RecordSource
    names: tuple[str, ...]
    chosen: Floats

    @property
    def to_units(self) -> Floats:
        """L with (1, features, outcome) in the units of the data = L a, on the reader's own scale."""
        matrix: Floats = self.chosen @ self.reader.to_units
        return matrix


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
    for wave in waves[1:]:
        if wave.names != waves[0].names:
            raise InvalidInput(
                f"reports about {', '.join(waves[0].names)} together with reports about {', '.join(wave.names)}",
                "the same features and outcome in all, in the same order",
            )
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
    shares = np.array([one.precision * one.sums.weight for one in told])
    shares /= shares.sum()
    second = sum(share * one.second for share, one in zip(shares, told, strict=True))
    noise = float(np.sqrt(sum(share**2 * one.noise for share, one in zip(shares, told, strict=True))))
    outcome = float(np.sqrt(sum(share**2 * one.outcome_noise for share, one in zip(shares, told, strict=True))))
    solved = fit_moments(np.asarray(second), noise, ridge, intercept, outcome)
    covariance = _covariance(solved, told, shares, engine, intercept)
    to_units, shift = _line_in_units(common, intercept)
    rows = sum(one.sums.rows for one in told)
    return WaveFit(to_units @ solved.parameters + shift, to_units @ covariance @ to_units.T, solved, noise, rows)


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


def _covariance(
    solved: MomentRegression, told: Sequence[_Told], shares: Floats, engine: Engine, intercept: bool
) -> Floats:
    """The delta method: the noise of the normal equations, through the inverse of their slope."""
    direction = np.concatenate([solved.parameters if intercept else np.r_[0.0, solved.parameters], [-1.0]])
    width = len(direction)
    noise = np.zeros((width, width))
    for share, one in zip(shares, told, strict=True):
        scores = engine.reduce(ScoreProducts(one.wave.reader, one.change.T @ direction), one.wave.source)
        left_over = np.nan_to_num(one.second) @ direction
        mean_square = one.sums.squared_weight * np.outer(left_over, left_over)
        noise += (share / one.sums.weight) ** 2 * (one.change @ scores @ one.change.T - mean_square)
    equations = slice(0 if intercept else 1, width - 1)
    inverse = np.linalg.pinv(solved.jacobian, 1e-10, hermitian=True)
    covariance: Floats = inverse @ noise[equations, equations] @ inverse
    return (covariance + covariance.T) / 2


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
    if rows < needed or not weight > 0:
        raise InvalidInput(
            f"{rows} reports (n_samples={rows}) of total weight {weight:g} for a line with "
            f"{len(told[0].wave.names)} parameters",
            f"at least {needed}, and many more for a useful answer",
        )
