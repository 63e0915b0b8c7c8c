"""Counts with whole-numbered noise that sums to zero.

One label that changes moves a person from class i to class j: counts move by e_j - e_i. The total is public, so only
noise within the plane of sum zero hides anything. There the moves of one label are the corners of the ball of the
norm |z|_1 / 2, and noise with P(z) proportional to exp(-epsilon |z|_1 / 2) is the mechanism of Hardt & Talwar (2010)
for just this norm: epsilon-private, and closer to the truth than independent noise for each count.

- ``discrete-laplace``: that law on whole numbers. One label changes |z|_1 / 2 by at most 1: the level is epsilon,
  exactly.
- ``truncated-laplace``: the same up to a radius R, |z|_1 / 2 <= R. Within the radius the ratio is at most e^epsilon;
  delta is the probability of what the neighbour cannot reach, counted exactly.
- ``discrete-gaussian``: P(z) proportional to exp(-|z|_2^2 / (2 v)). The loss is (1 - D) / v with D = z_i - z_j, so
  that delta is a sum over the law of D.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from askance.arrays import Floats
from askance.channels.attributes.gaussian_level import gaussian_delta
from askance.entropy.bits import BitSource
from askance.entropy.rounded_arrays import Whole
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.balanced_noise import balanced_gaussian, balanced_laplace
from askance.mechanisms.counts.count_error import FINE, CountError, balanced_error, gaussian_weights, laplace_weights
from askance.mechanisms.counts.count_noise import CountNoise
from askance.mechanisms.counts.sum_zero_vectors import log_vectors, rim_probabilities
from askance.mechanisms.total_noise import gaussian_deviation

_SLACK = 1e-7  # relative: far beyond the rounding errors of logarithms of large numbers, and of sums
LARGEST_RADIUS = 1 << 17  # people: to count its rim takes a second, and wider noise hides most bags altogether
_WIDE = 1e5  # a variance beyond which delta is bounded rather than summed
_WIDE_SLACK = 1e-4  # relative: the integral is a difference of logarithms that are nearly the same


@dataclass(frozen=True)
class BalancedLaplace(CountNoise):
    """P(z) proportional to exp(-|z|_1 / scale), sum zero."""

    scale: Fraction
    classes: int

    name: ClassVar[str] = "discrete-laplace"
    how_known: ClassVar[str] = (
        "whole counts plus whole-numbered Laplace noise of sum zero, drawn without floating point: the level is exact"
    )

    @classmethod
    def calibrated(cls, classes: int, budget: Budget) -> Self:
        """Return the noise whose level is epsilon."""
        return cls(2 / budget.epsilon, classes)

    @cached_property
    def error(self) -> CountError:
        unit = max(float(self.scale) / FINE, 1.0)
        return CountError(balanced_error(laplace_weights(float(self.scale) / unit), self.classes), unit)

    def noise(self, bags: int, source: BitSource) -> Whole:
        return balanced_laplace(self.scale, self.classes, bags, source)


@dataclass(frozen=True)
class TruncatedLaplace(CountNoise):
    """P(z) proportional to exp(-|z|_1 / scale), sum zero, |z|_1 / 2 at most the radius."""

    scale: Fraction
    radius: int
    classes: int

    name: ClassVar[str] = "truncated-laplace"
    how_known: ClassVar[str] = (
        "whole counts plus whole-numbered Laplace noise of sum zero up to a radius, drawn without floating point: "
        "within the radius the level is epsilon, and delta is the probability of its rim, counted exactly"
    )

    @classmethod
    def calibrated(cls, classes: int, budget: Budget) -> Self:
        """Return the noise of least radius that is (epsilon, delta)-private."""
        budget.require_delta(cls.name)
        # The least radius is at most about log(1 / delta) / epsilon: look at ever more shells.
        most = 64
        while most <= LARGEST_RADIUS:
            deltas = rim_probabilities(classes, float(budget.epsilon), most)
            enough = np.flatnonzero(deltas * (1 + _SLACK) <= float(budget.delta))
            if len(enough):
                return cls(2 / budget.epsilon, int(enough[0]) + 1, classes)
            most *= 4
        raise InvalidInput(
            f"mechanism={cls.name!r} with epsilon={float(budget.epsilon):g} and delta={float(budget.delta):g}",
            f"noise of at most {LARGEST_RADIUS:,} people",
            "Use mechanism='auto'.",
        )

    @property
    def delta(self) -> float:
        """The delta that is really given."""
        return float(rim_probabilities(self.classes, 2 / float(self.scale), self.radius)[-1])

    @cached_property
    def error(self) -> CountError:
        unit = max(self.radius / FINE, 1.0)
        radius = round(self.radius / unit)
        sizes = np.arange(radius + 1)
        shells = sizes[:, None] + np.zeros_like(sizes)  # the radius by row, the size of this count by column
        log_weights = np.where(
            shells >= sizes,
            log_vectors(self.classes - 1, np.maximum(shells - sizes, 0), shells)
            - shells * 2 * unit / float(self.scale),
            -np.inf,
        )
        side = np.exp(np.logaddexp.reduce(log_weights, axis=0))
        law = np.concatenate([side[:0:-1], side])
        return CountError(law / law.sum(), unit)

    def noise(self, bags: int, source: BitSource) -> Whole:
        return balanced_laplace(self.scale, self.classes, bags, source, self.radius)


@dataclass(frozen=True)
class BalancedGaussian(CountNoise):
    """P(z) proportional to exp(-|z|_2^2 / (2 variance)), sum zero."""

    variance: Fraction
    classes: int

    name: ClassVar[str] = "discrete-gaussian"
    how_known: ClassVar[str] = (
        "whole counts plus whole-numbered Gaussian noise of sum zero, drawn without floating point: delta is summed "
        "over the law of the privacy loss"
    )

    @classmethod
    def calibrated(cls, classes: int, budget: Budget) -> Self:
        """Return the noise of least variance that is (epsilon, delta)-private."""
        budget.require_delta(cls.name)
        epsilon, delta = float(budget.epsilon), float(budget.delta)
        # About the variance of real noise for a 2-norm of sqrt(2).
        guess = 2 * gaussian_deviation(epsilon, delta) ** 2
        low, high = guess / 2, guess
        while balanced_gaussian_delta(high, classes, epsilon) * (1 + _SLACK) > delta:
            high *= 1.25
        for _ in range(40):  # to the last digit of a double
            middle = (low + high) / 2
            private = balanced_gaussian_delta(middle, classes, epsilon) * (1 + _SLACK) <= delta
            low, high = (low, middle) if private else (middle, high)
        # Few digits make small coins; upwards, and looked at once more.
        digits = 10 ** max(0, 6 - math.floor(math.log10(high)))
        variance = Fraction(math.ceil(high * digits), digits)
        while balanced_gaussian_delta(float(variance), classes, epsilon) * (1 + _SLACK) > delta:
            variance += Fraction(1, digits)
        return cls(variance, classes)

    @cached_property
    def error(self) -> CountError:
        unit = max(float(self.variance) ** 0.5 / FINE, 1.0)
        return CountError(balanced_error(gaussian_weights(float(self.variance) / unit**2), self.classes), unit)

    def noise(self, bags: int, source: BitSource) -> Whole:
        return balanced_gaussian(self.variance, self.classes, bags, source)


def balanced_gaussian_delta(variance: float, classes: int, epsilon: float) -> float:
    """Return the exact delta of balanced Gaussian noise at epsilon.

    D = z_i - z_j has P(d) proportional to exp(-d^2 / (4 v)), times a factor for even and one for odd d: how probable
    it is that the other classes make up for z_i + z_j, which is even or odd with d.

    Examples
    --------
    >>> round(balanced_gaussian_delta(2.0, 2, 1.0), 6)  # one number of variance 1, moved by 1
    0.141351
    """
    if variance > _WIDE:
        return _wide_gaussian_delta(variance, classes, epsilon)
    differences, law = balanced_gaussian_differences(variance, classes)
    losses = (1 - differences) / variance
    return float(law @ -np.expm1(np.minimum(epsilon - losses, 0.0)))


def balanced_gaussian_differences(variance: float, classes: int) -> tuple[Floats, Floats]:
    """Return the differences D = z_i - z_j that balanced Gaussian noise has, and their probabilities."""
    law = gaussian_weights(2 * variance, tail=700.0)  # probabilities may be as small as doubles are
    differences = np.arange(len(law), dtype=np.float64) - len(law) // 2
    law = law * np.where(differences % 2 == 0, *_parity(variance, classes))
    possible = law > 0
    return differences[possible], np.asarray(law[possible] / law.sum(), dtype=np.float64)


def _wide_gaussian_delta(variance: float, classes: int, epsilon: float) -> float:
    """Bound delta from above by an integral, where there are too many numbers to sum over.

    A sum over every h-th whole number of a function with one peak is its integral / h, up to the height of the peak.
    Both exp(-d^2 / (4 v)) and its product with the excess 1 - exp(epsilon - loss) are log-concave, so each has one
    peak.
    """
    step = 2.0 if classes == 2 else 1.0  # of two classes, D is even
    whole = math.sqrt(4 * math.pi * variance)
    beyond = np.geomspace(1e-6, 60.0, 4000) * math.sqrt(variance)  # how far d is beyond the least loss that counts
    border = 1 - epsilon * variance
    peak = 1.01 * float((np.exp(-((border - beyond) ** 2) / (4 * variance)) * -np.expm1(-beyond / variance)).max())
    integral = whole * gaussian_delta(math.sqrt(variance / 2), epsilon)
    return (1 + _WIDE_SLACK) * (integral + step * peak) / (whole - step)


def _parity(variance: float, classes: int) -> tuple[float, float]:
    """How probable it is that z_i + z_j is even, and that it is odd, apart from the factor that d has."""
    if classes == 2:
        return 1.0, 0.0
    if variance > 16:  # the two differ by exp(-pi^2 variance / 3)
        return 1.0, 1.0
    pair = gaussian_weights(2 * variance)  # exp(-s^2 / (4 v)) for s = z_i + z_j
    reach = len(pair) // 2
    one = gaussian_weights(variance)
    rest = np.ones(1)
    for _ in range(classes - 2):
        rest = np.convolve(rest, one / one.sum())
    middle = len(rest) // 2
    both = min(reach, middle)
    law = pair[reach - both : reach + both + 1] * rest[middle - both : middle + both + 1]
    odd = np.arange(-both, both + 1) % 2 == 1
    return float(law[~odd].sum()), float(law[odd].sum())
