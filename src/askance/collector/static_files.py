"""Scripts and styles of the pages, under addresses that change when they do."""

import hashlib
from functools import cache
from importlib.resources import files

_TYPES = {".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Return each file's content and type, by name."""
    folder = files("askance.collector").joinpath("static")
    named = {entry.name: entry for entry in folder.iterdir()}
    return {
        name: (named[name].read_bytes(), kind)
        for name in sorted(named)
        if (kind := _TYPES.get(name[name.rfind(".") :])) is not None
    }


@cache
def static_version() -> str:
    """Return a digest of all of them: a page asks for the files that belong to it."""
    whole = hashlib.sha256()
    for name, (content, _) in static_files().items():
        whole.update(name.encode() + content)
    return whole.hexdigest()[:16]
