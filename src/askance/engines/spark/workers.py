"""What Spark's Python workers do: functions from Arrow batches to Arrow batches, small to send and without data.

Rows come in three kinds, each with a reader: descriptions of partitions, cached blocks of records, and rows of a table.
A result is one row, with a sum, or with the error that stopped it: an error that is raised on purpose comes back as a
value, so that Spark neither tries again in vain nor buries the message in a stack trace.
"""

import gc
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from askance.engines.base import Job
from askance.engines.sources import PARTITION_ROWS, concatenate
from askance.errors import AskanceError
from askance.releases.declared_columns import conform_columns
from askance.releases.header import Header
from askance.releases.partition import TablePartition
from askance.statistics.base import Records, Statistic, merged

Batch = TypeVar("Batch")
Value = TypeVar("Value")
Batches = Iterable[pa.RecordBatch]
Reader = Callable[[Batches], Iterator[Any]]

_BLOCK_BYTES = 1 << 22  # a few of these make up the 64 MiB that Spark hands to Python at a time

PARTS = "task long, parts binary"
RESULTS = pa.schema([("value", pa.binary()), ("error", pa.binary())])
BLOCKS = pa.schema(
    [
        ("num_rows", pa.int64()),
        ("features", pa.binary()),
        ("codes", pa.binary()),
        ("code_type", pa.string()),
        ("weights", pa.binary()),
        ("error", pa.binary()),
    ]
)


# -- readers -----------------------------------------------------------------------------------------


def read_items(batches: Batches) -> Iterator[Any]:
    """Descriptions of partitions, or jobs."""
    for batch in batches:
        for row in batch["parts"]:
            yield from pickle.loads(row.as_py())


def read_parts(batches: Batches) -> Iterator[Any]:
    """What described partitions hold, read here."""
    for part in read_items(batches):
        yield part.load()


@dataclass(frozen=True)
class ReadBlocks:
    """Records of cached blocks; every so many-th of them."""

    stride: int = 1

    def __call__(self, batches: Batches) -> Iterator[Records]:
        for batch in batches:
            for row in range(batch.num_rows):
                yield self._records({name: batch[name][row] for name in batch.schema.names})

    def _records(self, block: dict[str, pa.Scalar]) -> Records:
        # Copied: Arrow packs bytes without gaps, and the compiled sums want numbers at their own borders.
        def array(name: str, kind: str) -> Any:
            values = np.frombuffer(block[name].as_buffer(), dtype=kind)
            return values.reshape(block["num_rows"].as_py(), -1)[:: self.stride].copy()

        weights = array("weights", "f8")[:, 0] if block["weights"].is_valid else None
        codes = array("codes", block["code_type"].as_py())
        # A report about a whole row takes several numbers; most take one.
        return Records(array("features", "f8"), codes if codes.shape[1] > 1 else codes[:, 0], weights)


@dataclass(frozen=True)
class TableOfRows:
    """Gives the columns of a table their names and the types that a header declares."""

    names: tuple[str, ...]
    header: Header

    def __call__(self, table: pa.Table) -> pa.Table:
        return conform_columns(table.rename_columns(self.names), self.header, "the DataFrame")


@dataclass(frozen=True)
class ReadTable:
    """Rows of a table, as a partition of a release would give them.

    ``partition`` is such a partition without its rows, which are those of the table.
    """

    partition: Any
    as_table: TableOfRows

    def __call__(self, batches: Batches) -> Iterator[Any]:
        for table in self._tables(batches):
            yield replace(self.partition, part=TablePartition(self.as_table(table))).load()

    def _tables(self, batches: Batches) -> Iterator[pa.Table]:
        """Put Spark's small batches together: decoding has a price for each."""
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(one.num_rows for one in waiting) >= PARTITION_ROWS:
                yield pa.Table.from_batches(waiting)
                waiting = []
        if waiting:
            yield pa.Table.from_batches(waiting)


# -- what is done with them --------------------------------------------------------------------------


@dataclass(frozen=True)
class Sum(Generic[Batch, Value]):
    """One sum over all that a reader gives."""

    statistic: Statistic[Batch, Value]
    read: Reader

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        def total() -> Value:
            return merged(self.statistic, map(self.statistic.observe, self.read(batches)))

        yield _result(total, batches)


@dataclass(frozen=True)
class Merge(Generic[Value]):
    """One sum of several, merged in the order of the tasks they come from: repeatable to the last bit."""

    statistic: Statistic[Any, Value]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        yield _result(lambda: merged(self.statistic, values(rows)), batches)


def values(rows: Iterable[Any]) -> Iterator[Any]:
    """The values of results, in the order of their tasks; the first error is raised."""
    for row in sorted(rows, key=lambda row: row["task"]):
        if row["error"] is not None:
            raise pickle.loads(row["error"])
        yield pickle.loads(row["value"])


def run_jobs(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Run jobs; the result is the list of theirs."""

    def results() -> list[Any]:
        jobs: Iterator[Job[Any]] = read_items(batches)
        return [job.run() for job in jobs]

    yield _result(results, batches)


@dataclass(frozen=True)
class ToBlocks:
    """Records as blocks: their arrays as bytes, a few megabytes in a row."""

    read: Reader

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        try:
            yield from map(_block, _gathered(self.read(batches)))
        except AskanceError as error:
            yield _row(BLOCKS, num_rows=0, error=pickle.dumps(error))
            _exhaust(batches)
        _leave_modules_to_themselves(len(sys.modules))


def _gathered(all_records: Iterator[Records]) -> Iterator[Records]:
    waiting: list[Records] = []
    for records in all_records:
        if len(records):
            waiting.append(records)
        if sum(one.nbytes for one in waiting) >= _BLOCK_BYTES:
            yield concatenate(waiting)
            waiting = []
    if waiting:
        yield concatenate(waiting)


def _block(records: Records) -> pa.RecordBatch:
    return _row(
        BLOCKS,
        num_rows=len(records),
        features=records.features.tobytes(),
        codes=records.codes.tobytes(),
        code_type=records.codes.dtype.str,
        weights=None if records.weights is None else records.weights.tobytes(),
    )


def _result(compute: Callable[[], Any], batches: Batches) -> pa.RecordBatch:
    try:
        return _row(RESULTS, value=pickle.dumps(compute()))
    except AskanceError as error:
        _exhaust(batches)
        return _row(RESULTS, error=pickle.dumps(error))
    finally:
        _leave_modules_to_themselves(len(sys.modules))


def _exhaust(batches: Batches) -> None:
    """Take what is left: a worker that stops listening counts as broken."""
    for _ in batches:
        pass


@cache
def _leave_modules_to_themselves(imported: int) -> None:
    """Take what was imported so far out of the collector's sight.

    Spark's workers collect garbage after every task. To walk over all that was imported takes a tenth of a second,
    which is more than a small sum does, and nothing there is ever garbage.
    """
    gc.collect()
    gc.freeze()


def _row(schema: pa.Schema, **fields: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([fields], schema=schema)
