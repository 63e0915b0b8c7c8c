"""How the reports about vectors are kept: a few whole numbers, or bits, a person, in as little room as they need."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.compiled import compiled
from askance.errors import InvalidInput

Reports = NDArray[np.unsignedinteger]


class Layout(ABC):
    """The shape of a report in memory and in a file."""

    @property
    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The type of a column of reports."""

    @abstractmethod
    def check(self, reports: Any) -> NDArray[Any]:
        """Return reports as an array of the right shape and type, or say what is wrong with them."""

    @abstractmethod
    def packed(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return checked reports in the bytes that a file has of them."""

    @abstractmethod
    def from_arrow(self, column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
        """Unpack what :meth:`to_arrow` packed."""

    def to_arrow(self, reports: NDArray[Any]) -> pa.Array:
        """Pack checked reports for a file."""
        packed = self.packed(reports)
        return pa.Array.from_buffers(self.arrow_type, len(packed), [None, pa.py_buffer(packed)])

    def read(self, reports: Any) -> NDArray[Any]:
        """Unpack the reports of a file, or check those in memory."""
        return self.from_arrow(reports) if is_arrow(reports) else self.check(reports)


@dataclass(frozen=True)
class Fields(Layout):
    """A few whole numbers: field j holds one of 0 .. states[j] - 1.

    One field is a column of integers, and an array of shape (n,). Several are bytes of fixed width, and an array of
    shape (n, fields).
    """

    states: tuple[int, ...]

    @cached_property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        most = max(self.states)
        return np.dtype("u1" if most <= 1 << 8 else "<u2" if most <= 1 << 16 else "<u4")

    @cached_property
    def arrow_type(self) -> pa.DataType:
        if len(self.states) == 1:
            return pa.from_numpy_dtype(self.dtype)
        return pa.binary(len(self.states) * self.dtype.itemsize)

    def check(self, reports: Any) -> Reports:
        array = np.asarray(reports)
        if not array.ndim:
            raise InvalidInput(
                f"{reports!r} in place of reports",
                "what privatize or simulate returned",
                "A file is fitted by fit_release.",
            )
        shape = (len(array), len(self.states)) if len(self.states) > 1 else (len(array),)
        if array.shape != shape or array.dtype.kind not in "iu":
            raise InvalidInput(
                f"reports of shape {array.shape} and type {array.dtype}",
                f"whole numbers of shape {('n', *shape[1:])}",
                "Pass what privatize or simulate returned.",
            )
        # Field by field, and not where the type itself keeps the limit: a pass over all reports should cost little.
        whole = np.iinfo(array.dtype).max + 1 if array.dtype.kind == "u" else None
        same = len({*self.states}) == 1
        fields = (
            [(array.reshape(-1), self.states[0])]
            if same
            else zip(array.reshape(len(array), len(self.states)).T, self.states, strict=True)
        )
        if array.size and any(most != whole and (field.min() < 0 or field.max() >= most) for field, most in fields):
            raise InvalidInput(
                f"reports up to {array.max()}", f"numbers from 0, below {', '.join(map(str, sorted({*self.states})))}"
            )
        return np.ascontiguousarray(array, dtype=self.dtype)

    def packed(self, reports: Reports) -> Reports:
        return np.ascontiguousarray(reports, dtype=self.dtype)

    def from_arrow(self, column: pa.Array | pa.ChunkedArray) -> Reports:
        if len(self.states) == 1 and pa.types.is_integer(column.type) and not column.null_count:
            return self.check(np.asarray(column))  # whole numbers of any width, as other programs write them
        flat = _bytes_of(column, self.arrow_type).view(self.dtype)
        return self.check(flat if len(self.states) == 1 else flat.reshape(-1, len(self.states)))


@dataclass(frozen=True)
class Bits(Layout):
    """A row of bits, eight to a byte in a file; an array of zeros and ones, n x count, in memory."""

    count: int

    @property
    def states(self) -> tuple[int, ...]:
        return (2,) * self.count

    @cached_property
    def arrow_type(self) -> pa.DataType:
        return pa.binary(-(-self.count // 8))

    def check(self, reports: Any) -> Reports:
        array = np.asarray(reports)
        if array.ndim != 2 or array.shape[1] != self.count or array.dtype.kind not in "biu":
            raise InvalidInput(
                f"reports of shape {array.shape} and type {array.dtype}", f"zeros and ones of shape (n, {self.count})"
            )
        if array.size and (array.min() < 0 or array.max() > 1):
            raise InvalidInput(f"reports up to {array.max()}", "zeros and ones")
        return np.ascontiguousarray(array, dtype=np.uint8)

    def packed(self, reports: Reports) -> Reports:
        return np.packbits(reports, axis=1)

    def from_arrow(self, column: pa.Array | pa.ChunkedArray) -> Reports:
        packed = _bytes_of(column, self.arrow_type).reshape(-1, self.arrow_type.byte_width)
        return np.unpackbits(packed, axis=1, count=self.count)

    def ones(self, reports: Any) -> tuple[int, NDArray[np.int64]]:
        """Return how many reports there are, and how many ones each of their columns has."""
        column = reports if is_arrow(reports) else self.to_arrow(self.check(reports))
        packed = _bytes_of(column, self.arrow_type).reshape(-1, self.arrow_type.byte_width)
        # Each byte is counted as it is; what its eight bits are is looked up once for each of 256 values.
        seen = np.zeros((packed.shape[1], 256), np.int64)
        _count_bytes(packed, seen)
        bits_of = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
        return len(packed), (seen @ bits_of).reshape(-1)[: self.count]


@dataclass(frozen=True)
class Numbers(Layout):
    """Numbers in double precision: an array of shape (n, count)."""

    count: int

    @cached_property
    def arrow_type(self) -> pa.DataType:
        return pa.binary(8 * self.count)

    def check(self, reports: Any) -> NDArray[Any]:
        array = np.ascontiguousarray(reports, dtype="<f8")
        if array.ndim != 2 or array.shape[1] != self.count or not np.isfinite(array).all():
            raise InvalidInput(
                f"reports of shape {array.shape}, or such that are not finite", f"numbers of shape (n, {self.count})"
            )
        return array

    def packed(self, reports: NDArray[Any]) -> NDArray[Any]:
        return np.ascontiguousarray(reports, dtype="<f8")

    def from_arrow(self, column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
        return self.check(_bytes_of(column, self.arrow_type).view("<f8").reshape(-1, self.count))


@compiled
def _count_bytes(packed, seen):  # type: ignore[no-untyped-def]
    for i in range(packed.shape[0]):
        for j in range(packed.shape[1]):
            seen[j, packed[i, j]] += 1


def is_arrow(reports: Any) -> bool:
    """Whether reports come as a file keeps them."""
    return isinstance(reports, pa.Array | pa.ChunkedArray)


def _bytes_of(column: pa.Array | pa.ChunkedArray, wanted: pa.DataType) -> NDArray[np.uint8]:
    """Return the bytes of a column of fixed width, without copying where it is in one piece."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # a column without rows
        array = pa.array([], wanted)
    if array.type != wanted:
        raise InvalidInput(f"a column of {array.type}", f"reports kept as {wanted}")
    if array.null_count:
        raise InvalidInput(f"{array.null_count} reports are missing", "a report in every row")
    width = wanted.bit_width // 8
    if not len(array):
        return np.empty(0, np.uint8)
    everything = np.frombuffer(array.buffers()[1], dtype=np.uint8)
    return everything[array.offset * width : (array.offset + len(array)) * width]
