"""What two organisations must have in common: the same people, the same columns, the same values.

A digest is made in the order of the row identifiers, so that it does not depend on the order of a file. It has a part
for the identifiers and one for each column: two that differ can say where.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from askance.channels.alphabet import listed
from askance.channels.columns import NOT_ARROW, as_column
from askance.errors import InvalidInput


@dataclass(frozen=True)
class FeatureDigest:
    """SHA-256 of row identifiers and of every column of public features.

    Examples
    --------
    >>> import numpy as np
    >>> mine = FeatureDigest.of(["a", "b"], ["age"], np.array([[30.0], [40.0]]))
    >>> mine == FeatureDigest.of(["b", "a"], ["age"], np.array([[40.0], [30.0]]))
    True
    >>> mine.difference(FeatureDigest.of(["a", "b"], ["age"], np.array([[30.0], [41.0]])))
    "the values of 'age' differ"
    """

    rows: int
    ids: str
    columns: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, ids: Any, names: Sequence[str], features: NDArray[Any]) -> "FeatureDigest":
        """Digest features whose rows are named by identifiers, in any order."""
        texts = id_texts(ids)
        if len(texts) != len(features):
            raise InvalidInput(f"{len(texts)} identifiers for {len(features)} rows", "one for each row")
        order = id_order(texts)
        columns = zip(names, (_digest_of_numbers(features[:, j][order]) for j in range(features.shape[1])), strict=True)
        return cls(len(texts), digest_of_ids(texts, order), tuple(columns))

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
        return {"rows": self.rows, "ids": self.ids, "columns": [list(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "FeatureDigest":
        """Read what :meth:`to_dict` wrote."""
        columns = tuple((str(name), str(digest)) for name, digest in fields["columns"])
        return cls(int(fields["rows"]), str(fields["ids"]), columns)


def id_texts(ids: Any) -> pa.Array:
    """Return identifiers as text: 17 in one file and "17" in another are the same person."""
    column = as_column(ids, "identifier")
    try:
        column = pa.array(column)
    except NOT_ARROW:
        raise InvalidInput("row identifiers of several types", "text or whole numbers") from None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InvalidInput(f"row identifiers of type {kind}", "text or whole numbers")
    texts = column.cast(pa.large_string())
    missing = pc.or_(texts.is_null(), pc.equal(texts.fill_null(""), ""))
    if pc.any(missing).as_py():
        raise InvalidInput(f"row {pc.index(missing, True).as_py() + 1} has no identifier", "one for each row")
    return texts


def id_order(texts: pa.Array) -> NDArray[np.int64]:
    """Return the order of the identifiers; refuse those that occur twice."""
    order = pc.sort_indices(texts)
    ordered = texts.take(order)
    same = pc.equal(ordered[1:], ordered[:-1])
    if pc.any(same).as_py():
        twice = ordered[pc.index(same, True).as_py()].as_py()
        raise InvalidInput(f"the identifier {twice!r} occurs more than once", "one row for each person")
    return np.asarray(order.to_numpy(), dtype=np.int64)


def digest_of_ids(texts: pa.Array, order: NDArray[np.int64]) -> str:
    """Return the SHA-256 of identifiers in their order."""
    ordered = texts.take(pa.array(order))
    digest = hashlib.sha256(np.asarray(pc.binary_length(ordered), dtype="<i8").tobytes())  # where each one ends
    text = "".join(ordered.to_pylist())
    digest.update(text.encode())
    return digest.hexdigest()


def _digest_of_numbers(values: NDArray[Any]) -> str:
    numbers = np.asarray(values, dtype="<f8") + 0.0  # -0.0 and 0.0 are one number
    return hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()
