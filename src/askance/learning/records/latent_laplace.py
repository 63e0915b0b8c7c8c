"""Numbers with Laplace noise in a latent-class model: independent and normal in each class.

Laplace noise leaves no closed form to numbers that depend on each other within a class, so dependence is left to the
classes, of which there are then more.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.noise_law import NoiseCoordinate
from askance.learning.records.latent_block import LogitMoments, Part, PriorScores, Pull, ReportLaw, pairs

_FAR = -20.0  # where erfc is 2 to sixteen digits, so that erfcx is known without being computed
_NARROWEST = 0.05  # standard deviation of a class, as a share of that of all reports, as for normal noise
_STEP = 1e-4  # of central differences by a prior's mean and variance, relative to its own scale


@dataclass(frozen=True, eq=False)
class LaplaceBlock:
    """Reports of numbers with Laplace noise.

    Parameters
    ----------
    columns : d
        Of the record.
    laws : d laws
    reports : R x d
    counts : R
    """

    columns: NDArray[np.intp]
    laws: tuple[NoiseCoordinate, ...]
    reports: Floats
    counts: Floats

    @cached_property
    def scale(self) -> Floats:
        return np.array([law.size for law in self.laws])

    @cached_property
    def _overall(self) -> tuple[Floats, Floats]:
        mean = self.counts @ self.reports / self.counts.sum()
        return mean, self.counts @ (self.reports - mean) ** 2 / self.counts.sum()

    def log_density(self, part: Part) -> Floats:
        return np.column_stack(
            [
                _log_density(self.reports - mean, variance, self.scale).sum(axis=1)
                for mean, variance in zip(part["mean"], part["variance"], strict=True)
            ]
        )

    def truth(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the truth given reports, each R x d."""
        parts = [law.posterior(self.reports[:, [j]], mean[[j]], variance[[j]]) for j, law in enumerate(self.laws)]
        return np.hstack([one for one, _ in parts]), np.hstack([one for _, one in parts])

    def maximised(self, part: Part | None, weights: Floats) -> Part:
        _, spread = self._overall
        least = np.maximum(_NARROWEST**2 * spread, np.finfo(float).tiny)
        if part is None or len(part["mean"]) != weights.shape[1]:  # a first guess, by moments
            means, variances = [], []
            for share in weights.T:
                mean = share @ self.reports / max(float(share.sum()), 1e-300)
                square = share @ (self.reports - mean) ** 2 / max(float(share.sum()), 1e-300)
                means.append(mean)
                variances.append(np.maximum(square - 2 * self.scale**2, np.maximum(0.1 * square, least)))
            return {"mean": np.array(means), "variance": np.array(variances)}
        means, variances = [], []
        for share, before, width in zip(weights.T, part["mean"], part["variance"], strict=True):
            truth, left = self.truth(before, width)
            total = max(float(share.sum()), 1e-300)
            mean = share @ truth / total
            means.append(mean)
            variances.append(np.maximum(share @ ((truth - mean) ** 2 + left) / total, least))
        return {"mean": np.array(means), "variance": np.array(variances)}

    def size(self, part: Part) -> int:
        return 2 * part["mean"].size

    def of_reports(self, part: Part) -> ReportLaw:
        width = self.reports.shape[1]
        return ReportLaw(self.reports, part["mean"], np.zeros((len(part["mean"]), width, width)))

    def residuals(self, part: Part, which: int) -> Floats:
        spread = np.sqrt(part["variance"][which] + 2 * self.scale**2)
        about: Floats = (self.reports - part["mean"][which]) / spread
        return about

    def design_moments(self, part: Part, shares: Floats) -> tuple[Floats, Floats]:
        mean = shares @ part["mean"]
        return mean, shares @ (part["variance"] + (part["mean"] - mean) ** 2)

    def posterior(self, part: Part, centre: Floats) -> "LaplacePosterior":
        return LaplacePosterior(self, part["mean"], part["variance"], centre)


@dataclass(frozen=True, eq=False)
class LaplacePosterior:
    """True numbers given reports."""

    block: LaplaceBlock
    mean: Floats  # z x d
    variance: Floats  # z x d
    centre: Floats  # d

    @cached_property
    def tables(self) -> tuple[tuple[Floats, Floats], ...]:
        """Mean (about the centre) and variance of the truth, R x d each, in every class."""
        found = (self.block.truth(mean, variance) for mean, variance in zip(self.mean, self.variance, strict=True))
        return tuple((truth - self.centre, left) for truth, left in found)

    def means(self, responsibilities: Floats) -> Floats:
        parts = zip(responsibilities.T, self.tables, strict=True)
        found: Floats = np.sum([share[:, None] * truth for share, (truth, _) in parts], axis=0)
        return found

    def moments(self, weights: Floats) -> LogitMoments:
        first, second = pairs(len(weights))
        products = (weights[first] * weights[second]).T
        mean = np.stack([truth @ weights.T for truth, _ in self.tables], axis=1)
        return LogitMoments(mean, np.stack([left @ products for _, left in self.tables], axis=1))

    def pulled(self, weights: Floats, pull: Pull) -> Floats:
        slope = np.zeros_like(weights)
        for z, (truth, left) in enumerate(self.tables):
            slope += pull.by_mean[:, z].T @ truth
            for place, (a, b) in enumerate(zip(*pairs(len(weights)), strict=True)):
                level = pull.by_covariance[:, z, place] @ left
                slope[a] += level * weights[b]
                slope[b] += level * weights[a]
        return slope

    def row_slopes(self, weights: Floats, pull: Pull) -> Floats:
        found = np.zeros((len(self.block.reports), *weights.shape))
        for z, (truth, left) in enumerate(self.tables):
            found += pull.by_mean[:, z, :, None] * truth[:, None, :]
            for place, (a, b) in enumerate(zip(*pairs(len(weights)), strict=True)):
                level = pull.by_covariance[:, z, place, None] * left
                found[:, a] += level * weights[b]
                found[:, b] += level * weights[a]
        return found

    def prior_scores(self, weights: Floats, own: Floats, shift: Floats, pull: Pull, rows: slice) -> PriorScores:
        first, second = pairs(len(weights))
        reports = self.block.reports[rows]
        features, label = [], []
        for z, j, by_variance in np.ndindex(*self.mean.shape, 2):
            law, scale = self.block.laws[j], self.block.scale[[j]]
            at = np.array([self.mean[z, j], self.variance[z, j]])
            step = _STEP * (at[1] if by_variance else np.sqrt(at[1]))
            ends = []
            for sign in (1, -1):
                mean, variance = (at + sign * step * np.eye(2)[by_variance])[:, None]
                density = _log_density(reports[:, [j]] - mean, variance, scale)
                ends.append((density, *law.posterior(reports[:, [j]], mean, variance)))
            density, truth, left = ((ahead - back) / (2 * step) for ahead, back in zip(*ends, strict=True))
            features.append(own[:, z] * density[:, 0])
            label.append(
                shift[:, z] * density[:, 0]
                + (pull.by_mean[:, z] * truth * weights[:, j]).sum(axis=1)
                + (pull.by_covariance[:, z] * left * (weights[first, j] * weights[second, j])).sum(axis=1)
            )
        return PriorScores(np.column_stack(features), np.column_stack(label))


def _log_density(about: Floats, variance: Floats, scale: Floats) -> Floats:
    """Of N(0, v) plus Laplace noise: exp(-x^2 / 2v) (erfcx(t-) + erfcx(t+)) / 4b, with t = (v / b -+ x) / sqrt(2v)."""
    from scipy.special import erfcx

    # At most one of both is far, and the other is then nothing beside it.
    width, away = np.sqrt(2 * variance), np.abs(about)
    near = (variance / scale - away) / width
    sides = np.log(erfcx(np.maximum(near, _FAR)) + erfcx((variance / scale + away) / width))
    far = near < _FAR
    if far.any():
        sides[far] = near[far] ** 2 + np.log(2.0)
    density: Floats = sides - about**2 / (2 * variance) - np.log(4 * scale)
    return density
