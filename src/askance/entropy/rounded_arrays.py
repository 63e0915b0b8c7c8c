"""Rounded noise for whole arrays: as exact as ``rounded_noise``, and a thousand times as fast.

Each uniform number begins with 64 random bits. What is computed from these in double precision is off by less than a
known allowance, so that it rounds to the right whole number unless it lies that close to the border between two. Only
there, or where the allowance does not hold, are more bits drawn and decimal numbers taken.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.entropy.bits import BitSource
from askance.entropy.random_bits import RandomIntegers
from askance.entropy.rounded_noise import Bounds, NormalPair, rounded_sizes
from askance.entropy.words import WORD_BITS, RandomWords, Words

Whole = NDArray[np.int64]
_ALLOWANCE = 1e-8  # of noise of size 1; the errors of doubles add up to less than 1e-9 of it
_NEAR_ONE = 1e-12  # a squared length this near 1 is not known to be below it: doubles are off by some 1e-16
_SMALL_SQUARE = 1e-4  # below it, an error in the squared length is no longer small beside the length
_SMALL_UNIFORM = 1e-6  # what 64 bits leave open of a logarithm, 2^-64 / u, is 5e-14 here: far below the allowance


def rounded_gaussian_array(deviation: Fraction, count: int, source: BitSource) -> Whole:
    """Draw round(w) for independent normal numbers w with mean 0 and the given standard deviation.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> rounded_gaussian_array(Fraction(3), 4, system_bits()).shape
    (4,)
    """
    words = RandomWords(source)
    parts: list[Whole] = []
    missing = count
    while missing > 0:
        sizes = _normal_sizes(deviation, words.draw(2 * (missing // 2 + 8)).reshape(-1, 2), words.draw_one)
        parts.append(sizes[:missing])
        missing -= len(parts[-1])
    return words.signed(np.concatenate([*parts, np.empty(0, np.int64)]))


def rounded_laplace_array(scale: Fraction, count: int, source: BitSource) -> Whole:
    """Draw round(w) for independent Laplace numbers w of the given scale.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> rounded_laplace_array(Fraction(3), 4, system_bits()).shape
    (4,)
    """
    words = RandomWords(source)
    drawn = words.draw(count)
    uniform = _as_doubles(drawn)
    sizes, sure = _round(-np.log(uniform), scale)
    sure &= uniform > _SMALL_UNIFORM
    for n in np.flatnonzero(~sure):
        number = _Bits(int(drawn[n]), WORD_BITS, words.draw_one)
        sizes[n] = rounded_sizes(partial(_minus_log, number), scale, [number])[0]
    return words.signed(sizes)


def _normal_sizes(deviation: Fraction, drawn: Words, more: RandomIntegers) -> Whole:
    """Marsaglia's polar method on pairs of uniform numbers; those outside of the unit disc are passed over."""
    pairs = _as_doubles(drawn)
    square = (pairs**2).sum(axis=1)
    known = (square > _SMALL_SQUARE) & (square < 1 - _NEAR_ONE)
    outside = square > 1 + _NEAR_ONE
    inner = np.where(known, square, 0.5)
    sizes, sure = _round(pairs * np.sqrt(-2 * np.log(inner) / inner)[:, None], deviation)
    keep = known.copy()
    for n in np.flatnonzero(~outside & ~(known & sure.all(axis=1))):
        pair = NormalPair(*(_Bits(int(word), WORD_BITS, more) for word in drawn[n]))
        keep[n] = pair.is_surely_inside()
        if keep[n]:
            sizes[n] = rounded_sizes(pair.sizes, deviation, [pair])
    kept: Whole = sizes[keep].reshape(-1)
    return kept


def _round(noise: Floats, scale: Fraction) -> tuple[Whole, NDArray[np.bool_]]:
    """Round scale times the noise; also return where the allowance leaves no doubt how."""
    units = noise * float(scale)
    whole = np.floor(units + 0.5)
    to_border = np.minimum(units + 0.5 - whole, whole + 0.5 - units)
    return whole.astype(np.int64), to_border > _ALLOWANCE * (float(scale) + 1)


def _as_doubles(words: Words) -> Floats:
    return (words.astype(float) + 0.5) * 2.0**-WORD_BITS


def _minus_log(number: "_Bits") -> list[Bounds]:
    low, high = number.bounds
    return [(-high.ln(), -low.ln())]


@dataclass
class _Bits:
    """A uniform number in (0, 1) of which the first bits are known."""

    digits: int
    places: int
    draw: RandomIntegers

    def refine(self) -> None:
        self.digits = (self.digits << self.places) | self.draw.bits(self.places)
        self.places *= 2

    @property
    def bounds(self) -> Bounds:
        # Exact: a fraction of 2^places has so many decimal places, and twice as many are kept.
        whole = Decimal(1 << self.places)
        return Decimal(self.digits) / whole, Decimal(self.digits + 1) / whole
