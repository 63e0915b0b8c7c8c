"""Responses in one SQLite file: a write-ahead log, and a commit that waits for the disk."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from askance.collector.sqlite_file import open_database
from askance.collector.store import Outcome, Store, StoreUnavailable, new_identifiers, shuffled

APPLICATION = int.from_bytes(b"ASKC", "big")  # says what the file is, at byte 68
_ROWS_AT_A_TIME = 10_000  # two values each: SQLite takes 32,766 in a statement


@contextmanager
def _said(store: "SqliteStore") -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{store} did not take it ({error})") from error


class SqliteStore(Store):
    """A file; several processes may use it, one writes at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: sqlite3.Connection | None = None

    def __str__(self) -> str:
        return str(self.path)

    @property
    def _sql(self) -> sqlite3.Connection:
        # Never a new connection: half of a transaction would be written without the other half.
        if self._database is None:
            raise StoreUnavailable(f"{self} is not open")
        return self._database

    def _ready(self) -> None:
        if self._database is None:
            self.connect()

    def connect(self) -> None:
        with _said(self):
            self._database = open_database(self.path, APPLICATION, "sqlite")

    def disconnect(self) -> None:
        if self._database is not None:
            database, self._database = self._database, None
            database.close()

    def begin(self) -> bool:
        self._ready()
        with _said(self):
            self._sql.execute("BEGIN IMMEDIATE")
            return bool(self._sql.execute("SELECT closed FROM study").fetchone()[0])

    def commit(self) -> None:
        with _said(self):
            self._sql.execute("COMMIT")

    def rollback(self) -> None:
        with _said(self):
            if self._database is not None and self._database.in_transaction:
                self._database.execute("ROLLBACK")

    # Few statements however large a batch is, and few rows of answers: each lets go of Python's lock, and waits for it
    # while the server is busy with requests. With a statement for each response, the median delay was 20 times as long.

    def spend(self, digests: Sequence[bytes], day: int) -> set[bytes]:
        spendable = f"digest IN ({_marks(digests)}) AND spent = 0 AND (expires IS NULL OR expires >= ?)"
        with _said(self):
            found = self._sql.execute(
                f"SELECT json_group_array(hex(digest)) FROM invitations WHERE {spendable}", (*digests, day)
            ).fetchone()[0]
            update = self._sql.execute(f"UPDATE invitations SET spent = 1 WHERE {spendable}", (*digests, day))
        spent = {bytes.fromhex(digest) for digest in json.loads(found)}
        if update.rowcount != len(spent):  # nobody else writes during the transaction
            raise StoreUnavailable(f"{self} spent {update.rowcount} invitations instead of {len(spent)}")
        return spent

    def unspendable(self, digests: Sequence[bytes], day: int) -> dict[bytes, Outcome]:
        with _said(self):
            found = self._sql.execute(
                "SELECT json_group_array(json_array(hex(digest), spent)) FROM invitations "
                f"WHERE digest IN ({_marks(digests)})",
                (*digests,),
            ).fetchone()[0]
        return {
            bytes.fromhex(digest): Outcome.SPENT if spent else Outcome.EXPIRED for digest, spent in json.loads(found)
        }

    def add_invitations(self, digests: Sequence[bytes], expires: int | None) -> None:
        with _said(self):
            for start in range(0, len(digests), _ROWS_AT_A_TIME):
                self._insert(
                    "invitations (digest, expires)",
                    [(digest, expires) for digest in digests[start : start + _ROWS_AT_A_TIME]],
                    "ON CONFLICT DO NOTHING",
                )

    def add_reports(self, reports: Sequence[tuple[bytes, str]], day: int, tally: Sequence[tuple[str, int]]) -> None:
        more = "DO UPDATE SET people = people + excluded.people"
        with _said(self):
            self._insert("reports (id, cell)", reports)
            self._insert("tallies (cell, people)", tally, f"ON CONFLICT (cell) {more}")
            self._insert("days (day, people)", [(day, len(reports))], f"ON CONFLICT (day) {more}")

    def _insert(self, into: str, rows: Sequence[tuple[Any, Any]], conflict: str = "") -> None:
        pairs = ", ".join(["(?, ?)"] * len(rows))
        self._sql.execute(f"INSERT INTO {into} VALUES {pairs} {conflict}", [value for row in rows for value in row])

    def study_digest(self, digest: str) -> str:
        self._ready()
        with _said(self):
            self._sql.execute("INSERT INTO study (one, digest) VALUES (1, ?) ON CONFLICT DO NOTHING", (digest,))
            return str(self._sql.execute("SELECT digest FROM study").fetchone()[0])

    def rows(self, query: str) -> list[Any]:
        self._ready()
        with _said(self):
            return self._sql.execute(query).fetchall()

    def close_study(self) -> None:
        self._ready()
        with _said(self):
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                self._sql.execute("UPDATE study SET closed = 1")
                cells = shuffled(cell for (cell,) in self._sql.execute("SELECT cell FROM reports"))
                self._sql.execute("DELETE FROM reports")
                again = zip(new_identifiers(len(cells)), cells, strict=True)
                self._sql.executemany("INSERT INTO reports (id, cell) VALUES (?, ?)", again)
                self._sql.execute("COMMIT")
            except BaseException:
                self.rollback()
                raise
            self._forget_order()

    def delete_everything(self) -> None:
        self._ready()
        with _said(self):
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                self._sql.execute("UPDATE study SET closed = 1")
                for name in ("reports", "invitations", "tallies", "days"):
                    self._sql.execute(f"DELETE FROM {name}")
                self._sql.execute("COMMIT")
            except BaseException:
                self.rollback()
                raise
            self._forget_order()

    def _forget_order(self) -> None:
        """Write the whole file anew and empty the log, where the order of old pages could still be read."""
        self._sql.execute("VACUUM")
        busy = self._sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:  # somebody has been reading for longer than we waited
            raise StoreUnavailable(f"{self} is closed, but its log still holds the order of reports: close it again")


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
