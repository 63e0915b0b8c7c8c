"""A Dask cluster: partitions are read, held and summed on its workers; parameters go there, sums come back."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import current_process
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from askance.engines.base import Job
from askance.engines.local.engine import available_cores
from askance.engines.sources import (
    RecordSource,
    Source,
    SourcePartition,
    concatenate,
    even_groups,
    sendable,
    thinned,
)
from askance.errors import AskanceError
from askance.statistics.base import Records, Statistic

Batch = TypeVar("Batch")
Value = TypeVar("Value")

_SECONDS_TO_CONNECT = 15  # a reachable scheduler answers in milliseconds, and on a very busy machine in seconds
_SECONDS_FOR_A_WORKER = 30
_SECONDS_BETWEEN_LOOKS = 15
_FAN_IN = 8  # how many sums one task adds up
_TASKS_PER_THREAD = 8  # of files that are read: enough to keep all threads busy until the end


@dataclass(frozen=True, eq=False)
class Batches:
    """Records as a worker holds them."""

    records: list[Records]

    def __sizeof__(self) -> int:
        # By this Dask knows what a worker has in memory, and what moving it would cost.
        return sum(array.nbytes for batch in self.records for array in batch if array is not None)


@dataclass(frozen=True, eq=False)
class HeldPartition:
    """A handle of records on a worker. Should the worker be lost, Dask reads them again on another."""

    batches: Any  # a Dask future of Batches
    num_rows: int

    def load(self) -> Records:
        """Fetch the records from the worker. No engine does."""
        return concatenate(self.batches.result().records)


@dataclass(frozen=True, eq=False)
class HeldSource:
    """Records on the workers of a cluster."""

    parts: tuple[HeldPartition, ...]

    @property
    def num_rows(self) -> int:
        return sum(part.num_rows for part in self.parts)

    def partitions(self) -> tuple[HeldPartition, ...]:
        return self.parts


@dataclass(frozen=True, eq=False, repr=False)
class DaskEngine:
    """Reduce on the workers of a Dask cluster, which must see the files under the same paths or addresses.

    Parameters
    ----------
    client : distributed.Client
        A connection to the cluster. It stays open: :meth:`close` closes only what :meth:`start` opened.
    memory_share : float
        Records are held on the workers between passes if they take at most this share of the workers' memory.

    Examples
    --------
    >>> from distributed import Client  # doctest: +SKIP
    >>> with Client("tcp://10.0.0.1:8786") as client:  # doctest: +SKIP
    ...     ask.IndirectClassifier().fit_release("s3://bucket/survey", DaskEngine(client))
    """

    client: Any
    memory_share: float = 0.5
    opened: tuple[Any, ...] = ()

    @classmethod
    def start(cls, address: str | None = None) -> "DaskEngine":
        """Connect to the scheduler at an address; or use the program's client; or else start workers on this machine.

        Such workers are processes of one thread, one for each core. They talk over TLS with keys of their own, so that
        nobody else on this machine can give them work.
        """
        distributed = _distributed()
        if address is not None:
            client = _connect(distributed, address)
            return cls(client, opened=(client,))
        try:
            return cls(distributed.default_client())
        except ValueError:  # the program has none
            cluster = _workers_on_this_machine(distributed)
        client = distributed.Client(cluster, set_as_default=False)
        return cls(client, opened=(client, cluster))

    def __repr__(self) -> str:
        if self.client.status != "running":
            return f"DaskEngine({self.client.status})"
        threads = self.client.nthreads()
        return f"DaskEngine({self._address!r}, workers={len(threads)}, threads={sum(threads.values())})"

    def close(self) -> None:
        for thing in self.opened:
            thing.close()

    def reduce(self, statistic: Statistic[Batch, Value], source: Source[Batch]) -> Value:
        parts = source.partitions()
        if not parts:
            return statistic.empty()
        with self._undertaking() as tasks:
            if isinstance(source, HeldSource):
                values = self._map(_observe_held, [part.batches for part in source.parts], statistic=statistic)
            else:
                groups = even_groups(sendable(parts, "Dask"), _TASKS_PER_THREAD * len(self._threads()))
                values = self._map(_read_and_observe, groups, statistic=statistic)
            tasks += values
            while len(values) > 1:
                handfuls = [values[start : start + _FAN_IN] for start in range(0, len(values), _FAN_IN)]
                values = self._map(_merge, handfuls, statistic=statistic)
                tasks += values
            total: Value = self._result(values[0])
        return total

    def hold(self, source: RecordSource) -> RecordSource:
        if isinstance(source, HeldSource) or not source.num_rows:
            return source
        parts = sendable(source.partitions(), "Dask")
        with self._undertaking() as tasks:
            threads = self._threads()
            tasks += self._map(_bytes_a_row, [next(part for part in parts if part.num_rows)])
            bytes_a_row = self._result(tasks[0])
            if bytes_a_row * source.num_rows > self.memory_share * self._memory():
                return source
            # One group for each thread, at its worker: no task waits, so none is taken over by an idle worker, and
            # every later pass is shared out as evenly. Only where a worker is lost do others take over.
            groups = even_groups(parts, len(threads))
            held = [
                self.client.submit(_read, group, workers=[worker], allow_other_workers=True, pure=False)
                for group, worker in zip(groups, threads, strict=False)
            ]
        return _held(held, [sum(part.num_rows for part in group) for group in groups])

    def look(self, source: RecordSource, rows: int) -> RecordSource:
        look = thinned(source, rows)
        if not isinstance(source, HeldSource):
            return self.hold(look)
        held: Any = [thin.part for thin in look.parts]
        with self._undertaking():
            kept = self._map(_thin, [part.batches for part in held], stride=look.parts[0].stride)
        return _held(kept, [part.num_rows for part in look.parts])

    def map(self, jobs: Sequence[Job[Value]]) -> list[Value]:
        if not jobs:
            return []
        with self._undertaking() as tasks:
            self._threads()
            tasks += self._map(_run, jobs)
            # All have ended, well or not, before the caller hears of a failure: none is still writing files then.
            for task in tasks:
                self._wait(task)
            results: list[Value] = self.client.gather(tasks)
        return results

    # -- the cluster ---------------------------------------------------------------------------------

    @property
    def _address(self) -> str:
        return str(self.client.scheduler.address)

    def _map(self, function: Any, over: Sequence[Any], **arguments: Any) -> list[Any]:
        # New names every time: a sum over files that changed meanwhile must not come from the scheduler's memory. And
        # one group of names for each call: Dask would take the tasks of many passes, which all depend on the same few
        # held records, for a stream of tasks with hardly any input, and place them without regard to where that is.
        group = f"{function.__name__.strip('_')}-{uuid4().hex}"
        names = [(group, number) for number in range(len(over))]
        futures: list[Any] = self.client.map(function, over, key=names, **arguments)
        return futures

    def _result(self, task: Any) -> Any:
        self._wait(task)
        return task.result()

    def _wait(self, task: Any) -> None:
        """Wait until a task has ended, well or not, as long as somebody works: a cluster that died must not hang us."""
        idle = 0
        while True:
            try:
                task.exception(timeout=_SECONDS_BETWEEN_LOOKS)
                return
            except TimeoutError:
                idle = 0 if any(self.client.processing().values()) else idle + 1
                if idle > 1:
                    raise AskanceError(
                        f"the Dask cluster at {self._address} stopped working before its work was done",
                        "workers that go on",
                        "Were they lost? Restart the cluster and try again.",
                    ) from None

    def _threads(self) -> list[str]:
        """Return the address of each worker as often as it has threads; wait if there is no worker yet."""
        if not (threads := self.client.nthreads()):
            try:
                self.client.wait_for_workers(1, timeout=_SECONDS_FOR_A_WORKER)
            except TimeoutError:
                raise AskanceError(
                    f"the Dask scheduler at {self._address} has no workers", remedy="Start some: dask worker ADDRESS"
                ) from None
            threads = self.client.nthreads()
        # In turn, so that few groups are spread over many workers.
        most = max(threads.values(), default=0)
        return [worker for turn in range(most) for worker in sorted(threads) if threads[worker] > turn]

    def _memory(self) -> float:
        """Return the bytes that all workers may use."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(worker["memory_limit"] or np.inf for worker in workers)

    @contextmanager
    def _undertaking(self) -> Iterator[list[Any]]:
        """Give a list for the tasks that are started. If anything fails they are called off, and the reason is told."""
        tasks: list[Any] = []
        try:
            yield tasks
        except BaseException as error:
            # Not left to Python: whoever keeps the error, as a notebook does, would keep the tasks running.
            if self.client.status == "running":
                self.client.cancel(tasks)
            told = self._told(error)
            if told is None:
                raise
            raise told from error

    def _told(self, error: BaseException) -> AskanceError | None:
        """Say plainly what became of the cluster. What askance itself says on a worker comes back as it is."""
        from distributed import KilledWorker

        if isinstance(error, AskanceError):
            return None
        if isinstance(error, KilledWorker):
            return AskanceError(
                f"Dask workers were lost again and again at the same piece of work ({error.task})",
                "workers that live",
                "Did they run out of memory? Give them more, or write the release in smaller parts.",
            )
        # What Dask says of connections has no number; the operating system's errors, which a job may meet, have one.
        if isinstance(error, CancelledError) or (isinstance(error, OSError) and error.errno is None):
            why = (str(error) or type(error).__name__).splitlines()[0]
            return AskanceError(
                f"the connection to the Dask scheduler at {self._address} was lost ({why})",
                remedy="See whether it is running, and start again.",
            )
        if isinstance(error, ModuleNotFoundError) or "deserialization of the task graph" in str(error):
            return AskanceError(
                f"the Dask cluster at {self._address} lacks a module ({_innermost(error)})",
                remedy="Install the same version of askance, with the same extras, on its scheduler and every worker.",
            )
        return None


def _innermost(error: BaseException) -> BaseException:
    return error if error.__cause__ is None else _innermost(error.__cause__)


def _held(batches: Sequence[Any], rows: Sequence[int]) -> HeldSource:
    return HeldSource(tuple(HeldPartition(future, number) for future, number in zip(batches, rows, strict=True)))


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise AskanceError(
            f"the Dask engine is not installed ({error})", remedy="Install it: pip install 'askance[dask]'"
        ) from error
    return distributed


def _connect(distributed: Any, address: str) -> Any:
    """Connect to a scheduler; knock first, because a client that fails to connect delays the end of the program."""

    async def knock() -> None:
        secrets = distributed.Security().get_connection_args("client")
        await (await distributed.comm.connect(address, timeout=_SECONDS_TO_CONNECT, **secrets)).close()

    try:
        with ThreadPoolExecutor(1) as thread:  # this one may have an event loop already, as in a notebook
            thread.submit(lambda: asyncio.run(knock())).result()
        return distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except Exception as error:  # a stranger's reply, read as Dask's, may even ask for more memory than there is
        raise AskanceError(
            f"no Dask scheduler answers at {address} ({type(error).__name__})",
            "an address such as tcp://10.0.0.1:8786",
            "Start one with: dask scheduler",
        ) from error


def _workers_on_this_machine(distributed: Any) -> Any:
    advice = "In a script, call askance below a line that says: if __name__ == '__main__':"
    if getattr(current_process(), "_inheriting", False):
        raise AskanceError("a Dask worker that starts workers, as it runs the script that started it", remedy=advice)
    try:
        return distributed.LocalCluster(
            n_workers=available_cores(),
            threads_per_worker=1,
            security=True,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},  # any port, this machine only
        )
    except RuntimeError as error:
        raise AskanceError(f"Dask workers could not be started ({error})", remedy=advice) from error


# -- what runs on the workers --------------------------------------------------------------------------


def _read(parts: Sequence[SourcePartition[Records]]) -> Batches:
    return Batches([part.load() for part in parts])


def _bytes_a_row(part: SourcePartition[Records]) -> float:
    records = part.load()
    return sum(array.nbytes for array in records if array is not None) / len(records)


def _observe(batches: Iterable[Batch], *, statistic: Statistic[Batch, Value]) -> Value:
    total = statistic.empty()
    for batch in batches:
        total = statistic.merge(total, statistic.observe(batch))
    return total


def _observe_held(batches: Batches, *, statistic: Statistic[Records, Value]) -> Value:
    return _observe(batches.records, statistic=statistic)


def _read_and_observe(parts: Sequence[SourcePartition[Batch]], *, statistic: Statistic[Batch, Value]) -> Value:
    return _observe((part.load() for part in parts), statistic=statistic)


def _merge(values: Sequence[Value], *, statistic: Statistic[Any, Value]) -> Value:
    total = statistic.empty()
    for value in values:
        total = statistic.merge(total, value)
    return total


def _thin(batches: Batches, *, stride: int) -> Batches:
    """Keep every so many-th record, counted over all batches."""
    kept, first = [], 0
    for batch in batches.records:
        every = slice(first, None, stride)
        weights = None if batch.weights is None else batch.weights[every].copy()
        kept.append(Records(batch.features[every].copy(), batch.codes[every].copy(), weights))
        first = (first - len(batch)) % stride
    return Batches(kept)


def _run(job: Job[Value]) -> Value:
    return job.run()
