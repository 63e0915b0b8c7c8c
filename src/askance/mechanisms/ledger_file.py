"""The SQLite file that a ledger is kept in.

A table of facts about the ledger, a table of entries that is only ever added to (see ``ledger_chain``), and one of the
groups of people that entries are about (see ``ledger_people``). Version 2 had no groups: its entries are about
everybody. Version 1, written by askance 0.1.0, had entries without seals besides. Both are read as they are, and become
version 3 when something is spent from them.
"""

import contextlib
import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

from askance.errors import ReleaseError
from askance.mechanisms.ledger_chain import Event, check_chain, now, seal
from askance.mechanisms.ledger_people import KnownPeople, StoredGroup
from askance.mechanisms.person_keys import KEY_BYTES

_APPLICATION = 0x41534B4C  # "ASKL", at a fixed place in the file: what `file` and we know a ledger by
_VERSION = 3  # of the tables below
_PATIENCE = 60.0  # seconds to wait for another process
_ENTRIES = """
CREATE TABLE entries (sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, entry INTEGER NOT NULL, time TEXT NOT NULL,
                      content TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TRIGGER nothing_is_given_back BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger gives nothing back'); END;
CREATE TRIGGER nothing_is_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
"""
_PEOPLE = """
CREATE TABLE people (number INTEGER PRIMARY KEY, added BLOB NOT NULL, members BLOB NOT NULL);
CREATE TRIGGER nobody_is_forgotten BEFORE DELETE ON people
BEGIN SELECT RAISE(ABORT, 'a ledger forgets nobody'); END;
CREATE TRIGGER nobody_is_changed BEFORE UPDATE ON people
BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END;
"""
_TABLES = f"""
CREATE TABLE ledger (data_set TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL,
                     filter TEXT, key BLOB NOT NULL);
{_ENTRIES}
{_PEOPLE}
"""


@dataclass(frozen=True)
class LedgerState:
    """All that a file says at one moment.

    Parameters
    ----------
    data_set, epsilon, delta, created : str
    rule : str, optional
        The filter as JSON, if it was chosen when the ledger was made.
    version : int
    key : bytes, optional
        With which identifiers are hashed; none in old files.
    events : tuple of Event
    people : KnownPeople
    """

    data_set: str
    epsilon: str
    delta: str
    created: str
    rule: str | None
    version: int
    key: bytes | None
    events: tuple[Event, ...] = ()
    people: KnownPeople = field(default_factory=KnownPeople)

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
                        "INSERT INTO ledger (data_set, epsilon, delta, created, filter, key) VALUES (?, ?, ?, ?, ?, ?)",
                        (data_set, epsilon, delta, now(), rule, secrets.token_bytes(KEY_BYTES)),
                    )
        except sqlite3.Error as error:
            self.path.unlink()
            raise ReleaseError(f"cannot write {self.path} ({error})") from error

    def read(self) -> LedgerState:
        """Return what the file says at one moment."""
        with self._opened() as connection:
            connection.execute("BEGIN")
            return self._state(connection)

    @contextlib.contextmanager
    def changing(self) -> Iterator["LedgerChange"]:
        """Take the write lock, and keep all changes or none. What is read meanwhile stays true until the end."""
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")
            state = self._state(connection)
            if state.version < _VERSION:
                state = _upgraded(connection, state)
            change = LedgerChange(connection, state)
            yield change
            connection.execute("COMMIT")  # otherwise closing the connection takes everything back

    def _state(self, connection: sqlite3.Connection) -> LedgerState:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        others = ("NULL, NULL", "filter, NULL", "filter, key")[version - 1]
        found = connection.execute(f"SELECT data_set, epsilon, delta, created, {others} FROM ledger").fetchone()
        if found is None:
            raise ReleaseError(f"the ledger {self.path} was never finished", remedy="Remove it and make it anew.")
        *facts, rule, key = found
        self._check_texts(facts, [rule])
        if version == _VERSION and not (isinstance(key, bytes) and len(key) == KEY_BYTES):
            raise ReleaseError(f"the ledger {self.path} is damaged: its key is missing", remedy="Nothing was spent.")
        data_set, epsilon, delta, created = facts
        state = LedgerState(data_set, epsilon, delta, created, rule, version, key)
        events = (self._events_of_version_1 if version == 1 else self._events)(connection, state.start)
        check_chain(state.start, events, f"the ledger {self.path}")
        people = KnownPeople(self._groups(connection) if version == _VERSION else ())
        people.check(key, _seals(events), f"the ledger {self.path}")
        return replace(state, events=events, people=people)

    def _groups(self, connection: sqlite3.Connection) -> tuple[StoredGroup, ...]:
        rows = connection.execute("SELECT number, added, members FROM people ORDER BY number")
        groups = tuple(StoredGroup(*row) for row in rows)
        if not all(isinstance(part, bytes) for group in groups for part in group[1:]):
            raise ReleaseError(f"the ledger {self.path} is damaged: people are missing", remedy="Nothing was spent.")
        return groups

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
                f"there is no ledger {self.path}",
                "the one of these people",
                "Look for it: a new one does not know what was spent. For people about whom nothing was released yet: "
                "askance ledger create LEDGER --epsilon 1 --data-set NAME.",
            )
        place = self.path.resolve()
        if place.stat().st_nlink > 1:
            raise ReleaseError(
                f"the ledger {self.path} has several names (hard links)",
                "a file of one name",
                "What one process left unfinished is kept beside the file, by its name: remove the other names.",
            )
        try:
            with contextlib.closing(
                sqlite3.connect(f"{place.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE)
            ) as connection:
                connection.isolation_level = None  # transactions begin and end where it is written
                connection.execute("PRAGMA synchronous = EXTRA")  # on the disk when a commit returns, folder included
                (application,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if application != _APPLICATION:
                    raise ReleaseError(f"{self.path} is not a ledger of askance")
                if version not in range(1, _VERSION + 1):
                    raise ReleaseError(
                        f"{self.path} is a ledger of version {version}", f"version {_VERSION}", "Upgrade askance."
                    )
                yield connection
        except UnicodeDecodeError as error:  # names of tables and columns, and SQLite's messages that show them
            raise ReleaseError(
                f"the ledger {self.path} is damaged: text is unreadable", remedy="Nothing was spent."
            ) from error
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

    def add_people(self, group: StoredGroup) -> None:
        """Remember some people."""
        self.connection.execute("INSERT INTO people VALUES (?, ?, ?)", group)


def _upgraded(connection: sqlite3.Connection, state: LedgerState) -> LedgerState:
    """Turn an older file into one of today's version, within a transaction."""
    if state.version == 1:
        connection.execute("DROP TABLE entries")
        for statement in _statements(_ENTRIES):
            connection.execute(statement)
        for event in state.events:
            connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", astuple(event))
        connection.execute("ALTER TABLE ledger ADD COLUMN filter TEXT")
    for statement in _statements(_PEOPLE):
        connection.execute(statement)
    connection.execute("ALTER TABLE ledger ADD COLUMN key BLOB")
    key = secrets.token_bytes(KEY_BYTES)
    connection.execute("UPDATE ledger SET key = ?", (key,))
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    return replace(state, key=key)


def _seals(events: Iterable[Event]) -> dict[int, str]:
    """The seal of each group of people that an entry is about, by its number."""
    seals: dict[int, str] = {}
    try:
        for event in events:
            group = event.facts.get("group")
            if group is not None and seals.setdefault(group["number"], group["seal"]) != group["seal"]:
                raise ValueError("two seals of one group")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReleaseError(f"a ledger with an entry that cannot be read ({error})") from None
    return seals


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; executing the script at once would end the transaction."""
    statement = ""
    for line in script.strip().splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
