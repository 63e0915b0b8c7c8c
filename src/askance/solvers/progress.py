"""How far long work is: loops within loops, told to whoever runs it and not handed through all that is called."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")
Listener = Callable[[int, int], object]  # is told how much is done, and of how much

_FINE = 1000  # what all of the work counts: a tenth of a per cent is seen


class _Part(NamedTuple):
    """A part of the work: who is told, where it begins and ends, of 1."""

    listener: Listener
    begin: float
    end: float


_part: ContextVar[_Part | None] = ContextVar("part", default=None)


@contextmanager
def telling(listener: Listener) -> Iterator[None]:
    """Tell how far the loops are that go by :func:`steps`; a telling within another is not heard outside."""
    before = _part.set(_Part(listener, 0.0, 1.0))
    try:
        yield
    finally:
        _part.reset(before)


def steps(items: Collection[Item], share: float = 1.0) -> Iterator[Item]:
    """Yield the items. Each is an equal part of the loop; a loop within the step of another is a part of that step.

    Parameters
    ----------
    items : collection
    share : float
        Of what is left to do here; loops that follow share the rest.

    Examples
    --------
    >>> told = []
    >>> with telling(lambda done, total: told.append(100 * done // total)):
    ...     for data in steps(["few", "many"], share=0.8):
    ...         for trial in steps(range(2)):
    ...             pass
    ...     for check in steps(["last"]):
    ...         pass
    >>> sorted(set(told))
    [20, 40, 60, 80, 100]
    """
    whole = _part.get()
    if whole is None:
        yield from items
        return
    listener, begin, end = whole
    rest = begin + share * (end - begin)
    step = (rest - begin) / max(len(items), 1)
    try:
        for done, item in enumerate(items):
            till = begin + step * (done + 1)
            _part.set(_Part(listener, till - step, till))
            yield item
            listener(round(_FINE * till), _FINE)
    finally:  # the loop may have been left early; after an error, when nobody listens any more
        here = _part.get()
        if here is not None and here.listener is listener:
            _part.set(_Part(listener, rest, end))
