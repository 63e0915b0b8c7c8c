"""The SQLite file that a ledger is kept in.

Version 2 is a table of facts about the ledger and a table of entries that is only ever added to (see ``ledger_chain``).
Version 1, written by askance 0.1.0, had entries without seals: it is read as it is, and becomes version 2 when
something is spent from it.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from askance.errors import ReleaseError
from askance.mechanisms.ledger_chain import Event, check_chain, now, seal

_APPLICATION = 0x41534B4C  # "ASKL", at a fixed place in the file: what `file` and we know a ledger by
_VERSION = 2
_PATIENCE = 60.0  # seconds to wait for another process
_ENTRIES = """
CREATE TABLE entries (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, entry INTEGER NOT NULL, time TEXT NOT NULL,
                      content TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TRIGGER nothing_is_given_back BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger gives nothing back'); END;
CREATE TRIGGER nothing_is_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
"""
_TABLES = f"""
CREATE TABLE ledger (data_set TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL,
                     people TEXT, filter TEXT);
{_ENTRIES}
"""


@dataclass(frozen=True)
class LedgerState:
    """All that a file says at one moment.

    Parameters
    ----------
    data_set, epsilon, delta, created : str
    people : str, optional
        Who the data set is about, once that is known.
    rule : str, optional
        The filter as JSON, if it was chosen when the ledger was made.
    events : tuple of Event
    version : int
    """

    data_set: str
    epsilon: str
    delta: str
    created: str
    people: str | None
    rule: str | None
    events: tuple[Event, ...]
    version: int

    @property
    def start(self) -> str:
        """The seal before the first event: of the facts about the ledger."""
        return seal("askance-ledger", self.data_set, self.epsilon, self.delta, self.created, self.rule)

    @property
    def head(self) -> str:
        """The seal of the last event."""
        return self.events[-1].seal if self.events else self.start


@dataclass(frozen=True)
class LedgerFile:
    """A ledger's file."""

    path: Path

    def create(self, data_set: str, epsilon: str, delta: str, rule: str | None) -> None:
        """Make the file, which must not be there."""
        try:
            self.path.open("x").close()
        except FileExistsError:
            raise ReleaseError(
                f"{self.path} exists already", remedy="A budget is never replaced: choose another name."
            ) from None
        except OSError as error:
            raise ReleaseError(f"cannot write {self.path} ({error.strerror or error})") from error
        try:
            with contextlib.closing(sqlite3.connect(self.path)) as connection:
                connection.executescript(
                    f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION}; {_TABLES}"
                )
                with connection:
                    connection.execute(
                        "INSERT INTO ledger (data_set, epsilon, delta, created, filter) VALUES (?, ?, ?, ?, ?)",
                        (data_set, epsilon, delta, now(), rule),
                    )
        except sqlite3.Error as error:
            self.path.unlink()
            raise ReleaseError(f"cannot write {self.path} ({error})") from error

    def read(self) -> LedgerState:
        """Return what the file says."""
        with self._opened() as connection:
            return self._state(connection)

    @contextlib.contextmanager
    def changing(self) -> Iterator["LedgerChange"]:
        """Take the write lock, and keep all changes or none. What is read meanwhile stays true until the end."""
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            state = self._state(connection)
            if state.version < _VERSION:
                _upgrade(connection, state)
            change = LedgerChange(connection, state)
            yield change
            connection.execute("COMMIT")  # otherwise closing the connection takes everything back

    def _state(self, connection: sqlite3.Connection) -> LedgerState:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        rule = "filter" if version == _VERSION else "NULL"
        found = connection.execute(f"SELECT data_set, epsilon, delta, created, people, {rule} FROM ledger").fetchone()
        if found is None:
            raise ReleaseError(f"the ledger {self.path} was never finished", remedy="Remove it and make it anew.")
        self._check_texts(found[:4], found[4:])
        data_set, epsilon, delta, created, people, chosen = found
        facts = LedgerState(data_set, epsilon, delta, created, people, chosen, (), version)
        read = self._events if version == _VERSION else self._events_of_version_1
        events = read(connection, facts.start)
        check_chain(facts.start, events, f"the ledger {self.path}")
        return replace(facts, events=events)

    def _events(self, connection: sqlite3.Connection, start: str) -> tuple[Event, ...]:
        rows = connection.execute("SELECT sequence, kind, entry, time, content, seal FROM entries ORDER BY sequence")
        events = [Event(*row) for row in rows]
        for event in events:
            self._check_texts((event.kind, event.time, event.content, event.seal))
        return tuple(events)

    def _events_of_version_1(self, connection: sqlite3.Connection, start: str) -> tuple[Event, ...]:
        """What version 2 would have written: each entry, and the release that came of it."""
        rows = connection.execute("SELECT number, time, what, epsilon, delta, release FROM entries ORDER BY number")
        events: list[Event] = []
        for number, *texts, release in rows:
            self._check_texts(texts, [release])
            time, what, epsilon, delta = texts
            contents = {"spend": {"what": what, "epsilon": epsilon, "delta": delta}}
            if release is not None:
                contents["record"] = {"release": release}
            for kind, facts in contents.items():
                head = events[-1].seal if events else start
                content = json.dumps(facts, sort_keys=True)
                events.append(Event.sealed(head, len(events) + 1, kind, number, time, content))
        return tuple(events)

    def _check_texts(self, needed: Iterable[object], others: Iterable[object] = ()) -> None:
        """Refuse what is no text: SQLite keeps anything in any column."""
        if not (all(isinstance(text, str) for text in needed) and all(isinstance(text, str | None) for text in others)):
            raise ReleaseError(f"the ledger {self.path} is damaged: text is missing", remedy="Nothing was spent.")

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one use. A connection of its own for each: it may be another thread or a forked process."""
        if not self.path.is_file():
            raise ReleaseError(
                f"there is no ledger {self.path}", remedy="Make one: askance ledger create LEDGER --epsilon 1 ..."
            )
        try:
            with contextlib.closing(
                sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=rw", uri=True, timeout=_PATIENCE)
            ) as connection:
                connection.isolation_level = None  # transactions begin and end where it is written
                connection.execute("PRAGMA synchronous = EXTRA")  # on the disk when a commit returns, folder included
                (application,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if application != _APPLICATION:
                    raise ReleaseError(f"{self.path} is not a ledger of askance")
                if version not in (1, _VERSION):
                    raise ReleaseError(
                        f"{self.path} is a ledger of version {version}", f"version {_VERSION}", "Upgrade askance."
                    )
                yield connection
        except sqlite3.Error as error:
            raise ReleaseError(
                f"the ledger {self.path} cannot be used ({error})", remedy="Nothing was spent."
            ) from error


@dataclass
class LedgerChange:
    """A ledger while nobody else can write to it."""

    connection: sqlite3.Connection
    state: LedgerState

    def add(self, event: Event) -> None:
        """Add an event."""
        self.connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", astuple(event))

    def set_people(self, people: str) -> None:
        """Remember who the data set is about."""
        self.connection.execute("UPDATE ledger SET people = ?", (people,))


def _upgrade(connection: sqlite3.Connection, state: LedgerState) -> None:
    """Turn a file of version 1 into one of version 2, within a transaction."""
    connection.execute("DROP TABLE entries")
    for statement in _statements(_ENTRIES):
        connection.execute(statement)
    for event in state.events:
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", astuple(event))
    connection.execute("ALTER TABLE ledger ADD COLUMN filter TEXT")
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; executing the script at once would end the transaction."""
    statement = ""
    for line in script.strip().splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
