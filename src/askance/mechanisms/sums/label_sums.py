"""Sums of public features by private label, as whole numbers, and how far one label can move them.

Features are rounded to a public grid of step 2^-k, chosen from the features and the number of rows so that every
partial sum is a whole number of steps below 2^53. Doubles add such numbers without error: the sums are exact, whatever
the order of the rows and the number of threads, and nothing but the sum itself can be told from them.
"""

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.compiled import compiled_for_whole_numbers
from askance.errors import InvalidInput

_EXACT_BITS = 53  # whole numbers up to 2^53 are doubles
_HEADROOM = 2  # the grid is chosen from some rows: others may be four times as large before it is chosen again
_BLOCK_VALUES = 1 << 20  # 8 MiB at a time for each thread
_SAMPLE_ROWS = 4096  # evenly spread, to choose the grid by; a row beyond its headroom costs a second pass


class Rows(Protocol):
    """A table of numbers, or one that is made block by block."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> Floats: ...


class FeaturesTooLarge(InvalidInput):
    """Features beside which the intercept's one is less than a step of the grid."""


@dataclass(frozen=True, eq=False)
class LabelSums:
    """Exact sums of features by class, in steps of a public grid.

    Parameters
    ----------
    totals : array of int, classes x features
        Sum of the rounded features over the rows of each class. Private.
    step_bits : int
        The grid has step 2^-step_bits. Public, as is all that follows.
    rows : int
    one_norm : int
        The largest 1-norm of a row, in steps, with the intercept's one: exact below 2^53, else never too small.
    squared_two_norm : int
        The largest squared 2-norm of a row, likewise.
    squared_sum : float
        The squared 2-norms of all rows together.
    """

    totals: NDArray[np.object_]
    step_bits: int
    rows: int
    one_norm: int
    squared_two_norm: int
    squared_sum: float

    @property
    def step(self) -> float:
        """The distance of two neighbours on the grid."""
        return math.ldexp(1.0, -self.step_bits)

    @property
    def shape(self) -> tuple[int, int]:
        """Classes and features, the intercept among them."""
        classes, features = self.totals.shape
        return int(classes), int(features)


def sum_by_label(features: Rows, codes: Codes, classes: int, intercept: bool) -> LabelSums:
    """Add up the features of each class in one pass over the data.

    Parameters
    ----------
    features : array, m x d
    codes : array, m
        The class of each row, as 0 .. classes - 1.
    classes : int
    intercept : bool
        Whether to count the rows too, as if the first feature were 1 everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> sums = sum_by_label(np.array([[0.5], [2.0], [1.0]]), np.array([0, 1, 1], dtype=np.uint8), 2, intercept=True)
    >>> (sums.totals * sums.step).tolist()
    [[1.0, 0.5], [2.0, 3.0]]
    >>> sums.one_norm * sums.step, round(sums.squared_two_norm * sums.step**2, 12)
    (3.0, 5.0)
    """
    some = features[:: max(1, len(features) // _SAMPLE_ROWS)]
    bits = _fitting_bits(_largest(some, intercept), len(features)) - _HEADROOM
    seen = _pass(features, codes, classes, intercept, bits)
    if not seen.largest * len(features) <= 2.0**_EXACT_BITS:  # or not finite
        largest = 0.0
        for rows in _blocks(features):
            _refuse_infinite(features[rows], rows.start)
            largest = max(largest, _largest(features[rows], intercept))
        bits = _fitting_bits(largest, len(features))
        seen = _pass(features, codes, classes, intercept, bits)
    if intercept and bits < 0:
        raise FeaturesTooLarge(
            f"features as large as {seen.largest / math.ldexp(1.0, bits):.3g} for {len(features)} rows",
            "features of about the same size as 1",
            "Divide them by public numbers, on both sides, or release without an intercept.",
        )
    one = math.ldexp(1.0, bits)
    squared = seen.squared_two_norm + intercept * one * one
    totals = [
        [*([int(count * one)] if intercept else []), *map(int, line)]
        for count, line in zip(seen.counts, seen.sums, strict=True)
    ]
    return LabelSums(
        totals=np.array(totals, dtype=object),
        step_bits=bits,
        rows=len(features),
        one_norm=_never_too_small(seen.one_norm, features.shape[1]) + intercept * int(one),
        squared_two_norm=_never_too_small(squared, features.shape[1]),
        squared_sum=seen.squared_sum + intercept * one * one * len(features),
    )


def rounded_blocks(features: Rows, bits: int) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of rows, rounded to the grid, in steps."""
    for rows in _blocks(features):
        yield rows, np.rint(np.ldexp(np.asarray(features[rows], dtype=float), bits))


class _Seen(NamedTuple):
    sums: Floats
    counts: Floats
    one_norm: float
    squared_two_norm: float
    squared_sum: float
    largest: float


def _pass(features: Rows, codes: Codes, classes: int, intercept: bool, bits: int) -> _Seen:
    scale = math.ldexp(1.0, bits)

    def observe(rows: slice) -> tuple[Floats, Floats]:
        sums, seen = np.zeros((classes, features.shape[1])), np.zeros(4)
        _add_block(np.ascontiguousarray(features[rows], dtype=float), codes[rows], scale, sums, seen)
        return sums, seen

    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        parts = list(threads.map(observe, _blocks(features)))
    seen = np.array([part[1] for part in parts])
    one_norm, two_norm, largest = seen[:, [0, 1, 3]].max(axis=0)
    counts = np.bincount(codes, minlength=classes).astype(float)
    largest = max(largest, scale) if intercept else largest
    return _Seen(
        np.sum([part[0] for part in parts], axis=0), counts, one_norm, two_norm, float(seen[:, 2].sum()), largest
    )


def _blocks(features: Rows) -> Iterator[slice]:
    size = max(1, _BLOCK_VALUES // max(1, features.shape[1]))
    return (slice(start, start + size) for start in range(0, len(features), size))


def _largest(features: Floats, intercept: bool) -> float:
    finite = np.abs(features[np.isfinite(features)]) if not np.isfinite(features).all() else np.abs(features)
    return max(float(finite.max(initial=0.0)), float(intercept))


def _fitting_bits(largest: float, rows: int) -> int:
    """Return the largest k for which ``rows`` numbers up to ``largest``, in steps of 2^-k, add up to at most 2^53."""
    exponent = math.frexp(largest)[1] if largest else 0
    return _EXACT_BITS - 1 - exponent - (rows - 1).bit_length()


def _never_too_small(total: float, terms: int) -> int:
    """Return a sum of whole numbers, rounded up where it is too large to be exact: in more columns than rows."""
    if total < 2.0**_EXACT_BITS:
        return int(total)
    # Each of the additions may have lost half a unit in the last place; so may the product.
    return int(total * (1 + (terms + 2) * 2.0**-52)) + 1


def _refuse_infinite(features: Floats, start: int) -> None:
    finite = np.isfinite(features)
    if not finite.all():
        row, column = (int(place[0]) for place in np.nonzero(~finite))
        raise InvalidInput(
            f"row {start + row + 1}, feature {column + 1} is not a finite number",
            "a number for every person and feature",
            "Fill in or leave out what is missing, in the same way on both sides.",
        )


@compiled_for_whole_numbers
def _add_block(features, codes, scale, sums, seen):  # type: ignore[no-untyped-def]
    one_norm, two_norm, squared_sum, largest = 0.0, 0.0, 0.0, 0.0
    for i in range(features.shape[0]):
        mine = sums[codes[i]]
        one, two, top = 0.0, 0.0, 0.0
        for j in range(features.shape[1]):
            steps = np.rint(features[i, j] * scale)
            mine[j] += steps
            size = abs(steps)
            one += size
            two += steps * steps
            top = size if size > top else top
        if not one < np.inf:  # infinite, or not a number
            top = np.inf
        one_norm, two_norm = max(one_norm, one), max(two_norm, two)
        largest = max(largest, top)
        squared_sum += two
    seen[0], seen[1], seen[2], seen[3] = one_norm, two_norm, squared_sum, largest
