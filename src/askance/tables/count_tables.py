"""Counts of classes by bag, as people hand them over: checked before anything is spent."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.channels.alphabet import Alphabet, Label, as_labels, listed
from askance.errors import InvalidInput
from askance.frames import named_rows

_LARGEST = 1 << 53  # beyond it, two counts may be the same double
ONE_BAG: tuple[Label, ...] = ("all",)


@dataclass(frozen=True, eq=False)
class CountTable:
    """How many people of each class are in each bag.

    Parameters
    ----------
    counts : array of whole numbers, bags x K
    classes : tuple of labels
    bags : tuple
        The names of the bags.
    """

    counts: NDArray[np.int64]
    classes: tuple[Label, ...]
    bags: tuple[Label, ...]

    @property
    def totals(self) -> list[int]:
        """How many people are in each bag."""
        totals: list[int] = self.counts.sum(axis=1).tolist()
        return totals


def read_counts(
    counts: Any, classes: Sequence[Any] | None = None, bags: Sequence[Any] | None = None, *, empty: bool = False
) -> CountTable:
    """Check counts, whatever they come as: a vector, a table, a frame, or a mapping by bag.

    Bags of nobody are refused, unless they may be empty.

    Examples
    --------
    >>> read_counts({"north": {"no": 5, "yes": 2}, "south": {"yes": 1, "no": 3}}).counts
    array([[5, 2],
           [3, 1]])
    """
    rows, own_classes, own_bags = _unpacked(counts)
    table = _whole_numbers(rows)
    if table.ndim == 1:
        table, own_bags = table[None, :], own_bags or ONE_BAG
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidInput(f"counts of shape {table.shape}", "one count for each class, or a table, bags x classes")
    names = as_labels(classes if classes is not None else own_classes or range(table.shape[1]), "classes")
    if len(names) != table.shape[1]:
        raise InvalidInput(f"{table.shape[1]} counts for the classes {listed(names)}", "one count for each class")
    if classes is not None and own_classes and names != own_classes:
        if set(names) != set(own_classes):
            raise InvalidInput(f"counts of {listed(own_classes)}", f"the classes {listed(names)}")
        table = table[:, [own_classes.index(name) for name in names]]
    numbered = bags is None and not own_bags
    labels = tuple(range(len(table))) if numbered else bag_names(bags if bags is not None else own_bags, len(table))
    _check_that_names_can_be_written([*names] if numbered else [*names, *labels])
    for nobody in [] if empty else np.flatnonzero(~table.any(axis=1)):
        raise InvalidInput(
            f"nobody in bag {labels[nobody]!r}", "at least one person in every bag", "Leave empty bags out."
        )
    return CountTable(table, names, labels)


def count_labels(labels: Any, bags: Any, classes: Sequence[Any]) -> CountTable:
    """Count the labels of people by bag; bags are sorted by name.

    Examples
    --------
    >>> count_labels(["no", "yes", "no"], ["b", "a", "b"], ["no", "yes"]).counts
    array([[0, 1],
           [2, 0]])
    """
    names = as_labels(classes, "classes")
    codes = Alphabet(names, "label").encode(labels)
    of_bag = np.asarray(bags)
    if of_bag.ndim != 1 or len(of_bag) != len(codes):
        raise InvalidInput(
            f"bags of shape {of_bag.shape} for {len(codes)} labels", "the name of its bag for each label"
        )
    if len(codes) == 0:
        raise InvalidInput("no labels", "at least one person")
    try:
        known, which = np.unique(of_bag, return_inverse=True)
    except TypeError:
        raise InvalidInput("bags that are missing, or of several kinds", "a number or a text for each person") from None
    table = np.zeros((len(known), len(names)), dtype=np.int64)
    np.add.at(table, (which, codes), 1)
    return CountTable(table, names, bag_names(known.tolist(), len(known)))


def _unpacked(counts: Any) -> tuple[Any, tuple[Label, ...], tuple[Label, ...]]:
    """Return rows of numbers, and the names of classes and bags where the table has some."""
    if (named := named_rows(counts)) is not None:
        values, columns, rows = named
        return (values, columns, rows) if values.ndim == 2 else (values, rows, ())  # one column: the classes of one bag
    if not isinstance(counts, Mapping):
        return counts, (), ()
    if not counts:
        raise InvalidInput("no counts", "one for each class")
    entries = list(counts.values())
    if all(np.isscalar(entry) for entry in entries):
        return entries, tuple(counts), ()
    if not all(isinstance(entry, Mapping) for entry in entries):
        return entries, (), tuple(counts)
    classes = tuple(entries[0])
    if any(set(entry) != set(classes) for entry in entries):
        raise InvalidInput("counts that name other classes in other bags", "the same classes in all bags")
    return [[entry[label] for label in classes] for entry in entries], classes, tuple(counts)


def _whole_numbers(rows: Any) -> NDArray[np.int64]:
    expected = "whole numbers of people, zero or more"
    if np.ma.is_masked(rows):
        raise InvalidInput("counts that are missing or infinite", expected)
    try:
        table = np.asarray(rows)
        numbers = table.astype(float)
    except (TypeError, ValueError):
        raise InvalidInput("counts that are not numbers, or rows of different lengths", expected) from None
    if table.dtype.kind not in "iuf" and not (table.dtype.kind == "O" and not _has_text(table)):
        raise InvalidInput(f"counts of type {table.dtype}", expected)
    if not np.isfinite(numbers).all():
        raise InvalidInput("counts that are missing or infinite", expected)
    if (numbers < 0).any():
        raise InvalidInput("negative counts", expected)
    if (numbers != np.floor(numbers)).any():
        raise InvalidInput(
            "counts that are not whole numbers", expected, "Proportions cannot be protected: count people."
        )
    if numbers.sum() >= _LARGEST:
        raise InvalidInput("counts of more than 2^53 people", expected)
    return numbers.astype(np.int64)


def _has_text(table: NDArray[Any]) -> bool:
    return any(isinstance(entry, str | bytes | bool) or entry is None for entry in table.ravel())


def bag_names(names: Any, count: int) -> tuple[Label, ...]:
    """Check the names of bags: each has one of its own."""
    plain = tuple(names)
    if not set(map(type, plain)) <= {str, int}:
        plain = tuple(name.item() if isinstance(name, np.generic) else name for name in plain)
    if len(plain) != count:
        raise InvalidInput(f"{len(plain)} names for {count} bags", "a name for each bag")
    nameless = "" in plain
    if not set(map(type, plain)) <= {str, int}:
        nameless = any(
            not isinstance(name, str | int | float) or name in ("", math.inf, -math.inf) or name != name
            for name in plain
        )
    if nameless:
        raise InvalidInput("bags without a name", "a number or a text for each bag")
    if len(set(plain)) < len(plain):
        raise InvalidInput("bags that have the same name", "a name of its own for each bag")
    return plain


def _check_that_names_can_be_written(names: list[Label]) -> None:
    """Refuse what no file can hold, before anything is spent."""
    try:
        json.dumps(names, ensure_ascii=False).encode()
    except ValueError:
        raise InvalidInput(
            "names of classes or bags that cannot be written", "text of whole characters, or numbers"
        ) from None
