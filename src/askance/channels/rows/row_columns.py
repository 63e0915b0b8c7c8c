"""The columns of a row: numbers with public bounds, and categories, of which all but the first become indicators.

A column with the categories c_0, c_1, .. is hidden as the numbers [c_1], [c_2], .. of which one is 1 and the others
are 0, or all are 0 for c_0. They are columns like any other, with the public bounds 0 and 1; so the level of the row is
that of its mechanism, whatever the categories are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.rows.bounds import Bounds, columns_of
from askance.errors import InvalidInput
from askance.frames import column_names

# Each but the first is one more number in every row: a thousand rows with a thousand of them are hidden in half a
# second, with ten thousand in two, and the channel takes another to make. Nothing else depends on the limit.
_MOST_CATEGORIES = 1000
_WANTED = 'two numbers: lower and upper, or categories, such as ["north", "south"]'


@dataclass(frozen=True)
class RowColumns:
    """What the columns of a row are.

    Parameters
    ----------
    names : of the columns
    categories : the categories of each column; nothing for a number
    bounds : Bounds
        Of numbers and indicators, in the order of the columns.

    Examples
    --------
    >>> columns = RowColumns.of({"age": (0, 100), "town": ["north", "south", "west"]})
    >>> columns.bounds.names
    ('age', 'town[south]', 'town[west]')
    >>> columns.values({"age": [31, 40], "town": ["west", "north"]})
    array([[31.,  0.,  1.],
           [40.,  0.,  0.]])
    """

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    bounds: Bounds

    @classmethod
    def of(cls, columns: Any) -> "RowColumns":
        """Read a mapping from names to bounds or categories, or a list of such, each with its name first."""
        listed = isinstance(columns, list | tuple) and all(
            isinstance(one, list | tuple) and len(one) in (2, 3) for one in columns
        )
        if not columns or not (listed or isinstance(columns, Mapping)):
            raise InvalidInput(f"columns={columns!r}", 'names with public bounds, such as {"age": (0, 100)}')
        named = [(one[0], one[1] if len(one) == 2 else one[1:]) for one in columns] if listed else list(columns.items())
        names, categories = [], []
        bounds: list[tuple[Any, ...]] = []
        for name, given in named:
            names.append(name)
            categories.append(_categories(name, given))
            numbers = [f"{name}[{label}]" for label in categories[-1][1:]]
            bounds += [(number, 0.0, 1.0) for number in numbers] if numbers else [(name, *_pair(name, given))]
        if len({*names}) < len(names) or len({one[0] for one in bounds}) < len(bounds):
            raise InvalidInput("a column that is named twice", "every column once")
        return cls(tuple(names), tuple(categories), Bounds.of(bounds))

    @property
    def has_categories(self) -> bool:
        return any(self.categories)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return what :meth:`of` reads."""
        limits = self.bounds.to_dict()
        return {name: list(labels) or limits[name] for name, labels in zip(self.names, self.categories, strict=True)}

    def to_list(self) -> list[tuple[Any, ...]]:
        """Return the same in an order that no file format loses."""
        each = self.to_dict().items()
        return [(name, tuple(of)) if isinstance(of[0], str) else (name, *of) for name, of in each]

    def hidden(self, name: str) -> tuple[str, ...]:
        """Return the numbers that a column is hidden as: itself, or its indicators; itself if it is no column."""
        for own, labels in zip(self.names, self.categories, strict=True):
            if own == name and labels:
                return tuple(f"{name}[{label}]" for label in labels[1:])
        return (name,)

    def values(self, table: Any) -> Floats:
        """Return numbers and indicators, n x hidden numbers, of a table by name, or of an array in order.

        An array of numbers that is as wide as the hidden numbers has the indicators themselves.
        """
        if not self.has_categories:
            return self.bounds.values(table)
        found = column_names(table)
        if found is None:
            try:
                array = np.asarray(table)
            except ValueError:  # ragged
                return self.bounds.values(table)
            if array.ndim != 2 or array.shape[1] != len(self.names) or array.dtype.kind in "biuf":
                return self.bounds.values(table)
            table = {name: array[:, place] for place, name in enumerate(self.names)}
        parts = columns_of(table, self.names)
        made: dict[str, Any] = {}
        for name, labels, part in zip(self.names, self.categories, parts, strict=True):
            made.update(_indicators(name, labels, part) if labels else {name: part})
        return self.bounds.values(made)

    def only(self, wanted: Sequence[str], table: Any) -> Floats:
        """Return some of the hidden numbers, of a table with the columns that these come from."""
        given = {name: of for name, of in self.to_dict().items() if {*self.hidden(name)} & {*wanted}}
        some = RowColumns.of(given)
        return some.values(table)[:, [some.bounds.names.index(name) for name in wanted]]


def _categories(name: Any, given: Any) -> tuple[str, ...]:
    """The categories of a column, or nothing if what is given are bounds."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or not len(given):
        return ()
    texts = sum(isinstance(label, str) for label in given)
    if not texts or (texts == 1 and len(given) == 2):  # bounds, good or bad
        return ()
    labels = tuple(given)
    if not all(isinstance(label, str) and label for label in labels) or len({*labels}) < len(labels) or len(labels) < 2:
        raise InvalidInput(f"the column {name!r} has the categories {list(labels)!r}", "two or more texts, each once")
    if len(labels) > _MOST_CATEGORIES:
        raise InvalidInput(f"{len(labels)} categories of {name!r}", f"at most {_MOST_CATEGORIES}")
    return labels


def _pair(name: Any, given: Any) -> tuple[Any, Any]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray) or len(given) != 2:
        raise InvalidInput(f"the column {name!r} has the bounds {given!r}", _WANTED)
    return given[0], given[1]


def _indicators(name: str, labels: tuple[str, ...], column: Any) -> dict[str, Floats]:
    texts = np.asarray(column, dtype=object)
    known = np.isin(texts.astype(str), labels) & np.array([isinstance(text, str) for text in texts.tolist()])
    if not known.all():
        stranger = texts[int(np.argmin(known))]
        raise InvalidInput(
            f"{stranger!r} in row {int(np.argmin(known)) + 1} of {name!r}",
            f"one of its categories: {', '.join(map(repr, labels[:20]))}",
            "Categories are public, and declared before anything is hidden: an 'other' takes what is rare or missing.",
        )
    return {f"{name}[{label}]": (texts == label).astype(float) for label in labels[1:]}
