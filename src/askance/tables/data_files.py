"""Tables from elsewhere: CSV, Parquet, spreadsheets, arrays (.npz), a file or a folder of them, a chunk at a time."""

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from askance.errors import InvalidInput
from askance.files.location import StrPath
from askance.frames import data_columns
from askance.tables.array_files import ARRAYS, array_chunks, array_names
from askance.tables.columns import check_present
from askance.tables.csv_quotes import check_quotes
from askance.tables.sheet_files import SHEETS, sheet_names, sheet_table, without_row_names

METADATA_KEY = b"askance"  # under which a Parquet file of ours keeps its header
_CHUNK_ROWS = 1 << 17  # of Parquet at a time: as many as a row group of a release has
_CHUNK_BYTES = 1 << 26  # ... unless rows are long (images): 64 MiB, which are in memory several times
_BLOCK_BYTES = 1 << 22  # of CSV at a time; no line may be longer
_HEADER_BYTES = 1 << 16  # so much of a CSV file is looked at to see what separates its columns
_ODD_LINE = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file: the table, where its first row is, and how much of the file has been read."""

    table: pa.Table
    first_row: int
    bytes_read: int


@dataclass(frozen=True)
class DataFile:
    """A CSV or Parquet file whose rows are read a chunk at a time.

    Parameters
    ----------
    path : Path
    columns : tuple of str
        The names of all columns.
    is_parquet : bool
    is_release : bool
        Whether it carries an askance header: then its answers are reports already.
    is_arrays : bool
        Whether it is a file of numpy arrays, one a column.
    is_sheet : bool
        Whether it is a spreadsheet.
    delimiter : str
        What stands between two fields of a CSV file.
    """

    path: Path
    columns: tuple[str, ...]
    is_parquet: bool
    is_release: bool = False
    is_arrays: bool = False
    is_sheet: bool = False
    delimiter: str = ","

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size

    def chunks(self, columns: Sequence[str], row_groups: Sequence[int] | None = None) -> Iterator[Chunk]:
        """Yield the rows of some columns; those of a CSV file are text. Of a Parquet file, row groups may be chosen."""
        try:
            if self.is_parquet:
                yield from _parquet_chunks(self, list(columns), row_groups)
            elif self.is_arrays:
                for first_row, table, share in array_chunks(self.path, list(columns)):
                    yield Chunk(table, first_row, int(share * self.size))
            elif self.is_sheet:
                yield Chunk(sheet_table(self.path, columns), 0, self.size)
            else:
                yield from _csv_chunks(self, list(columns))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{self.path} cannot be read: {_plainly(error)}") from error


@dataclass(frozen=True)
class Data:
    """A file, or all files of a folder: their headers have been read, and no rows yet."""

    path: Path
    files: tuple[DataFile, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the first file."""
        return self.files[0].columns

    @property
    def is_release(self) -> bool:
        """Whether some file carries an askance header."""
        return any(file.is_release for file in self.files)

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse a file that lacks a column or has it twice."""
        for file in self.files:
            check_present(names, file.columns, str(file.path))

    def read(self, names: Sequence[str]) -> pa.Table:
        """Read some columns of all rows, as they are."""
        self.check_columns(names)
        tables = [chunk.table for file in self.files for chunk in file.chunks(names)]
        if not tables or not (table := pa.concat_tables(tables, promote_options="permissive")).num_rows:
            raise InvalidInput(f"{self.path} has no rows", "at least one")
        return table


def open_data(path: StrPath) -> Data:
    """Open a CSV or Parquet file, or all visible files of a folder in the order of their names."""
    place = Path(path)
    if not place.exists():
        raise InvalidInput(f"there is no data file {place}", "a CSV, Parquet or .npz file, or a folder of them")
    if not place.is_dir():
        return Data(place, (_open_file(place),))
    visible = sorted(entry for entry in place.iterdir() if not entry.name.startswith((".", "_")))
    if not visible:
        raise InvalidInput(f"the folder {place} is empty", "CSV or Parquet files")
    return Data(place, tuple(map(_open_file, visible)))


def _open_file(path: Path) -> DataFile:
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder within a folder", "files only", "Name the inner folder instead.")
    with path.open("rb") as file:
        beginning = file.read(4096)
    try:
        if beginning.startswith(b"PAR1"):
            with pq.ParquetFile(path) as parquet:
                released = METADATA_KEY in (parquet.metadata.metadata or {})
                return DataFile(path, tuple(data_columns(parquet.schema_arrow.names)), True, released)
        if not beginning.strip():
            raise InvalidInput(f"{path} is empty", "a header line with column names, and rows")
        if path.suffix.lower() == ARRAYS:
            return DataFile(path, tuple(array_names(path)), False, is_arrays=True)
        if path.suffix.lower() in SHEETS:
            return DataFile(path, sheet_names(path), False, is_sheet=True)
        if beginning.startswith(b"PK"):
            raise InvalidInput(
                f"{path} looks like a spreadsheet or a zip archive",
                "CSV or Parquet, arrays in a file called .npz, or a spreadsheet with its own ending (.xlsx, .ods)",
                "Save it as CSV from the spreadsheet program.",
            )
        if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InvalidInput(f"{path} is text in UTF-16", "CSV in UTF-8, which spreadsheet programs call CSV UTF-8")
        if beginning.startswith(b"\x1f\x8b") and not _codec(path):
            raise InvalidInput(
                f"{path} is compressed by gzip", "a name that ends with .gz", "On a pipe: gunzip -c first."
            )
        if b"\0" in beginning and not _codec(path):
            raise InvalidInput(f"{path} is neither text nor Parquet", "CSV (in UTF-8), Parquet or arrays (.npz)")
        columns, delimiter = _csv_header(path)
        check_quotes(lambda: pa.input_stream(str(path), compression=_codec(path)), delimiter, str(path))
        return DataFile(path, columns, False, delimiter=delimiter)
    except (pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        if beginning.startswith(b"PAR1") and not _ends_as_parquet(path):
            raise InvalidInput(
                f"{path} cannot be read as Parquet: its end is missing",
                "a whole file",
                "It was cut off or damaged on its way: copy or write it again.",
            ) from error
        raise InvalidInput(
            f"{path} cannot be read: {_plainly(error)}", "CSV (in UTF-8, with a header line) or Parquet"
        ) from error


def _ends_as_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-4, os.SEEK_END)
        return file.read() == b"PAR1"


def _parquet_chunks(data: DataFile, columns: list[str], row_groups: Sequence[int] | None) -> Iterator[Chunk]:
    with pq.ParquetFile(data.path) as file:
        rows = max(file.metadata.num_rows, 1)
        first_row = 0
        for group in range(file.metadata.num_row_groups):
            if row_groups is not None and group not in row_groups:
                first_row += file.metadata.row_group(group).num_rows
                continue
            held = file.metadata.row_group(group)
            at_once = min(_CHUNK_ROWS, max(1, held.num_rows * _CHUNK_BYTES // max(held.total_byte_size, 1)))
            for batch in file.iter_batches(batch_size=at_once, row_groups=[group], columns=columns):
                read = data.size * (first_row + batch.num_rows) // rows
                yield Chunk(pa.Table.from_batches([batch]), first_row, read)
                first_row += batch.num_rows


def _csv_chunks(data: DataFile, columns: list[str]) -> Iterator[Chunk]:
    first_row = 0
    codec = _codec(data.path)
    with (
        pa.OSFile(str(data.path)) as raw,
        pa.csv.open_csv(
            pa.CompressedInputStream(raw, codec) if codec else raw,
            # One thread: only then does Arrow know the number of an odd line. No handler for such lines either: Arrow's
            # reading thread would hold a Python object, and abort the process if that ends first.
            read_options=pa.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=pa.csv.ParseOptions(delimiter=data.delimiter, newlines_in_values=True),
            # Values are taken as text and converted by us, so that a fault can be told with its row.
            convert_options=pa.csv.ConvertOptions(
                include_columns=columns, column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False
            ),
        ) as reader,
    ):
        for batch in reader:
            yield Chunk(pa.Table.from_batches([batch]), first_row, min(raw.tell(), data.size))
            first_row += batch.num_rows


def _csv_header(path: Path) -> tuple[tuple[str, ...], str]:
    """Return the names of the columns, and what separates them: semicolons in spreadsheets of half of Europe."""
    with pa.input_stream(str(path), compression=_codec(path)) as stream:
        bytes_read = io.BufferedReader(stream, _HEADER_BYTES)
        first_line = bytes_read.peek(_HEADER_BYTES).partition(b"\n")[0]
        delimiter = max((",", ";", "\t"), key=lambda mark: first_line.count(mark.encode()))
        text = io.TextIOWrapper(bytes_read, encoding="utf-8-sig", newline="")
        return without_row_names(next(csv.reader(text, delimiter=delimiter), [])), delimiter


def _codec(path: Path) -> str | None:
    return _CODECS.get(path.suffix.lower())


def _plainly(error: BaseException) -> str:
    said = str(error).partition("\n")[0]
    if odd := _ODD_LINE.search(said):  # without what the line says: it may hold answers
        return f"line {odd[1]} has {odd[3]} fields where the header line has {odd[2]}"
    if isinstance(error, UnicodeDecodeError) or "UTF8" in said:
        return "it is not text in UTF-8; save it in that encoding"
    if "straddl" in said:
        return "a line is longer than 4 MiB, or a quotation mark is never closed"
    return said
