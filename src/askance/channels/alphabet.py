"""Labels and their integer codes: the border where strangers' data are checked."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.columns import NOT_ARROW, Column, as_column, comparable, plain_values, some_rows
from askance.compiled import compiled
from askance.entropy.draws import code_type
from askance.errors import InvalidInput

Label = str | int | float | bool
Labels = Sequence[Label] | NDArray[Any]  # as people list them: numpy.unique of a column, too
_LARGEST_WHOLE = 1 << 53  # beyond it two whole numbers may be the same double
_FEW = 16  # so many labels are sooner compared one after the other than moved to Arrow


def as_labels(labels: Iterable[Any], what: str) -> tuple[Label, ...]:
    """Check a list of labels and turn numpy scalars into plain, JSON-able Python values."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise InvalidInput(f"{what}={labels!r}", f"a list of labels such as {what}=('no', 'yes')")
    if isinstance(labels, Set):
        raise InvalidInput(f"{what} as a set, which has no order", f"a list such as {what}={sorted(map(str, labels))}")
    plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
    for label in plain:
        if not isinstance(label, str | int | float | bool) or (isinstance(label, float) and not math.isfinite(label)):
            raise InvalidInput(f"the label {label!r} among the {what}", "strings, finite numbers or truth values")
    if len(plain) < 2:
        raise InvalidInput(f"{len(plain)} {what}: {plain!r}", f"at least two {what}")
    if len(set(plain)) < len(plain):
        repeated = sorted(repr(label) for label, times in Counter(plain).items() if times > 1)
        raise InvalidInput(f"the {what} name {', '.join(repeated)} more than once", f"{what} that all differ")
    return plain


def label_type(labels: Iterable[Label], what: str) -> pa.DataType:
    """Return the Arrow type of a column of labels; a column cannot mix text, numbers and truth values."""
    labels = list(labels)
    kinds = {type(label) for label in labels}
    if kinds <= {int, float} and any(abs(label) > _LARGEST_WHOLE for label in labels):  # type: ignore[arg-type]
        raise InvalidInput(
            f"{what} has labels beyond 2^53: {listed(labels)}", "smaller numbers", "Write long codes as text."
        )
    for python_types, arrow in (
        ({str}, pa.string()),
        ({bool}, pa.bool_()),
        ({int}, pa.int64()),
        ({int, float}, pa.float64()),
    ):
        if kinds <= python_types:
            return arrow
    raise InvalidInput(
        f"{what} has labels of several kinds: {listed(labels)}",
        "all text, all numbers or all true/false",
    )


def listed(labels: Sequence[Any], most: int = 8) -> str:
    """Write labels for a person, shortening a long list."""
    shown = ", ".join(repr(label) for label in labels[:most])
    return shown if len(labels) <= most else f"{shown}, ... ({len(labels)} in all)"


@dataclass(frozen=True)
class Alphabet:
    """A fixed, ordered set of labels.

    Parameters
    ----------
    labels : tuple
        Strings, numbers or truth values.
    what : str
        What a label is called in messages: "answer", "report".
    """

    labels: tuple[Label, ...]
    what: str = "answer"

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def array(self) -> NDArray[Any]:
        """The labels as an array, for turning codes back into labels."""
        plain = len({type(label) for label in self.labels}) == 1 and not any(map(_lost_in_numpy, self.labels))
        array: NDArray[Any] = np.array(self.labels, dtype=None if plain else object)
        array.setflags(write=False)
        return array

    @cached_property
    def _arrow(self) -> pa.Array:
        return pa.array(self.labels, type=label_type(self.labels, f"a list of {self.what}s"))

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of a column of labels in a file: text is stored once, and by number in every row."""
        plain = self._arrow.type
        return pa.dictionary(pa.int32(), plain) if pa.types.is_string(plain) else plain

    def to_arrow(self, codes: Codes) -> pa.Array:
        """Turn codes into a column of a file."""
        indices = pa.array(codes.astype(np.int32, copy=False))
        return (
            pa.DictionaryArray.from_arrays(indices, self._arrow)
            if pa.types.is_string(self._arrow.type)
            else self._arrow.take(indices)
        )

    @cached_property
    def _first_of_range(self) -> int | None:
        """The first label if the labels are consecutive integers, which need no look-up."""
        first = self.labels[0]
        count = len(self)
        if type(first) is int and self.labels == tuple(range(first, first + count)) and _fits(first, count):
            return first
        return None

    def decode(self, codes: Codes) -> NDArray[Any]:
        """Turn codes into labels."""
        labels = np.empty(codes.shape[0], dtype=self.array.dtype)
        self.decode_into(labels, codes)
        return labels

    def decode_into(self, labels: NDArray[Any], codes: Codes) -> None:
        """Turn codes into labels, in an array that is already there."""
        if self._first_of_range == 0:
            labels[:] = codes
        else:
            np.take(self.array, codes, out=labels, mode="clip")  # mode="raise" would make a copy first

    def encode(self, values: Any) -> Codes:
        """Turn labels (array, list, pandas, polars or Arrow column) into codes.

        A value stands for the label that it equals: 1, 1.0 and True are the same label, "1" is not.

        Raises
        ------
        InvalidInput
            On a missing value or a label that is not in the alphabet, naming the first row.
        """
        column = as_column(values, self.what)
        if isinstance(column, pa.DictionaryArray):
            return self._encode_dictionary(column)
        if self._first_of_range is not None and isinstance(column, np.ndarray) and column.dtype.kind in "biu":
            return self._encode_integers(column, self._first_of_range)
        return self._look_up(column)

    def _encode_integers(self, column: NDArray[Any], first: int) -> Codes:
        if column.dtype == np.uint64 and first < 0:
            return self._look_up(column)  # in 64 signed bits the largest would become negative numbers
        out = np.empty(column.shape[0], dtype=code_type(len(self)))
        numbers = column.view(np.uint8) if column.dtype.kind == "b" else column
        if not subtract_first(numbers, np.int64(first), np.uint64(len(self)), out):
            self._refuse(column, np.isin(numbers, self.array, invert=True))
        return out

    def _encode_dictionary(self, column: pa.DictionaryArray) -> Codes:
        present = column.is_valid().to_numpy(zero_copy_only=False)
        indices = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        if len(column.dictionary) == 0:
            indices, positions = np.zeros(len(column), dtype=np.int64), np.full(1, -1)
        else:
            positions = self._positions(as_column(column.dictionary, self.what))
        return self._checked(column, np.where(present, positions[indices], -1))

    def _look_up(self, column: Column) -> Codes:
        return self._checked(column, self._positions(column))

    def _positions(self, column: Column) -> NDArray[np.int64]:
        """Where each value stands among the labels; -1 for one that does not."""
        if isinstance(column, np.ndarray) and column.dtype.kind == "U" and len(self) <= _FEW:
            positions = np.full(len(column), -1)
            for code, label in enumerate(self.labels):
                if isinstance(label, str) and not _lost_in_numpy(label):
                    positions[column == label] = code
            return positions
        try:
            arrow, known = comparable(column, self.labels)
            return np.asarray(pc.index_in(arrow, value_set=known).fill_null(-1), dtype=np.int64)
        except NOT_ARROW:
            # Labels of several types, or of another type than the data: compare one by one.
            index = {label: code for code, label in enumerate(self.labels)}
            values = plain_values(column)
            codes = [index.get(_plain(value), -1) if isinstance(value, Hashable) else -1 for value in values]
            return np.array(codes, dtype=np.int64)

    def _checked(self, column: Column, positions: NDArray[np.int64]) -> Codes:
        unknown = positions < 0
        if unknown.any():
            strangers = plain_values(some_rows(column, np.flatnonzero(unknown)))
            missing = np.array([stranger is None or stranger != stranger for stranger in strangers])
            if missing.any():
                unknown[unknown] = missing
                self._refuse_missing(unknown)
            self._refuse(column, unknown)
        codes: Codes = positions.astype(code_type(len(self)))
        return codes

    def _refuse(self, column: Column, unknown: NDArray[np.bool_]) -> NoReturn:
        rows = np.flatnonzero(unknown)
        distinct = list(
            {repr(stranger): stranger for stranger in plain_values(some_rows(column, rows[:10_000]))}.values()
        )
        raise InvalidInput(
            f"{len(rows)} of {len(unknown)} {self.what}s are not among the labels: "
            f"{listed(distinct, 5)} (first in row {rows[0]})",
            f"{self.what}s among {listed(self.labels)}",
            "Give the channel the labels that the data use, or recode the data.",
        )

    def _refuse_missing(self, missing: NDArray[np.bool_]) -> NoReturn:
        number, first = int(missing.sum()), int(missing.argmax())
        raise InvalidInput(
            f"{number} of {len(missing)} {self.what}s are missing (first in row {first})",
            f"every row to have one, among {listed(self.labels)}",
            "Drop these rows, or give non-response a label of its own.",
        )


def _lost_in_numpy(label: Label) -> bool:
    """Whether numpy's arrays of text cannot hold a label: they drop zeros at its end."""
    return isinstance(label, str) and label.endswith("\0")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _fits(first: int, count: int) -> bool:
    return first > -(1 << 62) and first + count < 1 << 62


@compiled
def subtract_first(values, first, states, out):  # type: ignore[no-untyped-def]
    # One pass, without branches, that checks and converts: a label below the first one becomes, unsigned, a
    # very large code.
    largest = np.uint64(0)
    for i in range(values.shape[0]):
        code = np.uint64(np.int64(values[i]) - first)
        largest = max(largest, code)
        out[i] = code
    return largest < states
