"""Attributes that are hidden one by one, as they come: a column for each, or one column of arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from askance.channels.attributes.coordinate_law import CoordinateLaw, FiniteCoordinate
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.releases.declarations import Question
from askance.tables.column_kinds import NumberColumn


@dataclass(frozen=True)
class AttributeColumn(NumberColumn):
    """One attribute in every row: a finite number, and one of its states if it has finitely many."""

    law: CoordinateLaw | None = None

    def convert(self, values: pa.Array) -> pa.Array:
        numbers = super().convert(values)
        if not isinstance(self.law, FiniteCoordinate):
            return numbers
        states = self.law.values.astype(float)
        as_told = self.law.values_as(_number_type(values.type)).astype(float)
        return pa.array(states).take(pc.index_in(numbers, value_set=pa.array(as_told), skip_nulls=True))

    def wanted(self) -> str:
        return self.law.wanted() if isinstance(self.law, FiniteCoordinate) else super().wanted()


@dataclass(frozen=True)
class ArrayColumn:
    """An array of attributes in every row; numbers keep their type, so that pixels stay bytes."""

    name: str
    channel: FeatureChannel
    missing: bool = False

    @cached_property
    def _width(self) -> int:
        return self.channel.width

    def convert(self, values: pa.Array) -> pa.Array:
        rows = _in_rows(values, self._width)
        if rows is None:
            kind = _number_type(getattr(values.type, "value_type", None))
            told = values.to_pylist()
            good = np.array([self._fault(row, kind) is None for row in told], dtype=bool)
            whole = [row if fine else [0] * self._width for row, fine in zip(told, good, strict=True)]
            rows = np.array(whole, dtype=kind).reshape(len(values), self._width)
        else:
            good = self._good(rows)
        flat = pa.array(np.ascontiguousarray(rows).reshape(-1))
        made = pa.FixedSizeListArray.from_arrays(flat, self._width)
        return made if good.all() else pc.if_else(pa.array(good), made, pa.scalar(None, made.type))

    def _good(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows have a usable number everywhere."""
        good = np.ones(len(rows), dtype=bool)
        for law, columns in self.channel.groups:
            block = np.ascontiguousarray(rows if len(columns) == rows.shape[1] else rows[:, columns])
            if isinstance(law, FiniteCoordinate):
                if law.encode(block.reshape(-1))[1] >= 0:
                    good &= np.isin(block, law.values_as(block.dtype)).all(axis=1)
            else:
                good &= np.isfinite(block).all(axis=1)
        return good

    def is_missing(self, values: pa.Array) -> pa.Array:
        return values.is_null()

    def wanted(self) -> str:
        return f"an array of {self._width} numbers"

    def problem(self, row: pa.Scalar) -> str:
        """Say what is wrong with a row."""
        kind = _number_type(getattr(row.type, "value_type", None))
        return self._fault(row.as_py(), kind) or f"it is not {self.wanted()}"

    def _fault(self, row: Any, kind: np.dtype[Any]) -> str | None:
        if not isinstance(row, list) or len(row) != self._width:
            held = f"an array of {len(row)}" if isinstance(row, list) else "no array"
            return f"it holds {held}, where {self.wanted()} should be"
        for number, (value, law) in enumerate(zip(row, self.channel.laws, strict=True)):
            usable = isinstance(value, int | float) and np.isfinite(value)
            if isinstance(law, FiniteCoordinate):
                usable = usable and bool(np.isin(kind.type(value), law.values_as(kind)))
                if not usable:
                    return f"attribute {number + 1} is {value!r}, not {law.wanted()}"
            elif not usable:
                return f"attribute {number + 1} is {value!r}, not a finite number"
        return None


def attribute_columns(question: Question, channel: FeatureChannel) -> list[Any]:
    """Return how the attributes of a question are converted."""
    if question.columns is None:
        return [ArrayColumn(question.name, channel)]
    return [AttributeColumn(name, law=law) for name, law in zip(question.columns, channel.laws, strict=True)]


def attribute_rows(question: Question, arrays: Mapping[str, pa.Array]) -> NDArray[Any]:
    """Return converted attributes as an array, one row a record."""
    if question.columns is not None:
        return np.column_stack([arrays[name].to_numpy() for name in question.columns])
    rows = _in_rows(arrays[question.name], arrays[question.name].type.list_size)
    return np.empty((0, 0)) if rows is None else rows


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
