"""Records of a release, as statistics see them: features by column or by formula, reports by code."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.channels.base import ReportChannel
from askance.errors import InvalidInput, did_you_mean
from askance.releases.header import Question
from askance.releases.release import Partition, Release
from askance.statistics.base import Records

# Rows of a few columns that a core keeps close while all of their columns are written side by side.
_ROWS_AT_ONCE = 1 << 12


class FeatureReader(Protocol):
    """Turns columns of a table into a matrix of features."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns that must be read."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the features."""

    @property
    def intercept(self) -> bool:
        """Whether an intercept belongs to them."""

    def matrix(self, table: pa.Table) -> NDArray[np.float64]:
        """Features of a table, n x d."""


@dataclass(frozen=True)
class NumericColumns:
    """Numeric columns, taken as they are."""

    columns: tuple[str, ...]
    intercept: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    def matrix(self, table: pa.Table) -> NDArray[np.float64]:
        columns = [self._numbers(name, table[name]) for name in self.columns]
        matrix = np.empty((table.num_rows, len(columns)))
        for start in range(0, len(matrix), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            for number, column in enumerate(columns):
                matrix[some, number] = column[some]
        return matrix

    def _numbers(self, name: str, column: pa.ChunkedArray) -> NDArray[Any]:
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InvalidInput(
                f"the column {name!r} holds {kind}",
                "numbers",
                f"Use a formula: C({name}) makes one indicator for each level.",
            )
        if column.null_count:
            raise missing_covariate(name, column.null_count)
        numbers: NDArray[Any] = column.to_numpy()
        finite = np.isfinite(numbers)
        if not finite.all():
            raise missing_covariate(name, int((~finite).sum()))
        return numbers


def missing_covariate(name: str, count: int) -> InvalidInput:
    """The error for covariates that are missing or not finite."""
    return InvalidInput(
        f"{count} values of {name!r} are missing or not finite",
        "a number in every row",
        "Drop or impute these rows first.",
    )


@dataclass(frozen=True)
class Decoder:
    """Turns rows of a release into records: small, holds no data, works wherever the rows are."""

    question: str
    channel: ReportChannel
    reader: FeatureReader
    design_column: str | None = None
    weight_column: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are needed, each once."""
        extra = [name for name in (self.design_column, self.weight_column) if name]
        return tuple(dict.fromkeys([self.question, *extra, *self.reader.columns]))

    def records(self, table: pa.Table) -> Records:
        """Decode a table that has ``columns``."""
        design = None if self.design_column is None else table[self.design_column]
        codes = self.channel.encode_reports(table[self.question], design)
        return Records(self.reader.matrix(table), codes, self._weights(table))

    def _weights(self, table: pa.Table) -> NDArray[np.float64] | None:
        if self.weight_column is None:
            return None
        weights = NumericColumns((self.weight_column,)).matrix(table)[:, 0]
        if weights.min(initial=0.0) < 0:
            raise InvalidInput(f"negative weights in {self.weight_column!r}", "weights of zero or more")
        return weights


@dataclass(frozen=True)
class DecodedPartition:
    """One partition of a release: small to send, read and decoded where it is summed."""

    part: Partition
    decoder: Decoder

    @property
    def columns(self) -> tuple[str, ...]:
        return self.decoder.columns

    @property
    def num_rows(self) -> int:
        return self.part.num_rows

    def load(self) -> Records:
        return self.decoder.records(self.part.read(self.columns))


@dataclass(frozen=True, eq=False)
class ReleaseRecords:
    """All records of a release, in its own partitions."""

    release: Release
    decoder: Decoder

    @cached_property
    def _parts(self) -> list[DecodedPartition]:
        return [DecodedPartition(part, self.decoder) for part in self.release.partitions()]

    def partitions(self) -> list[DecodedPartition]:
        return self._parts

    @property
    def num_rows(self) -> int:
        return self.release.num_rows


@dataclass(frozen=True)
class ColumnsPartition:
    """Some columns of one partition of a release, as they are."""

    part: Partition
    columns: tuple[str, ...]

    @property
    def num_rows(self) -> int:
        return self.part.num_rows

    def load(self) -> pa.Table:
        return self.part.read(self.columns)


@dataclass(frozen=True, eq=False)
class ReleaseColumns:
    """Some columns of a release, in its own partitions."""

    release: Release
    columns: tuple[str, ...]

    @property
    def num_rows(self) -> int:
        return self.release.num_rows

    def partitions(self) -> list[ColumnsPartition]:
        return [ColumnsPartition(part, self.columns) for part in self.release.partitions()]


def records_of(
    release: Release, question: str | Question | None, reader: FeatureReader, weight: str | None
) -> ReleaseRecords:
    """Return the records of one question of a release, by name or as it was found already."""
    asked = question if isinstance(question, Question) else release.question(question)
    checked_columns(release, [weight] if weight else [])
    return ReleaseRecords(release, Decoder(asked.name, asked.channel, reader, asked.design_column, weight))


def refuse_other_channel(given: Any, released: Any) -> None:
    """Refuse an estimator's own channel if the release was made with another."""
    if given is not None and given != released:
        raise InvalidInput(
            f"this estimator has {given!r}, but the release was made with {released!r}",
            "the release's own channel",
            "Leave channel=None: a release says how its reports were made.",
        )


def checked_columns(release: Release, columns: Sequence[Any]) -> tuple[str, ...]:
    """Check that a release has some columns."""
    absent = [name for name in columns if name not in release.columns]
    if absent:
        rows = {name: question.name for question in release.header.questions for name in question.sources}
        inside = [f"{name!r} is hidden inside {rows[name]!r}." for name in absent if name in rows]
        raise InvalidInput(
            f"the release has no column {', '.join(map(repr, absent))}",
            f"columns among {', '.join(release.columns)}",
            " ".join(inside) or did_you_mean(absent[0], release.columns),
        )
    packed = [question.name for question in release.header.questions if question.hides_numbers]
    hidden = [name for name in columns if name in packed]
    if hidden:
        raise InvalidInput(
            f"the column {', '.join(map(repr, hidden))} holds reports about hidden numbers: codes, not numbers",
            "covariates that are published as they are",
            "Hide both in one row (design private-row) to explain one by the other.",
        )
    return tuple(columns)
