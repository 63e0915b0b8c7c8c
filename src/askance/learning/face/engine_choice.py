"""Fits that run in one process only."""

from typing import Any

from askance.errors import InvalidInput


def refuse_engine(engine: Any, what: str) -> None:
    """Refuse another engine than this process for a fit that is not made of sums over parts."""
    if engine != "local":
        raise InvalidInput(
            f"engine={engine!r}", f"engine='local': {what} goes over all rows together, not over sums of parts"
        )
