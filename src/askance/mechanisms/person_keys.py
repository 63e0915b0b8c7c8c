"""Who is who to a ledger: identifiers of people as keyed hashes, the same whatever file they came from."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from askance.channels.columns import NOT_ARROW, as_column
from askance.errors import InvalidInput

KEY_BYTES = 32  # 256 random bits, which nobody guesses; the hash takes up to 64
# Of a hash: among a million people who are compared with a million others, two are taken for one with a probability of
# 10^12 / 2^64, one in 18 million. Even then nobody's budget is exceeded: the two share one.
_HASH_BYTES = 8
_EXACT = 2.0**53  # doubles below it hold every whole number
_INVISIBLE = r"[\s\x00-\x1f\x7f\x{ad}\x{200b}-\x{200f}\x{2060}\x{feff}]+"  # spaces, controls, marks of width zero
_WHOLE = r"^\+?0*([0-9]+)(?:\.0*)?$"  # 7, 007, +7, 7. and 7.0


def id_texts(ids: Any) -> pa.Array:
    """Return identifiers as text: 17 in one file and "17" or 17.0 in another are the same person.

    Examples
    --------
    >>> id_texts([17.0, 4.0]).to_pylist()
    ['17', '4']
    """
    column = as_column(ids, "identifier")
    try:
        column = pa.array(column)
    except NOT_ARROW:
        raise InvalidInput("row identifiers of several types", "text or whole numbers") from None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = _whole_numbers(column)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InvalidInput(f"row identifiers of type {kind}", "text or whole numbers")
    texts = column.cast(pa.large_string())
    _refuse_missing(pc.or_(texts.is_null(), pc.equal(texts.fill_null(""), "")))
    return texts


def person_keys(ids: Any, key: bytes) -> NDArray[np.uint64]:
    """Return a keyed hash for each person, in ascending order.

    Spelling does not make another person: case, spaces, forms of the same letter, leading zeros and ".0" are left out.
    Two people who differ in nothing else would share a budget, and are refused within one table.

    Examples
    --------
    >>> key = bytes(KEY_BYTES)
    >>> bool((person_keys(["P 01", "7"], key) == person_keys(["007", "p01 "], key)).all())
    True
    """
    if isinstance(ids, str | bytes) or not hasattr(ids, "__len__"):
        raise InvalidInput(f"identifiers of type {type(ids).__name__}", "a list, an array or a column")
    if not len(ids):
        raise InvalidInput("no identifiers", "at least one", "Without any, leave them out: everybody is charged then.")
    texts = id_texts(ids)
    spelled = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKC"))
    spelled = pc.replace_substring_regex(spelled, _INVISIBLE, "")
    spelled = pc.replace_substring_regex(spelled, _WHOLE, r"\1")
    _refuse_missing(pc.equal(spelled, ""))
    digests = [hashlib.blake2b(text.encode(), key=key, digest_size=_HASH_BYTES).digest() for text in _each(spelled)]
    hashes: NDArray[np.uint64] = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    keys = np.unique(hashes)
    if len(keys) < len(hashes):
        _say_who_is_twice(texts, hashes)
    return keys


def _each(texts: pa.Array) -> list[str]:
    found: list[str] = texts.to_pylist()
    return found


def _whole_numbers(column: pa.Array) -> pa.Array:
    """Whole numbers that were kept as doubles, as happens to a column that once had gaps."""
    numbers = column.to_numpy(zero_copy_only=False)
    known = np.isfinite(numbers)
    whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < _EXACT)
    if not (whole | np.isnan(numbers)).all():
        return column
    return pa.array(np.where(known, numbers, 0).astype(np.int64), mask=~known)


def _refuse_missing(missing: pa.Array) -> None:
    if pc.any(missing).as_py():
        raise InvalidInput(f"row {pc.index(missing, True).as_py() + 1} has no identifier", "one for each row")


def _say_who_is_twice(texts: pa.Array, hashes: NDArray[np.uint64]) -> None:
    order = np.argsort(hashes, kind="stable")
    at = int(np.flatnonzero(np.diff(hashes[order]) == 0)[0])
    one, other = (texts[int(row)].as_py() for row in order[at : at + 2])
    if one == other:
        raise InvalidInput(f"the identifier {one!r} occurs more than once", "one row for each person")
    raise InvalidInput(
        f"the identifiers {one!r} and {other!r}, which differ only in case, spaces or zeros",
        "one row for each person, and identifiers that differ otherwise",
        "To a ledger these two are one person. If they are not, give each an identifier of its own, such as a number.",
    )
