"""How public features are brought to a common size and turned before labels are added up with them.

Noise is calibrated to the longest row, so a column in dollars, or one value of a million, decides how much there is of
it for all. Features are public, and so is whatever is done to them: values beyond public limits count as the limits,
columns are standardised, turned to the directions in which people differ, and long rows are shortened. Nothing of this
looks at a label.

Both sides must come to the same numbers, or the sums are not those of the rows that the learner sees. Standardised
values and axes are whole numbers of steps small enough that every product and partial sum is exact in doubles, so that
no order of additions matters; single divisions and roots are rounded by IEEE 754, everywhere alike.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput

REACH = 3.0  # no standardised value is farther from zero: limits that are, in standard deviations, are scaled down
_STANDARD_BITS = 16  # steps of 1/65536 of a standard deviation: far finer than any noise that is added
_EXACT_BITS = 53  # whole numbers up to 2^53 are doubles
_VALUE_BITS = 20  # squares of turned values, up to 2^13 of them, add up exactly
MOST_AXES = 1 << (_EXACT_BITS - 2 * _VALUE_BITS)  # 2^13: squares of so many still add up exactly


@dataclass(frozen=True, eq=False)
class LabelShape:
    """A public, exactly reproducible transformation of rows of features.

    Parameters
    ----------
    low, high : arrays, d
        Values beyond these count as these.
    centre, scale : arrays, d
        Then x becomes (x - centre) / scale, within three of zero.
    axes : array of int, d x k, optional
        Directions, in steps of a power of two that does not matter: what is released has ``value_bits`` after it. None
        for the columns themselves.
    shift : int
        Products with axes are divided by 2^shift and rounded.
    value_bits : int
        Turned values are in steps of 2^-value_bits.
    cap : int, optional
        Rows longer than so many steps are shortened to them.

    Examples
    --------
    >>> shape = LabelShape([0.0], [1e5], [5e4], [2e4])
    >>> shape.rows(np.array([[50_000.0], [70_000.0], [1e9]])).ravel().tolist()
    [0.0, 1.0, 2.5]
    """

    low: Any
    high: Any
    centre: Any
    scale: Any
    axes: Any = None
    shift: int = 0
    value_bits: int = _STANDARD_BITS
    cap: int | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high", "centre", "scale"):
            vars(self)[name] = np.array(getattr(self, name), dtype=float)
        if self.axes is not None:
            vars(self)["axes"] = np.array(self.axes, dtype=float)
        self._check()

    @classmethod
    def turned(cls, standard: "LabelShape", axes: Floats, cap: float | None = None) -> Self:
        """Add directions to a shape that standardises, and a length to which longer rows are shortened.

        Both are rounded: to as many binary places as keep every sum exact.
        """
        bits = _EXACT_BITS - 1 - _STANDARD_BITS - _places(REACH * np.abs(axes).sum(axis=0).max())
        whole = np.rint(np.ldexp(axes, bits))
        value_bits = _VALUE_BITS - _places(REACH * np.abs(axes).sum(axis=0).max())
        steps = None if cap is None else max(1, math.floor(math.ldexp(cap, value_bits)))
        shift = _STANDARD_BITS + bits - value_bits
        return cls(standard.low, standard.high, standard.centre, standard.scale, whole, shift, value_bits, steps)

    @property
    def columns(self) -> int:
        """How many features it takes."""
        return len(self.centre)

    @property
    def width(self) -> int:
        """How many numbers it makes of them."""
        return self.columns if self.axes is None else int(self.axes.shape[1])

    @property
    def is_whole(self) -> bool:
        """Whether the total of standardised features can be computed from that of shaped ones."""
        return self.cap is None and (self.axes is None or self.width == self.columns)

    @cached_property
    def directions(self) -> Floats:
        """The matrix that turns standardised rows, d x k."""
        if self.axes is None:
            return np.eye(self.columns)
        return np.asarray(np.ldexp(self.axes, _STANDARD_BITS - self.shift - self.value_bits))

    def standard(self, features: NDArray[Any]) -> Floats:
        """Return features within their limits, standardised."""
        return np.ldexp(self._steps(features), -_STANDARD_BITS)

    def rows(self, features: NDArray[Any]) -> Floats:
        """Return what labels are added up with, the same on every machine."""
        steps = self._steps(features)
        if self.axes is None:
            return np.ldexp(steps, -_STANDARD_BITS)
        turned = np.rint(np.ldexp(steps @ self.axes, -self.shift))
        if self.cap is not None:
            lengths = np.sqrt((turned * turned).sum(axis=1))
            turned = np.rint(turned * (np.minimum(self.cap, lengths) / np.maximum(lengths, 1.0))[:, None])
        return np.asarray(np.ldexp(turned, -self.value_bits))

    def in_raw_units(self, intercept: bool) -> Floats:
        """Return the matrix that turns parameters of standardised rows into those of rows as they are."""
        back = np.diag(np.concatenate([np.ones(int(intercept)), 1 / self.scale]))
        if intercept:
            back[0, 1:] = -self.centre / self.scale
        return back

    @property
    def longest(self) -> float:
        """The square of the 2-norm that no row exceeds, without the intercept's."""
        if self.cap is not None:
            return math.ldexp(self.cap + 0.5 * math.sqrt(self.width), -self.value_bits) ** 2
        if self.axes is None:
            return REACH**2 * self.columns
        return float(((REACH * np.abs(self.directions).sum(axis=0) + math.ldexp(0.5, -self.value_bits)) ** 2).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "centre": self.centre.tolist(),
            "scale": self.scale.tolist(),
            "axes": None if self.axes is None else [[int(v) for v in row] for row in self.axes],
            "shift": self.shift,
            "value_bits": self.value_bits,
            "cap": self.cap,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote: refused if the numbers cannot be those of a shape."""
        names = ("low", "high", "centre", "scale", "axes", "shift", "value_bits", "cap")
        numbers = [fields["shift"], fields["value_bits"], *([] if fields["cap"] is None else [fields["cap"]])]
        if any(type(number) is not int for number in numbers):
            raise InvalidInput("a shape whose steps are not whole", "whole numbers of steps")
        return cls(**{name: fields[name] for name in names})

    def _steps(self, features: NDArray[Any]) -> Floats:
        within = np.minimum(np.maximum(np.asarray(features, dtype=float), self.low), self.high)
        within = (within - self.centre) / self.scale
        return np.asarray(np.rint(np.ldexp(np.minimum(np.maximum(within, -REACH), REACH), _STANDARD_BITS)))

    def _check(self) -> None:
        vectors = (self.low, self.high, self.centre, self.scale)
        sized = all(vector.shape == (self.columns,) and np.isfinite(vector).all() for vector in vectors)
        if not sized or not self.columns or (self.low > self.high).any() or not (self.scale > 0).all():
            raise InvalidInput(
                "a shape with limits or scales that cannot be", "finite numbers, one a column, low first"
            )
        if self.axes is None:
            if self.cap is not None or self.shift or self.value_bits != _STANDARD_BITS:
                raise InvalidInput("a shape without axes that shortens rows", "axes, or nothing that needs them")
            return
        turned = self.axes.ndim == 2 and len(self.axes) == self.columns and 0 < self.axes.shape[1] <= MOST_AXES
        if not turned or not (np.rint(self.axes) == self.axes).all():
            raise InvalidInput("a shape with axes that cannot be", "a row of whole numbers for each column")
        largest = math.ldexp(REACH * float(np.abs(self.axes).sum(axis=0).max()), _STANDARD_BITS)
        small = largest <= 2.0**_EXACT_BITS and math.ldexp(largest, -self.shift) <= 2.0**_VALUE_BITS + 1
        if not small or not 0 <= self.shift <= 2 * _EXACT_BITS or abs(self.value_bits) > _EXACT_BITS:
            raise InvalidInput("a shape whose sums are not exact", "axes and steps as small as askance makes them")
        if self.cap is not None and not 0 < self.cap <= 2**_EXACT_BITS:
            raise InvalidInput(f"rows that are shortened to {self.cap} steps", "a positive whole number")


class ShapedRows:
    """Shaped rows of features, made block by block: nothing of the size of the features is kept."""

    def __init__(self, features: NDArray[Any], shape: LabelShape) -> None:
        self._features = features
        self._shape = shape
        self.shape = (len(features), shape.width)

    def __len__(self) -> int:
        return len(self._features)

    def __getitem__(self, rows: slice) -> Floats:
        return self._shape.rows(self._features[rows])


def standard_shape(features: NDArray[Any], centred: bool) -> LabelShape:
    """Return the shape that standardises columns within their first and last hundredth.

    Parameters
    ----------
    features : array, m x d
        Finite numbers; some of the rows are enough.
    centred : bool
        Whether to take the mean away; without an intercept, zero means something.
    """
    table = np.asarray(features, dtype=float)
    low, high = _hundredths(table)
    for column in np.flatnonzero(low >= high):
        # A rare indicator, or an amount that is zero for nearly everybody: the others have hundredths of their own.
        values, common = table[:, column], low[column]
        if (others := values[values != common]).size:
            least, most = _hundredths(others[:, None])
            low[column], high[column] = min(common, least[0]), max(common, most[0])
    within = np.clip(table, low, high)
    size = np.maximum(np.abs(low), np.abs(high))  # as large numbers as doubles hold have squares, too
    unit = np.where(size > 0, size, 1.0)
    within = within / unit
    centre = within.mean(axis=0) if centred else np.zeros(table.shape[1])
    spread = np.sqrt(((within - centre) ** 2).mean(axis=0))
    # Limits farther than REACH are brought there by the scale. Cutting them off would turn a rare indicator's 1 into
    # less, and its coefficient into as much more.
    spread = np.maximum(spread, np.maximum(high / unit - centre, centre - low / unit) / REACH)
    spread = np.where(spread > 1e-12, spread, 1.0)  # a constant column: it stays zero, or what it is
    return LabelShape(low, high, centre * unit, np.where(spread * unit > 0, spread * unit, 1.0))


def _hundredths(table: Floats) -> tuple[Floats, Floats]:
    """Return the first and last hundredth of every column: a single value beyond all others is not in between."""
    low, high = np.quantile(table, 0.01, axis=0, method="higher"), np.quantile(table, 0.99, axis=0, method="lower")
    return np.minimum(low, high), high


def _places(largest: float) -> int:
    """Return the least k with largest <= 2^k."""
    return math.frexp(largest)[1]
