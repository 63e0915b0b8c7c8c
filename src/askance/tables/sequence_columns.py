"""Columns with a list in every row: words of a sentence, and their labels. A text is split where it has blanks."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from askance.channels.alphabet import Label, listed
from askance.tables.column_kinds import LabelColumn, TextColumn

_MOST_SHOWN = 40  # characters of a value in a message


@dataclass(frozen=True)
class WordsColumn:
    """A list of texts in every row, or a text that blanks divide."""

    name: str
    missing: bool = False

    @cached_property
    def _each(self) -> TextColumn | LabelColumn:
        return TextColumn(self.name)

    def convert(self, values: pa.Array) -> pa.Array:
        """Return lists; null where a row is none, or holds something that it should not."""
        rows = word_lists(values)
        if rows is None:
            return pa.nulls(len(values), pa.list_(pa.string()))
        if pa.types.is_null(rows.type.value_type):  # empty lists, all of them
            rows = rows.cast(pa.list_(pa.string()))
        offsets = np.asarray(rows.offsets, dtype=np.int64)
        inside = self._each.convert(rows.values)
        inside = inside.dictionary_decode() if pa.types.is_dictionary(inside.type) else inside
        faults = np.concatenate([[0], np.cumsum(np.asarray(inside.is_null()))])
        good = np.asarray(rows.is_valid()) & (faults[offsets[1:]] == faults[offsets[:-1]])
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inside, mask=pa.array(~good))

    def is_missing(self, values: pa.Array) -> pa.Array:
        return values.is_null()

    def wanted(self) -> str:
        return "a list of words"

    def problem(self, values: pa.Array) -> str:
        """Say which entry of the first row is wrong."""
        value = values[0]
        rows = word_lists(pa.array([value.as_py()], value.type))
        if rows is not None:
            bad = np.flatnonzero(np.asarray(self._each.convert(rows.values).is_null()))
            if len(bad):
                return f"entry {bad[0] + 1}, {rows.values[int(bad[0])].as_py()!r}, is not {self._each.wanted()}"
        said = repr(value.as_py())
        return f"{said if len(said) <= _MOST_SHOWN else said[:_MOST_SHOWN] + '...'} is not {self.wanted()}"


@dataclass(frozen=True)
class LabelsColumn(WordsColumn):
    """A list of labels in every row, all from a fixed set; or a text that blanks divide."""

    labels: tuple[Label, ...] = ()

    @cached_property
    def _each(self) -> LabelColumn:
        return LabelColumn(self.name, self.labels)

    def wanted(self) -> str:
        return f"a list of labels among {listed(self.labels)}"


def word_lists(values: pa.Array) -> pa.ListArray | None:
    """Return lists as a column has them, or the words of texts; None of anything else."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        trimmed = pc.utf8_trim_whitespace(values.cast(pa.string()))
        apart = pc.utf8_split_whitespace(trimmed)
        # An empty text has no word; Arrow would say that it has one, which is empty.
        return pc.if_else(pc.equal(trimmed, ""), pa.scalar([], apart.type), apart)
    if pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
        return values.cast(pa.list_(kind.value_type))
    return None
