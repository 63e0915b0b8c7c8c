"""Where sums run.

An engine has four verbs. ``reduce`` sums a statistic over a source; ``cache`` and ``sample`` bring records, or an
evenly spread part of them, near to where they will be summed again and again; ``map`` runs small jobs where the data
are.
Only parameters, sums and descriptions of partitions travel; records stay.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol, TypeVar, runtime_checkable

from askance.engines.sources import RecordSource, Source
from askance.errors import AskanceError, InvalidInput
from askance.statistics.base import Statistic

Batch = TypeVar("Batch")
Value = TypeVar("Value")
Result = TypeVar("Result", covariant=True)


class Job(Protocol[Result]):
    """Something to be done on a worker: small to send, with a small result. It may be run more than once."""

    def run(self) -> Result:
        """Do it."""


@runtime_checkable
class Engine(Protocol):
    """Computes statistics over the records of a source."""

    def reduce(self, statistic: Statistic[Batch, Value], source: Source[Batch]) -> Value:
        """Return the sum over every partition."""

    def cache(self, source: RecordSource) -> RecordSource:
        """Keep the records where they will be summed, if they fit: an iterative fit then reads no file twice."""

    def sample(self, source: RecordSource, rows: int) -> RecordSource:
        """Return, and cache, about ``rows`` records spread evenly over a source."""

    def map(self, jobs: Sequence[Job[Value]]) -> list[Value]:
        """Run jobs and return their results in order."""

    def close(self) -> None:
        """Let go of what the engine started itself."""


# Name -> module and class. Each module is the only one that imports its engine, and does so when it is asked for.
_BY_NAME = {
    "local": ("askance.engines.local.engine", "LocalEngine"),
    "dask": ("askance.engines.dask.engine", "DaskEngine"),
    "spark": ("askance.engines.spark.engine", "SparkEngine"),
}


def engine_from(engine: "str | Engine") -> Engine:
    """Return the engine of a name, or the given one.

    Names are "local", "dask" and "spark"; the last two take an address after a colon, such as
    ``"dask:tcp://10.0.0.1:8786"`` or ``"spark:local[2]"``. Without one, Dask and Spark use what the program has
    connected to already, or else start workers on this machine.

    Examples
    --------
    >>> engine_from("local")
    LocalEngine(threads=None, progress=False, memory=268435456)
    """
    if not isinstance(engine, str):
        if not isinstance(engine, Engine):
            raise InvalidInput(f"engine={engine!r}", f"one of {', '.join(_BY_NAME)}, or an engine")
        return engine
    name, _, address = engine.partition(":")
    if name not in _BY_NAME or (address and name == "local"):
        raise InvalidInput(
            f"engine={engine!r}", f"one of {', '.join(_BY_NAME)}", "An address follows a colon: dask:tcp://host:8786."
        )
    module, kind = _BY_NAME[name]
    made: Any = getattr(import_module(module), kind)
    started: Engine = made.start(address) if address else made() if name == "local" else made.start()
    return started


def not_installed(name: str, extra: str, error: ImportError) -> AskanceError:
    """Return the error that an engine's packages are missing."""
    return AskanceError(
        f"the {name} engine is not installed ({error})", remedy=f"Install it: pip install 'askance[{extra}]'"
    )


@contextmanager
def running(engine: "str | Engine") -> Iterator[Engine]:
    """Give the engine of a name for the time of a ``with`` block; a given engine is used and left open."""
    made = engine_from(engine)
    try:
        yield made
    finally:
        if made is not engine:
            made.close()
