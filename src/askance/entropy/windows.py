"""Exact draws for window laws: coins out of 2^62, random subsets, and whole numbers below a bound.

A window law reports a number as one of many codes, uniform in a window around the truth or uniform over all codes.
Every draw that privacy rests on is made here with whole numbers: a coin compares 62 random bits, and a number below
a bound is drawn by Lemire's multiplication with exact rejection. Doubles only place the window, and wherever that lies
the level is the same.

A kernel that rejects may run out of random words anywhere. It then says how far it came and goes on with fresh words:
starting a row again would favour the outcomes that reject less.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from askance.compiled import compiled
from askance.entropy.bits import BLOCK_BYTES, BitSource

_COINS = BLOCK_BYTES // 8  # one 64-bit word a coin
_WORDS = BLOCK_BYTES // 4  # one 32-bit word a number
_LARGEST_TABLE = 1 << 12  # up to so many subsets are listed and one is drawn: a table that stays in the cache

Truths = NDArray[np.bool_]
Whole = NDArray[np.uint32]


def row_blocks(rows: int, numbers: int) -> Iterator[slice]:
    """Cut rows into blocks whose draws take about one block of random bits each and stay in the cache."""
    size = max(1, min(_COINS, _WORDS // numbers))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def coins(heads: int, count: int, bits: BitSource) -> Truths:
    """Toss coins that are true with probability heads / 2^62."""
    out = np.empty(count, dtype=np.bool_)
    for start in range(0, count, _COINS):
        _toss(bits.block().view(np.uint64), np.int64(heads), out[start : start + _COINS])
    return out


def uniform_below(bounds: NDArray[np.uint64], kinds: NDArray[np.integer] | Truths, bits: BitSource) -> Whole:
    """Draw uniform whole numbers, rows x columns: number (r, c) lies in 0 .. bounds[kinds[r], c] - 1."""
    out = np.empty((kinds.shape[0], bounds.shape[1]), dtype=np.uint32)
    rejected = (1 << 32) % bounds  # so many of 2^32 words are one too many for some outcome
    done = 0
    while done < out.size:
        done = _fill_below(bits.block().view(np.uint32), kinds.view(np.uint8), bounds, rejected, out, done)
    return out


def subsets(rows: int, size: int, dim: int, always: tuple[int, ...], bits: BitSource) -> Whole:
    """Draw uniform subsets of 0 .. dim - 1 that contain ``always``; each row is in ascending order."""
    if size == dim:
        return np.tile(np.arange(dim, dtype=np.uint32), (rows, 1))
    one_kind = np.zeros(rows, dtype=np.uint8)
    free, others = size - len(always), dim - len(always)
    if math.comb(others, free) <= _LARGEST_TABLE:
        table = _all_subsets(size, dim, always)
        out: Whole = table[uniform_below(np.array([[len(table)]], dtype=np.uint64), one_kind, bits)[:, 0]]
        return out
    # Robert Floyd's algorithm: the j-th pick is one of the first others - free + j + 1, or the last of these if taken.
    bounds = np.arange(others - free + 1, others + 1, dtype=np.uint64)[None]
    fixed = np.array(always, dtype=np.uint32)
    out = np.empty((rows, size), dtype=np.uint32)
    _collect(uniform_below(bounds, one_kind, bits), fixed, np.setdiff1d(np.arange(dim, dtype=np.uint32), fixed), out)
    return out


@lru_cache(maxsize=16)
def _all_subsets(size: int, dim: int, always: tuple[int, ...]) -> Whole:
    others = [c for c in range(dim) if c not in always]
    free = combinations(others, size - len(always))
    return np.array([sorted((*always, *some)) for some in free], dtype=np.uint32)


def report_windows(
    centred: NDArray[np.float64],
    which: Whole,
    in_window: Truths,
    codes: int,
    width: int,
    bits: BitSource,
    reports: NDArray[np.unsignedinteger],
) -> None:
    """Draw a code for each chosen number: in its window where the row's coin says so, anywhere otherwise.

    Parameters
    ----------
    centred : array, n x dim
        The truth, in [-1, 1].
    which : array, n x k
        The columns that are reported.
    in_window : array, n
        Which rows are reported by codes of their windows; the others by codes from anywhere.
    codes, width : int
        How many codes there are, and how many of them make a window.
    reports : array, n x k or n x 2k
        Receives the codes, after the columns where there is room for them.
    """
    bounds = np.repeat(np.array([[codes], [width]], dtype=np.uint64), which.shape[1], axis=1)
    within = uniform_below(bounds, in_window, bits)
    words = bits.block().view(np.uint32)
    if len(words) < within.size:  # only for rows of many thousand numbers
        words = words.copy()  # the source may use its buffer again
    while len(words) < within.size:
        words = np.concatenate([words, bits.block().view(np.uint32)])
    _place(words, centred, which, in_window, np.int64(codes - width), within, reports)


@compiled
def _toss(words, heads, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        out[i] = np.int64(words[i] >> np.uint64(2)) < heads


@compiled
def _fill_below(words, kinds, bounds, rejected, out, done):  # type: ignore[no-untyped-def]
    rows, columns = out.shape
    row, column = done // columns, done % columns
    used = 0
    while used < words.shape[0] and row < rows:
        kind = kinds[row]
        wide = np.uint64(words[used]) * bounds[kind, column]
        used += 1
        if (wide & np.uint64(0xFFFFFFFF)) >= rejected[kind, column]:
            out[row, column] = np.uint32(wide >> np.uint64(32))
            column += 1
            if column == columns:
                column = 0
                row += 1
    return row * columns + column


@compiled
def _collect(picks, always, others, out):  # type: ignore[no-untyped-def]
    free = picks.shape[1]
    for r in range(out.shape[0]):
        line = out[r]
        size = always.shape[0]
        line[:size] = always
        for j in range(free):
            new = others[picks[r, j]]
            place = size
            while place > 0 and line[place - 1] > new:
                place -= 1
            if place > 0 and line[place - 1] == new:
                new = others[others.shape[0] - free + j]
                place = size
                while place > 0 and line[place - 1] > new:
                    place -= 1
            for i in range(size, place, -1):
                line[i] = line[i - 1]
            line[place] = new
            size += 1


@compiled
def _place(words, centred, which, in_window, last, within, reports):  # type: ignore[no-untyped-def]
    # A quadratic spline rounds to three neighbours: the mean is exact, and the variance 1/4 wherever the number lies.
    # Words are spent on rows that do not need them: how long a row takes says nothing about its coin.
    rows, numbers = which.shape
    first_code = reports.shape[1] - numbers
    middle = 0.5 * last
    steps = middle - 0.5  # at -1 and 1 the third neighbour has no weight: every start is among 0 .. last
    for r in range(rows):
        near = np.int64(in_window[r])
        for i in range(numbers):
            place = middle + steps * centred[r, which[r, i]]
            nearest = np.floor(place + 0.5)
            off = place - nearest
            uniform = (np.float64(words[r * numbers + i]) + 0.5) * 2.0**-32
            start = np.int64(nearest)
            start -= np.int64(uniform < 0.5 * (off - 0.5) * (off - 0.5))
            start += np.int64(uniform > 1.0 - 0.5 * (off + 0.5) * (off + 0.5))
            start = min(max(start, np.int64(0)), last)  # whatever doubles do, the window lies among the codes
            reports[r, first_code + i] = np.int64(within[r, i]) + near * start
        for i in range(first_code):
            reports[r, i] = which[r, i]
