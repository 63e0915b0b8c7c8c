"""Whole-numbered noise by the array, with the exact laws of :mod:`askance.entropy.noise`."""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.entropy.exact_tables import SizeTable, exp_coins
from askance.entropy.words import RandomWords

Whole = NDArray[np.int64]

_REACH = 46  # scales of a Laplace number: what is beyond has probability e^-46, less than 2^-64
_LARGEST_TABLE = 4096  # entries: made in some hundredths of a second
_GAUSSIAN_REACH = 10  # deviations of a Gaussian number: beyond it has less than 2^-64
_REMEMBERED = 64  # tables


@dataclass(frozen=True)
class GeometricLaw:
    """P(g) proportional to exp(-g / scale) for g = 0, 1, ..., up to a largest g if ``count`` of them are wanted."""

    scale: Fraction
    count: int | None = None

    @property
    def has_end(self) -> bool:
        return self.count is not None

    def cumulatives(self, digits: int) -> list[Decimal]:
        ratio = _exp(-1 / self.scale)
        if self.count is None:
            return [1 - power for power in _powers(ratio, digits)]
        whole = 1 - _exp(-self.count / self.scale)
        values, power = [], ratio
        for _ in range(self.count - 1):
            values.append((1 - power) / whole)
            power *= ratio
        return values


@dataclass(frozen=True)
class LaplaceSizes:
    """|z| of P(z) proportional to exp(-|z| / scale)."""

    scale: Fraction

    has_end = False

    def cumulatives(self, digits: int) -> list[Decimal]:
        ratio = _exp(-1 / self.scale)
        return [1 - 2 * power / (1 + ratio) for power in _powers(ratio, digits)]


@dataclass(frozen=True)
class GaussianSizes:
    """|z| of P(z) proportional to exp(-z^2 / (2 variance))."""

    variance: Fraction

    has_end = False

    def cumulatives(self, digits: int) -> list[Decimal]:
        step = _exp(-1 / (2 * self.variance))
        weights, weight, ratio = [Decimal(1)], Decimal(1), step
        least = Decimal(1).scaleb(-digits - 6)  # the rest is less than a million times the last
        while weight > least:
            weight *= ratio  # (j + 1)^2 - j^2 = 2 j + 1
            ratio *= step * step
            weights.append(2 * weight)
        whole, values, below = sum(weights), [], Decimal(0)
        for weight in weights:
            below += weight
            values.append(below / whole)
        return values[:-1]


def _exp(power: Fraction) -> Decimal:
    return (Decimal(power.numerator) / Decimal(power.denominator)).exp()


def _powers(ratio: Decimal, digits: int) -> list[Decimal]:
    """ratio, ratio^2, ... until they are below so many digits."""
    least, power, powers = Decimal(1).scaleb(-digits), ratio, []
    while power > least:
        powers.append(power)
        power *= ratio
    return [*powers, power]


@lru_cache(maxsize=_REMEMBERED)
def _table(law: GeometricLaw | LaplaceSizes | GaussianSizes) -> SizeTable:
    return SizeTable(law)


def geometric_array(scale: Fraction, count: int, words: RandomWords) -> Whole:
    """Draw g = 0, 1, ... with P(g) proportional to exp(-g / scale).

    Of a wide law, g = u + m v, where u and v are independent: u up to m - 1 by the same law, v by that of scale / m.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> bool((geometric_array(Fraction(7, 2), 3, RandomWords(system_bits())) >= 0).all())
    True
    """
    if _REACH * scale <= _LARGEST_TABLE:
        return _table(GeometricLaw(scale)).draw(count, words)
    part = math.isqrt(math.ceil(_REACH * scale))
    fine = _table(GeometricLaw(scale, part)).draw(count, words)
    return fine + part * geometric_array(scale / part, count, words)


def laplace_array(scale: Fraction, count: int, words: RandomWords) -> Whole:
    """Draw whole numbers z with P(z) proportional to exp(-|z| / scale); wide ones are differences of two geometric.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> laplace_array(Fraction(5, 2), 3, RandomWords(system_bits())).shape
    (3,)
    """
    if _REACH * scale <= _LARGEST_TABLE:
        return words.signed(_table(LaplaceSizes(scale)).draw(count, words))
    pair = geometric_array(scale, 2 * count, words)
    return pair[:count] - pair[count:]


def gaussian_array(variance: Fraction, count: int, words: RandomWords) -> Whole:
    """Draw whole numbers z with P(z) proportional to exp(-z^2 / (2 variance)); wide ones by rejection.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> gaussian_array(Fraction(9, 4), 3, RandomWords(system_bits())).shape
    (3,)
    """
    if _GAUSSIAN_REACH**2 * variance <= _LARGEST_TABLE**2:
        return words.signed(_table(GaussianSizes(variance)).draw(count, words))
    # As in entropy.noise: the proposal is about as wide, and is kept with exp(-(|z| - v/w)^2 / (2 v)).
    width = math.isqrt(variance.numerator // variance.denominator) + 1
    p, q = variance.numerator, variance.denominator
    kept: list[Whole] = []
    missing = count
    while missing > 0:
        proposed = laplace_array(Fraction(width), 2 * missing + 8, words)
        # (|z| w q - p)^2 / (2 p q w^2): whole numbers that may be longer than 64 bits.
        gaps: Any = abs(np.abs(proposed).astype(object) * (width * q) - p)
        kept.append(proposed[exp_coins(gaps, Fraction(1, 2 * p * q * width * width), words, power=2)][:missing])
        missing -= len(kept[-1])
    return np.concatenate([*kept, np.empty(0, np.int64)])
