"""Public bounds of columns: what everybody may know about values that nobody may see."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.channels.vectors import as_matrix
from askance.errors import InvalidInput

Floats = NDArray[np.float64]


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
        """Read a mapping from names to (lower, upper)."""
        if not isinstance(columns, Mapping) or not columns:
            raise InvalidInput(f"columns={columns!r}", 'names with public bounds, such as {"age": (0, 100)}')
        pairs = {name: _pair(name, bounds) for name, bounds in columns.items()}
        return cls(tuple(pairs), tuple(low for low, _ in pairs.values()), tuple(high for _, high in pairs.values()))

    def to_dict(self) -> dict[str, list[float]]:
        """Return what :meth:`of` reads."""
        return {name: [low, high] for name, low, high in zip(self.names, self.lower, self.upper, strict=True)}

    @cached_property
    def centre(self) -> Floats:
        """The middle between the bounds."""
        centre: Floats = (np.array(self.lower) + np.array(self.upper)) / 2
        return centre

    @cached_property
    def half(self) -> Floats:
        """Half the distance between the bounds."""
        half: Floats = (np.array(self.upper) - np.array(self.lower)) / 2
        return half

    def values(self, table: Any) -> Floats:
        """Return the columns of a table (by name), or of an array (in order), as n x columns."""
        found = _column_names(table)
        if found is not None:
            absent = [name for name in self.names if name not in found]
            if absent:
                raise InvalidInput(
                    f"no column {', '.join(map(repr, absent))} among {', '.join(map(str, found))}",
                    f"{', '.join(self.names)}",
                )
            columns = [table[name] for name in self.names]
            try:
                plain = [column.to_numpy() if isinstance(column, pa.ChunkedArray) else column for column in columns]
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
        """Map the bounds of every column to -1 and 1."""
        scaled: Floats = (np.asarray(values, dtype=float) - self.centre) / self.half
        return scaled


def _column_names(table: Any) -> list[Any] | None:
    """The names of a table's columns; None if it is an array."""
    if isinstance(table, Mapping):
        return list(table)
    named = getattr(table, "column_names", getattr(table, "columns", None))  # Arrow, or pandas and polars
    return None if named is None else list(named)


def _pair(name: Any, bounds: Any) -> tuple[float, float]:
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"a column called {name!r}", "a name that is not empty")
    try:
        low, high = (float(value) for value in bounds)
    except (TypeError, ValueError):
        raise InvalidInput(f"the column {name!r} has the bounds {bounds!r}", "two numbers: lower and upper") from None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInput(
            f"the column {name!r} has the bounds {low:g} and {high:g}",
            "finite bounds",
            "What is unbounded cannot be hidden: choose bounds that nearly everybody is within; the rest is clipped.",
        )
    if low >= high:
        raise InvalidInput(
            f"the column {name!r} has the bounds {low:g} and {high:g}",
            "the lower bound first",
            f"Swap them: {high:g}, {low:g}." if low > high else "A column with one possible value needs no hiding.",
        )
    return low, high
