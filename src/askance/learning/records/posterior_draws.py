"""Draws of a clean record given its report: rho(x | x~) = p(x~ | x) p(x) / Z, [RR] (58), coordinate by coordinate.

Prior and noise are factorised, so every coordinate is drawn on its own. A *draw* is a function of a generator that
returns one clean version of all n records (n x d); calling it again gives another.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.records.posterior import FeaturePosterior, FinitePosterior, GroupPosterior, NoisePosterior

Draw = Callable[[np.random.Generator], Floats]


@dataclass(frozen=True, eq=False)
class FlipDraw:
    """After state flips S = a I + b 11': the reported state with probability lambda, or else a draw from the prior.

    lambda = a pi(x~) / (a pi(x~) + b). That needs no table of K x K posteriors a coordinate.

    Parameters
    ----------
    codes : n x d
        States that were reported.
    values : d x K
        What the states stand for.
    prior : d x K
        Probability of each state, rows that sum to one.
    stay, spread : d
        The law of each coordinate: a and b.
    """

    codes: NDArray[np.int64]
    values: Floats
    prior: Floats
    stay: Floats
    spread: Floats

    def __call__(self, rng: np.random.Generator) -> Floats:
        from askance.learning.records.posterior_draws_loops import draw_kept_or_prior

        kept = self.stay[:, None] * self.prior
        keep = kept / (kept + self.spread[:, None])
        uniform = rng.random(self.codes.shape)
        return _filled(draw_kept_or_prior, uniform, self.codes, keep, _cumulated(self.prior), self.values)


@dataclass(frozen=True, eq=False)
class TableDraw:
    """After any finite law: from the table of posteriors of each coordinate.

    Parameters
    ----------
    codes : n x d
        Reports.
    values : d x K
        What the true states stand for.
    posterior : d x O x K
        P(truth | report) of each coordinate.
    """

    codes: NDArray[np.int64]
    values: Floats
    posterior: Floats

    @classmethod
    def under_prior(cls, codes: NDArray[np.int64], values: Floats, matrices: Floats, prior: Floats) -> "TableDraw":
        """Make the posteriors from the laws (d x O x K, P(report | truth)) and the prior (d x K)."""
        joint = matrices * prior[:, None, :]
        total = joint.sum(axis=2, keepdims=True)
        # A report that cannot happen under this prior says nothing: its truth is drawn from the prior.
        posterior = np.where(total > 0, joint / np.where(total > 0, total, 1.0), prior[:, None, :])
        return cls(codes, values, posterior)

    def __call__(self, rng: np.random.Generator) -> Floats:
        from askance.learning.records.posterior_draws_loops import draw_from_table

        return _filled(
            draw_from_table, rng.random(self.codes.shape), self.codes, _cumulated(self.posterior), self.values
        )


@dataclass(frozen=True, eq=False)
class NormalDraw:
    """After Gaussian noise under a Gaussian prior, [RR] (66)-(69).

    Parameters
    ----------
    mean : n x d
    deviation : d
    """

    mean: Floats
    deviation: Floats

    @classmethod
    def under_prior(cls, reports: Floats, noise_variance: Floats, mean: Floats, variance: Floats) -> "NormalDraw":
        """Combine reports with a prior of that mean and variance for each coordinate."""
        precision = 1 / noise_variance + 1 / variance
        posterior_mean: Floats = (reports / noise_variance + mean / variance) / precision
        return cls(posterior_mean, np.sqrt(1 / precision) * np.ones(reports.shape[1]))

    def __call__(self, rng: np.random.Generator) -> Floats:
        drawn = rng.standard_normal(self.mean.shape)
        drawn *= self.deviation
        drawn += self.mean
        return drawn


@dataclass(frozen=True, eq=False)
class LaplaceDraw:
    """After Laplace noise under a normal prior: a normal law below the report or above it, each cut off there.

    Parameters
    ----------
    reports : n x d
    scale : float
    mean, variance : d
        Of the prior.
    """

    reports: Floats
    scale: float
    mean: Floats
    variance: Floats

    def __call__(self, rng: np.random.Generator) -> Floats:
        from scipy.special import log_ndtr, ndtri_exp

        deviation, shift = np.sqrt(self.variance), self.variance / self.scale
        gap = self.reports - self.mean
        edges = (gap - shift) / deviation, -(gap + shift) / deviation
        tails = [log_ndtr(edge) for edge in edges]
        odds = np.clip(tails[1] - tails[0] + 2 * gap / self.scale, -700, 700)
        below = rng.random(gap.shape) < 1 / (1 + np.exp(odds))
        # A normal law cut off above its edge, by the inverse of its distribution function, in logarithms.
        tail = np.where(below, tails[0], tails[1])
        standard = ndtri_exp(tail + np.log1p(-rng.random(gap.shape)))
        sign = np.where(below, 1.0, -1.0)
        drawn: Floats = self.mean + sign * (shift + deviation * standard)
        return drawn


@dataclass(frozen=True, eq=False)
class GroupedDraw:
    """Several draws, each for some columns."""

    shape: tuple[int, int]
    parts: tuple[tuple[Draw, NDArray[np.intp]], ...]

    def __call__(self, rng: np.random.Generator) -> Floats:
        if len(self.parts) == 1:
            return self.parts[0][0](rng)
        drawn = np.empty(self.shape)
        for draw, columns in self.parts:
            drawn[:, columns] = draw(rng)
        return drawn


def posterior_draw(posterior: FeaturePosterior, reports: NDArray[Any]) -> GroupedDraw:
    """Make the draw that belongs to a posterior: of reports as codes (finite coordinates) or numbers (others)."""
    parts = tuple((_group_draw(group, reports[:, columns]), columns) for group, columns in posterior.groups)
    return GroupedDraw((len(reports), posterior.width), parts)


def _group_draw(group: GroupPosterior, block: NDArray[Any]) -> Draw:
    width = block.shape[1]
    if isinstance(group, FinitePosterior):
        law, codes = group.law, block.astype(np.int64)
        values = np.tile(law.values.astype(float), (width, 1))
        if law.is_flip and law.a > 0:
            return FlipDraw(codes, values, group.weights, np.full(width, law.a), np.full(width, law.b))
        return TableDraw.under_prior(
            codes, values, np.broadcast_to(law.matrix, (width, *law.matrix.shape)), group.weights
        )
    if not isinstance(group, NoisePosterior):
        raise TypeError(f"no draw for a {type(group).__name__}")
    noise, normal, reports = group.law, group.normal, block.astype(float)
    flat = ~np.isfinite(normal.variance)
    if noise.posterior_is_normal or not noise.hides:
        moments = group.moments(reports)
        return NormalDraw(moments.mean, np.sqrt(moments.variance[0]))
    # A prior without end is one that is far wider than the noise.
    wide = np.where(flat, 1e8 * noise.variance, normal.variance)
    return LaplaceDraw(reports, noise.size, np.where(flat, reports.mean(axis=0), normal.mean), wide)


def _cumulated(probabilities: Floats) -> Floats:
    return np.ascontiguousarray(np.cumsum(probabilities, axis=-1))


def _filled(kernel: Callable[..., None], uniform: Floats, codes: NDArray[np.int64], *tables: Floats) -> Floats:
    drawn = np.empty(uniform.shape)
    kernel(uniform, np.ascontiguousarray(codes), *(np.ascontiguousarray(table) for table in tables), drawn)
    return drawn
