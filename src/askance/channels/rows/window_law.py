"""The window law: a few numbers hidden together, as codes in a window around the truth or anywhere.

A number z in [-1, 1] is one of T codes. The truth chooses the start of a window of W codes. With probability kappa all
k reported codes are uniform in their windows, otherwise uniform among all codes. Everything is a whole number, so the
privacy level log(1 + kappa T^k / ((1 - kappa) W^k)) holds exactly, whatever floating point does.

With H = (T - W - 1)/2 steps of half range and the value o = (c - (T-1)/2) / H of a code c, for i != j,

    E[o | z] = kappa z,    E[o_i o_j | z] = kappa z_i z_j,
    E[o^2 | z] = kappa (z^2 + window) + (1 - kappa) blank,

window = ((W^2 - 1)/12 + 1/4) / H^2 and blank = (T^2 - 1)/12 / H^2: the start is rounded so that its mean is right and
its variance is 1/4 wherever z lies.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np

from askance.arrays import Floats
from askance.entropy.thresholds import RESOLUTION
from askance.errors import Unidentifiable

# kappa, window and blank of many widths -> what is to be small
Cost = Callable[[Floats, Floats, Floats], Floats]

_DIGITS = 120  # e^50 has 22 digits, (codes / width)^numbers as many again: far more are left than the 17 of a double
# The numbers -1 and 1 are rounded to one of two starts. From 2 to T - 3 codes wide, some code lies in both windows of
# the one and in none of the other, so that the level is attained, not only kept.
_NARROWEST, _MARGIN = 2, 3


@dataclass(frozen=True)
class WindowLaw:
    """How k numbers are hidden together.

    Parameters
    ----------
    codes : int
        T, how many codes there are.
    width : int
        W, how many of them make a window.
    numbers : int
        k, how many numbers share one coin.
    coin : int
        kappa, the probability that codes lie in their windows, in units of 2^-62.
    """

    codes: int
    width: int
    numbers: int
    coin: int

    @cached_property
    def epsilon(self) -> float:
        """The exact level, rounded once, to the nearest double."""
        apart = Fraction(self.coin, RESOLUTION - self.coin) * Fraction(self.codes, self.width) ** self.numbers
        return log_of(1 + apart)

    @property
    def kappa(self) -> float:
        return self.coin / RESOLUTION

    @property
    def half_range(self) -> float:
        return (self.codes - self.width - 1) / 2

    @property
    def window(self) -> float:
        return ((self.width**2 - 1) / 12 + 0.25) / self.half_range**2

    @property
    def blank(self) -> float:
        return (self.codes**2 - 1) / 12 / self.half_range**2

    @property
    def square_offset(self) -> float:
        """E[o^2 | z] - kappa z^2, the same for every z."""
        return self.kappa * self.window + (1 - self.kappa) * self.blank

    @property
    def step(self) -> float:
        return 1 / self.half_range

    @property
    def origin(self) -> float:
        """The value of code 0."""
        return -(self.codes - 1) / 2 / self.half_range

    @cached_property
    def values(self) -> Floats:
        """The value o of every code."""
        centred: Floats = np.arange(self.codes, dtype=float) - (self.codes - 1) / 2
        return centred / self.half_range

    def inside(self, centred: Floats) -> Floats:
        """Return P(code | z, the code lies in its window), numbers x codes: the start is one of three neighbours."""
        last = self.codes - self.width
        place = 0.5 * last + (0.5 * last - 0.5) * np.asarray(centred, dtype=float)
        nearest = np.floor(place + 0.5)
        off = place - nearest
        below, above = 0.5 * (off - 0.5) ** 2, 0.5 * (off + 0.5) ** 2
        changes = np.zeros((len(place), self.codes + 1))
        numbers = np.arange(len(place))
        for chance, move in ((below, -1), (1 - below - above, 0), (above, 1)):
            start = np.clip(nearest.astype(np.int64) + move, 0, last)
            np.add.at(changes, (numbers, start), chance)
            np.add.at(changes, (numbers, start + self.width), -chance)
        # The rounding of sums may leave what is none at some 1e-17 below.
        return np.asarray(np.maximum(np.cumsum(changes[:, :-1], axis=1), 0.0) / self.width)


def log_of(number: Fraction) -> float:
    """Return the logarithm, rounded once: a level that is at most a double is never printed above it."""
    with localcontext() as context:
        context.prec = _DIGITS
        return float((Decimal(number.numerator) / Decimal(number.denominator)).ln())


def growth_of(epsilon: float) -> Decimal:
    """Return e^epsilon - 1, far beyond the precision of a double."""
    with localcontext() as context:
        context.prec = _DIGITS
        return Decimal(epsilon).exp() - 1


def law_within(epsilon: float, codes: int, width: int, numbers: int) -> WindowLaw:
    """Return the law of this shape whose level is epsilon, rounded towards more privacy."""
    with localcontext() as context:
        context.prec = _DIGITS
        growth = growth_of(epsilon)
        apart = (Decimal(codes) / Decimal(width)) ** numbers
        coin = int(RESOLUTION * growth / (growth + apart))
    if coin == 0:
        raise Unidentifiable(
            f"epsilon={epsilon:g} for {numbers} numbers at once, so small that the truth is never reported",
            "a level at which reports depend on the truth",
        )
    return WindowLaw(codes, width, numbers, coin)


def least_cost(epsilon: float, codes: int, numbers: int, cost: Cost) -> tuple[float, int]:
    """Return the smallest cost among all widths, and the width that has it.

    Only additions, multiplications and divisions: they are the same on every machine, so that a channel made again
    from its spec has the same window everywhere.
    """
    width = np.arange(_NARROWEST, codes - _MARGIN + 1, dtype=float)
    half = (codes - width - 1) / 2
    growth = float(growth_of(epsilon))
    with np.errstate(over="ignore", divide="ignore"):
        kappa = growth / (growth + _power(codes / width, numbers))
        costs = cost(kappa, ((width**2 - 1) / 12 + 0.25) / half**2, (codes**2 - 1) / 12 / half**2)
    best = int(np.argmin(costs))
    return float(costs[best]), best + _NARROWEST


def _power(base: Floats, exponent: int) -> Floats:
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        base, exponent = base * base, exponent >> 1
    return result
