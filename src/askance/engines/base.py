"""Where sums run."""

from typing import Protocol, TypeVar

from askance.engines.sources import Source
from askance.errors import InvalidInput
from askance.statistics.base import Statistic

Value = TypeVar("Value")


class Engine(Protocol):
    """Computes a statistic over all records of a source."""

    def reduce(self, statistic: Statistic[Value], source: Source) -> Value:
        """Return the sum over every partition."""


def engine_from(engine: "str | Engine") -> Engine:
    """Return the engine of a name, or the given one.

    Examples
    --------
    >>> engine_from("local")
    LocalEngine(threads=None, progress=False)
    """
    if not isinstance(engine, str):
        if not hasattr(engine, "reduce"):
            raise InvalidInput(f"engine={engine!r}", 'the name "local", or an object with a reduce method')
        return engine
    if engine == "local":
        from askance.engines.local import LocalEngine

        return LocalEngine()
    raise InvalidInput(f"engine={engine!r}", 'the name "local", or an object with a reduce method')
