"""One writer: what waits is written in one transaction, and acknowledged once that is on disk."""

import asyncio
import queue
import threading
from collections.abc import Sequence

from askance.collector.store import Outcome, Store, StoreUnavailable, Submission

# What a batch of 512 takes (some 10 ms) is still far below what anybody notices; more would not be faster.
LARGEST_BATCH = 512
_MOST_WAITING = 20_000  # responses: so many take under 100 MB, and a few seconds to write; beyond it people are told
_Waiting = tuple[Submission, "asyncio.Future[Outcome]", asyncio.AbstractEventLoop]


class Writer:
    """A thread that owns a store's connection and writes batches.

    Parameters
    ----------
    store : Store
    invited : bool
        Whether invitations must be there already.
    largest : int
        Of a batch.
    """

    def __init__(self, store: Store, *, invited: bool, largest: int = LARGEST_BATCH) -> None:
        self.store = store
        self.invited = invited
        self.largest = largest
        self._waiting: queue.Queue[_Waiting | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name="askance-writer", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, and end."""
        if self._thread.is_alive():
            self._waiting.put(None)
            self._thread.join()
        self.store.disconnect()

    @property
    def alive(self) -> bool:
        """Whether somebody writes."""
        return self._thread.is_alive()

    async def submit(self, submission: Submission) -> Outcome:
        """Return what became of a response, once it is on disk."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Outcome] = loop.create_future()
        try:
            self._waiting.put_nowait((submission, future, loop))
        except queue.Full:
            raise StoreUnavailable("too many responses wait to be written") from None
        return await future

    def _run(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, last = [first], False
            while len(batch) < self.largest:
                try:
                    more = self._waiting.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    last = True
                    break
                batch.append(more)
            self._write(batch)
            if last:
                return

    def _write(self, batch: Sequence[_Waiting]) -> None:
        try:
            outcomes: Sequence[Outcome | Exception]
            outcomes = self.store.take([submission for submission, _, _ in batch], invited=self.invited)
        except Exception as error:  # whatever it is: those who wait must hear of it, and the next batch is another
            failed = error if isinstance(error, StoreUnavailable) else StoreUnavailable(type(error).__name__)
            outcomes = [failed] * len(batch)
            self._recover()
        for (_, future, loop), outcome in zip(batch, outcomes, strict=True):
            try:
                loop.call_soon_threadsafe(_settle, future, outcome)
            except RuntimeError:  # the loop has ended, and with it whoever waited
                continue

    def _recover(self) -> None:
        try:
            self.store.rollback()
        except Exception:  # a connection that cannot even forget is let go; the next batch opens another
            self.store.disconnect()


def _settle(future: "asyncio.Future[Outcome]", outcome: Outcome | Exception) -> None:
    if future.done():  # whoever asked has gone away
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
