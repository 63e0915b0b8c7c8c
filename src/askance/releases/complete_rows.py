"""Rows that have all of some columns: what is missing is counted, and left out where that was asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from askance.errors import InvalidInput
from askance.releases.partition import Partition
from askance.releases.release import Release

WAYS = ("refuse", "drop")
# Texts that stand for nothing in files of other programs, unless a label is called so.
_NOTHING = ("", "NA", "NaN", "nan", ".")


@dataclass(frozen=True)
class MissingValues:
    """How many rows lack something, and what.

    Examples
    --------
    >>> MissingValues(1200, 37, {"age": 20, "school": 18}).sentence()
    '37 of 1,200 rows lack a value and were left out: age 20, school 18.'
    """

    rows: int
    incomplete: int
    by_column: Mapping[str, int]

    def sentence(self) -> str:
        """Say how many and where; nothing where none is missing."""
        if not self.incomplete:
            return ""
        counts = ", ".join(f"{name} {count:,}" for name, count in self.by_column.items() if count)
        return f"{self.incomplete:,} of {self.rows:,} rows lack a value and were left out: {counts}."

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {"rows": self.rows, "incomplete": self.incomplete, "by_column": dict(self.by_column)}

    def plus(self, other: "MissingValues") -> "MissingValues":
        """Add up two parts."""
        names = dict.fromkeys([*self.by_column, *other.by_column])
        both = {name: self.by_column.get(name, 0) + other.by_column.get(name, 0) for name in names}
        return MissingValues(self.rows + other.rows, self.incomplete + other.incomplete, both)


def check_way(missing: str) -> str:
    """Refuse anything but the two ways to deal with missing values."""
    if missing not in WAYS:
        raise InvalidInput(f"missing={missing!r}", "'refuse' or 'drop'")
    return missing


def complete_table(
    table: pa.Table, columns: Sequence[str], labels: Mapping[str, Sequence[Any]] | None = None
) -> tuple[pa.Table, MissingValues]:
    """Return the rows of a table that have all of some columns, and what the others lack.

    ``labels`` are those that a column may have: one of them is never taken for a sign that nothing is there.

    Examples
    --------
    >>> table, missing = complete_table(pa.table({"age": [30, None], "school": ["", "north"]}), ["age", "school"])
    >>> table.num_rows, dict(missing.by_column)
    (0, {'age': 1, 'school': 1})
    """
    lacks = {name: _lacking(table[name], (labels or {}).get(name, ())) for name in columns}
    incomplete = pa.array([False] * table.num_rows)
    for lack in lacks.values():
        incomplete = pc.or_(incomplete, lack)
    found = MissingValues(table.num_rows, _count(incomplete), {name: _count(lack) for name, lack in lacks.items()})
    return (table.filter(pc.invert(incomplete)) if found.incomplete else table), found


def complete_release(release: Release, columns: Sequence[str]) -> tuple[Release, MissingValues]:
    """Return a release of the rows that have all of some columns; the others are passed over whenever it is read."""
    parts: list[Partition] = []
    total = MissingValues(0, 0, {})
    for part in release.parts:
        _, found = complete_table(part.read(list(columns)), columns)
        total = total.plus(found)
        kept = found.rows - found.incomplete
        parts.append(CompletePartition(part, tuple(columns), kept) if found.incomplete else part)
    return (replace(release, parts=tuple(parts)) if total.incomplete else release), total


@dataclass(frozen=True)
class CompletePartition(Partition):
    """The rows of a partition that have all of some columns."""

    part: Partition
    needed: tuple[str, ...]
    num_rows: int

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        if columns is None:
            return complete_table(self.part.read(), self.needed)[0]
        wanted = list(dict.fromkeys([*columns, *self.needed]))
        return complete_table(self.part.read(wanted), self.needed)[0].select(list(columns))

    def split(self, max_rows: int) -> list[Partition]:
        pieces: list[Partition] = []
        for piece in self.part.split(max_rows):
            kept = complete_table(piece.read(list(self.needed)), self.needed)[0].num_rows
            pieces.append(CompletePartition(piece, self.needed, kept))
        return pieces


def _lacking(column: pa.ChunkedArray, labels: Sequence[Any]) -> pa.Array:
    lacking = column.is_null(nan_is_null=True)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        nothing = [text for text in _NOTHING if text not in labels]
        texts = pc.utf8_trim_whitespace(column.cast(kind) if kind != column.type else column)
        lacking = pc.or_(lacking, pc.fill_null(pc.is_in(texts, value_set=pa.array(nothing, kind)), False))
    if pa.types.is_floating(kind):
        lacking = pc.or_(lacking, pc.fill_null(pc.is_inf(column), False))
    return lacking.combine_chunks() if isinstance(lacking, pa.ChunkedArray) else lacking


def _count(flags: pa.Array) -> int:
    return int(pc.sum(flags).as_py() or 0)
