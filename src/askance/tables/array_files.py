"""Files of numpy arrays (.npz): each array is a column, and its first axis runs over the rows."""

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.errors import InvalidInput

ARRAYS = ".npz"
_CHUNK_BYTES = 1 << 24  # of arrays at a time: they are in memory anyway, and so is what becomes of them


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays of a file."""
    with _opened(path) as arrays:
        return list(arrays.files)


def array_chunks(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, pa.Table, float]]:
    """Yield the first row, some rows of some arrays as a table, and which share of all rows has been read.

    What has more than one axis (images) becomes a column of arrays, laid out row by row.
    """
    with _opened(path) as file:
        arrays = {name: _array(file, name, path) for name in columns}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InvalidInput(
            f"the arrays of {path} have different numbers of rows: {counted}", "one row a record in each"
        )
    rows = next(iter(lengths.values()), 0)
    row_bytes = sum(array.nbytes for array in arrays.values()) // max(rows, 1)
    at_once = max(1, _CHUNK_BYTES // max(row_bytes, 1))
    for start in range(0, rows, at_once):
        stop = min(start + at_once, rows)
        table = {name: _column(array[start:stop]) for name, array in arrays.items()}
        yield start, pa.table(table), stop / rows


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:  # numpy would leave a file open that it cannot read
        try:
            arrays = np.load(file, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise InvalidInput(f"{path} cannot be read as arrays ({error})", "a file written by numpy.savez") from None
        if isinstance(arrays, np.ndarray):
            raise InvalidInput(f"{path} holds a single array without a name", "a file written by numpy.savez")
        with arrays:
            yield arrays


def _array(file: Any, name: str, path: Path) -> NDArray[Any]:
    try:
        array = np.asarray(file[name])
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidInput(f"the array {name!r} of {path} cannot be read ({error})", "numbers or text") from None
    if array.ndim == 0 or array.dtype.kind not in "biufU":
        raise InvalidInput(
            f"the array {name!r} of {path} has shape {array.shape} and type {array.dtype}",
            "numbers or text, one row a record",
        )
    return array


def _column(array: NDArray[Any]) -> pa.Array:
    if array.ndim == 1:
        return pa.array(array)
    flat = np.ascontiguousarray(array).reshape(len(array), -1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), flat.shape[1])
