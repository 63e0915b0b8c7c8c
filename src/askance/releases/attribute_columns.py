"""Attributes that are hidden one by one, as they come: a column for each, or one column of arrays.

Converted, a state is its code, and other attributes are numbers: what the channel draws reports for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.noise_law import Law
from askance.entropy.draws import code_type
from askance.tables.column_kinds import NumberColumn


@dataclass(frozen=True)
class AttributeColumn(NumberColumn):
    """One attribute in every row: a finite number, and one of its states if it has finitely many."""

    law: Law | None = None

    def convert(self, values: pa.Array) -> pa.Array:
        numbers = super().convert(values)
        if self.law is None or not self.law.is_finite:
            return numbers
        states = self.law.values_as(_number_type(values.type)).astype(float)
        return pc.index_in(numbers, value_set=pa.array(states), skip_nulls=True)

    def meant(self) -> str:
        return super().meant() if self.law is None else self.law.wanted()

    def wanted(self) -> str:
        return super().wanted() if self.law is None else self.law.wanted()


@dataclass(frozen=True)
class ArrayColumn:
    """An array of attributes in every row."""

    name: str
    channel: FeatureChannel
    missing: bool = False

    @cached_property
    def _width(self) -> int:
        return self.channel.width

    def convert(self, values: pa.Array) -> pa.Array:
        rows = _in_rows(values, self._width)
        if rows is not None:
            converted, good = self._read(rows)
        else:
            kind = _number_type(getattr(values.type, "value_type", None))
            given = values.to_pylist()
            good = np.array([self._fault(row, kind) is None for row in given], dtype=bool)
            some_row = [law.values[0] if law.is_finite else 0.0 for law in self.channel.laws]
            whole = [row if fine else some_row for row, fine in zip(given, good, strict=True)]
            converted, _ = self._read(np.array(whole, dtype=kind).reshape(len(values), self._width))
        made = pa.FixedSizeListArray.from_arrays(pa.array(converted.reshape(-1)), self._width)
        return made if good.all() else pc.if_else(pa.array(good), made, pa.scalar(None, made.type))

    def _read(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return codes and numbers, and which rows have a usable number everywhere."""
        good = np.ones(len(rows), dtype=bool)
        if len(self.channel.groups) == 1:
            converted, usable = self.channel.groups[0][0].read(rows)
            return converted, good if usable is None else np.asarray(usable.all(axis=1))
        converted = np.empty(rows.shape, dtype=_common_type(self.channel.laws))
        for law, columns in self.channel.groups:
            converted[:, columns], usable = law.read(rows[:, columns])
            good &= True if usable is None else usable.all(axis=1)
        return converted, good

    def is_missing(self, values: pa.Array) -> pa.Array:
        return values.is_null()

    def wanted(self) -> str:
        return f"an array of {self._width} numbers"

    def problem(self, values: pa.Array) -> str:
        """Say what is wrong with the first row."""
        row = values[0]
        kind = _number_type(getattr(row.type, "value_type", None))
        return self._fault(row.as_py(), kind) or f"it is not {self.wanted()}"

    def _fault(self, row: Any, kind: np.dtype[Any]) -> str | None:
        if not isinstance(row, list) or len(row) != self._width:
            given = f"an array of {len(row)}" if isinstance(row, list) else "no array"
            return f"it holds {given}, where {self.wanted()} should be"
        for number, (value, law) in enumerate(zip(row, self.channel.laws, strict=True)):
            known = isinstance(value, int | float) and np.isfinite(value)
            if not known or law.read(np.array([value], dtype=kind))[1] is not None:
                return f"attribute {number + 1} is {value!r}, not {law.wanted()}"
        return None


def attribute_rows(columns: Sequence[AttributeColumn | ArrayColumn], arrays: Mapping[str, pa.Array]) -> NDArray[Any]:
    """Return converted attributes as an array, one row a record."""
    found = [arrays[column.name] for column in columns]
    if pa.types.is_fixed_size_list(found[0].type):
        width = found[0].type.list_size
        return np.asarray(found[0].flatten().to_numpy(zero_copy_only=False)).reshape(-1, width)
    rows = np.column_stack([array.to_numpy() for array in found])
    return rows.astype(_common_type([column.law for column in columns]), copy=False)  # type: ignore[union-attr]


def _common_type(laws: Sequence[Any]) -> Any:
    """The type of codes that hold all states; doubles where there are numbers too."""
    return code_type(max(len(law.values) for law in laws)) if all(law.is_finite for law in laws) else float


def _number_type(kind: pa.DataType | None) -> np.dtype[Any]:
    """Return the type in which numbers of a column are compared with states: its own if it has few digits."""
    if kind is not None and pa.types.is_float32(kind):
        return np.dtype(np.float32)
    return np.dtype(np.float16 if kind is not None and pa.types.is_float16(kind) else np.float64)


def _in_rows(values: pa.Array, width: int) -> NDArray[Any] | None:
    """Return a column of arrays as a matrix; None if some row lacks something, or has another length."""
    kind = values.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.unique(pc.list_value_length(values))
        if values.null_count or lengths.to_pylist() not in ([width], []):
            return None
    elif not pa.types.is_fixed_size_list(kind) or kind.list_size != width or values.null_count:
        return None
    flat = values.flatten()
    numeric = pa.types.is_integer(flat.type) or pa.types.is_floating(flat.type) or pa.types.is_boolean(flat.type)
    if flat.null_count or not numeric:
        return None
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(-1, width)
