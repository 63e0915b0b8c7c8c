"""A column of labels from anywhere: lists, numpy, pandas, polars, Arrow."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.errors import InvalidInput

Column: TypeAlias = "NDArray[Any] | pa.Array"
NOT_ARROW = (pa.ArrowException, TypeError, ValueError, OverflowError)  # what pyarrow raises on odd input


def as_column(values: Any, what: str) -> Column:
    """Bring a column into one of two shapes: numbers (and numpy's own text) in numpy, all else in Arrow.

    Text and categories stay in Arrow's buffers, without a Python object for each; missing entries survive
    as null or NaN. What Arrow cannot hold (values of several types) becomes a numpy array of objects.
    """
    column = _one_piece(values)
    if isinstance(column, pa.Array):
        if column.null_count == 0 and _is_numeric(column.type):
            column = column.to_numpy(zero_copy_only=False)
        elif not pa.types.is_nested(column.type):
            return column
        else:
            column = values  # a table, or a list of lists: let numpy say what shape it has
    try:
        array = np.asarray(column)
    except (TypeError, ValueError):
        raise InvalidInput(f"a {type(values).__name__} that is not a column of labels", f"one {what} a row") from None
    if array.ndim == 2 and array.shape[1] == 1:
        return as_column(array[:, 0], what)
    if array.ndim != 1:
        came = f"the single value {array.item()!r:.80}" if array.ndim == 0 else f"an array of shape {array.shape}"
        raise InvalidInput(came, f"one {what} a row: shape (n,)")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _one_piece(values: Any) -> Any:
    """Return an Arrow array where the values are, or can become, one; the values themselves otherwise."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufU":
        return values
    try:
        if isinstance(values, np.ndarray | list | tuple):
            arrow = pa.array(values, from_pandas=True)
        elif hasattr(values, "__arrow_c_stream__") and not isinstance(values, pa.Table):
            arrow = pa.chunked_array(values)
        elif isinstance(values, pa.Array | pa.ChunkedArray):
            arrow = values
        else:
            return _one_piece(np.asarray(values))
    except NOT_ARROW:
        return np.array(values, dtype=object) if isinstance(values, list | tuple) else values
    if isinstance(arrow, pa.ChunkedArray):
        arrow = arrow.combine_chunks()
    if pa.types.is_string_view(arrow.type):
        arrow = arrow.cast(pa.large_string())
    return arrow


def comparable(column: Column, labels: Sequence[Any]) -> tuple[pa.Array, pa.Array]:
    """Return the column and the labels as Arrow arrays of one type, without changing any value.

    Raises one of ``NOT_ARROW`` where there is no such type.
    """
    if isinstance(column, np.ndarray) and column.dtype.kind == "O":
        raise TypeError("objects are compared one by one")
    arrow = column if isinstance(column, pa.Array) else pa.array(column)
    if pa.types.is_string(arrow.type) or pa.types.is_large_string(arrow.type):
        return arrow, pa.array(labels, type=arrow.type)
    if not _is_numeric(arrow.type) or any(isinstance(label, str) for label in labels):
        raise TypeError("text and numbers are never equal")
    if pa.types.is_boolean(arrow.type):
        arrow = arrow.cast(pa.uint8())
    whole = not pa.types.is_floating(arrow.type) and all(float(label).is_integer() for label in labels)
    type_, convert = (pa.int64(), int) if whole else (pa.float64(), float)
    known = [convert(label) for label in labels]
    if known != list(labels):
        raise OverflowError("a label has too many digits for a double")
    return arrow.cast(type_), pa.array(known, type=type_)


def some_rows(column: Column, rows: NDArray[np.integer]) -> Column:
    """Return some rows of a column."""
    return column.take(pa.array(rows)) if isinstance(column, pa.Array) else column[rows]


def plain_values(column: Column) -> list[Any]:
    """Return the values as Python objects."""
    return list(column.to_pylist() if isinstance(column, pa.Array) else column.tolist())


def _is_numeric(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))
