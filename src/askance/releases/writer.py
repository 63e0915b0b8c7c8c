"""Writing a release so that it is either there and whole, or not there at all."""

import contextlib
import os
import secrets
import shutil
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from askance.errors import InvalidInput, ReleaseError
from askance.files.kinds import REPORTS, FileKind
from askance.files.targets import refuse_another_kind
from askance.releases import manifest
from askance.releases.header import Header
from askance.releases.sealed_parquet import SealingWriter
from askance.releases.signatures import FORMAT as SIGNATURE
from askance.releases.signatures import IN_FOLDER

# What a folder holds besides its parts.
_BESIDE = {manifest.NAME: FileKind.of_format(manifest.FORMAT), IN_FOLDER: FileKind.of_format(SIGNATURE)}
# To open and read a group takes one or two milliseconds; a thread needs as long to sum so many rows of a few columns.
ROW_GROUP_ROWS = 1 << 17
_SMALL_GROUP_BYTES = 1 << 20  # where rows are a byte or two, groups are larger
_LARGE_GROUP_BYTES = 1 << 26  # and smaller where rows are images: several are in memory at a time, decoded
_MOST_GROUP_ROWS = 8 * ROW_GROUP_ROWS  # with so many, a million reports still make one task for each of a few threads


class ReleaseWriter:
    """Stream rows into a release.

    Rows go to a hidden temporary file (or folder) beside the goal, which takes its name only when the
    ``with`` block ends well. Otherwise it is removed, and whatever was there before stays as it was.

    Parameters
    ----------
    path : path
        The file, or the folder of part files if ``rows_per_part`` is given.
    header : Header
        What the rows are; their columns are ``header.schema``.
    overwrite : bool
        Replace what is there. Refused otherwise.
    rows_per_part : int, optional
        Write a folder of part files with this many rows each.
    part : bool
        Whether the file will be one of several in a folder, which gets a manifest.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Header,
        *,
        overwrite: bool = False,
        rows_per_part: int | None = None,
        part: bool = False,
    ) -> None:
        self.path = Path(path)
        self.part = part
        self.header = header
        self.overwrite = overwrite
        self.rows_per_part = rows_per_part
        self.num_rows = 0
        if rows_per_part is not None and rows_per_part < 1:
            raise InvalidInput(f"rows_per_part={rows_per_part}", "at least 1")
        if not self.path.parent.is_dir():
            raise ReleaseError(
                f"cannot write {self.path}: there is no folder {self.path.parent}", remedy="Make it first."
            )
        refuse_existing(self.path, overwrite)
        self._schema = header.schema.with_metadata(header.to_metadata(sealed=True))
        self._temporary = self.path.parent / f".{self.path.name}.{secrets.token_hex(6)}.tmp"
        self._file: SealingWriter | None = None
        self._parts = 0
        self._rows_in_part = 0
        self._pending: list[pa.Table] = []
        self._pending_rows = 0

    def __enter__(self) -> Self:
        if self.rows_per_part is not None:
            self._temporary.mkdir()
        return self

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows; their columns must be those of the header."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
        if table.schema.names != self._schema.names:
            raise InvalidInput(f"rows with the columns {table.schema.names}", f"{self._schema.names}")
        table = table.cast(self._schema)
        self.num_rows += table.num_rows
        self._pending.append(table)
        self._pending_rows += table.num_rows
        while self._pending_rows >= self._room():
            self._write_group(self._room())

    def _room(self) -> int:
        """How many rows the next row group takes."""
        if self.rows_per_part is None:
            return self._group_rows
        return min(self._group_rows, self.rows_per_part - self._rows_in_part)

    @cached_property
    def _group_rows(self) -> int:
        """How many rows a row group has: more where a row is a few bytes, since every group has a price to read."""
        bytes_a_row = sum(_bytes_of(field.type) for field in self._schema)
        if bytes_a_row * ROW_GROUP_ROWS > _LARGE_GROUP_BYTES:  # images: a group must fit into memory several times
            return max(1, _LARGE_GROUP_BYTES // bytes_a_row)
        return min(max(ROW_GROUP_ROWS, _SMALL_GROUP_BYTES // max(bytes_a_row, 1)), _MOST_GROUP_ROWS)

    def _write_group(self, rows: int) -> None:
        # One dictionary for all batches of the group: a row group stores its labels once.
        pending = pa.concat_tables(self._pending).unify_dictionaries()
        group, rest = pending.slice(0, rows), pending.slice(rows)
        if self._file is None:
            self._file = self._open_part()
        self._file.write_table(group, row_group_size=self._group_rows)
        self._pending, self._pending_rows = [rest], rest.num_rows
        self._rows_in_part += group.num_rows
        if self._rows_in_part == self.rows_per_part:
            self._close_part()

    def _open_part(self) -> SealingWriter:
        numbers = [field.name for field in self._schema if pa.types.is_floating(field.type)]
        labels = [name for name in self._schema.names if name not in numbers]
        part = self.part or self.rows_per_part is not None
        # Bytes of numbers are put beside their like before they are compressed. Five kinds of made-up columns (normal,
        # ages, money, indicators, single precision) take 12 ns a number to read, of about as many bytes, where they
        # took 17; without compression it would be 6, of two to forty times the bytes, which a cold disk has to read.
        return SealingWriter(
            self._part_path(),
            self._schema,
            part=part,
            compression="zstd",
            use_dictionary=labels,
            use_byte_stream_split=numbers,
        )

    def _part_path(self) -> Path:
        if self.rows_per_part is None:
            return self._temporary
        return self._temporary / f"part-{self._parts:05d}.parquet"

    def _close_part(self) -> None:
        if self._file is not None:
            self._file.close()
            _flush_to_disk(self._part_path())
            self._file, self._rows_in_part = None, 0
            self._parts += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._remove_temporary()

    def _finish(self) -> None:
        if self._pending_rows or not self.num_rows:
            self._pending = self._pending or [self._schema.empty_table()]
            self._write_group(max(self._pending_rows, 1))
        self._close_part()
        if self.rows_per_part is not None:
            manifest.write_manifest(self._temporary)
        put_in_place(self._temporary, self.path, overwrite=self.overwrite)

    def _remove_temporary(self) -> None:
        if self._file is not None:
            # The sink may be the very thing that failed (a full disk).
            with contextlib.suppress(OSError, pa.ArrowException):
                self._file.abandon()
        _remove(self._temporary)


def refuse_existing(path: Path, overwrite: bool) -> None:
    """Refuse a place that is taken, unless it may be overwritten; only ever a release is overwritten."""
    if os.path.lexists(path) and not overwrite:
        raise ReleaseError(f"{path} exists already", remedy="Choose another name, or say overwrite (--overwrite).")
    # What is replaced is gone: true answers, a study file, a ledger, a folder of other things must not be. Readers pass
    # over hidden files in a folder, and so these count too.
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        refuse_another_kind(file, _BESIDE.get(file.name, REPORTS) if file != path else REPORTS)


def put_in_place(temporary: Path, path: Path, *, overwrite: bool) -> None:
    """Give a finished release, file or folder, its name."""
    refuse_existing(path, overwrite)
    if path.is_dir() or (temporary.is_dir() and path.exists()):
        # A folder cannot be replaced in one step: the earlier release is kept under a hidden
        # name until the new one is in place.
        earlier = path.parent / f".{path.name}.{secrets.token_hex(6)}.old.tmp"
        os.replace(path, earlier)
        try:
            os.replace(temporary, path)
        except OSError:
            os.replace(earlier, path)
            raise
        _remove(earlier)
    else:
        os.replace(temporary, path)
    _flush_to_disk(path.parent)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _flush_to_disk(path: Path) -> None:
    """Wait until the file or folder is really on disk, so that a power cut cannot leave an empty name."""
    if os.name != "posix" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _bytes_of(kind: pa.DataType) -> int:
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # text
        return 16
