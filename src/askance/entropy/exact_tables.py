"""Draws by tables of exact probabilities: as exact as coins, and by the array.

A uniform number U in (0, 1) has endless bits, of which 64 are drawn first. Whether U < p is clear from them unless they
are just the first 64 bits of p. There, one time in 2^64, more bits of both are looked at until they differ. The bits of
p come from decimal arithmetic with known error, at as many digits as it takes. So U < p holds with probability p
exactly, and no double is involved.

:class:`SizeTable` draws whole numbers by comparing U with all cumulative probabilities of a law;
:func:`exp_coins` tosses coins that are true with probability exp(-r).
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from askance.entropy.words import WORD_BITS, RandomWords, Words

Whole = NDArray[np.int64]

_SPARE = 12  # digits beyond those that are asked for: fewer than 10^9 roundings go into a probability
_GUIDE_BITS = 14  # 16,384 entries: enough for a few hundred thresholds, and in cache
_GUIDE_SHIFT = np.uint64(WORD_BITS - _GUIDE_BITS)
_LARGEST_WORD = (1 << WORD_BITS) - 1  # ends a table: no word is above it
_PER_BIT = 0.30103  # decimal digits of a bit, rounded up
_MOST_COINS = 1 << 12  # thresholds of coins that are kept in a table: made in some hundredths of a second
_MOST_REMEMBERED = 64  # tables


class SizeLaw(Protocol):
    """A law on 0, 1, 2, ..., without end or up to a largest size."""

    @property
    def has_end(self) -> bool:
        """Whether there is a largest size."""

    def cumulatives(self, digits: int) -> list[Decimal]:
        """Return P(size <= j) for j = 0, 1, ... until less than 10^-digits is left, or up to the size before the
        largest; with an error below 10^-digits.
        """


class SizeTable:
    """Draws from a law on 0, 1, 2, ... by its cumulative probabilities.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> from askance.entropy.noise_arrays import GeometricLaw
    >>> SizeTable(GeometricLaw(Fraction(2))).draw(3, RandomWords(system_bits())).shape
    (3,)
    """

    def __init__(self, law: SizeLaw) -> None:
        self._law = law
        floors = _floors(law, WORD_BITS)
        if not law.has_end:  # a word of ones is in doubt, always: it is looked at with more bits
            floors = [*(floor for floor in floors if floor < _LARGEST_WORD), _LARGEST_WORD]
        self._thresholds = np.array(floors, dtype=np.uint64)
        # The first bits of a word nearly always tell the size: no threshold begins with them.
        first = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << _GUIDE_SHIFT
        last = first + ((np.uint64(1) << _GUIDE_SHIFT) - np.uint64(1))
        sizes = np.searchsorted(self._thresholds, first, side="right")
        clear = sizes == np.searchsorted(self._thresholds, last, side="right")
        clear[sizes > 0] &= self._thresholds[sizes[sizes > 0] - 1] < first[sizes > 0]
        self._guide = np.where(clear, sizes, -1).astype(np.int32)

    def draw(self, count: int, words: RandomWords) -> Whole:
        """Draw whole numbers."""
        drawn = words.draw(count)
        sizes = self._guide[drawn >> _GUIDE_SHIFT].astype(np.int64)
        open_ones = np.flatnonzero(sizes < 0)
        looked_up = drawn[open_ones]
        found = np.searchsorted(self._thresholds, looked_up, side="right")
        sizes[open_ones] = found
        for n in open_ones[self._thresholds[np.maximum(found - 1, 0)] == looked_up]:  # both begin with the same bits
            sizes[n] = self._resolved(int(drawn[n]), words)
        return np.asarray(sizes, dtype=np.int64)

    def _resolved(self, word: int, words: RandomWords) -> int:
        """Return how many cumulative probabilities are at most U, which begins with a word."""
        bits = WORD_BITS
        while True:
            word = (word << WORD_BITS) | words.draw_one.bits(WORD_BITS)
            bits += WORD_BITS
            floors = _floors(self._law, bits)
            if word not in floors and (self._law.has_end or word < floors[-1]):
                return sum(floor < word for floor in floors)


def _floors(law: SizeLaw, bits: int) -> list[int]:
    """Return floor(2^bits P(size <= j)) for every j where that is not all there is."""
    digits = int(bits * _PER_BIT) + 2
    while True:
        digits += _SPARE
        with localcontext(prec=digits + _SPARE):
            unit, slack = Decimal(1 << bits), Decimal(1).scaleb(-digits)
            values = law.cumulatives(digits)
            low = [int((value - slack) * unit) for value in values]
            high = [int((value + slack) * unit) for value in values]
        ends = [(a, b) for a, b in zip(low, high, strict=True) if b < 1 << bits]
        if all(a == b for a, b in ends):
            return [a for a, _ in ends]


def exp_coins(sizes: Whole, unit: Fraction, words: RandomWords, power: int = 1) -> NDArray[np.bool_]:
    """Toss a coin for each size, true with probability exp(-size^power unit); sizes are not negative.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> exp_coins(np.array([0, 10**6]), Fraction(1), RandomWords(system_bits()))
    array([ True, False])
    """
    drawn = words.draw(len(sizes))
    if len(sizes) and sizes.max() < _MOST_COINS:
        least = _coin_floors(unit, power, 1 << int(sizes.max()).bit_length())[sizes]
    else:
        kinds, which = np.unique(sizes, return_inverse=True)
        floors = [_exp_floor(size**power * unit, WORD_BITS) for size in kinds.tolist()]
        least = np.array(floors, dtype=np.uint64)[which]
    heads = (drawn < least) | (sizes == 0)
    for n in np.flatnonzero((drawn == least) & (sizes != 0)):
        heads[n] = _is_below(int(drawn[n]), int(sizes[n]) ** power * unit, words)
    return np.asarray(heads)


def _is_below(word: int, loss: Fraction, words: RandomWords) -> bool:
    bits = WORD_BITS
    while True:
        word = (word << WORD_BITS) | words.draw_one.bits(WORD_BITS)
        bits += WORD_BITS
        floor = _exp_floor(loss, bits)
        if word != floor:
            return word < floor


@lru_cache(maxsize=_MOST_REMEMBERED)
def _coin_floors(unit: Fraction, power: int, count: int) -> Words:
    return np.array([_exp_floor(size**power * unit, WORD_BITS) for size in range(count)], dtype=np.uint64)


@lru_cache(maxsize=_MOST_COINS)
def _exp_floor(loss: Fraction, bits: int) -> int:
    """Return floor(2^bits exp(-loss)); of no loss, which is always true, the largest number of so many bits."""
    if not loss:
        return (1 << bits) - 1
    digits = int(bits * _PER_BIT) + 2
    while True:
        digits += _SPARE
        with localcontext(prec=digits + _SPARE):
            value = (-Decimal(loss.numerator) / Decimal(loss.denominator)).exp()
            slack, unit = Decimal(1).scaleb(-digits), Decimal(1 << bits)
            low, high = int(max((value - slack) * unit, Decimal(0))), int((value + slack) * unit)
        if low == high:
            return low
