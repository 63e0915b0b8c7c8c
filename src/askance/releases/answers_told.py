"""Whether what a release publishes as it is tells hidden answers: then no noise hides them.

Looked for are public columns that are an answer under another name (recoded, split into more levels, joined with
something else, in its last digit), numbers that are a hidden number in other units, and rows in the order of the
answers. Of people who come in many pieces some of each are looked at.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.releases.declared_columns import public_columns
from askance.releases.header import Header
from askance.releases.labels_told import refuse_telling_columns, values_tell

_OF_A_PIECE = 2_000  # people of each piece who are looked at, evenly spread
_PEOPLE = 20_000  # and in all
_LOOKED_AT_ONCE = 4096  # rows: most tables are seen to be in no order after a few
_FEW = 20  # values of a column of numbers that is looked at as classes: more are measurements
_SAME = 1 - 1e-9  # correlation: one number is the other in other units, but for rounding
_ENOUGH = 20  # people whose numbers would ascend by chance once in 20!
# What chance does so often is no reason to refuse a file.
_CHANCE = 1e-3


class AnswersTold:
    """Looks at pieces of a table as they come, and then refuses what tells the answers in it.

    Parameters
    ----------
    header : Header
    public : sequence of str
        Columns whose owner says that everybody may know them, although they tell answers.
    """

    def __init__(self, header: Header, public: Sequence[str] = ()) -> None:
        open_columns = [column.name for column in public_columns(header)]
        strangers = [name for name in public if name not in open_columns]
        if strangers:
            raise InvalidInput(f"public_columns with {listed(strangers)}", f"covariates: {listed(open_columns)}")
        self._open = [name for name in open_columns if name not in public]
        self._hidden = [name for question in header.questions for name in question.sources if name not in open_columns]
        self._pieces: list[dict[str, NDArray[Any]]] = []
        self._rows = 0
        self._order = {name: _Order() for name in self._hidden}

    def look(self, arrays: Mapping[str, pa.Array]) -> None:
        """Look at converted columns of a piece."""
        rows = max((len(arrays[name]) for name in self._hidden), default=0)
        for start in range(0, rows, _LOOKED_AT_ONCE):
            open_orders = [name for name in self._hidden if not self._order[name].is_mixed]
            if not open_orders:
                break
            for name in open_orders:
                self._order[name].look(_values(arrays[name].slice(start, _LOOKED_AT_ONCE)))
        if not rows or not self._open or self._rows >= _PEOPLE:
            return
        some = pa.array(np.linspace(0, rows - 1, min(rows, _OF_A_PIECE)).astype(np.int64))
        found = {name: _values(arrays[name].take(some)) for name in [*self._hidden, *self._open]}
        self._pieces.append({name: values for name, values in found.items() if values is not None})
        self._rows += len(some)

    def refuse(self) -> None:
        """Refuse what tells the answers."""
        for name, order in self._order.items():
            if order.tells():
                raise InvalidInput(
                    f"rows in the order of the answers to {name!r}",
                    "an order that says nothing about them",
                    "A release keeps the order of its rows: whoever knows it knows the answers, whatever the noise. "
                    "Put the rows into random order first.",
                )
        if not self._pieces:
            return
        names = self._pieces[0]
        columns = {name: np.concatenate([piece[name] for piece in self._pieces]) for name in names}
        for name in self._hidden:
            if name in columns:
                self._compare(name, columns)

    def _compare(self, hidden: str, columns: Mapping[str, NDArray[Any]]) -> None:
        kept = ~_missing(columns[hidden])
        classes, codes = np.unique(columns[hidden][kept], return_inverse=True)
        numbers = [name for name in self._open if name in columns and columns[name].dtype.kind == "f"]
        if len(classes) > _FEW:
            for name in numbers:
                if _is_the_same(columns[hidden], columns[name]):
                    raise _told(name, hidden)
            return
        for name in (name for name in self._open if name in columns):
            # Numbers of many values may be anything: below they are looked at for ranges and last digits.
            if name in numbers and len(np.unique(columns[name])) > _FEW:
                continue
            if values_tell(_table(codes, columns[name][kept])):
                raise _told(name, hidden)
        whole = [name for name in numbers if not _missing(columns[name][kept]).any()]
        if whole:
            matrix = np.column_stack([columns[name][kept] for name in whole])
            try:
                refuse_telling_columns(matrix, codes.astype(np.int64), whole)
            except InvalidInput as error:
                raise InvalidInput(f"answers to {hidden!r}: {error}") from None


class _Order:
    """Whether values come in runs, or ascend or descend."""

    def __init__(self) -> None:
        self.rows = self.runs = 0
        self.up = self.down = True
        self.is_other = False
        self.last: NDArray[Any] | None = None
        self.counts: dict[float, int] = {}

    @property
    def is_mixed(self) -> bool:
        """Whether no further value can make an order of it."""
        return self.is_other or (self.runs > 2 * _FEW and not self.up and not self.down)

    def look(self, values: NDArray[Any] | None) -> None:
        if values is None:  # rows of values, such as pictures
            self.is_other = True
            return
        if not len(values):
            return
        joined = values if self.last is None else np.concatenate([self.last, values])
        self.runs += int(np.count_nonzero(joined[1:] != joined[:-1])) + (self.last is None)
        self.up &= bool((joined[1:] >= joined[:-1]).all())
        self.down &= bool((joined[1:] <= joined[:-1]).all())
        if len(self.counts) <= _FEW:
            found, times = np.unique(values, return_counts=True)
            for value, count in zip(found.tolist(), times.tolist(), strict=True):
                self.counts[value] = self.counts.get(value, 0) + count
        self.rows += len(values)
        self.last = values[-1:]

    def tells(self) -> bool:
        if self.is_mixed or len(self.counts) < 2 or self.rows < _ENOUGH:
            return False
        if len(self.counts) > _FEW:
            return self.up or self.down
        # As few runs as classes, or one more of each: of all ways to deal these answers, how many have so few?
        if self.runs > 2 * len(self.counts):
            return False
        ways = math.lgamma(self.rows + 1) - sum(math.lgamma(count + 1) for count in self.counts.values())
        cuts = math.lgamma(self.rows) - math.lgamma(self.runs) - math.lgamma(self.rows - self.runs + 1)
        return cuts + self.runs * math.log(len(self.counts)) - ways < math.log(_CHANCE)


def _values(array: pa.Array) -> NDArray[Any] | None:
    """Return numbers for the values of a column: codes of labels, where -1 is missing, or what they are."""
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(array.type):
        return np.asarray(array.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    if pa.types.is_boolean(array.type) or pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    return None


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else values < 0)


def _table(codes: Codes, values: NDArray[Any]) -> NDArray[np.int64]:
    """Count the people of each class by the value that they have; the missing have a value of their own."""
    found, column = np.unique(values, return_inverse=True)
    classes = int(codes.max()) + 1 if len(codes) else 0
    return np.bincount(codes * len(found) + column, minlength=classes * len(found)).reshape(classes, len(found))


def _is_the_same(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    kept = ~(_missing(one) | _missing(other))
    if np.count_nonzero(kept) < _ENOUGH or np.ptp(one[kept]) == 0 or np.ptp(other[kept]) == 0:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(abs(np.corrcoef(one[kept], other[kept])[0, 1]) > _SAME)


def _told(name: str, hidden: str) -> InvalidInput:
    return InvalidInput(
        f"the public column {name!r} tells nearly every answer to {hidden!r}",
        "public columns without the private answers",
        "Take it out of the study: whoever sees it knows the answers, whatever the noise. If it is no copy of them and "
        f"everybody may know it, say so: public_columns=[{name!r}], or --public-columns.",
    )
