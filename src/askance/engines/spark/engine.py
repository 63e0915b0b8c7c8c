"""Apache Spark: partitions are read, held and summed by its executors; parameters go there, sums come back."""

import math
import os
import pickle
import socket
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Thread
from typing import Any, NoReturn, TypeVar

import pyarrow as pa

from askance.engines.arrow_rows import (
    BLOCKS,
    PARTS,
    RESULTS,
    Hold,
    Merge,
    ReadBlocks,
    Reader,
    ReadTable,
    Sum,
    merged,
    read_parts,
    run_jobs,
    values,
)
from askance.engines.base import Job
from askance.engines.sources import PARTITION_ROWS, RecordSource, Source, even_groups, sendable, thinned
from askance.engines.spark.errors import clear_errors, reason
from askance.engines.spark.rows import DataFrameRows
from askance.engines.spark.rows import spark_release as spark_release
from askance.errors import AskanceError, InvalidInput
from askance.statistics.base import Statistic

Batch = TypeVar("Batch")
Value = TypeVar("Value")

_TASKS_PER_CORE = 2
_MERGED_HERE = 32  # so many sums are added up on the driver; more are added up by executors first
_SECONDS_TO_CONNECT = 5


# -- records that executors hold ---------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Records that an executor holds: which, and how many."""

    number: int
    num_rows: int

    def load(self) -> NoReturn:
        raise InvalidInput("records that Spark's executors hold", "engine='spark'")


@dataclass(frozen=True, eq=False)
class HeldBlocks:
    """Records in the cache of Spark's executors, and on their disks where memory ends."""

    dataframe: Any
    blocks: tuple[Block, ...]

    @property
    def num_rows(self) -> int:
        return sum(block.num_rows for block in self.blocks)

    def partitions(self) -> tuple[Block, ...]:
        return self.blocks


# -- the engine --------------------------------------------------------------------------------------


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
            running = _running_session()
            if running is None:
                return cls(_new_session(master or "local[*]"), started=True)
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
            return merged(statistic, sums.collect())

    def hold(self, source: RecordSource) -> HeldBlocks:
        if isinstance(source, HeldBlocks):
            return source
        if not source.partitions():
            return HeldBlocks(None, ())
        with clear_errors():
            rows, read = self._rows(source)
            return _held(rows.mapInArrow(Hold(read), _ddl(BLOCKS)))

    def look(self, source: RecordSource, rows: int) -> RecordSource:
        if not isinstance(source, HeldBlocks) and _dataframe_of(source) is None:
            return self.hold(thinned(source, rows))
        held = self.hold(source)
        chosen = thinned(held, rows).parts
        if not chosen:
            return held
        blocks: list[Any] = [part.part for part in chosen]
        with clear_errors():
            some = held.dataframe.where(f"number in ({', '.join(str(block.number) for block in blocks)})")
            thin = some.mapInArrow(Hold(ReadBlocks(chosen[0].stride)), _ddl(BLOCKS))
            # A task has its price, and few records do not deserve one for each piece of the whole.
            return _held(thin.repartition(min(self._tasks, math.ceil(rows / PARTITION_ROWS))))

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
        if isinstance(source, HeldBlocks):
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


def _held(blocks: Any) -> HeldBlocks:
    """Fill the cache; let go of it with the source."""
    from pyspark import StorageLevel
    from pyspark.sql import functions

    # Not serialised, as PySpark's other levels are: Java's serialiser keeps the last hundred blocks of each task alive.
    numbered = blocks.withColumn("number", functions.monotonically_increasing_id())
    kept = numbered.persist(StorageLevel.MEMORY_AND_DISK_DESER)
    try:
        found = kept.select("number", "num_rows", "error").collect()
        for row in found:
            if row["error"] is not None:
                raise pickle.loads(row["error"])
    except BaseException:
        _forget(kept)
        raise
    held = HeldBlocks(kept, tuple(Block(row["number"], row["num_rows"]) for row in found))
    # In a thread of its own: the collector may run while this one is in the middle of a talk with Java.
    weakref.finalize(held, lambda: Thread(target=_forget, args=(kept,), daemon=True).start()).atexit = False
    return held


def _forget(blocks: Any) -> None:
    with suppress(Exception):  # the session may be gone, and the cache with it
        blocks.unpersist()


def _numbered(rows: Any) -> Any:
    """Add the number of the task that a row comes from."""
    from pyspark.sql import functions

    return rows.withColumn("task", functions.spark_partition_id())


def _ddl(schema: pa.Schema) -> str:
    kinds = {pa.int64(): "long", pa.binary(): "binary", pa.string(): "string"}
    return ", ".join(f"{column.name} {kinds[column.type]}" for column in schema)


# -- sessions ----------------------------------------------------------------------------------------


def _running_session() -> Any:
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise AskanceError(
            f"the Spark engine is not installed ({error})", remedy="Install it: pip install 'askance[spark]'"
        ) from error
    # The session of another thread is the program's as well; only the context knows of it.
    return None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()


def _new_session(master: str) -> Any:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _check_reachable(master)
    settings = {
        "spark.master": master,
        "spark.app.name": "askance",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Passes are cut evenly to begin with: planning them anew while they run doubles the time of a short one.
        "spark.sql.adaptive.enabled": "false",
    }
    if master.startswith("local"):
        settings |= {"spark.driver.host": "localhost", "spark.driver.bindAddress": "127.0.0.1"}
    conf = SparkConf().setAll(list(settings.items()))
    with tempfile.TemporaryFile() as log, _same_python():
        try:
            # What Java says goes to a file that nobody sees, unless it does not start.
            gateway = SparkContext._gateway or launch_gateway(conf, {"stderr": log})
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:
            log.seek(0)
            why = _complaint(log.read()) if "JAVA_GATEWAY_EXITED" in str(error) else reason(error)
            raise AskanceError(
                f"Spark did not start at {master} ({why})",
                "Java 17 or newer, and a master such as local[2] or spark://host:7077",
                "On Debian: apt-get install default-jre-headless",
            ) from error


@contextmanager
def _same_python() -> Iterator[None]:
    """Let workers run the Python of this program, unless the environment names another."""
    named = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = named or sys.executable
    try:
        yield
    finally:
        if named is None:
            del os.environ["PYSPARK_PYTHON"]


def _check_reachable(master: str) -> None:
    """Try to connect: Spark itself would take a minute to give up, and not say why."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.partition(":")
        try:
            with socket.create_connection((host, int(port or 7077)), _SECONDS_TO_CONNECT):
                return
        except (OSError, ValueError):
            pass
    raise AskanceError(
        f"no Spark master answers at {master}", "an address such as spark://10.0.0.1:7077", "See whether it is running."
    )


def _complaint(log: bytes) -> str:
    """What the launcher said about Java, or last."""
    lines = log.decode(errors="replace").strip().splitlines() or ["it said nothing"]
    return next((line for line in lines if "java" in line.lower()), lines[-1])
