"""Which database a study's responses are in."""

from pathlib import Path

from askance.collector.store import Store
from askance.errors import InvalidInput


def store_at(place: str) -> Store:
    """Return the store at a path (SQLite) or a URL (PostgreSQL); it is not opened yet."""
    if place.startswith(("postgresql://", "postgres://")):
        try:
            from askance.collector.postgres_store import PostgresStore
        except ImportError:
            raise InvalidInput(
                "a PostgreSQL database, without psycopg", "psycopg 3", "pip install 'askance[collector]'"
            ) from None
        return PostgresStore(place)
    if "://" in place:
        raise InvalidInput(f"the store {place.partition('://')[0]}://...", "a file, or postgresql://USER@HOST/DATABASE")
    from askance.collector.sqlite_store import SqliteStore

    return SqliteStore(Path(place))
