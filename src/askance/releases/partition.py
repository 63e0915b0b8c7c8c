"""Parts of a release: small to hold and to send, read when their turn comes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from askance.errors import ReleaseError
from askance.files.location import UNREADABLE, Location, first_line
from askance.releases.sealed_parquet import checked_parquet


class Partition(ABC):
    """Some rows of a release. Frozen and picklable: it can travel to another thread or machine."""

    num_rows: int
    read_at_once: ClassVar[bool] = True  # whether one worker sees all of its rows together

    @abstractmethod
    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows, with these columns in this order, or all columns."""

    @abstractmethod
    def split(self, max_rows: int) -> "list[Partition]":
        """Cut into parts of at most ``max_rows`` rows."""

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        """Return these columns of the first rows."""
        return self.read(columns).slice(0, rows)

    def _starts(self, max_rows: int) -> range:
        return range(0, max(self.num_rows, 1), max_rows)


@dataclass(frozen=True)
class FilePartition(Partition):
    """A row group of a Parquet file, or a range of its rows.

    Parameters
    ----------
    path : str
        The file: an absolute path, or an address.
    row_group : int
        Which of its row groups.
    num_rows : int
        How many rows, beginning with row ``start`` of the group.
    dictionary_columns : tuple of str
        Columns to read as dictionaries: their few labels are compared once instead of in every row.
    start : int
        The first row within the group.
    """

    path: str
    row_group: int
    num_rows: int
    dictionary_columns: tuple[str, ...] = ()
    start: int = 0

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        wanted = None if columns is None else list(columns)
        try:
            with checked_parquet(Location(self.path), read_dictionary=list(self.dictionary_columns)) as (file, _):
                # No threads inside: engines read several partitions at a time.
                table = file.read_row_group(self.row_group, columns=wanted, use_threads=False)
        except ReleaseError:
            raise
        except UNREADABLE as error:
            raise ReleaseError(
                f"row group {self.row_group} of {self.path} cannot be read ({first_line(error)})",
                remedy="The file was damaged or changed since it was opened: restore it or write it again.",
            ) from error
        if wanted is not None:
            table = table.select(wanted)
        return table.slice(self.start, self.num_rows)

    def split(self, max_rows: int) -> list[Partition]:
        return [
            FilePartition(
                self.path,
                self.row_group,
                min(max_rows, self.num_rows - offset),
                self.dictionary_columns,
                self.start + offset,
            )
            for offset in self._starts(max_rows)
        ]


@dataclass(frozen=True, eq=False)
class TablePartition(Partition):
    """Rows in memory."""

    table: pa.Table

    @property
    def num_rows(self) -> int:  # type: ignore[override]
        return int(self.table.num_rows)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        return self.table if columns is None else self.table.select(list(columns))

    def split(self, max_rows: int) -> list[Partition]:
        return [TablePartition(self.table.slice(start, max_rows)) for start in self._starts(max_rows)]
