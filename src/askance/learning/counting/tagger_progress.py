"""How far a fit of a tagger is: windows gone over, of those that will be."""

from collections.abc import Callable

Listener = Callable[[int, int], object]


class FitProgress:
    """Tells how many windows were gone over, pass by pass, and of how many; it never goes back.

    Examples
    --------
    >>> progress = FitProgress(lambda done, total: print(f"{done} of {total}"))
    >>> progress.plan(200)
    >>> progress.did(100)
    100 of 200
    >>> progress.plan(50)  # what is left turned out to be less work
    >>> progress.did(25)
    150 of 200
    >>> progress.end()
    200 of 200
    """

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._done, self._total, self._worth = 0.0, 0, 1.0

    def plan(self, windows: int) -> None:
        """Say how many windows are still to be gone over; not the first time, they fill what was left until then."""
        if self._total == 0:
            self._total = windows
        elif windows > 0:
            self._worth = (self._total - self._done) / windows

    def did(self, windows: int) -> None:
        """A pass over so many windows is done."""
        self._done = min(self._done + self._worth * windows, self._total)
        self._tell()

    def end(self) -> None:
        """All is done, also where it took fewer passes than were planned."""
        self._done = self._total
        self._tell()

    def _tell(self) -> None:
        if self._listener is not None and self._total:
            self._listener(round(self._done), self._total)
