"""An SQLite file of ours: several processes may open it at once, and a commit waits for the disk."""

import os
import sqlite3
from pathlib import Path
from time import monotonic, sleep

from askance.collector.store import migrations
from askance.errors import InvalidInput

_PATIENCE = 30_000  # milliseconds that another process may hold the file; an export of a million reports takes a few s


def file_beside(path: Path, given: str | None, ending: str, whose: str) -> Path:
    """Return where the database of a task file is: beside it, unless said otherwise; never on a server."""
    if given is None:
        return path.with_name(f"{path.stem}.{ending}.sqlite")
    if "://" in given:
        raise InvalidInput(f"--store {given.partition('://')[0]}://... of a {whose}", "a file")
    return Path(given)


def open_database(path: Path, application: int, kind: str) -> sqlite3.Connection:
    """Open a file, or make it, and bring its tables up to date.

    Parameters
    ----------
    path : Path
    application : int
        Says what the file is, at byte 68; a file of another program is refused.
    kind : str
        Whose tables these are: the folder of their numbered SQL files.
    """
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(f"the database {path}", "a file in a folder that is there")
    try:  # a new file is for its owner only; SQLite gives its log the same rights
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise InvalidInput(f"the database {path} ({error.strerror})", "a file that can be written") from None
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        database.execute(f"PRAGMA busy_timeout = {_PATIENCE}")
        _check_kind(database, path, application)
        _write_ahead(database)
        # A commit that returns has been written to the disk: without FULL, a power cut may take it back.
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
        _migrate(database, kind)
    except BaseException:
        database.close()
        raise
    return database


def _check_kind(database: sqlite3.Connection, path: Path, application: int) -> None:
    """Refuse a file that holds something else; mark one that is new."""
    try:
        # Mark and tables of one moment: between two reads, another process that opens the new file may write both.
        database.execute("BEGIN IMMEDIATE")
        mark = database.execute("PRAGMA application_id").fetchone()[0]
        tables = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if not isinstance(error, sqlite3.OperationalError):
            raise InvalidInput(f"{path} is no SQLite database", "a new file, or one of askance serve") from None
        raise
    if mark == 0 and not tables:
        database.execute(f"PRAGMA application_id = {application}")
    elif mark != application:
        raise InvalidInput(f"{path} is another program's database", "a new file, or one of askance serve")
    database.execute("COMMIT")


def _write_ahead(database: sqlite3.Connection) -> None:
    """Change a new file to a write-ahead log; SQLite itself does not wait for its readers here."""
    until = monotonic() + _PATIENCE / 1000
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
        sleep(0.01)  # another process is opening the same new file: some milliseconds


def _migrate(database: sqlite3.Connection, kind: str) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        done = database.execute("PRAGMA user_version").fetchone()[0]
        known = migrations(kind)
        if done > known[-1][0]:
            raise InvalidInput(f"a database of version {done}", f"at most {known[-1][0]}", "Upgrade askance.")
        for number, script in known:
            if number > done:
                for statement in script.split(";"):
                    if statement.strip():
                        database.execute(statement)
                database.execute(f"PRAGMA user_version = {number}")
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
