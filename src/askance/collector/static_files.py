"""What pages are made of: scripts and styles, under addresses that change when they do, and data inside a page."""

import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

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


def page_json(value: Any) -> str:
    """JSON inside a page: no tag can begin in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
