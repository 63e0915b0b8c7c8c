"""A release: what crosses the trust boundary. Reports and covariates, with a header that explains them.

On disk it is one Parquet file or a folder of them; in memory an Arrow table. Either way rows are reached in
partitions, so that a release may be far larger than memory.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from askance.channels.base import ReportChannel
from askance.errors import InvalidInput, ReleaseError
from askance.files.location import UNREADABLE, Location, StrPath, first_line
from askance.releases.declared_columns import conform_reports
from askance.releases.header import Header, Question
from askance.releases.partition import FilePartition, TablePartition
from askance.releases.partition import Partition as Partition
from askance.tables.data_files import METADATA_KEY

_FOOTERS_AT_A_TIME = 16


@dataclass(frozen=True, eq=False)
class Release:
    """Privatised rows and the header that says how they came about.

    Made by :func:`read_release`, :meth:`from_table`, or ``askance privatize``.

    Parameters
    ----------
    header : Header
        Questions, channels, covariates, guarantee.
    parts : tuple of Partition
        Where the rows are.
    path : str, optional
        The file or folder, if it has one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from askance import Release, Warner
    >>> from askance.releases.header import Header, Question
    >>> header = Header(questions=(Question("cheated", Warner(0.8)),))
    >>> release = Release.from_table(pa.table({"cheated": ["no", "yes", "no"]}), header)
    >>> release
    Release(3 rows; questions: cheated; epsilon 1.386 per person)
    """

    header: Header
    parts: tuple[Partition, ...] = field(repr=False)
    path: str | None = None

    @classmethod
    def from_table(cls, table: pa.Table, header: Header) -> "Release":
        """Make a release of rows in memory; columns are checked and stored as the header declares them."""
        return cls(header, (TablePartition(conform_reports(table, header)),))

    @property
    def num_rows(self) -> int:
        """How many people there are."""
        return sum(part.num_rows for part in self.parts)

    @property
    def columns(self) -> list[str]:
        """Names of all columns: reports, designs, covariates."""
        return list(self.header.schema.names)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        return self.header.schema

    def question(self, name: str | None = None) -> Question:
        """Return a question by name, or the only one there is."""
        return self.header.question(name)

    def channel(self, question: str | None = None) -> ReportChannel:
        """Return how the answers to a question were hidden."""
        return self.question(question).channel

    def partitions(self, max_rows: int | None = None) -> list[Partition]:
        """Return the parts of the release, each with at most ``max_rows`` rows if that is given."""
        if max_rows is None:
            return list(self.parts)
        if max_rows < 1:
            raise InvalidInput(f"max_rows={max_rows}", "at least 1")
        return [piece for part in self.parts for piece in part.split(max_rows)]

    def to_table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Read everything into memory."""
        if columns is not None:
            self._check_columns(columns)
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        tables = [part.read(schema.names) for part in self.parts]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        """Read some columns of the first rows."""
        tables: list[pa.Table] = []
        for part in self.parts:
            if not tables or rows > 0:
                tables.append(part.head(columns, rows))
                rows -= tables[-1].num_rows
        return pa.concat_tables(tables) if tables else pa.schema(map(self.schema.field, columns)).empty_table()

    @property
    def in_one_piece(self) -> bool:
        """Whether the rows are always seen all together."""
        return all(part.read_at_once for part in self.parts) and sum(part.num_rows > 0 for part in self.parts) < 2

    def _check_columns(self, columns: Sequence[str]) -> None:
        unknown = [name for name in columns if name not in self.columns]
        if unknown:
            raise InvalidInput(
                f"no column {', '.join(map(repr, unknown))} in the release",
                f"some of {', '.join(self.columns)}",
            )

    def write(self, path: StrPath, *, overwrite: bool = False, rows_per_part: int | None = None) -> "Release":
        """Write to a Parquet file, or to a folder of them with ``rows_per_part``; return what was written."""
        from askance.releases.writer import ReleaseWriter

        with ReleaseWriter(path, self.header, overwrite=overwrite, rows_per_part=rows_per_part) as writer:
            for part in self.parts:
                writer.write(part.read(self.columns))
        return read_release(path)

    def __repr__(self) -> str:
        names = ", ".join(question.name for question in self.header.questions)
        where = f"{self.path!r}, " if self.path else ""
        epsilon = self.header.guarantee.epsilon
        return f"Release({where}{self.num_rows:,} rows; questions: {names}; epsilon {epsilon:.4g} per person)"


def read_release(path: StrPath) -> Release:
    """Open a release: a Parquet file, or a folder of part files. No rows are read yet.

    Besides a path on this machine it may be an address that fsspec understands, such as ``s3://bucket/survey``.

    Hidden and temporary files in a folder (names that begin with "." or "_", or end with ".tmp") are
    passed over.

    Raises
    ------
    ReleaseError
        If there is no such release, or a file is damaged, foreign, or does not belong with the others.

    Examples
    --------
    >>> import tempfile
    >>> from askance import Study, read_release
    >>> from askance.releases.privatizing import privatize_table
    >>> study = Study.parse('''
    ... [questions.cheated]
    ... choices = ["no", "yes"]
    ... channel = { design = "warner", p = 0.8 }
    ... ''')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = privatize_table(study, {"cheated": ["no", "yes"]}).write(f"{folder}/survey.parquet")
    ...     read_release(f"{folder}/survey.parquet").channel()
    Warner(p=0.8, classes=('no', 'yes'))
    """
    place = Location.of(path)
    files = _files(place)
    headers: dict[bytes | None, Header] = {}
    parts: list[Partition] = []
    # Many files may be far away: several footers are on their way at a time.
    with ThreadPoolExecutor(_FOOTERS_AT_A_TIME) as pool:
        for file, (metadata, schema) in zip(files, pool.map(_footer, files), strict=True):
            # Parts of one study say the same, byte by byte, so that it is read once.
            said = (metadata.metadata or {}).get(METADATA_KEY)
            if said not in headers:
                headers[said] = Header.from_metadata(metadata.metadata, str(file))
                _check_same_study(headers, file, files[0])
            parts += _row_groups(headers[said], metadata, schema, file)
    return Release(next(iter(headers.values())), tuple(parts), str(place))


def _files(place: Location) -> list[Location]:
    """Return the file, or the part files of a folder."""
    try:
        kind = place.info().type
        entries = place.entries() if kind == FileType.Directory else []
    except UNREADABLE as error:
        raise ReleaseError(f"{place} cannot be opened ({first_line(error)})") from error
    if kind == FileType.NotFound:
        raise ReleaseError(f"there is no release at {place}", "a Parquet file or a folder of them")
    if kind != FileType.Directory:
        return [place]
    files = [entry for entry in entries if not (entry.name.startswith((".", "_")) or entry.name.endswith(".tmp"))]
    if not files:
        raise ReleaseError(f"the folder {place} has no part files", "Parquet files written by askance")
    return files


def _footer(file: Location) -> tuple[pq.FileMetaData, pa.Schema]:
    try:
        with file.parquet() as parquet:
            return parquet.metadata, parquet.schema_arrow
    except UNREADABLE as error:
        raise ReleaseError(
            f"{file} cannot be read as Parquet ({_why(file, error)})",
            "a release written by askance",
            "If it is a release, it was cut off or damaged on its way: copy or write it again.",
        ) from error


def _check_same_study(headers: dict[bytes | None, Header], file: Location, first: Location) -> None:
    """Check that the newest header describes what the first one does."""
    *earlier, newest = headers.values()
    if earlier and not earlier[0].same_study(newest):
        raise ReleaseError(
            f"the header of {file} differs from that of {first.name}",
            "one study in a folder: the same questions, channels and covariates",
            "Keep the parts of each study in a folder of their own.",
        )


def _row_groups(header: Header, metadata: pq.FileMetaData, schema: pa.Schema, file: Location) -> list[Partition]:
    _check_schema(header, schema, file)
    text_reports = tuple(
        question.name
        for question in header.questions
        if pa.types.is_dictionary(header.schema.field(question.name).type)
    )
    return [
        FilePartition(file.absolute(), number, metadata.row_group(number).num_rows, text_reports)
        for number in range(metadata.num_row_groups)
    ]


def _check_schema(header: Header, schema: pa.Schema, file: Location) -> None:
    declared = {column.name: _value_type(column.type) for column in header.schema}
    found = {column.name: _value_type(column.type) for column in schema}
    for name in declared | found:
        if declared.get(name) != found.get(name):
            raise ReleaseError(
                f"the column {name!r} of {file} has type {found.get(name, 'none (it is missing)')}",
                f"{declared.get(name, 'no such column')}, as the header says",
                "The file was changed after askance wrote it: write it again.",
            )


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _why(file: Location, error: BaseException) -> str:
    if isinstance(error, PermissionError):
        return "no permission"
    try:
        info = file.info()
        if info.type == FileType.Directory:
            return "it is a folder"
        if info.size == 0:
            return "it is empty"
        return "its end is missing" if file.first_bytes(4) == b"PAR1" else "it does not begin like one"
    except UNREADABLE:
        return first_line(error)
