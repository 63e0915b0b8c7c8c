"""What a file says about itself is said again from what it is, and compared: nothing is believed because it is written.

And the digest of what is said, which does not depend on how the JSON was laid out.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from askance.errors import InvalidInput

DIGEST = "digest"
_SAME = 1e-9  # relative: logarithms and sums differ in their last digits from machine to machine


def content_digest(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON-able content, less its own digest, whatever the order of its names.

    Examples
    --------
    >>> content_digest({"a": 1, "b": [0.5]}) == content_digest({"b": [0.5], "a": 1, "digest": "of this"})
    True
    """
    said = {name: value for name, value in content.items() if name != DIGEST}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def check_digest(content: Mapping[str, Any]) -> None:
    """Refuse content that is not what its digest was made of."""
    if content.get(DIGEST) != content_digest(content):
        raise InvalidInput(
            "its content is not what its digest was made of", "a file as it was written", "Ask for it again."
        )


def check_restated(said: Any, real: Any, place: str = "") -> None:
    """Refuse a statement that differs from what was recomputed; numbers may differ in their last digits.

    Examples
    --------
    >>> check_restated({"guarantee": {"epsilon": 0.01}}, {"guarantee": {"epsilon": 5.0}})
    Traceback (most recent call last):
    askance.errors.InvalidInput: it says guarantee.epsilon = 0.01; expected 5.0, which follows from the rest
    """
    if isinstance(real, Mapping) and isinstance(said, Mapping):
        for name in dict.fromkeys([*real, *said]):
            where = f"{place}.{name}" if place else str(name)
            if name not in said or name not in real:
                expected = f"nothing called {where}" if name in said else f"{where} = {_short(real[name])}"
                raise InvalidInput(f"it says {'' if name in said else 'nothing about '}{where}", expected)
            check_restated(said[name], real[name], where)
    elif isinstance(real, list | tuple) and isinstance(said, list):
        if len(said) != len(real):
            raise InvalidInput(f"{place} has {len(said)} parts", f"{len(real)}")
        for number, (each, other) in enumerate(zip(said, real, strict=True)):
            check_restated(each, other, f"{place}[{number}]")
    elif not _same(said, real):
        raise InvalidInput(f"it says {place} = {_short(said)}", f"{_short(real)}, which follows from the rest")


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON, or of a map; of a name that comes twice, one value would be lost in silence."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"{twice!r} more than once in one object", "every name once")
    return found


def _same(said: Any, real: Any) -> bool:
    if isinstance(real, bool) or isinstance(said, bool) or not isinstance(real, float) or isinstance(said, str):
        return bool(type(said) is type(real) and said == real)
    if not isinstance(said, int | float):
        return False
    return said == real or math.isclose(said, real, rel_tol=_SAME)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
