"""Parameters that are one number for all attributes, or one for each."""

from collections.abc import Iterable, Sequence
from typing import Any

from askance.channels.given_numbers import as_number
from askance.errors import InvalidInput


def one_or_each(given: Any, name: str, wanted: str) -> float | tuple[float, ...]:
    """Return a number, or a tuple of numbers; a tuple of equal ones stays one for each."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        each = tuple(as_number(one, name, wanted) for one in given)
        if not each:
            raise InvalidInput(f"{name}={given!r}", f"{wanted}, for all attributes or for each")
        return each
    return as_number(given, name, wanted)


def agreed_width(dim: int | None, **lengths: int | None) -> int | None:
    """Return how many attributes there are by all that was said; None if nothing was."""
    said = {name: length for name, length in {"dim": dim, **lengths}.items() if length is not None}
    if len(set(said.values())) > 1:
        counts = ", ".join(f"{name} says {length}" for name, length in said.items())
        raise InvalidInput(f"parameters for different numbers of attributes: {counts}", "one number of attributes")
    return next(iter(said.values()), None)


def span(numbers: Sequence[float]) -> str:
    """Write one number, or from the smallest to the largest."""
    least, most = min(numbers), max(numbers)
    return f"{least:.4g}" if least == most else f"{least:.4g} to {most:.4g}"
