"""Noise for totals, calibrated to how far one label can move them.

Three laws, each with a level that is known exactly or from above:

- ``laplace``: whole-numbered Laplace noise of scale (1-norm)/epsilon. Its level is epsilon, exactly.
- ``knorm``: density proportional to exp(-|w|_2 / scale) with scale (2-norm)/epsilon, rounded to whole numbers. By the
  triangle inequality the density changes by at most e^epsilon, and rounding cannot undo that.
- ``gaussian``: normal noise rounded to whole numbers, with the least standard deviation for (epsilon, delta) by
  Balle & Wang (2018): Phi(1/2s - epsilon s) - e^epsilon Phi(-1/2s - epsilon s) <= delta, s = deviation / (2-norm).

All are drawn without a double: see ``entropy.noise`` and ``entropy.rounded_noise``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from askance.channels.attributes.gaussian_level import gaussian_delta
from askance.entropy.bits import BitSource
from askance.entropy.noise import discrete_laplace, discrete_laplace_variance
from askance.entropy.rounded_noise import rounded_gaussian, rounded_gaussian_variance, rounded_radial
from askance.mechanisms.budget import Budget


@dataclass(frozen=True)
class Sensitivity:
    """How far one label can move a vector of whole-numbered totals.

    Parameters
    ----------
    one : int
        In the 1-norm.
    squared_two : int
        In the 2-norm, squared.
    count : int
        How many totals there are.
    """

    one: int
    squared_two: int
    count: int

    @property
    def two(self) -> Fraction:
        """The 2-norm, rounded up in the 30th binary place."""
        scaled = self.squared_two << 60
        root = math.isqrt(scaled)
        return Fraction(root if root * root == scaled else root + 1, 1 << 30)


class TotalNoise(Protocol):
    """Noise for a vector of whole numbers."""

    name: ClassVar[str]
    how_known: ClassVar[str]

    @property
    def variance(self) -> float:
        """The variance of each number."""

    def draw(self, source: BitSource) -> list[int]:
        """Draw one vector."""


@dataclass(frozen=True)
class TotalLaplace:
    """Independent discrete Laplace numbers."""

    scale: Fraction
    count: int

    name: ClassVar[str] = "laplace"
    how_known: ClassVar[str] = (
        "exact sums on a public grid, plus whole-numbered Laplace noise drawn without floating point: the level is "
        "exact"
    )

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, budget: Budget) -> "TotalLaplace":
        """Return the noise for which one label changes no probability by more than e^epsilon."""
        return cls(Fraction(sensitivity.one) / budget.epsilon, sensitivity.count)

    @property
    def variance(self) -> float:
        return discrete_laplace_variance(self.scale)

    def draw(self, source: BitSource) -> list[int]:
        return discrete_laplace(self.scale, self.count, source)


@dataclass(frozen=True)
class TotalRadial:
    """A vector of uniform direction and Gamma-distributed length, rounded to whole numbers."""

    scale: Fraction
    count: int

    name: ClassVar[str] = "knorm"
    how_known: ClassVar[str] = (
        "exact sums on a public grid, plus noise of uniform direction and Gamma length, drawn as a real number and "
        "rounded to the grid: rounding cannot raise the level"
    )

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, budget: Budget) -> "TotalRadial":
        """Return the noise whose density one label changes by at most e^epsilon."""
        return cls(sensitivity.two / budget.epsilon, sensitivity.count)

    @property
    def variance(self) -> float:
        # E[radius^2] / count = (count + 1) scale^2; rounding adds 1/12, up to (2 pi scale)^-2 of that.
        return (self.count + 1) * float(self.scale) ** 2 + 1 / 12

    def draw(self, source: BitSource) -> list[int]:
        return rounded_radial(self.scale, self.count, source)


@dataclass(frozen=True)
class TotalGaussian:
    """Independent normal numbers, rounded to whole numbers."""

    deviation: Fraction
    count: int

    name: ClassVar[str] = "gaussian"
    how_known: ClassVar[str] = (
        "exact sums on a public grid, plus normal noise, drawn as a real number and rounded to the grid: rounding "
        "cannot raise the level of the normal law, which is that of Balle and Wang (2018)"
    )

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, budget: Budget) -> "TotalGaussian":
        """Return the noise of least variance that is (epsilon, delta)-private."""
        budget.require_delta(cls.name)
        unit = gaussian_deviation(float(budget.epsilon), float(budget.delta))
        return cls(sensitivity.two * Fraction(unit), sensitivity.count)

    @property
    def variance(self) -> float:
        return rounded_gaussian_variance(self.deviation)

    def draw(self, source: BitSource) -> list[int]:
        return rounded_gaussian(self.deviation, self.count, source)


def gaussian_deviation(epsilon: float, delta: float) -> float:
    """Return the least standard deviation of normal noise for (epsilon, delta), where one label moves totals by 1.

    Examples
    --------
    >>> round(gaussian_deviation(1.0, 1e-6), 4)
    4.2247
    """
    low = high = 1.0
    while gaussian_delta(high, epsilon) > delta:
        high *= 2
    while gaussian_delta(low, epsilon) <= delta:
        low /= 2
    for _ in range(200):  # ends sooner, where no double is between the two
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (middle, high) if gaussian_delta(middle, epsilon) > delta else (low, middle)
    # Delta is rounded up already. A millionth more covers the rounding of epsilon and delta to doubles, many times.
    return high * (1 + 1e-6)
