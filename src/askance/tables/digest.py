"""What two organisations must have in common: the same people, the same columns, the same values.

A digest is made in the order of the row identifiers, so that it does not depend on the order of a file. It has a part
for the identifiers and one for each column: two that differ can say where.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.tables.identifiers import Identifiers


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
        """Digest features whose rows are named by identifiers, in any order; or sorted as :class:`Identifiers` are."""
        people, order = (ids, slice(None)) if isinstance(ids, Identifiers) else Identifiers.sorted(ids)
        if len(people) != len(features):
            raise InvalidInput(f"{len(people)} identifiers for {len(features)} rows", "one for each row")
        columns = zip(names, (_digest_of_numbers(features[:, j][order]) for j in range(features.shape[1])), strict=True)
        return cls(len(people), people.digest, tuple(columns))

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


def _digest_of_numbers(values: NDArray[Any]) -> str:
    numbers = np.asarray(values, dtype="<f8") + 0.0  # -0.0 and 0.0 are one number
    return hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()
