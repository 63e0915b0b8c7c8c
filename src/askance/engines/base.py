"""Where sums run."""

from typing import Protocol, TypeVar

from askance.engines.sources import RecordSource, Source
from askance.errors import InvalidInput
from askance.statistics.base import Statistic

Batch = TypeVar("Batch")
Value = TypeVar("Value")


class Engine(Protocol):
    """Computes a statistic over all records of a source."""

    def hold(self, source: RecordSource) -> RecordSource:
        """Keep the records where they will be summed, if they fit: an iterative fit then reads no file twice."""

    def reduce(self, statistic: Statistic[Batch, Value], source: Source[Batch]) -> Value:
        """Return the sum over every partition."""


def engine_from(engine: "str | Engine") -> Engine:
    """Return the engine of a name, or the given one.

    Examples
    --------
    >>> engine_from("local")
    LocalEngine(threads=None, progress=False, memory=268435456)
    """
    if not isinstance(engine, str):
        if not (hasattr(engine, "reduce") and hasattr(engine, "hold")):
            raise InvalidInput(f"engine={engine!r}", 'the name "local", or an object with the methods hold and reduce')
        return engine
    if engine == "local":
        from askance.engines.local import LocalEngine

        return LocalEngine()
    raise InvalidInput(f"engine={engine!r}", 'the name "local", or an object with the methods hold and reduce')
