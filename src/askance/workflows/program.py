"""Which program it was: its version, and a digest of its own files."""

import hashlib
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

# What decides what is drawn and shown: the program, the pages that run in browsers, and the texts they say.
_ENDINGS = (".py", ".pyi", ".mjs", ".js", ".css", ".sql", ".toml", ".svg")


@lru_cache(maxsize=1)
def program_digest() -> str:
    """Return a SHA-256 over the names and contents of all files of the installed package, in order.

    The same version installed twice has the same digest; a changed line has another.

    Examples
    --------
    >>> len(program_digest())
    64
    """
    digest = hashlib.sha256()
    for name, content in sorted(_contents(files("askance"), "")):
        for part in (name.encode(), content):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _contents(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in folder.iterdir():
        name = f"{prefix}/{entry.name}"
        if entry.is_dir():
            found += _contents(entry, name)
        elif entry.name.endswith(_ENDINGS):
            found.append((name, entry.read_bytes()))
    return found
