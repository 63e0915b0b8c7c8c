"""The laws of released counts: Laplace noise up to a radius, urns, and Dirichlet draws about noisy counts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance.arrays import Floats
from askance.mechanisms.counts.sum_zero_vectors import log_vectors
from askance.planning.auditing.noise_vectors import Uniforms, VectorLaw, whole_uniform

_LEAST = 0.5  # a noisy count below it is taken for it before proportions are drawn


@dataclass(frozen=True)
class ShellVector(VectorLaw):
    """Whole numbers of sum zero, P(z) proportional to exp(-size / scale), with half the size at most a radius."""

    scale: float
    radius: int
    count: int

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        whole = np.rint(noise).astype(np.int64)
        radii = np.arange(self.radius + 1)
        logs = log_vectors(self.count, radii, radii) - 2 * radii / self.scale
        up, down = np.maximum(whole, 0).sum(axis=1), np.maximum(-whole, 0).sum(axis=1)
        columns = [("the radius", *whole_uniform(np.exp(logs - logs.max()), up, rng))]
        values = np.arange(-self.radius, self.radius + 1)
        for j in range(self.count - 1):
            # All vectors of a size are equally likely: those with this number are counted.
            left_up, left_down = up[:, None] - np.maximum(values, 0), down[:, None] - np.maximum(-values, 0)
            possible = (left_up >= 0) & (left_down >= 0)
            ways = log_vectors(self.count - 1 - j, np.maximum(left_up, 0), np.maximum(left_down, 0))
            ways = np.where(possible, ways, -np.inf)
            largest = ways.max(axis=1, keepdims=True)
            law = np.exp(ways - np.where(np.isfinite(largest), largest, 0.0))
            columns.append((f"count {j + 1}", *whole_uniform(law, whole[:, j] + self.radius, rng)))
            up, down = up - np.maximum(whole[:, j], 0), down - np.maximum(-whole[:, j], 0)
        return [Uniforms.of(columns)]


@dataclass(frozen=True, eq=False)
class UrnVector(VectorLaw):
    """How often each colour came in draws from an urn that gets one more of what is drawn: beta-binomial numbers."""

    start: Floats
    draws: int

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        whole = np.rint(noise).astype(np.int64)
        left = np.full(len(whole), self.draws)
        columns = []
        for j in range(len(self.start) - 1):
            rest = float(self.start[j + 1 :].sum())
            pairs = [self._one(float(self.start[j]), rest, int(n), whole[r, j], rng) for r, n in enumerate(left)]
            columns.append((f"count {j + 1}", np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])))
            left = left - whole[:, j]
        return [Uniforms.of(columns)]

    def _one(self, a: float, b: float, draws: int, came: int, rng: np.random.Generator) -> tuple[float, float]:
        from scipy.special import betaln, gammaln

        if draws == 0:
            share = float(rng.random())
            return share, 1 - share
        k = np.arange(draws + 1)
        logs = betaln(k + a, draws - k + b) - gammaln(k + 1.0) - gammaln(draws - k + 1.0)
        below, above = whole_uniform(np.exp(logs - logs.max()), np.array([came]), rng)
        return float(below[0]), float(above[0])


@dataclass(frozen=True, eq=False)
class WholeNumber(VectorLaw):
    """One whole number with a table of probabilities."""

    law: Floats

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        columns = whole_uniform(self.law, np.rint(noise[:, 0]).astype(np.int64), rng)
        return [Uniforms.of([("the number of reports", *columns)])]


@dataclass(frozen=True, eq=False)
class PriorShare(VectorLaw):
    """The share of the first of two classes, drawn from a beta law about counts with rounded Laplace noise.

    Parameters
    ----------
    weights : array
        Of one rounded Laplace number, about zero.
    counts : pair
    """

    weights: Floats
    counts: tuple[int, int]

    @cached_property
    def _mixture(self) -> tuple[Floats, Floats, Floats]:
        from scipy.signal import fftconvolve

        law = self.weights / self.weights.sum()
        differences = np.maximum(fftconvolve(law, law[::-1]), 0.0)
        error = (np.arange(len(differences)) - len(differences) // 2) / 2
        likely = differences > 1e-15  # all others together are never drawn
        first = np.maximum(self.counts[0] + error, _LEAST)
        second = np.maximum(self.counts[1] - error, _LEAST)
        return differences[likely] / differences[likely].sum(), first[likely], second[likely]

    def uniforms(self, noise: Floats, rng: np.random.Generator) -> list[Uniforms]:
        from scipy.special import betainc

        weights, first, second = self._mixture
        shares = noise[:, 0]
        below = np.array([weights @ betainc(first, second, share) for share in shares])
        above = np.array([weights @ betainc(second, first, 1 - share) for share in shares])
        return [Uniforms.of([("the first share", below, above)])]
