"""Which values the columns of a table take: the levels of categories."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc


class Levels(NamedTuple):
    """What one column takes: its values, unless they are too many, and how often it is missing."""

    values: frozenset[Any] | None
    missing: int


@dataclass(frozen=True)
class ColumnLevels:
    """Collect the distinct values of columns, up to ``most`` of each.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ColumnLevels(("school",), 10).observe(pa.table({"school": ["south", "south", None]}))
    {'school': Levels(values=frozenset({'south'}), missing=1)}
    """

    columns: tuple[str, ...]
    most: int

    def empty(self) -> dict[str, Levels]:
        return {name: Levels(frozenset(), 0) for name in self.columns}

    def observe(self, table: pa.Table) -> dict[str, Levels]:
        found = {}
        for name in self.columns:
            values = pc.unique(table[name].drop_null())
            few = frozenset(values.to_pylist()) if len(values) <= self.most else None
            found[name] = Levels(few, table[name].null_count)
        return found

    def merge(self, first: dict[str, Levels], second: dict[str, Levels]) -> dict[str, Levels]:
        return {name: self._union(first[name], second[name]) for name in self.columns}

    def _union(self, first: Levels, second: Levels) -> Levels:
        missing = first.missing + second.missing
        if first.values is None or second.values is None:
            return Levels(None, missing)
        values = first.values | second.values
        return Levels(values if len(values) <= self.most else None, missing)
