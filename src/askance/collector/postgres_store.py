"""Responses in PostgreSQL, for several server processes at a time."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import psycopg

from askance.collector.store import Outcome, Store, StoreUnavailable, migrations, new_identifiers, shuffled
from askance.errors import InvalidInput

_MIGRATION_LOCK = 0x41534B43  # ASKC: two processes that start together bring the tables up to date one after the other
_SECONDS_TO_CONNECT = 10  # a network answers within one; who sends a response waits so long, and is told to try again


@contextmanager
def _said(store: "PostgresStore") -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        # The kind of error only: what the server says may quote a row.
        raise StoreUnavailable(f"{store} did not take it ({type(error).__name__})") from error


class PostgresStore(Store):
    """A database at a URL; any number of processes may use it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection: psycopg.Connection[Any] | None = None

    def __str__(self) -> str:
        parts = urlsplit(self.url)  # without the password
        return f"PostgreSQL at {parts.hostname or 'localhost'}{parts.path}"

    @property
    def _sql(self) -> "psycopg.Connection[Any]":
        # Never a new connection: half of a transaction would be written without the other half.
        if self._connection is None or self._connection.closed:
            raise StoreUnavailable(f"{self} is not connected")
        return self._connection

    def _ready(self) -> None:
        if self._connection is None or self._connection.closed:
            self.connect()

    def connect(self) -> None:
        with _said(self):
            connection = psycopg.connect(self.url, autocommit=True, connect_timeout=_SECONDS_TO_CONNECT)
            try:
                # Whatever the server's default is: a commit that returns is on disk.
                connection.execute("SET synchronous_commit = on")
                _migrate(connection)
            except BaseException:
                connection.close()
                raise
        self._connection = connection

    def disconnect(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(psycopg.Error):
                connection.close()

    def begin(self) -> bool:
        self._ready()
        with _said(self):
            self._sql.execute("BEGIN")
            # Whoever closes the study waits for this transaction, and this one for whoever closes it.
            return bool(self._row("SELECT closed FROM study FOR SHARE")[0])

    def commit(self) -> None:
        with _said(self):
            self._sql.execute("COMMIT")

    def rollback(self) -> None:
        with _said(self):
            if self._connection is not None and not self._connection.closed:
                self._connection.execute("ROLLBACK")

    def _row(self, query: str, *values: Any) -> Any:
        row = self._sql.execute(query, values or None).fetchone()
        if row is None:
            raise StoreUnavailable(f"{self} has lost its tables")
        return row

    def spend(self, digests: Sequence[bytes], day: int) -> set[bytes]:
        wanted = list(digests)
        with _said(self):
            # Locks are taken in the order of the digests; an update by itself promises no order.
            self._sql.execute("SELECT 1 FROM invitations WHERE digest = ANY(%s) ORDER BY digest FOR UPDATE", [wanted])
            rows = self._sql.execute(
                "UPDATE invitations SET spent = 1 WHERE digest = ANY(%s) AND spent = 0 "
                "AND (expires IS NULL OR expires >= %s) RETURNING digest",
                [wanted, day],
            )
            return {bytes(digest) for (digest,) in rows}

    def unspendable(self, digests: Sequence[bytes], day: int) -> dict[bytes, Outcome]:
        with _said(self):
            rows = self._sql.execute("SELECT digest, spent FROM invitations WHERE digest = ANY(%s)", [list(digests)])
            return {bytes(digest): Outcome.SPENT if spent else Outcome.EXPIRED for digest, spent in rows}

    def add_invitations(self, digests: Sequence[bytes], expires: int | None) -> None:
        with _said(self):
            self._sql.execute(
                "INSERT INTO invitations (digest, spent, expires) SELECT one, 0, %s FROM unnest(%s::bytea[]) AS one "
                "ON CONFLICT DO NOTHING",
                [expires, list(digests)],
            )

    def add_reports(self, reports: Sequence[tuple[bytes, str]], day: int, tally: Sequence[tuple[str, int]]) -> None:
        ids, cells = ([*column] for column in zip(*reports, strict=True))
        counted, people = ([*column] for column in zip(*tally, strict=True))
        with _said(self):
            self._sql.execute(
                "INSERT INTO reports (id, cell) SELECT * FROM unnest(%s::bytea[], %s::text[])", [ids, cells]
            )
            self._sql.execute(
                "INSERT INTO tallies (cell, people) SELECT * FROM unnest(%s::text[], %s::bigint[]) "
                "ON CONFLICT (cell) DO UPDATE SET people = tallies.people + excluded.people",
                [counted, people],
            )
            self._sql.execute(
                "INSERT INTO days (day, people) VALUES (%s, %s) "
                "ON CONFLICT (day) DO UPDATE SET people = days.people + excluded.people",
                [day, len(ids)],
            )

    def rows(self, query: str) -> list[Any]:
        self._ready()
        with _said(self):
            return self._sql.execute(query).fetchall()

    def study_digest(self, digest: str) -> str:
        self._ready()
        with _said(self):
            self._sql.execute("INSERT INTO study (one, digest) VALUES (1, %s) ON CONFLICT DO NOTHING", [digest])
            return str(self._row("SELECT digest FROM study")[0])

    def close_study(self) -> None:
        self._ready()
        with _said(self), self._sql.transaction():
            self._sql.execute("UPDATE study SET closed = 1")
            cells = shuffled(cell for (cell,) in self._sql.execute("SELECT cell FROM reports"))
            self._written_anew(
                "reports", "SELECT * FROM unnest(%s::bytea[], %s::text[])", [new_identifiers(len(cells)), cells]
            )
            # A cell with one person was counted by the transaction that spent the invitation: each row says which.
            self._written_anew("tallies", "SELECT * FROM tallies ORDER BY cell")
            self._written_anew("invitations", "SELECT * FROM invitations ORDER BY digest")

    def _written_anew(self, name: str, rows: str, values: list[Any] | None = None) -> None:
        """Put rows into a table of its own in one transaction; the old one, with its dead rows, is dropped."""
        self._sql.execute(f"CREATE TABLE anew (LIKE {name} INCLUDING ALL)")
        self._sql.execute(f"INSERT INTO anew {rows}", values)
        self._sql.execute(f"DROP TABLE {name}")
        self._sql.execute(f"ALTER TABLE anew RENAME TO {name}")

    def delete_everything(self) -> None:
        self._ready()
        with _said(self), self._sql.transaction():
            self._sql.execute("UPDATE study SET closed = 1")
            self._sql.execute("TRUNCATE reports, invitations, tallies, days")


def _migrate(connection: "psycopg.Connection[Any]") -> None:
    known = migrations("postgres")
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION_LOCK])
        connection.execute("CREATE TABLE IF NOT EXISTS collector_version (number integer NOT NULL)")
        row = connection.execute("SELECT coalesce(max(number), 0) FROM collector_version").fetchone()
        done = 0 if row is None else row[0]
        if done > known[-1][0]:
            raise InvalidInput(f"a database of version {done}", f"at most {known[-1][0]}", "Upgrade askance.")
        for number, script in known:
            if number > done:
                connection.execute(script)
                connection.execute("INSERT INTO collector_version VALUES (%s)", [number])
