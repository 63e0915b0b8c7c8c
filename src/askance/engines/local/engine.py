"""This machine: partitions are summed in threads, a bounded number of them in memory at a time."""

import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from askance.engines.base import Job
from askance.engines.sources import RecordSource, Source, SourcePartition, cached_in_memory, thinned
from askance.statistics.base import Statistic

Batch = TypeVar("Batch")
Value = TypeVar("Value")


@dataclass(frozen=True)
class LocalEngine:
    """Reduce in threads of this process.

    Parameters
    ----------
    threads : int, optional
        How many; one per available core if not given.
    progress : bool
        Show a progress bar on standard error when it is a terminal.
    memory : int
        Records that decode to fewer bytes than this are read once and kept during a fit.
    """

    threads: int | None = None
    progress: bool = False
    memory: int = 1 << 28

    def cache(self, source: RecordSource) -> RecordSource:
        return cached_in_memory(source, self.memory)

    def sample(self, source: RecordSource, rows: int) -> RecordSource:
        return self.cache(thinned(source, rows))

    def map(self, jobs: Sequence[Job[Value]]) -> list[Value]:
        with self._bar(len(jobs)) as advance, ThreadPoolExecutor(self.threads or available_cores()) as pool:
            waiting = [pool.submit(job.run) for job in jobs]
            try:
                results = []
                for future in waiting:
                    results.append(future.result())
                    advance()
                return results
            finally:
                for future in waiting:
                    future.cancel()

    def close(self) -> None:
        pass

    def reduce(self, statistic: Statistic[Batch, Value], source: Source[Batch]) -> Value:
        parts = source.partitions()
        workers = min(self.threads or available_cores(), len(parts)) if len(parts) > 1 else 1
        total = statistic.empty()
        with self._bar(len(parts)) as advance:
            if workers <= 1:
                for part in parts:
                    total = statistic.merge(total, statistic.observe(part.load()))
                    advance()
                return total
            # Threads share the cores already: the linear algebra below them must not start more.
            with _linear_algebra().limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
                for value in _in_order(pool, statistic, parts, ahead=2 * workers):
                    total = statistic.merge(total, value)
                    advance()
        return total

    @contextmanager
    def _bar(self, parts: int) -> Iterator[Any]:
        if not self.progress or parts < 2 or not sys.stderr.isatty():
            yield lambda: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("reading", total=parts)
            yield lambda: progress.advance(task)


def _in_order(
    pool: ThreadPoolExecutor, statistic: Statistic[Batch, Value], parts: Sequence[SourcePartition[Batch]], ahead: int
) -> Iterator[Value]:
    """Yield sums in the order of the partitions, with at most ``ahead`` of them under way.

    The order makes results repeatable to the last bit; the bound keeps memory bounded.
    """

    def observe(part: SourcePartition[Batch]) -> Value:
        return statistic.observe(part.load())

    waiting: deque[Future[Value]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(observe, part))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def available_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def one_thread_algebra() -> Iterator[None]:
    """Keep linear algebra to one thread: on matrices as small as a solver's, more of them only wait for each other."""
    with _linear_algebra().limit(limits=1, user_api="blas"):
        yield


@cache
def _linear_algebra() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
