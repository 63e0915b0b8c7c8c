"""The moments that a report set tells, on the scale that all sets share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance.arrays import Floats
from askance.learning.numbers.moment_readers import MomentSums, symmetric_matrix
from askance.learning.numbers.report_sets import ReportSet
from askance.learning.numbers.second_moments import FoldSums

_FAR = 0.5  # of the least noise: a handful of reports, or such as are all of one kind, may seem to have as little


@dataclass(frozen=True, eq=False)
class SetMoments:
    """The moments that a report set tells, and the change to the common scale."""

    reports: ReportSet
    folds: FoldSums
    change: Floats

    @cached_property
    def sums(self) -> MomentSums:
        """The sums over all reports."""
        return self.folds.whole

    @property
    def second(self) -> Floats:
        """The moment matrix of (1, features, outcome); its last entry is NaN where reports tell no squares."""
        return self.matrix(self.sums)

    @property
    def tells_squares(self) -> bool:
        """Whether reports tell how much the outcome varies."""
        return bool(np.isfinite(self.second[-1, -1]))

    def matrix(self, sums: MomentSums) -> Floats:
        """The same of other sums, such as those of a fold."""
        matrix = symmetric_matrix(sums.mean)
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

    @property
    def least_noise(self) -> Floats | None:
        """What the channel adds at least to the noise of the normal equations, where features are public."""
        least = self.reports.reader.least_variance
        if least is None:
            return None
        scale = least * self.change[-1, -1] ** 2 * self.sums.squared_weight / self.sums.weight**2
        noise: Floats = scale * self.second[:-1, :-1]
        return noise


def together(moments: Sequence[SetMoments], shares: Floats, folds: list[int] | None = None) -> tuple[Floats, float]:
    """The moments of all report sets (of some folds), and the standard error of the outcome's square (of all)."""
    each = [one.second if folds is None else one.matrix(one.folds.only(folds)) for one in moments]
    matrix = np.asarray(sum(share * np.nan_to_num(second) for share, second in zip(shares, each, strict=True)))
    own = squares_shares(moments, shares)
    if not own.any():
        matrix[-1, -1] = np.nan
        return matrix, 0.0
    matrix[-1, -1] = sum(part * np.nan_to_num(second[-1, -1]) for part, second in zip(own, each, strict=True))
    variance = sum(part**2 * one.outcome_noise for part, one in zip(own, moments, strict=True))
    return matrix, float(np.sqrt(variance))


def squares_shares(moments: Sequence[SetMoments], shares: Floats) -> Floats:
    """The shares of those report sets that tell squares, together one; all zero if none does."""
    own: Floats = np.where([one.tells_squares for one in moments], shares, 0.0)
    return own / own.sum() if own.any() else own


def at_least(seen: Floats, least: Floats) -> Floats:
    """Raise a covariance to another one in every direction in which it is far smaller, and not merely by luck."""
    values, vectors = np.linalg.eigh(least)
    there = values > 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
    half = vectors[:, there] * np.sqrt(values[there])
    back = vectors[:, there] / np.sqrt(values[there])
    ratios, turns = np.linalg.eigh(back.T @ seen @ back)
    lacking = half @ turns
    raised: Floats = seen + (lacking * np.where(ratios < _FAR, 1 - ratios, 0.0)) @ lacking.T
    return raised
