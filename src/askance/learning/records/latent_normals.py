"""Numbers with normal noise in a latent-class model: normal in each class, with any covariance.

In class z the truth is N(mu, Sigma) and its report N(mu, S) with S = Sigma + N, so that given a report the truth is
normal with mean x~ - N S^-1 (x~ - mu) and covariance N - N S^-1 N: extreme deconvolution (Bovy, Hogg & Roweis 2011).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.records.latent_block import LogitMoments, Part, PriorScores, Pull, ReportLaw, pairs

_TINY = 1e-300  # in place of zero, to divide by or take the logarithm of: a double in full, and smaller than any share
# Standard deviation of a class, as a share of that of all reports: less is a single number, on which a class of its
# own would fit whatever was rounded. Of the truth it is hidden below any noise.
_NARROWEST = 0.05


@dataclass(frozen=True, eq=False)
class NormalBlock:
    """Reports of numbers with normal noise, or with none.

    Parameters
    ----------
    columns : d
        Of the record.
    reports : R x d
    noise : d
        Variances of the noise.
    counts : R
    """

    columns: NDArray[np.intp]
    reports: Floats
    noise: Floats
    counts: Floats

    @cached_property
    def floor(self) -> Floats:
        """The least variance of reports in a class."""
        mean = self.counts @ self.reports / self.counts.sum()
        spread = self.counts @ (self.reports - mean) ** 2 / self.counts.sum()
        # A column that never varies keeps some width, in its own units.
        least = np.where(spread > 0, _NARROWEST**2 * spread, np.maximum(mean**2, 1.0) * 1e-12)
        floor: Floats = self.noise + least
        return floor

    def log_density(self, part: Part) -> Floats:
        found = []
        for middle, covariance in zip(part["mean"], part["covariance"], strict=True):
            root = np.linalg.cholesky(self._of_reports(covariance))
            scaled = (self.reports - middle) @ np.linalg.inv(root).T
            constant = np.log(np.diag(root)).sum() + 0.5 * len(root) * np.log(2 * np.pi)
            found.append(-0.5 * np.einsum("ij,ij->i", scaled, scaled) - constant)
        return np.column_stack(found)

    def _of_reports(self, covariance: Floats) -> Floats:
        return covariance + np.diag(self.noise)

    def maximised(self, part: Part | None, weights: Floats) -> Part:
        """Exactly: in units of the noise, eigenvalues of the reports' covariance below one are noise alone."""
        means, covariances = [], []
        unit = np.sqrt(self.floor)
        for share in weights.T:
            total = max(float(share.sum()), _TINY)
            middle = share @ self.reports / total
            about = (self.reports - middle) / unit
            values, vectors = np.linalg.eigh((about * share[:, None]).T @ about / total)
            kept = vectors * np.maximum(values, 1.0) @ vectors.T
            means.append(middle)
            covariances.append(kept * np.outer(unit, unit) - np.diag(self.noise))
        return {"mean": np.array(means), "covariance": np.array(covariances)}

    def size(self, part: Part) -> int:
        joined = np.tril(part["covariance"]) != 0  # attributes that are independent have no covariance to learn
        return int(part["mean"].size + np.count_nonzero(joined))

    def of_reports(self, part: Part) -> ReportLaw:
        return ReportLaw(self.reports, part["mean"], part["covariance"])

    def residuals(self, part: Part, which: int) -> Floats:
        spread = np.sqrt(np.diag(self._of_reports(part["covariance"][which])))
        about: Floats = (self.reports - part["mean"][which]) / spread
        return about

    def design_moments(self, part: Part, shares: Floats) -> tuple[Floats, Floats]:
        mean = shares @ part["mean"]
        within = np.diagonal(part["covariance"], axis1=1, axis2=2)
        return mean, shares @ (within + (part["mean"] - mean) ** 2)

    def posterior(self, part: Part, centre: Floats) -> "NormalPosterior":
        return NormalPosterior(self, part["mean"], part["covariance"], centre)


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    """True numbers given reports: normal in each class."""

    block: NormalBlock
    mean: Floats  # z x d
    covariance: Floats  # z x d x d
    centre: Floats  # d

    @cached_property
    def inverse(self) -> Floats:
        """Of the covariance of reports, z x d x d."""
        inverse: Floats = np.linalg.inv(self.covariance + np.diag(self.block.noise)).astype(float)
        return inverse

    @cached_property
    def spread(self) -> Floats:
        """The covariance of the truth given a report, z x d x d."""
        noise = self.block.noise
        return np.diag(noise) - noise[:, None] * self.inverse * noise

    def _truth(self, z: int, rows: slice = slice(None)) -> Floats:
        """The posterior mean of the design in one class."""
        reports = self.block.reports[rows]
        found: Floats = reports - self.centre - (reports - self.mean[z]) @ self.inverse[z] * self.block.noise
        return found

    def means(self, responsibilities: Floats) -> Floats:
        found = np.zeros_like(self.block.reports)
        for z, share in enumerate(responsibilities.T):
            found += share[:, None] * self._truth(z)
        return found

    def moments(self, weights: Floats) -> LogitMoments:
        first, second = pairs(len(weights))
        reports, classes = len(self.block.reports), len(self.mean)
        mean = np.empty((reports, classes, len(weights)))
        covariance = np.empty((1, classes, len(first)))
        plain = (self.block.reports - self.centre) @ weights.T
        for z in range(classes):
            turned = self.inverse[z] @ (self.block.noise * weights).T  # d x F
            mean[:, z] = plain - (self.block.reports - self.mean[z]) @ turned
            covariance[0, z] = (weights @ self.spread[z] @ weights.T)[first, second]
        return LogitMoments(mean, covariance)

    def pulled(self, weights: Floats, pull: Pull) -> Floats:
        slope = np.zeros_like(weights)
        for z in range(len(self.mean)):
            slope += pull.by_mean[:, z].T @ self._truth(z)
            turned = weights @ self.spread[z]
            for place, (a, b) in enumerate(zip(*pairs(len(weights)), strict=True)):
                level = pull.by_covariance[:, z, place].sum()
                slope[a] += level * turned[b]
                slope[b] += level * turned[a]
        return slope

    def row_slopes(self, weights: Floats, pull: Pull) -> Floats:
        found = np.zeros((len(self.block.reports), *weights.shape))
        for z in range(len(self.mean)):
            found += pull.by_mean[:, z, :, None] * self._truth(z)[:, None, :]
            turned = weights @ self.spread[z]
            for place, (a, b) in enumerate(zip(*pairs(len(weights)), strict=True)):
                level = pull.by_covariance[:, z, place, None]
                found[:, a] += level * turned[b]
                found[:, b] += level * turned[a]
        return found

    def prior_scores(self, weights: Floats, own: Floats, shift: Floats, pull: Pull, rows: slice) -> PriorScores:
        first, second = pairs(len(self.block.noise))
        half = np.where(first == second, 0.5, 1.0)
        logits = pairs(len(weights))
        features, label = [], []
        for z in range(len(self.mean)):
            scaled = (self.block.reports[rows] - self.mean[z]) @ self.inverse[z]  # S^-1 (x~ - mu)
            turned = self.inverse[z] @ (self.block.noise * weights).T  # S^-1 N w: d x F
            bent = half * (scaled[:, first] * scaled[:, second] - self.inverse[z][first, second])
            density = np.hstack([scaled, bent])
            effect = shift[:, [z]] * density
            for a in range(len(weights)):
                moved = half * (scaled[:, first] * turned[second, a] + scaled[:, second] * turned[first, a])
                along = np.hstack([np.broadcast_to(turned[:, a], scaled.shape), moved])
                effect += pull.by_mean[:, z, [a]] * along
            for place, (a, b) in enumerate(zip(*logits, strict=True)):
                widened = half * (turned[first, a] * turned[second, b] + turned[second, a] * turned[first, b])
                effect[:, len(turned) :] += pull.by_covariance[:, z, [place]] * widened
            features.append(own[:, [z]] * density)
            label.append(effect)
        return PriorScores(np.hstack(features), np.hstack(label))
