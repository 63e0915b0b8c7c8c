"""Where counts of annotators are kept: one SQLite file, in which an answer is on disk before it is acknowledged."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from askance.collector.annotation_task import AnnotationTask, Window
from askance.collector.sqlite_file import open_database
from askance.collector.store import StoreUnavailable
from askance.errors import InvalidInput

APPLICATION = int.from_bytes(b"ASKN", "big")
AHEAD = 5  # windows that an annotator has in advance: to go on at once, and for a while without a connection
EARLIER = 20  # answers that an annotator can go back to
Done = TypeVar("Done")


@dataclass(frozen=True)
class ShownWindow:
    """A window by its number, and what its annotator said of it: nothing yet, counts, or that it was skipped."""

    number: int
    window: Window
    counts: dict[str, int] | None = None
    skipped: bool = False


@dataclass(frozen=True)
class Progress:
    """How far a task is: of one annotator, and of all."""

    mine: int
    counted: int
    wanted: int


class AnnotationStore:
    """A file of counts, for one process at a time or several.

    Parameters
    ----------
    path : Path
    task : AnnotationTask
        Its windows are drawn when the file is made.
    """

    def __init__(self, path: Path, task: AnnotationTask) -> None:
        self.path = path
        self._one_at_a_time = threading.Lock()
        try:
            self._sql = open_database(path, APPLICATION, "annotation")
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{path} cannot be opened ({error})") from error
        if self._change(lambda: self._begun(task)) != task.digest:
            self.close()
            raise InvalidInput(
                f"{path} holds counts of another task, or of this one before its sentences, tags or windows were "
                "changed",
                "a file of this very task",
                "Restore the task, or count into a new file: --store.",
            )

    def close(self) -> None:
        """Let go of the file."""
        with self._one_at_a_time:
            self._sql.close()

    def _begun(self, task: AnnotationTask) -> str:
        row = self._sql.execute("SELECT digest FROM task").fetchone()
        if row is not None:
            return str(row[0])
        self._sql.execute("INSERT INTO task (one, digest) VALUES (1, ?)", (task.digest,))
        self._sql.executemany(
            "INSERT INTO windows (sentence, start, width, tags, wanted) VALUES (?, ?, ?, ?, ?)",
            [
                (one.sentence, one.start, one.width, None if one.tags is None else json.dumps(one.tags), one.wanted)
                for one in task.drawn()
            ],
        )
        return task.digest

    def _change(self, use: Callable[[], Done]) -> Done:
        """Do all of something or nothing, and return when it is on disk."""
        with self._one_at_a_time:
            try:
                self._sql.execute("BEGIN IMMEDIATE")
                try:
                    done = use()
                    self._sql.execute("COMMIT")
                except BaseException:
                    if self._sql.in_transaction:
                        self._sql.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise StoreUnavailable(f"{self.path} did not take it ({error})") from error
        return done

    def _look(self, query: str, *values: Any) -> list[Any]:
        with self._one_at_a_time:
            try:
                return self._sql.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise StoreUnavailable(f"{self.path} cannot be read ({error})") from error

    # -- annotators ----------------------------------------------------------------------------------

    def invite(self, digests: Iterable[bytes]) -> None:
        """Add annotators."""
        rows = [(digest,) for digest in digests]
        self._change(lambda: self._sql.executemany("INSERT INTO annotators (digest) VALUES (?)", rows))

    def annotator(self, digest: bytes) -> int | None:
        """Return who has this digest; None for a stranger."""
        rows = self._look("SELECT number FROM annotators WHERE digest = ?", digest)
        return int(rows[0][0]) if rows else None

    # -- windows -------------------------------------------------------------------------------------

    def ahead(self, annotator: int) -> list[ShownWindow]:
        """Return the windows that an annotator has not answered yet, as many as there may be in advance."""
        return self._change(lambda: self._ahead(annotator))

    def _ahead(self, annotator: int) -> list[ShownWindow]:
        mine = "SELECT window FROM shown WHERE annotator = ?"
        for shown_counts in (
            # Those whom it was shown to will count it; only if nothing else is left it is shown to more of them.
            "(SELECT count(*) FROM shown WHERE window = number AND NOT skipped)",
            "(SELECT count(*) FROM shown WHERE window = number AND counts IS NOT NULL)",
        ):
            have = self._mine("counts IS NULL AND NOT skipped", annotator)
            if len(have) >= AHEAD or (have and "NOT NULL" in shown_counts):
                return have
            new = self._sql.execute(
                f"SELECT number FROM windows WHERE {shown_counts} < wanted AND number NOT IN ({mine}) "
                "ORDER BY number LIMIT ?",
                (annotator, AHEAD - len(have)),
            ).fetchall()
            for (number,) in new:
                self._sql.execute(
                    "INSERT INTO shown (annotator, window, place) "
                    "SELECT ?, ?, coalesce(max(place), 0) + 1 FROM shown WHERE annotator = ?",
                    (annotator, number, annotator),
                )
        return self._mine("counts IS NULL AND NOT skipped", annotator)

    def earlier(self, annotator: int) -> list[ShownWindow]:
        """Return the last windows that an annotator answered or skipped, the latest first."""
        return self._change(lambda: self._mine("(counts IS NOT NULL OR skipped)", annotator, latest=True)[:EARLIER])

    def _mine(self, which: str, annotator: int, *, latest: bool = False) -> list[ShownWindow]:
        rows = self._sql.execute(
            "SELECT number, sentence, start, width, tags, wanted, counts, skipped FROM shown "
            f"JOIN windows ON number = window WHERE annotator = ? AND {which} "
            f"ORDER BY place {'DESC' if latest else 'ASC'} LIMIT ?",
            (annotator, max(AHEAD, EARLIER)),
        )
        return [_shown(*row) for row in rows]

    def answer(
        self, annotator: int, number: int, checked: Callable[[Window], dict[str, int] | None]
    ) -> tuple[bool, list[ShownWindow]]:
        """Keep what an annotator says of a window, in place of what was said before.

        Parameters
        ----------
        annotator, number : int
        checked : callable
            Returns the counts for the window, or None if it is skipped; or refuses.

        Returns
        -------
        whether it is the first answer, and the windows that come next
        """

        def write() -> tuple[bool, list[ShownWindow]]:
            found = self._mine(f"number = {int(number)}", annotator)
            if not found:
                raise InvalidInput("a window that was not shown to this annotator", "one that was")
            counts = checked(found[0].window)
            self._sql.execute(
                "UPDATE shown SET counts = ?, skipped = ? WHERE annotator = ? AND window = ?",
                (None if counts is None else json.dumps(counts), counts is None, annotator, number),
            )
            first = found[0].counts is None and not found[0].skipped
            return first, self._ahead(annotator)

        return self._change(write)

    # -- results -------------------------------------------------------------------------------------

    def progress(self, annotator: int = 0) -> Progress:
        """Say how many windows one annotator counted, how many counts there are, and how many there should be."""
        ((mine, counted, wanted),) = self._look(
            "SELECT (SELECT count(*) FROM shown WHERE annotator = ? AND counts IS NOT NULL), "
            "sum(min(wanted, (SELECT count(*) FROM shown WHERE window = number AND counts IS NOT NULL))), "
            "sum(wanted) FROM windows",
            annotator,
        )
        return Progress(mine, counted, wanted)

    def agreement(self, annotator: int) -> tuple[int, int]:
        """Return how many windows of an annotator others counted too, and in how many of these all said the same."""
        ((windows, same),) = self._look(
            # Counts are written in the order of the tags: what is equal is written alike.
            "SELECT count(*), coalesce(sum(same), 0) FROM (SELECT min(others.counts = mine.counts) AS same "
            "FROM shown AS mine JOIN shown AS others ON others.window = mine.window "
            "AND others.annotator <> mine.annotator WHERE mine.annotator = ? "
            "AND mine.counts IS NOT NULL AND others.counts IS NOT NULL GROUP BY mine.window)",
            annotator,
        )
        return windows, same

    def answers(self) -> list[tuple[int, ShownWindow]]:
        """Return all counts: who said what of which window, window by window."""
        rows = self._look(
            "SELECT annotator, number, sentence, start, width, tags, wanted, counts, skipped FROM shown "
            "JOIN windows ON number = window WHERE counts IS NOT NULL ORDER BY sentence, start, number, annotator"
        )
        return [(annotator, _shown(*row)) for annotator, *row in rows]


def _shown(number: int, *row: Any) -> ShownWindow:
    sentence, start, width, tags, wanted, counts, skipped = row
    asked: Sequence[str] | None = None if tags is None else json.loads(tags)
    window = Window(sentence, start, width, None if asked is None else tuple(asked), wanted)
    return ShownWindow(number, window, None if counts is None else json.loads(counts), bool(skipped))
