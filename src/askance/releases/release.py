"""A release: what crosses the trust boundary. Reports and covariates, with a header that explains them.

On disk it is one Parquet file or a folder of them; in memory an Arrow table. Either way rows are reached in
partitions, so that a release may be far larger than memory.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from askance.channels.base import ReportChannel
from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput, ReleaseError
from askance.files.location import UNREADABLE, Location, StrPath, first_line
from askance.releases.declared_columns import conform_reports
from askance.releases.header import Header, Question
from askance.releases.manifest import check_manifest, digest_of_parts
from askance.releases.partition import FilePartition, TablePartition
from askance.releases.partition import Partition as Partition
from askance.releases.sealed_parquet import Seal, checked_parquet
from askance.releases.sequence_lengths import longest_lists
from askance.tables.data_files import METADATA_KEY

_FOOTERS_AT_A_TIME = 16  # a far store takes tens of milliseconds to answer: so, hundreds of files a second


class Footer(NamedTuple):
    """What the end of a Parquet file says."""

    file: Location
    metadata: pq.FileMetaData
    schema: pa.Schema
    seal: Seal | None


@dataclass(frozen=True, eq=False)
class Release:
    """Privatised rows and the header that says how they came about.

    Made by :func:`askance.read_release`, :meth:`from_table`, or ``askance privatize``.

    Parameters
    ----------
    header : Header
        Questions, channels, covariates, guarantee.
    parts : tuple of Partition
        Where the rows are.
    path : str, optional
        The file or folder, if it has one.
    digest : str, optional
        SHA-256 that stands for the whole file or folder, if it has one: those that askance 0.1.0 wrote have none.

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

    FORMAT: ClassVar[str] = Header.FORMAT
    VERSION: ClassVar[int] = Header.VERSION
    WHAT: ClassVar[str] = "a release of reports"
    FOR: ClassVar[str] = (
        "Reports are for IndirectClassifier and Prevalence (answers), IndirectRegressor (numbers) and SpreadClassifier "
        "(records)."
    )

    header: Header
    parts: tuple[Partition, ...] = field(repr=False)
    path: str | None = None
    digest: str | None = None

    @classmethod
    def read(cls, path: StrPath) -> "Release":
        """Open a Parquet file, or a folder of part files. No rows are read yet."""
        place = Location.of(path)
        return cls.of_footers(place, read_footers(place))

    @classmethod
    def of_footers(cls, place: Location, footers: Iterable[Footer]) -> "Release":
        """Open a release whose files have been looked at."""
        footers = list(footers)
        headers: dict[bytes | None, Header] = {}
        parts: list[Partition] = []
        first = None
        for footer in footers:
            first = first or footer.file
            # Parts of one study say the same, byte by byte, so that it is read once.
            said = (footer.metadata.metadata or {}).get(METADATA_KEY)
            if said not in headers:
                headers[said] = Header.from_metadata(footer.metadata.metadata, str(footer.file))
                _check_same_study(headers, footer.file, first)
            parts += _row_groups(headers[said], footer)
            _check_sealed(headers[said], footer)
        return cls(next(iter(headers.values())), tuple(parts), str(place), _digest(place, footers))

    @classmethod
    def from_table(cls, table: pa.Table, header: Header) -> "Release":
        """Make a release of rows in memory; columns are checked and stored as the header declares them."""
        return cls(header, (TablePartition(conform_reports(table, header)),))

    @property
    def guarantee(self) -> Guarantee:
        """The privacy of a person who answers every question; of a sequence, of one token."""
        return self.header.guarantee

    @cached_property
    def longest(self) -> dict[str, int]:
        """How many tokens the longest answer has to every question that hides sequences."""
        hidden = [question.name for question in self.header.questions if question.hides_sequences]
        read = (part.read(hidden) for part in self.parts if hidden)
        return longest_lists(read, hidden)

    @cached_property
    def whole_person(self) -> Guarantee:
        """The privacy of a person who answers every question, with the longest of all sequences that are there."""
        return self.header.guarantee_of(self.longest)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-able header."""
        return self.header.to_dict()

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
        return Release.read(path)

    def __repr__(self) -> str:
        names = ", ".join(question.name for question in self.header.questions)
        where = f"{self.path!r}, " if self.path else ""
        epsilon, promised = self.header.guarantee.epsilon, "per person"
        if any(question.hides_sequences for question in self.header.questions):
            promised += " and token of a sequence"
        return f"Release({where}{self.num_rows:,} rows; questions: {names}; epsilon {epsilon:.4g} {promised})"


def read_footers(place: Location) -> list[Footer]:
    """Look at the end of a Parquet file, or of each part file of a folder."""
    files = _files(place)
    # Many files may be far away: several footers are on their way at a time.
    with ThreadPoolExecutor(_FOOTERS_AT_A_TIME) as pool:
        footers = list(pool.map(_footer, files))
    if files != [place]:
        check_manifest(place, {footer.file.name: footer.seal for footer in footers})
    return footers


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


def _footer(file: Location) -> Footer:
    try:
        with checked_parquet(file) as (parquet, seal):
            return Footer(file, parquet.metadata, parquet.schema_arrow, seal)
    except ReleaseError:
        raise
    except UNREADABLE as error:
        raise ReleaseError(
            f"{file} cannot be read as Parquet ({_why(file, error)})",
            "a release written by askance",
            "If it is a release, it was cut off or damaged on its way: copy or write it again.",
        ) from error


def _check_sealed(header: Header, footer: Footer) -> None:
    """Check that a file that says it is sealed has a seal, and the rows that the seal says."""
    if header.sealed and (footer.seal is None or footer.seal.rows != footer.metadata.num_rows):
        raise ReleaseError(
            f"{footer.file} has lost its seal", "a file as it was written", "Copy it again, or ask for it again."
        )


def _digest(place: Location, footers: Sequence[Footer]) -> str | None:
    seals = {footer.file.name: footer.seal for footer in footers}
    if [footer.file for footer in footers] == [place]:
        return None if footers[0].seal is None else footers[0].seal.digest
    return digest_of_parts(seals)


def _check_same_study(headers: dict[bytes | None, Header], file: Location, first: Location) -> None:
    """Check that the newest header describes what the first one does."""
    *earlier, newest = headers.values()
    if earlier and earlier[0].made_up != newest.made_up:
        raise ReleaseError(
            f"{file} and {first.name}, of which one holds made-up answers", "answers of people only, or made-up ones"
        )
    if earlier and not earlier[0].same_study(newest):
        raise ReleaseError(
            f"the header of {file} differs from that of {first.name}",
            "one study in a folder: the same questions, channels and covariates",
            "Keep the parts of each study in a folder of their own.",
        )


def _row_groups(header: Header, footer: Footer) -> list[Partition]:
    _check_schema(header, footer)
    text_reports = tuple(
        question.name
        for question in header.questions
        if pa.types.is_dictionary(header.schema.field(question.name).type)
    )
    return [
        FilePartition(footer.file.absolute(), number, footer.metadata.row_group(number).num_rows, text_reports)
        for number in range(footer.metadata.num_row_groups)
    ]


def _check_schema(header: Header, footer: Footer) -> None:
    declared = {column.name: _value_type(column.type) for column in header.schema}
    found = {column.name: _value_type(column.type) for column in footer.schema}
    for name in declared | found:
        if declared.get(name) != found.get(name):
            raise ReleaseError(
                f"the column {name!r} of {footer.file} has type {found.get(name, 'none (it is missing)')}",
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
