"""The law of a number to which noise is added: normal or Laplace.

With public bounds, noise is added in whole steps of a fine grid between them and drawn without floating point
(``entropy.rounded_arrays``): the level is that of the noise really drawn, rounding cannot raise it.
Without bounds nothing is promised, and noise is added as a double.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.coordinate_law import CoordinateLaw, FiniteCoordinate
from askance.channels.attributes.gaussian_level import gaussian_epsilon
from askance.channels.attributes.laplace_posterior import laplace_posterior
from askance.entropy.bits import BitSource
from askance.entropy.rounded_arrays import Whole, rounded_gaussian_array, rounded_laplace_array

Pair = tuple[float, float]

DELTA = 1e-6  # less than one in the number of people that studies have: the usual choice
_STEPS = 1024  # of the grid, to the size of the noise: rounding adds a ten-millionth to its variance
_MOST_STEPS = 1 << 40  # a level and its noise in steps are added in doubles, which hold whole numbers up to 2^53
_ROWS_AT_ONCE = 4096  # a dozen tables of so many rows stay in the cache where there are few attributes


@dataclass(frozen=True)
class NoiseCoordinate(CoordinateLaw):
    """A number plus noise.

    Parameters
    ----------
    size : float
        The standard deviation of normal noise, or the scale of Laplace noise. 0 hides nothing.
    bounds : pair of float, optional
        Public bounds; numbers outside are clipped.
    """

    size: float
    bounds: Pair | None = None

    is_finite: ClassVar[Literal[False]] = False
    kurtosis: ClassVar[float]  # the fourth moment of the noise, in squares of its variance
    posterior_is_normal: ClassVar[bool]  # whether a normal prior leads to a normal law of the truth given its report

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise."""

    @abstractmethod
    def log_density(self, noise: Any) -> Floats:
        """Return log S(truth + noise | truth)."""

    @abstractmethod
    def distribution(self, noise: Any) -> Floats:
        """Return P(noise at most so large)."""

    @abstractmethod
    def posterior(self, reports: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of the truth given reports, n x d, under a normal prior for each of d attributes.

        Variances are 1 x d where no report changes them.
        """

    @abstractmethod
    def _standard(self, uniform: Floats) -> Floats:
        """Turn uniform numbers into noise of size 1."""

    @abstractmethod
    def _standard_from(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Draw noise of size 1 for a simulation."""

    @abstractmethod
    def _whole(self, size: Fraction, count: int, bits: BitSource) -> Whole:
        """Draw whole numbers for real answers; ``size`` is in steps of the grid."""

    @property
    def hides(self) -> bool:
        return self.size > 0

    def read(self, numbers: Any) -> tuple[Floats, NDArray[np.bool_] | None]:
        values = np.asarray(numbers, dtype=float)
        usable = np.isfinite(values)
        return values, None if usable.all() else usable

    @cached_property
    def range(self) -> Fraction | None:
        """How far two truths can be apart."""
        return None if self.bounds is None else Fraction(self.bounds[1]) - Fraction(self.bounds[0])

    @cached_property
    def steps(self) -> int:
        """Into how many steps the grid divides the range."""
        if self.range is None or not self.hides:
            return 0
        return min(max(_STEPS, math.ceil(_STEPS * self.range / Fraction(self.size))), _MOST_STEPS)

    def wanted(self) -> str:
        return "a finite number"

    def draw(self, truth: Floats, bits: BitSource) -> Floats:
        """Draw a report for each number; all are finite and within the bounds."""
        if not self.hides:
            return truth
        rng = bits.rng  # a simulation has normals and Laplace numbers at once, without making them from bits
        if self.bounds is None or self.range is None:
            noise = (
                self._standard(_uniform(truth.shape, bits)) if rng is None else self._standard_from(rng, truth.shape)
            )
            with_noise: Floats = truth + self.size * noise
            return with_noise
        low, width = self.bounds[0], float(self.range)
        level = np.clip(np.rint((truth - low) / width * self.steps), 0, self.steps)
        size = Fraction(self.size) * self.steps / self.range
        if rng is None:
            whole = self._whole(size, truth.size, bits).astype(float).reshape(truth.shape)
        else:
            whole = np.rint(float(size) * self._standard_from(rng, truth.shape))
        on_grid: Floats = low + (level + whole) * (width / self.steps)
        return on_grid


@dataclass(frozen=True)
class GaussianCoordinate(NoiseCoordinate):
    """A number plus normal noise; ``delta`` is what its level is stated at."""

    delta: float = DELTA

    kurtosis: ClassVar[float] = 3.0
    posterior_is_normal: ClassVar[bool] = True

    @property
    def variance(self) -> float:
        return self.size**2

    @cached_property
    def epsilon(self) -> float:
        return math.inf if self.shift is None else gaussian_epsilon(1 / self.shift, self.delta)

    @cached_property
    def shift(self) -> float | None:
        """How far two truths can be apart, in standard deviations; None if that is not known."""
        if self.range is None or not self.hides:
            return None
        return float(self.range / Fraction(self.size)) * (1 + 1e-12)

    def log_density(self, noise: Any) -> Floats:
        log_density: Floats = -0.5 * (np.asarray(noise) / self.size) ** 2
        return log_density - math.log(self.size * math.sqrt(2 * math.pi))

    def posterior(self, reports: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        gain = variance / (variance + self.variance)
        shrunken: Floats = reports * gain
        shrunken += (1 - gain) * mean
        return shrunken, (self.variance * gain)[None]

    def distribution(self, noise: Any) -> Floats:
        from scipy.special import ndtr

        share: Floats = ndtr(np.asarray(noise) / self.size)
        return share

    def _standard(self, uniform: Floats) -> Floats:
        from scipy.special import ndtri

        noise: Floats = ndtri(uniform)
        return noise

    def _standard_from(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return rng.standard_normal(shape)

    def _whole(self, size: Fraction, count: int, bits: BitSource) -> Whole:
        return rounded_gaussian_array(size, count, bits)


@dataclass(frozen=True)
class LaplaceCoordinate(NoiseCoordinate):
    """A number plus Laplace noise."""

    kurtosis: ClassVar[float] = 6.0
    posterior_is_normal: ClassVar[bool] = False

    @property
    def variance(self) -> float:
        return 2 * self.size**2

    @cached_property
    def epsilon(self) -> float:
        return math.inf if self.range is None or not self.hides else float(self.range / Fraction(self.size))

    def log_density(self, noise: Any) -> Floats:
        log_density: Floats = -np.abs(np.asarray(noise)) / self.size - math.log(2 * self.size)
        return log_density

    def posterior(self, reports: Floats, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
        means, variances = np.empty(reports.shape), np.empty(reports.shape)
        for start in range(0, len(reports), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            means[rows], variances[rows] = laplace_posterior(reports[rows] - mean, variance, self.size)
        means += mean
        return means, variances

    def distribution(self, noise: Any) -> Floats:
        tail = 0.5 * np.exp(-np.abs(np.asarray(noise)) / self.size)
        share: Floats = np.where(np.asarray(noise) < 0, tail, 1 - tail)
        return share

    def _standard(self, uniform: Floats) -> Floats:
        centred = 2 * uniform - 1
        noise: Floats = -np.sign(centred) * np.log1p(-np.abs(centred))
        return noise

    def _standard_from(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        return rng.laplace(size=shape)

    def _whole(self, size: Fraction, count: int, bits: BitSource) -> Whole:
        return rounded_laplace_array(size, count, bits)


Law = FiniteCoordinate | NoiseCoordinate  # which of the two is said by ``is_finite``


def _uniform(shape: tuple[int, ...], bits: BitSource) -> Floats:
    """Draw uniform numbers strictly between 0 and 1."""
    count, parts = math.prod(shape), []
    while count > 0:
        words = bits.block().view(np.uint64)[:count]
        parts.append(((words >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52)
        count -= len(words)
    return np.concatenate([*parts, np.empty(0)]).reshape(shape)
