"""Rows of different lengths: one flat array, and where each row begins."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.channels.columns import as_column
from askance.errors import InvalidInput
from askance.frames import library_of


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences one after the other: row i holds ``flat[starts[i] : starts[i + 1]]``.

    Examples
    --------
    >>> from askance.channels.sequences import Sequences
    >>> rows = Sequences.of([["a", "b"], [], ["c"]])
    >>> len(rows), rows.lengths.tolist(), rows.lists()
    (3, [2, 0, 1], [['a', 'b'], [], ['c']])
    """

    flat: Any
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: Any, what: str = "tokens") -> "Sequences":
        """Read lists of values, a column of lists from Arrow, or what is such sequences already."""
        if isinstance(rows, Sequences):
            return rows
        if library_of(rows) == "polars":  # whose rows are columns of its own
            rows = rows.to_arrow()
        if isinstance(rows, pa.ChunkedArray):
            rows = rows.combine_chunks()
        if isinstance(rows, pa.ChunkedArray):  # a column without rows
            rows = pa.array([], rows.type)
        if isinstance(rows, pa.ListArray | pa.LargeListArray):
            if rows.null_count:
                raise InvalidInput(f"{rows.null_count} sequences are missing", f"a list of {what} in every row")
            offsets = np.asarray(rows.offsets, dtype=np.int64)
            inner = rows.values[offsets[0] : offsets[-1]] if len(rows) else rows.values[:0]
            return cls(inner, offsets - offsets[0] if len(offsets) else np.zeros(1, np.int64))
        if isinstance(rows, str | bytes) or not isinstance(rows, Iterable) or getattr(rows, "ndim", 1) == 0:
            raise InvalidInput(f"a {type(rows).__name__} in place of sequences", f"a list with a list of {what} a row")
        each = list(rows)
        for number, row in enumerate(each):
            if isinstance(row, str | bytes) or not isinstance(row, Sequence | np.ndarray | pa.Array):
                raise InvalidInput(f"{row!r} in row {number + 1}", f"a list of {what} in every row")
        flat = [value for row in each for value in (row.to_pylist() if isinstance(row, pa.Array) else row)]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(row) for row in each], dtype=np.int64)])
        return cls(flat, starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Any]:
        return (self.flat[a:b] for a, b in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True))

    def __getitem__(self, rows: slice) -> "Sequences":
        first, last, step = rows.indices(len(self))
        if step != 1:
            raise IndexError("rows of sequences are taken one after the other")
        starts = self.starts[first : max(first, last) + 1]
        return Sequences(self.flat[starts[0] : starts[-1]], starts - starts[0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        table = np.empty(len(self), dtype=object)
        table[:] = [tuple(values) for values in self.lists()]
        return table

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def nbytes(self) -> int:
        """How many bytes the arrays take."""
        return int(getattr(self.flat, "nbytes", 0) + self.starts.nbytes)

    def with_flat(self, flat: Any) -> "Sequences":
        """Return sequences of the same lengths with other values."""
        return Sequences(flat, self.starts)

    def repeated(self, per_row: Any) -> Any:
        """Return a value of each row for every one of its places."""
        values = np.asarray(as_column(per_row, "value"), dtype=object)
        if len(values) != len(self):
            raise InvalidInput(f"{len(values)} values for {len(self)} sequences", "one for each")
        return np.repeat(values, self.lengths)

    def lists(self) -> list[list[Any]]:
        """Return plain lists."""
        values = self.flat.to_pylist() if isinstance(self.flat, pa.Array) else self.flat
        plain = values.tolist() if isinstance(values, np.ndarray) else list(values)
        return [plain[a:b] for a, b in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)]
