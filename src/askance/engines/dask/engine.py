"""A Dask cluster: partitions are read, cached and summed on its workers; parameters go there, sums come back."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from askance.engines.base import Job
from askance.engines.dask.cached import CachedRecords
from askance.engines.dask.cluster import address_of, connect, distributed_module, workers_on_this_machine
from askance.engines.dask.errors import plain_error
from askance.engines.dask.workers import bytes_a_row, merge, observe_cached, observe_read, read, run, thin
from askance.engines.sources import RecordSource, Source, even_groups, sendable, thinned
from askance.errors import AskanceError
from askance.statistics.base import Statistic

Batch = TypeVar("Batch")
Value = TypeVar("Value")

_SECONDS_FOR_A_WORKER = 30  # a new worker imports Python and numpy, on a busy machine
_SECONDS_BETWEEN_CHECKS = 15  # without work for two of these, a cluster counts as dead
_FAN_IN = 8  # how many sums one task adds up
_TASKS_PER_THREAD = 8  # of files that are read: enough to keep all threads busy until the end


@dataclass(frozen=True, eq=False, repr=False)
class DaskEngine:
    """Reduce on the workers of a Dask cluster, which must see the files under the same paths or addresses.

    Parameters
    ----------
    client : distributed.Client
        A connection to the cluster. It stays open: :meth:`close` closes only what :meth:`start` opened.
    memory_share : float
        Records stay on the workers between passes if they take at most this share of the workers' memory.

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
        distributed = distributed_module()
        if address is not None:
            client = connect(distributed, address)
            return cls(client, opened=(client,))
        try:
            return cls(distributed.default_client())
        except ValueError:  # the program has none
            cluster = workers_on_this_machine(distributed)
        client = distributed.Client(cluster, set_as_default=False)
        return cls(client, opened=(client, cluster))

    def __repr__(self) -> str:
        if self.client.status != "running":
            return f"DaskEngine({self.client.status})"
        threads = self.client.nthreads()
        return f"DaskEngine({self._address!r}, workers={len(threads)}, threads={sum(threads.values())})"

    def close(self) -> None:
        # All work is done: that idle workers on a busy machine are slow to go is nothing that people need to read.
        logging.getLogger("distributed.nanny").setLevel(logging.ERROR)
        for thing in self.opened:
            thing.close()

    def reduce(self, statistic: Statistic[Batch, Value], source: Source[Batch]) -> Value:
        parts = source.partitions()
        if not parts:
            return statistic.empty()
        with self._watched() as tasks:
            if isinstance(source, CachedRecords):
                values = self._map(observe_cached, [part.batches for part in source.parts], statistic=statistic)
            else:
                groups = even_groups(sendable(parts, "Dask"), _TASKS_PER_THREAD * len(self._threads()))
                values = self._map(observe_read, groups, statistic=statistic)
            tasks += values
            while len(values) > 1:
                handfuls = [values[start : start + _FAN_IN] for start in range(0, len(values), _FAN_IN)]
                values = self._map(merge, handfuls, statistic=statistic)
                tasks += values
            total: Value = self._result(values[0])
        return total

    def cache(self, source: RecordSource) -> RecordSource:
        if isinstance(source, CachedRecords) or not source.num_rows:
            return source
        parts = sendable(source.partitions(), "Dask")
        with self._watched() as tasks:
            threads = self._threads()
            tasks += self._map(bytes_a_row, [next(part for part in parts if part.num_rows)])
            if self._result(tasks[0]) * source.num_rows > self.memory_share * self._memory():
                return source
            # One group for each thread, at its worker: no task waits, so none is taken over by an idle worker, and
            # every later pass is shared out as evenly. Only where a worker is lost do others take over.
            groups = even_groups(parts, len(threads))
            kept = [
                self.client.submit(read, group, workers=[worker], allow_other_workers=True, pure=False)
                for group, worker in zip(groups, threads, strict=False)
            ]
        return CachedRecords.of(kept, [sum(part.num_rows for part in group) for group in groups])

    def sample(self, source: RecordSource, rows: int) -> RecordSource:
        chosen = thinned(source, rows)
        if not isinstance(source, CachedRecords):
            return self.cache(chosen)
        whole: Any = [some.part for some in chosen.parts]
        with self._watched():
            kept = self._map(thin, [part.batches for part in whole], stride=chosen.parts[0].stride)
        return CachedRecords.of(kept, [part.num_rows for part in chosen.parts])

    def map(self, jobs: Sequence[Job[Value]]) -> list[Value]:
        if not jobs:
            return []
        with self._watched() as tasks:
            self._threads()
            tasks += self._map(run, jobs)
            # All have ended, well or not, before the caller hears of a failure: none is still writing files then.
            for task in tasks:
                self._wait(task)
            results: list[Value] = self.client.gather(tasks)
        return results

    # -- the cluster ---------------------------------------------------------------------------------

    @property
    def _address(self) -> str:
        return address_of(self.client)

    def _map(self, function: Any, over: Sequence[Any], **arguments: Any) -> list[Any]:
        # New names every time: a sum over files that changed meanwhile must not come from the scheduler's memory. And
        # one group of names for each call: Dask would take the tasks of many passes, which all depend on the same few
        # cached records, for a stream of tasks with hardly any input, and place them without regard to where that is.
        group = f"{function.__name__}-{uuid4().hex}"
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
                task.exception(timeout=_SECONDS_BETWEEN_CHECKS)
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
    def _watched(self) -> Iterator[list[Any]]:
        """Give a list for the tasks that are started. If anything fails they are called off, and the error says why."""
        tasks: list[Any] = []
        try:
            yield tasks
        except BaseException as error:
            # Not left to Python: whoever keeps the error, as a notebook does, would keep the tasks running.
            if self.client.status == "running":
                self.client.cancel(tasks)
            plain = plain_error(error, self.client)
            if plain is None:
                raise
            raise plain from error
