"""Continuous noise rounded to whole numbers, drawn exactly: Gaussian, and uniform in direction with a Gamma radius.

The total is a whole number s. Adding real noise w and rounding gives round(s + w) = s + round(w): this only rounds a
private release, so it is as private as the continuous law, in any dimension. But w must be a real number with exactly
that law, which no double is. So uniform numbers are kept as decimal digits that go on for ever and are drawn as
needed; what is computed from them is kept between a lower and an upper bound; and where the two round differently, more
digits are drawn. Logarithms and roots of :mod:`decimal` are correctly rounded, which makes the bounds rigorous.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, Protocol, Self

from askance.entropy.bits import BitSource
from askance.entropy.random_bits import RandomIntegers

_PLACES = 30  # digits of a uniform number to begin with; one time in 10^10 or so more are needed
_SPARE = 10  # digits beyond these, for fewer than 10^9 roundings in the last one
_HALF = Decimal("0.5")

Bounds = tuple[Decimal, Decimal]  # of a positive number


def rounded_gaussian(deviation: Fraction, count: int, source: BitSource) -> list[int]:
    """Draw round(w) for independent normal numbers w with mean 0 and the given standard deviation.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> len(rounded_gaussian(Fraction(3), 4, system_bits()))
    4
    """
    draw = RandomIntegers(source)
    numbers: list[int] = []
    while len(numbers) < count:
        pair = NormalPair.drawn(draw)
        numbers += _signed(rounded_sizes(pair.sizes, deviation, [pair]), draw)
    return numbers[:count]


def rounded_radial(scale: Fraction, count: int, source: BitSource) -> list[int]:
    """Draw round(w), number by number, for one vector w with density proportional to exp(-|w|_2 / scale).

    The direction is uniform and the radius has a Gamma law of shape ``count``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> len(rounded_radial(Fraction(3), 4, system_bits()))
    4
    """
    draw = RandomIntegers(source)
    pairs = [NormalPair.drawn(draw) for _ in range(-(-count // 2))]
    waits = [_Uniform.drawn(draw) for _ in range(count)]  # -log of each is exponential; together they are the radius

    def sizes() -> list[Bounds]:
        normals = [bounds for pair in pairs for bounds in pair.sizes()][:count]
        length = [sum((bounds[end] ** 2 for bounds in normals), Decimal(0)).sqrt() for end in (0, 1)]
        radius = [-sum((wait.bounds[1 - end].ln() for wait in waits), Decimal(0)) for end in (0, 1)]
        return [(a * radius[0] / length[1], b * radius[1] / length[0]) for a, b in normals]

    return _signed(rounded_sizes(sizes, scale, [*pairs, *waits]), draw)


def rounded_gaussian_variance(deviation: Fraction) -> float:
    """Return the variance of round(w): deviation^2 + 1/12, unless the deviation is small.

    Examples
    --------
    >>> from fractions import Fraction
    >>> round(rounded_gaussian_variance(Fraction(3)), 6)
    9.083333
    """
    sigma = float(deviation)
    if sigma > 3:  # the rest is of the order exp(-2 pi^2 9)
        return sigma**2 + 1 / 12
    # E[z^2] = sum over k >= 1 of (2k - 1) P(|z| >= k); at 60, twenty deviations out, nothing is left
    return sum((2 * k - 1) * math.erfc((k - 0.5) / (sigma * math.sqrt(2))) for k in range(1, 60))


class Refinable(Protocol):
    """A random number of which some digits are known."""

    @property
    def places(self) -> int:
        """How many digits are known."""

    def refine(self) -> None:
        """Draw as many again."""


class UniformNumber(Refinable, Protocol):
    """A uniform number in (0, 1)."""

    @property
    def bounds(self) -> Bounds:
        """Between which numbers it lies."""


@dataclass
class _Uniform:
    """A uniform number in (0, 1) of which some decimal places are known."""

    digits: int
    places: int
    draw: RandomIntegers

    @classmethod
    def drawn(cls, draw: RandomIntegers) -> Self:
        return cls(draw.below(10**_PLACES), _PLACES, draw)

    def refine(self) -> None:
        self.digits = self.digits * 10**self.places + self.draw.below(10**self.places)
        self.places *= 2

    @property
    def bounds(self) -> Bounds:
        return Decimal(self.digits).scaleb(-self.places), Decimal(self.digits + 1).scaleb(-self.places)


@dataclass
class NormalPair:
    """The sizes of two independent standard normal numbers, by Marsaglia's polar method.

    (u, v) is uniform in a quarter of the unit disc and s = u^2 + v^2; the sizes are u and v times
    sqrt(-2 log(s) / s), which falls with s.
    """

    u: UniformNumber
    v: UniformNumber

    @classmethod
    def drawn(cls, draw: RandomIntegers) -> Self:
        while True:
            pair = cls(_Uniform.drawn(draw), _Uniform.drawn(draw))
            if pair.is_surely_inside():
                return pair

    def is_surely_inside(self) -> bool:
        """Whether s < 1; draws digits until it is known."""
        while (inside := self._is_inside()) is None:
            self.refine()
        return inside

    @property
    def places(self) -> int:
        return self.u.places

    def refine(self) -> None:
        self.u.refine()
        self.v.refine()

    def _is_inside(self) -> bool | None:
        """Whether s < 1; None if that is not known yet, or if s may still be zero."""
        with _enough(self.places):
            least, most = self._squared_length()
        if most < 1 and least > 0:
            return True
        return False if least >= 1 else None

    def _squared_length(self) -> Bounds:
        (u, u_most), (v, v_most) = self.u.bounds, self.v.bounds
        return u * u + v * v, u_most * u_most + v_most * v_most

    def sizes(self) -> list[Bounds]:
        s, s_most = self._squared_length()
        least, most = (-2 * s_most.ln() / s_most).sqrt(), (-2 * s.ln() / s).sqrt()
        return [(number.bounds[0] * least, number.bounds[1] * most) for number in (self.u, self.v)]


def _enough(places: int) -> Any:
    """Compute with twice the digits, so that squares of uniform numbers are not rounded, and some to spare."""
    return localcontext(Context(prec=2 * places + _SPARE, rounding=ROUND_HALF_EVEN))


def rounded_sizes(sizes: Callable[[], list[Bounds]], scale: Fraction, inputs: Sequence[Refinable]) -> list[int]:
    """Round scale times the sizes; draw more digits of what they are computed from until it is clear how."""
    while True:
        places = max(each.places for each in inputs)
        with _enough(places):
            # Less than 10^9 roundings in the last digit went into a bound: 10^-(2 places) of it is more than these.
            slack = Decimal(1).scaleb(-2 * places)
            unit = Decimal(scale.numerator), Decimal(scale.denominator)
            whole = []
            for a, b in sizes():
                low, high = (bound * unit[0] / unit[1] for bound in (a - a * slack, b + b * slack))
                whole.append((math.floor(low + _HALF), math.floor(high + _HALF) if high.is_finite() else None))
        if all(low == high for low, high in whole):
            return [low for low, _ in whole]
        for each in inputs:
            each.refine()


def _signed(sizes: list[int], draw: RandomIntegers) -> list[int]:
    return [-size if draw.bits(1) else size for size in sizes]
