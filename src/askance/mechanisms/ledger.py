"""A privacy budget on disk. Every release spends from it before it is drawn, and nothing gives budget back.

One SQLite file. A spend is one transaction that begins by taking the write lock, so that of two processes which ask for
the last epsilon one gets it. It is on the disk before the first random bit of the release is drawn: a crash after that
leaves it spent.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from askance.errors import BudgetSpent, InvalidInput, ReleaseError
from askance.mechanisms.budget import NOTHING, Budget, Number, written

_APPLICATION = 0x41534B4C  # "ASKL", at a fixed place in the file: what `file` and we know a ledger by
_VERSION = 1
_PATIENCE = 60.0  # seconds to wait for another process
_TABLES = """
CREATE TABLE ledger (data_set TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL,
                     people TEXT);
CREATE TABLE entries (number INTEGER PRIMARY KEY, time TEXT NOT NULL, what TEXT NOT NULL, epsilon TEXT NOT NULL,
                      delta TEXT NOT NULL, release TEXT);
CREATE TRIGGER nothing_is_given_back BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger gives nothing back'); END;
"""


@dataclass(frozen=True)
class LedgerEntry:
    """Something that was paid for.

    Parameters
    ----------
    number : int
    time : str
        When it was spent, in universal time.
    what : str
        What for.
    epsilon, delta : str
        The cost, in exact decimal digits.
    release : str, optional
        SHA-256 of the release that came of it. None if the process ended before it was made: spent all the same.
    """

    number: int
    time: str
    what: str
    epsilon: str
    delta: str
    release: str | None


class Ledger:
    """A budget (epsilon, delta) of one data set, kept in a file that many processes may use.

    Levels of successive releases add up. Numbers are decimal and exact: three times 0.1 is 0.3.

    Parameters
    ----------
    path : path
        A ledger that :meth:`create` (or ``askance ledger create``) made.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "budget.ledger")
    >>> ledger = Ledger.create(path, epsilon=0.3, data_set="clinic")
    >>> for _ in range(3):
    ...     _ = ledger.spend(0.1, what="a release")
    >>> print(ledger.remaining)
    epsilon 0
    >>> ledger.spend(0.001, what="one more")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.BudgetSpent: epsilon 0.001 for one more; the ledger of 'clinic' has epsilon 0 left of epsilon 0.3...
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with self._opened() as connection:
            found = connection.execute("SELECT data_set, epsilon, delta, created FROM ledger").fetchone()
        if found is None:
            raise ReleaseError(f"the ledger {self.path} was never finished", remedy="Remove it and make it anew.")
        self.data_set, epsilon, delta, self.created = found
        self.budget = Budget.of(epsilon, delta)

    @classmethod
    def create(cls, path: str | os.PathLike[str], epsilon: Number, delta: Number = 0, *, data_set: str) -> Self:
        """Make a new ledger. A file that is there already is never touched.

        Parameters
        ----------
        path : path
        epsilon, delta : number
            All that may ever be spent on this data set. Give exact decimals as text if a double is too coarse.
        data_set : str
            A name for people. What the data set is to the ledger is fixed by the first release: its row identifiers.
        """
        budget = Budget.of(epsilon, delta)
        if not data_set.strip():
            raise InvalidInput("an empty name for the data set", "a name by which people know it")
        target = Path(path)
        try:
            target.open("x").close()
        except FileExistsError:
            raise ReleaseError(
                f"{target} exists already", remedy="A budget is never replaced: choose another name."
            ) from None
        except OSError as error:
            raise ReleaseError(f"cannot write {target} ({error.strerror or error})") from error
        try:
            with contextlib.closing(sqlite3.connect(target)) as connection:
                connection.executescript(
                    f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION}; {_TABLES}"
                )
                with connection:
                    connection.execute(
                        "INSERT INTO ledger (data_set, epsilon, delta, created) VALUES (?, ?, ?, ?)",
                        (data_set, written(budget.epsilon), written(budget.delta), _now()),
                    )
        except sqlite3.Error as error:
            target.unlink()
            raise ReleaseError(f"cannot write {target} ({error})") from error
        return cls(target)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All that was spent, in order."""
        with self._opened() as connection:
            return _entries(connection)

    @property
    def spent(self) -> Budget:
        """The sum of all entries."""
        return _sum(self.entries)

    @property
    def remaining(self) -> Budget:
        """What is left."""
        return self.budget - self.spent

    def spend(self, epsilon: Number, delta: Number = 0, *, what: str, people: str | None = None) -> int:
        """Take a cost from the budget, or refuse.

        Parameters
        ----------
        epsilon, delta : number
        what : str
            What it is spent on.
        people : str, optional
            Who the data set is about, in a text that shows nothing private, such as a digest of the row identifiers.
            The first that is given is remembered, and others are refused.

        Returns
        -------
        int
            The number of the entry.

        Raises
        ------
        BudgetSpent
            If less than that is left. Nothing is spent then.
        InvalidInput
            If the ledger belongs to another data set.
        """
        cost = Budget.of(epsilon, delta)
        with self._opened() as connection:
            connection.execute("BEGIN IMMEDIATE")  # the write lock first: what is read now stays true until the end
            self._check_people(connection, people)
            left = self.budget - _sum(_entries(connection))
            if not cost.within(left):
                raise BudgetSpent(
                    f"{cost} for {what}; the ledger of {self.data_set!r} has {left} left of {self.budget}",
                    remedy="Nothing was spent.",
                )
            entry = connection.execute(
                "INSERT INTO entries (time, what, epsilon, delta) VALUES (?, ?, ?, ?)",
                (_now(), what, written(cost.epsilon), written(cost.delta)),
            )
            connection.execute("COMMIT")
            return int(entry.lastrowid or 0)

    def record(self, number: int, release: str) -> None:
        """Note the digest of the release that an entry paid for."""
        with self._opened() as connection:
            connection.execute("UPDATE entries SET release = ? WHERE number = ?", (release, number))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able account."""
        entries = self.entries
        left = self.budget - _sum(entries)
        return {
            "data_set": self.data_set,
            "created": self.created,
            "budget": _pair(self.budget),
            "spent": _pair(_sum(entries)),
            "remaining": _pair(left),
            "entries": [asdict(entry) for entry in entries],
        }

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, data_set={self.data_set!r}, {self.remaining} left of {self.budget})"

    def _check_people(self, connection: sqlite3.Connection, people: str | None) -> None:
        (known,) = connection.execute("SELECT people FROM ledger").fetchone()
        if people is None or people == known:
            return
        if known is not None:
            raise InvalidInput(
                f"the ledger {self.path} belongs to another data set: that of {self.data_set!r}, with other rows",
                "the ledger of this data set",
                "Each data set has a budget of its own: make one with askance ledger create.",
            )
        connection.execute("UPDATE ledger SET people = ?", (people,))

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
                if version != _VERSION:
                    raise ReleaseError(
                        f"{self.path} is a ledger of version {version}", f"version {_VERSION}", "Upgrade askance."
                    )
                yield connection
        except sqlite3.Error as error:
            raise ReleaseError(
                f"the ledger {self.path} cannot be used ({error})", remedy="Nothing was spent."
            ) from error


def _entries(connection: sqlite3.Connection) -> tuple[LedgerEntry, ...]:
    rows = connection.execute("SELECT number, time, what, epsilon, delta, release FROM entries ORDER BY number")
    return tuple(LedgerEntry(*row) for row in rows)


def _sum(entries: tuple[LedgerEntry, ...]) -> Budget:
    return sum((Budget.of(entry.epsilon, entry.delta) for entry in entries), start=NOTHING)


def _pair(budget: Budget) -> dict[str, str]:
    return {"epsilon": written(budget.epsilon), "delta": written(budget.delta)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
