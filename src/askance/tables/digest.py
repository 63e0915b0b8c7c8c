"""What two organisations must have in common: the same people, the same columns, the same values.

A digest is made in the order of the row identifiers, so that it does not depend on the order of a file. It has a part
for the identifiers and one for each column: two that differ can say where.

It is keyed by the identifiers, which both sides hold, and by a random salt that travels with it: who does not know all
identifiers can neither test a guess about a column, nor see that two releases are about the same features.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.tables.identifiers import Identifiers

_SALT_BYTES = 16  # no two of 2^40 releases have the same, but for a chance of 2^-48


@dataclass(frozen=True)
class FeatureDigest:
    """HMAC-SHA-256 of row identifiers and of every column of public features, keyed by the identifiers and a salt.

    Parameters
    ----------
    rows : int
    ids : str
    columns : tuple of pairs
        The name and the digest of each column.
    salt : str
        Hexadecimal; empty in what askance 0.1.0 wrote, which was SHA-256 without a key.

    Examples
    --------
    >>> import numpy as np
    >>> mine = FeatureDigest.of(["a", "b"], ["age"], np.array([[30.0], [40.0]]))
    >>> mine == mine.again(["b", "a"], ["age"], np.array([[40.0], [30.0]]))
    True
    >>> mine.difference(mine.again(["a", "b"], ["age"], np.array([[30.0], [41.0]])))
    "the values of 'age' differ"
    """

    rows: int
    ids: str
    columns: tuple[tuple[str, str], ...]
    salt: str = ""

    @classmethod
    def of(cls, ids: Any, names: Sequence[str], features: NDArray[Any], salt: str | None = None) -> "FeatureDigest":
        """Digest features whose rows are named by identifiers, in any order; or sorted as :class:`Identifiers` are."""
        people, order = (ids, slice(None)) if isinstance(ids, Identifiers) else Identifiers.sorted(ids)
        if len(people) != len(features):
            raise InvalidInput(f"{len(people)} identifiers for {len(features)} rows", "one for each row")
        salt = secrets.token_hex(_SALT_BYTES) if salt is None else salt
        columns = {name: _bytes_of_numbers(features[:, j][order]) for j, name in enumerate(names)}
        if not salt:
            plain = tuple((name, hashlib.sha256(values).hexdigest()) for name, values in columns.items())
            return cls(len(people), people.digest, plain)
        key = people.key(salt)
        keyed = tuple((name, _keyed(key, "column", name, values)) for name, values in columns.items())
        return cls(len(people), _keyed(key, "identifiers", "", b""), keyed, salt)

    def again(self, ids: Any, names: Sequence[str], features: NDArray[Any]) -> "FeatureDigest":
        """Digest other features in the way of this one, to be compared with it."""
        return self.of(ids, names, features, self.salt)

    @property
    def is_keyed(self) -> bool:
        """Whether it tells nothing to who does not hold the identifiers."""
        return bool(self.salt)

    def is_of(self, rows: int, names: Sequence[str]) -> bool:
        """Whether it is about so many rows, and these columns."""
        return (self.rows, [name for name, _ in self.columns]) == (rows, list(names))

    def difference(self, other: "FeatureDigest") -> str:
        """Say in words how another digest differs from this one; nothing if it does not."""
        if self.rows != other.rows:
            return f"there are {other.rows:,} rows and not {self.rows:,}"
        if self.ids != other.ids:
            return f"the identifiers of the {self.rows:,} rows are others"
        mine, theirs = dict(self.columns), dict(other.columns)
        absent = [name for name in mine if name not in theirs]
        unknown = [name for name in theirs if name not in mine]
        if absent or unknown:
            parts = [f"lacks the columns {listed(absent)}"] * bool(absent)
            parts += [f"has other columns ({listed(unknown)})"] * bool(unknown)
            return f"the table {' and '.join(parts)}"
        changed = [name for name in mine if mine[name] != theirs[name]]
        if changed:
            return f"the values of {listed(changed)} differ"
        return "" if self.columns == other.columns else "the columns are in another order"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        said = {"rows": self.rows, "ids": self.ids, "columns": [list(column) for column in self.columns]}
        return said | ({"salt": self.salt} if self.salt else {})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "FeatureDigest":
        """Read what :meth:`to_dict` wrote."""
        columns = tuple((str(name), str(digest)) for name, digest in fields["columns"])
        salt, hexadecimal = fields.get("salt", ""), set("0123456789abcdef")
        digests = [fields["ids"], *(digest for _, digest in columns)]
        if not all(isinstance(text, str) and len(text) == 64 and set(text) <= hexadecimal for text in digests):
            raise InvalidInput("a digest of features that is none", "64 hexadecimal digits for each part")
        if salt and not (isinstance(salt, str) and len(salt) == 2 * _SALT_BYTES and set(salt) <= hexadecimal):
            raise InvalidInput(f"salt = {salt!r:.40}", f"{2 * _SALT_BYTES} hexadecimal digits")
        return cls(int(fields["rows"]), str(fields["ids"]), columns, salt)


def _bytes_of_numbers(values: NDArray[Any]) -> bytes:
    numbers = np.asarray(values, dtype="<f8") + 0.0  # -0.0 and 0.0 are one number
    return np.ascontiguousarray(numbers).tobytes()


def _keyed(key: bytes, what: str, name: str, values: bytes) -> str:
    digest = hmac.new(key, json.dumps([what, name]).encode(), hashlib.sha256)
    digest.update(values)
    return digest.hexdigest()
