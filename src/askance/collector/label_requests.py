"""What learners asked a label holder for: who may ask, and which request was answered with which release."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from askance.collector.sqlite_file import open_database
from askance.collector.store import StoreUnavailable
from askance.errors import BudgetSpent, InvalidInput

APPLICATION = int.from_bytes(b"ASKR", "big")


class RequestUsed(InvalidInput):
    """A request that was begun before and has no release, or had another content."""


class LabelRequests:
    """A file of requests; several processes may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._one_at_a_time, self._releasing = threading.RLock(), threading.Lock()
        try:
            self._sql = open_database(path, APPLICATION, "labels")
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{path} cannot be opened ({error})") from error

    def close(self) -> None:
        """Let go of the file."""
        with self._one_at_a_time:
            self._sql.close()

    def invite(self, names: Iterable[str]) -> None:
        """Add learners."""
        for name in names:
            self._execute("INSERT INTO learners (name) VALUES (?)", name)

    def knows(self, name: str) -> bool:
        """Whether a learner was invited."""
        return bool(self._rows("SELECT 1 FROM learners WHERE name = ?", name))

    def answered(self, learner: str, request: str, body: bytes, release: Callable[[], Any]) -> tuple[bool, str]:
        """Return the release of a request as JSON, and whether it is new.

        The request is written down first: of two that come at once, one is paid for, and whoever sends it again gets
        what there is. What was begun and has no release may have been paid for; it is never begun again.

        Parameters
        ----------
        learner, request : str
        body : bytes
        release : callable
            Checks, pays and draws; called at most once. If it refuses, nothing was paid.
        """
        digest = hashlib.sha256(body).hexdigest()
        with self._releasing:  # two releases at once would only wait for each other, and take twice the memory
            begun = self._begun(learner, request, digest)
            if begun is not None:
                return False, begun
            try:
                made = json.dumps(release().to_dict(), allow_nan=False, ensure_ascii=False)
            except (
                InvalidInput,
                BudgetSpent,
            ):  # refused before anything was paid: it may be sent again, and is refused again
                self._execute("DELETE FROM requests WHERE learner = ? AND request = ?", learner, request)
                raise
            self._execute("UPDATE requests SET release = ? WHERE learner = ? AND request = ?", made, learner, request)
            return True, made

    def _begun(self, learner: str, request: str, digest: str) -> str | None:
        try:
            self._execute("INSERT INTO requests VALUES (?, ?, ?, NULL)", learner, request, digest)
        except sqlite3.IntegrityError:
            found = self._rows("SELECT body, release FROM requests WHERE learner = ? AND request = ?", learner, request)
            if found and found[0][0] == digest and found[0][1] is not None:
                return str(found[0][1])
            raise RequestUsed(
                "a request that was begun before"
                + ("" if not found or found[0][0] == digest else ", with another content"),
                "a new one",
                "If it was interrupted, it may have been paid for: the label holder's ledger says.",
            ) from None
        return None

    def _execute(self, statement: str, *values: Any) -> None:
        try:
            with self._one_at_a_time:
                self._sql.execute(statement, values)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self.path} did not take it ({error})") from error

    def _rows(self, query: str, *values: Any) -> list[Any]:
        try:
            with self._one_at_a_time:
                return self._sql.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self.path} cannot be read ({error})") from error
