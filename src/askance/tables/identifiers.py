"""Identifiers of rows: text, in one common order, whatever file they come from."""

import hashlib
import hmac
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from askance.errors import InvalidInput
from askance.mechanisms.person_keys import id_texts


@dataclass(frozen=True, eq=False)
class Identifiers:
    """Identifiers in ascending order, each once.

    Examples
    --------
    >>> people, order = Identifiers.sorted([17, 4, 100])
    >>> people.texts.to_pylist(), order
    (['100', '17', '4'], array([2, 0, 1]))
    """

    texts: pa.Array

    @classmethod
    def sorted(cls, ids: Any) -> "tuple[Identifiers, NDArray[np.int64]]":
        """Check identifiers and sort them; also return which row each was in. Refuse those that occur twice."""
        texts = id_texts(ids)
        order = pc.sort_indices(texts)
        ordered = texts.take(order)
        same = pc.equal(ordered[1:], ordered[:-1])
        if pc.any(same).as_py():
            twice = ordered[pc.index(same, True).as_py()].as_py()
            raise InvalidInput(f"the identifier {twice!r} occurs more than once", "one row for each person")
        return cls(ordered), np.asarray(order.to_numpy(), dtype=np.int64)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all of them."""
        return hashlib.sha256(self._bytes).hexdigest()

    def key(self, salt: str) -> bytes:
        """Return a secret that only who holds all identifiers can make, for a salt of hexadecimal digits."""
        return hmac.digest(bytes.fromhex(salt), self._bytes, "sha256")

    @property
    def _bytes(self) -> bytes:
        lengths = np.asarray(pc.binary_length(self.texts), dtype="<i8").tobytes()  # where each one ends
        return lengths + "".join(self.texts.to_pylist()).encode()
