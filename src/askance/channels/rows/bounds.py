"""Public bounds of columns: what everybody may know about values that nobody may see."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from askance.arrays import Floats
from askance.channels.given_numbers import shown
from askance.channels.rows.vectors import as_matrix
from askance.errors import InvalidInput
from askance.frames import column_names


@dataclass(frozen=True)
class Bounds:
    """Names of columns, and between which values each lies.

    Examples
    --------
    >>> Bounds.of({"age": (0, 100), "income": (0, 500)}).standardise([[50, 125]])
    array([[ 0. , -0.5]])
    """

    names: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @classmethod
    def of(cls, columns: Any) -> "Bounds":
        """Read a mapping from names to (lower, upper), or a list of (name, lower, upper)."""
        listed = isinstance(columns, list | tuple) and all(
            isinstance(one, list | tuple) and len(one) == 3 for one in columns
        )
        if not columns or not (listed or isinstance(columns, Mapping)):
            raise InvalidInput(f"columns={columns!r}", 'names with public bounds, such as {"age": (0, 100)}')
        named = [(one[0], one[1:]) for one in columns] if listed else list(columns.items())
        pairs = {name: _pair(name, bounds) for name, bounds in named}
        if len(pairs) < len(named):
            raise InvalidInput("a column that is named twice", "every column once")
        return cls(tuple(pairs), tuple(low for low, _ in pairs.values()), tuple(high for _, high in pairs.values()))

    def to_dict(self) -> dict[str, list[float]]:
        """Return what :meth:`of` reads."""
        return {name: [low, high] for name, low, high in zip(self.names, self.lower, self.upper, strict=True)}

    @cached_property
    def centre(self) -> Floats:
        """The middle between the bounds."""
        centre: Floats = np.array(self.lower) + self.half
        return centre

    @cached_property
    def half(self) -> Floats:
        """Half the distance between the bounds."""
        half: Floats = np.array(self.upper) / 2 - np.array(self.lower) / 2  # the difference itself may be too large
        return half

    def values(self, table: Any) -> Floats:
        """Return the columns of a table (by name), or of an array (in order), as n x columns."""
        if column_names(table) is not None:
            plain = columns_of(table, self.names)
            try:
                return as_matrix(np.column_stack([np.asarray(column, dtype=float) for column in plain]), len(plain))
            except (TypeError, ValueError) as error:
                if isinstance(error, InvalidInput):
                    raise
                raise InvalidInput(f"columns that are not numbers ({error})", "numbers in every column") from None
        return as_matrix(table, len(self.names))

    def clip(self, values: Floats) -> tuple[Floats, dict[str, int]]:
        """Bring every value inside its bounds; count those that were not, by column."""
        inside = np.clip(values, self.lower, self.upper)
        moved = np.count_nonzero(inside != values, axis=0)
        return inside, {name: int(count) for name, count in zip(self.names, moved, strict=True) if count}

    def standardise(self, values: Any) -> Floats:
        """Map values inside their bounds to [-1, 1], the bounds of every column to -1 and 1."""
        scaled = (np.asarray(values, dtype=float) - self.centre) / self.half
        return np.clip(scaled, -1.0, 1.0, out=scaled)  # rounding may leave the bounds by a hair


def columns_of(table: Any, names: Sequence[str]) -> list[Any]:
    """Return some columns of a table by name."""
    found = column_names(table) or []
    absent = [name for name in names if name not in found]
    if absent:
        raise InvalidInput(
            f"no column {', '.join(map(repr, absent))} among {', '.join(map(str, found))}", f"{', '.join(names)}"
        )
    columns = [table[name] for name in names]
    return [column.to_numpy() if isinstance(column, pa.ChunkedArray) else column for column in columns]


def _pair(name: Any, bounds: Any) -> tuple[float, float]:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"a column called {name!r}", "a name that is not empty")
    if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
        raise InvalidInput(f"the column {name!r} has the bounds {bounds!r}", "two numbers: lower and upper")
    return checked_bounds(bounds[0], bounds[1], f"the column {name!r} has the bounds")


def checked_bounds(lower: Any, upper: Any, what: str = "bounds") -> tuple[float, float]:
    """Return public bounds, or say why they are none; ``what`` is what messages begin with."""
    numbers = int | float | np.integer | np.floating
    if not all(isinstance(bound, numbers) and not isinstance(bound, bool) for bound in (lower, upper)) or not (
        abs(lower) <= sys.float_info.max and abs(upper) <= sys.float_info.max
    ):
        raise InvalidInput(
            f"{what} {shown(lower)} and {shown(upper)}",
            "two finite numbers that everybody may know",
            "What is unbounded cannot be hidden: choose bounds that nearly everybody is within; the rest is clipped.",
        )
    # Half the width, by which values are divided, must be a number above zero too.
    if float(upper) / 2 - float(lower) / 2 <= 0:
        raise InvalidInput(
            f"{what} {lower:g} and {upper:g}",
            "the lower bound first",
            f"Swap them: {upper:g}, {lower:g}." if lower > upper else "A single possible value needs no hiding.",
        )
    return float(lower), float(upper)
