"""Correlated features: the posterior of a few principal scores, from a low-rank normal model of the truth.

A factorised prior knows nothing of what one coordinate says about another. Here the truth is mu + noise-whitened
directions with normal scores: the spiked covariance model. Each coordinate's posterior mean m_j explains the share r_j
of the truth's variance t_j, so u_j = mu_j + (m_j - mu_j) / r_j is the truth plus noise of variance t_j (1 - r_j) / r_j.
In units of that noise, principal directions of u whose eigenvalue is above the edge (1 + sqrt(d/n))^2 of pure noise
carry signal; eigenvalue and direction are corrected for how noise inflates the one and tilts the other (Baik, Ben Arous
& Peche 2005; Paul 2007). The scores' posterior is normal with constant variances, so the collapsed likelihood applies
as it is, in a few dimensions.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Flags, Floats
from askance.learning.records.posterior import Moments, Reliability

MOST_SCORES = 100  # bounds the time: scores are to be few
_CHANCE = 3.0  # standard errors that a variance must be above the noise to count as one: one in a thousand by chance
_LEAST_NOISE = 1e-3  # noise variance of a coordinate, as a share of its own: less counts as none
_ROUNDS = 4  # of subspace iteration: what matters are directions that stand out
_SPARE = 30  # directions beside those that are wanted, for which the iteration need not converge


@dataclass(frozen=True, eq=False)
class PrincipalScores:
    """Directions and how much is known about the truth's score along each.

    Parameters
    ----------
    directions : k x d
        The score of a true x is directions @ (x - centre).
    loadings : d
        Multiplies m - centre before the product with directions: 1 / r_j, or 0 for a coordinate that never varies.
    centre : d
    shrinkage : k
        Posterior mean of a score = shrinkage * its noisy value; posterior variance = shrinkage.
    captured : float
        The share of the features' variance, in units of their noise, that the scores hold.
    """

    directions: Floats
    loadings: Floats
    centre: Floats
    shrinkage: Floats
    captured: float

    @classmethod
    def fitted(
        cls, mean: Floats, reliability: Reliability, most: int = MOST_SCORES, counts: Floats | None = None
    ) -> "PrincipalScores":
        """Find the directions that stand out of the noise."""
        rows, width = mean.shape
        units = _NoiseUnits.of(reliability, rows)
        middle = np.average(mean, axis=0, weights=counts)
        # Half the precision is plenty for directions that are estimated from noise, and takes half the time.
        whitened = np.subtract(mean, middle, out=np.empty(mean.shape, np.float32), casting="same_kind")
        whitened *= units.weight.astype(np.float32)
        if counts is not None:
            whitened *= np.sqrt(counts / counts.mean()).astype(np.float32)[:, None]
        return cls._above_noise(*_principal(whitened, min(most, rows - 1, width)), middle, units, rows)

    @classmethod
    def of_covariance(
        cls, middle: Floats, covariance: Floats, rows: int, reliability: Reliability, most: int = MOST_SCORES
    ) -> "PrincipalScores":
        """The same from mean and covariance of the posterior means."""
        units = _NoiseUnits.of(reliability, rows)
        values, vectors = np.linalg.eigh(covariance * np.outer(units.weight, units.weight))
        number = min(most, rows - 1, len(middle))
        level, axes = np.maximum(values[::-1][:number], 0.0), vectors[:, ::-1][:, :number].T
        return cls._above_noise(level, axes, middle, units, rows)

    @classmethod
    def _above_noise(
        cls, level: Floats, axes: Floats, middle: Floats, units: "_NoiseUnits", rows: int
    ) -> "PrincipalScores":
        ratio = int(units.varies.sum()) / rows
        kept = np.flatnonzero(level > (1 + np.sqrt(ratio)) ** 2)
        kept = kept if len(kept) else np.arange(1)
        spike, cosine = _spikes(level[kept], ratio)
        signal = np.maximum((spike - 1) * cosine, 1e-6)
        captured = float(signal.sum()) / max(units.whole, 1e-300)
        return cls(axes[kept] / np.sqrt(units.noise), units.loadings, middle, signal / (1 + signal), captured)

    def scores(self, mean: Floats) -> Moments:
        """Posterior mean and variance of the scores, from posterior means of the coordinates."""
        map_to = self._map_to
        return Moments(mean @ map_to - self.centre @ map_to, self.shrinkage[None])

    def covariance(self, of_means: Floats) -> Floats:
        """The covariance of the scores' posterior means, from that of the coordinates' posterior means."""
        return self._map_to.T @ of_means @ self._map_to

    @property
    def _map_to(self) -> Floats:
        return (self.directions * self.loadings).T * self.shrinkage

    def coefficients(self, theta: Floats) -> Floats:
        """Turn parameters of scores (rows x (1 + k)) into those of features (rows x (1 + d)), at the origin."""
        weights = theta[:, 1:] @ self.directions
        return np.column_stack([theta[:, 0] - weights @ self.centre, weights])


@dataclass(frozen=True, eq=False)
class _NoiseUnits:
    """The coordinates in units of their noise: which vary at all, their noise, and what whitens posterior means.

    ``whole`` is the variance of all of them in these units.
    """

    varies: Flags
    noise: Floats
    weight: Floats
    loadings: Floats
    whole: float

    @classmethod
    def of(cls, reliability: Reliability, rows: int) -> "_NoiseUnits":
        _, variance, share = reliability
        varies = np.isfinite(variance) & (variance > 1e-9 * np.max(np.where(np.isfinite(variance), variance, 0.0)))
        # A variance that chance could have made is none: coordinates of pure noise only blur the directions.
        varies &= share > (1 - share) * _CHANCE * np.sqrt(2 / rows)
        safe = np.where(varies, share, 1.0)
        noise = np.where(varies, np.maximum(variance * (1 - safe) / safe, _LEAST_NOISE * variance), 1.0)
        loadings = np.where(varies, 1 / safe, 0.0)
        whole = float((np.where(varies, variance, 0.0) / noise).sum())
        return cls(varies, noise, np.where(varies, 1 / (safe * np.sqrt(noise)), 0.0), loadings, whole)


def _spikes(level: Floats, ratio: float) -> tuple[Floats, Floats]:
    """Population eigenvalues behind sample eigenvalues, and squared cosines of their directions."""
    half = (level + 1 - ratio) / 2
    spike = half + np.sqrt(np.maximum(half**2 - level, 0.0))
    above = np.maximum(spike - 1, 1e-9)
    cosine = (1 - ratio / above**2) / (1 + ratio / above)
    return spike, np.clip(cosine, 0.0, 1.0)


def _principal(table: NDArray[np.float32], number: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of table'table / n, falling, and their directions as rows."""
    rows, width = table.shape
    tall = rows > width
    gram = table.T @ table if tall else table @ table.T
    size = min(number + _SPARE, len(gram))
    if 3 * size >= len(gram):
        values, vectors = np.linalg.eigh(gram)
    else:
        # Block iteration: products of matrices, where Lanczos would have products with vectors.
        block = gram @ np.random.default_rng(0).standard_normal((len(gram), size)).astype(np.float32)
        for _ in range(_ROUNDS):
            block = gram @ np.linalg.qr(block)[0]
        basis = np.linalg.qr(block)[0]
        values, turned = np.linalg.eigh(basis.T @ gram @ basis)
        vectors = basis @ turned
    values, vectors = values[::-1][:number], vectors[:, ::-1][:, :number]
    if not tall:
        # Where nothing varies there is no direction: zero, and not zero over zero.
        vectors = (table.T @ vectors) / np.sqrt(np.maximum(values, np.finfo(np.float32).tiny))
    return np.maximum(values, 0.0).astype(float) / rows, vectors.T.astype(float)
