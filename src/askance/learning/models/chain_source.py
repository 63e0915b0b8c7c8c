"""Sentences of a release with their reports, read and made into tables where they are summed.

A fit goes over all sentences many times. Where they are, their tables stay in memory from one pass to the next, as far
as there is room; only descriptions of partitions, parameters and sums travel.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.arrays import Codes
from askance.channels.labels.per_token import PerToken
from askance.channels.sequences import Sequences
from askance.errors import InvalidInput
from askance.learning.models.token_features import TokenTable, token_table
from askance.releases.partition import Partition
from askance.releases.release import Release

_ROOM = 1 << 28  # bytes of tables that a process keeps: those of some million tokens


class Sentences(NamedTuple):
    """A batch: the features of its tokens, and the report codes."""

    tokens: TokenTable
    codes: Codes

    @property
    def nbytes(self) -> int:
        table = self.tokens.table
        return int(table.data.nbytes + table.indices.nbytes + table.indptr.nbytes + self.codes.nbytes)


@dataclass(frozen=True)
class SentenceReader:
    """Turns rows of a release into sentences: small, holds no data.

    Parameters
    ----------
    question, words : str
        The column of reports and that of words.
    channel : PerToken
    function : function of a sentence, optional
        Returns for each token the names of its features.
    design_column : str, optional
    names : tuple of str
        The features that the model has; empty as long as these are not known.
    """

    question: str
    words: str
    channel: PerToken
    function: Callable[[Any], Any] | None
    design_column: str | None = None
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        design = [self.design_column] if self.design_column else []
        return tuple(dict.fromkeys([self.question, self.words, *design]))

    def reports(self, table: pa.Table) -> Sequences:
        """The report codes of all tokens."""
        design = table[self.design_column] if self.design_column else None
        return self.channel.encode_reports(table[self.question], design)

    def sentences(self, table: pa.Table) -> Sentences:
        """Decode a table that has ``columns``."""
        codes = self.reports(table)
        tokens = token_table(Sequences.of(table[self.words]), self.function, self.names)
        check_same_lengths(tokens.starts, codes.starts)
        return Sentences(tokens, codes.flat)

    def seen(self, table: pa.Table, reports: int) -> "Seen":
        """How often each feature and each report occurs in a table."""
        words, codes = Sequences.of(table[self.words]), self.reports(table)
        check_same_lengths(words.starts, codes.starts)
        counts = Counter[str]()
        for sentence in words.lists():
            for token in sentence if self.function is None else self.function(sentence):
                counts.update(set(token))
        lengths = codes.lengths
        return Seen(
            counts,
            np.bincount(codes.flat, minlength=reports),
            len(codes),
            int(lengths.sum()),
            int(lengths.max(initial=0)),
        )


class Seen(NamedTuple):
    """What a first pass finds: features by the number of their tokens, reports, sentences, tokens, the longest one."""

    features: Counter[str]
    reports: NDArray[np.int64]
    sentences: int
    tokens: int
    longest: int


def check_same_lengths(words: NDArray[np.int64], reports: NDArray[np.int64]) -> None:
    """Refuse sentences that have not as many reports as tokens."""
    if len(words) != len(reports):
        raise InvalidInput(f"{len(words) - 1} sentences and {len(reports) - 1} sequences of reports", "as many of both")
    lengths, reported = np.diff(words), np.diff(reports)
    if not np.array_equal(lengths, reported):
        row = int(np.flatnonzero(lengths != reported)[0])
        raise InvalidInput(
            f"sentence {row + 1} has {lengths[row]} tokens and {reported[row]} reports", "a report for each token"
        )


class _Kept:
    """Tables of this process, by the fit and the partition that they belong to; the fit that came last has the room."""

    def __init__(self) -> None:
        self.lock, self.fit, self.room, self.tables = Lock(), "", _ROOM, dict[int, Sentences]()

    def get(self, fit: str, number: int) -> Sentences | None:
        with self.lock:
            return self.tables.get(number) if fit == self.fit else None

    def put(self, fit: str, number: int, made: Sentences) -> None:
        with self.lock:
            if fit != self.fit:
                self.fit, self.room, self.tables = fit, _ROOM, {}
            if made.nbytes <= self.room and number not in self.tables:
                self.room -= made.nbytes
                self.tables[number] = made


_kept = _Kept()


@dataclass(frozen=True)
class SentencePartition:
    """One partition of a release: small to send, read and decoded where it is summed."""

    part: Partition
    reader: SentenceReader
    fit: str
    number: int

    @property
    def columns(self) -> tuple[str, ...]:
        return self.reader.columns

    @property
    def num_rows(self) -> int:
        return self.part.num_rows

    def load(self) -> Sentences:
        made = _kept.get(self.fit, self.number)
        if made is None:
            made = self.reader.sentences(self.part.read(self.columns))
            _kept.put(self.fit, self.number, made)
        return made


@dataclass(frozen=True, eq=False)
class SentenceSource:
    """All sentences of a release, in its own partitions."""

    release: Release
    reader: SentenceReader
    fit: str = field(default_factory=lambda: uuid4().hex)

    @property
    def num_rows(self) -> int:
        return self.release.num_rows

    def partitions(self) -> Sequence[SentencePartition]:
        parts = [part for part in self.release.partitions() if part.num_rows]
        return [SentencePartition(part, self.reader, self.fit, number) for number, part in enumerate(parts)]

    def with_names(self, names: tuple[str, ...]) -> "SentenceSource":
        """The same with the features that the model has."""
        return replace(self, reader=replace(self.reader, names=names))
