"""Apache Spark: partitions are read, cached and summed by its executors; parameters go there, sums come back."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa

from askance.engines.base import Job
from askance.engines.sources import PARTITION_ROWS, RecordSource, Source, even_groups, sendable, thinned
from askance.engines.spark.cached import CachedBlocks, cached
from askance.engines.spark.cluster import new_session, running_session
from askance.engines.spark.errors import clear_errors
from askance.engines.spark.rows import DataFrameRows
from askance.engines.spark.workers import (
    BLOCKS,
    PARTS,
    RESULTS,
    Merge,
    ReadBlocks,
    Reader,
    ReadTable,
    Sum,
    ToBlocks,
    read_parts,
    run_jobs,
    values,
)
from askance.errors import InvalidInput
from askance.statistics.base import Statistic, merged

Batch = TypeVar("Batch")
Value = TypeVar("Value")

_TASKS_PER_CORE = 2  # so that a core that is through with a short task finds another one
_MERGED_HERE = 32  # so many sums are added up on the driver; more are added up by executors first


@dataclass(frozen=True, eq=False)
class SparkEngine:
    """Reduce on the executors of a Spark session, which must see the files under the same paths or addresses.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        It goes on running: :meth:`close` stops only what :meth:`start` started.
    tasks : int, optional
        How many pieces a pass is cut into; two for each core if not given.

    Examples
    --------
    >>> engine = SparkEngine(session)  # doctest: +SKIP
    >>> ask.IndirectClassifier().fit_release("s3://bucket/survey", engine)  # doctest: +SKIP
    """

    session: Any = field(repr=False)
    tasks: int | None = None
    started: bool = False

    @classmethod
    def start(cls, master: str | None = None) -> "SparkEngine":
        """Use the program's session; or else start one at a master, or on all cores of this machine."""
        with clear_errors():
            running = running_session()
            if running is None:
                return cls(new_session(master or "local[*]"), started=True)
        found = running.sparkContext.master
        if master not in (None, found):
            raise InvalidInput(
                f"Spark at {master}, while this program has a session at {found}",
                "one Spark in a program",
                "Leave the address out to use the session, or stop it first.",
            )
        return cls(running)

    def close(self) -> None:
        if self.started:
            with suppress(ConnectionError):  # Java may have ended before
                self.session.stop()

    def reduce(self, statistic: Statistic[Batch, Value], source: Source[Batch]) -> Value:
        if not source.partitions():
            return statistic.empty()
        with clear_errors():
            rows, read = self._rows(source)
            sums = _numbered(rows.mapInArrow(Sum(statistic, read), _ddl(RESULTS)))
            tasks = self._tasks
            while tasks > _MERGED_HERE:
                tasks = math.ceil(math.sqrt(tasks))
                sums = _numbered(sums.repartition(tasks, "task").mapInArrow(Merge(statistic), _ddl(RESULTS)))
            total: Value = merged(statistic, values(sums.collect()))
        return total

    def cache(self, source: RecordSource) -> CachedBlocks:
        if isinstance(source, CachedBlocks):
            return source
        if not source.partitions():
            return CachedBlocks((), None)
        with clear_errors():
            rows, read = self._rows(source)
            return cached(rows.mapInArrow(ToBlocks(read), _ddl(BLOCKS)))

    def sample(self, source: RecordSource, rows: int) -> RecordSource:
        if not isinstance(source, CachedBlocks) and _dataframe_of(source) is None:
            return self.cache(thinned(source, rows))
        whole = self.cache(source)
        chosen = thinned(whole, rows).parts
        if not chosen:
            return whole
        blocks: list[Any] = [part.part for part in chosen]
        with clear_errors():
            some = whole.dataframe.where(f"number in ({', '.join(str(block.number) for block in blocks)})")
            thin = some.mapInArrow(ToBlocks(ReadBlocks(chosen[0].stride)), _ddl(BLOCKS))
            # A task has its price, and few records do not deserve one for each piece of the whole.
            return cached(thin.repartition(min(self._tasks, math.ceil(rows / PARTITION_ROWS))))

    def map(self, jobs: Sequence[Job[Value]]) -> list[Value]:
        if not jobs:
            return []
        with clear_errors():
            # One job in a task: after a failure only that one is run again.
            done = self._spread([[job] for job in jobs]).mapInArrow(run_jobs, _ddl(RESULTS))
            return [result for results in values(_numbered(done).collect()) for result in results]

    @cached_property
    def _tasks(self) -> int:
        return self.tasks or _TASKS_PER_CORE * int(self.session.sparkContext.defaultParallelism)

    def _rows(self, source: Source[Any]) -> tuple[Any, Reader]:
        """The source as a DataFrame, and what a worker makes of its rows."""
        if isinstance(source, CachedBlocks):
            return source.dataframe, ReadBlocks()
        parts: Sequence[Any] = source.partitions()
        rows = _dataframe_of(source)
        if rows is None:
            return self._spread(even_groups(sendable(parts, "Spark"), self._tasks)), read_parts
        empty = replace(parts[0], part=None)  # the description travels, the DataFrame does not
        table, as_table = rows.select(parts[0].columns)
        return table.coalesce(self._tasks), ReadTable(empty, as_table)

    def _spread(self, groups: Sequence[Sequence[Any]]) -> Any:
        """A DataFrame with one task for each group of descriptions."""
        from pyspark import cloudpickle

        described = [(number, cloudpickle.dumps(list(group))) for number, group in enumerate(groups)]
        rows = self.session.createDataFrame(described, PARTS)
        # After this exchange the descriptions lie with the executors: later passes over what was read do not send them.
        return rows.repartitionByRange(len(described), "task")


def _dataframe_of(source: Source[Any]) -> DataFrameRows | None:
    """The DataFrame behind a source, if it is one."""
    parts = source.partitions()
    rows = getattr(parts[0], "part", None) if len(parts) == 1 else None
    return rows if isinstance(rows, DataFrameRows) else None


def _numbered(rows: Any) -> Any:
    """Add the number of the task that a row comes from."""
    from pyspark.sql import functions

    return rows.withColumn("task", functions.spark_partition_id())


def _ddl(schema: pa.Schema) -> str:
    kinds = {pa.int64(): "long", pa.binary(): "binary", pa.string(): "string"}
    return ", ".join(f"{column.name} {kinds[column.type]}" for column in schema)
