"""Bags of rows and what is known of each: the proportions of the classes, and maybe their noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats, Integers
from askance.channels.alphabet import Label, as_labels, listed
from askance.errors import InvalidInput, Unidentifiable
from askance.frames import named_rows
from askance.solvers.simplex import project_to_simplex, whole_counts

_ROUNDED = 0.011  # proportions are often printed with two digits: so far from one may their sum be
_BEYOND = 10.0  # standard deviations of noise, by which no proportion leaves [0, 1]: once in a million for Laplace's
_SAME = 1e-8  # relative to the largest singular value: the root of a double's precision, about


@dataclass(frozen=True, eq=False)
class Bags:
    """Who is in which bag, and the proportions of each.

    Parameters
    ----------
    order : array, n
        The rows, bag after bag.
    starts : array, bags + 1
        Where in ``order`` each bag starts.
    labels : tuple
        The bags' names, sorted.
    classes : tuple of labels
    proportions : array, bags x K
        As they were given; with noise they need not lie between 0 and 1.
    noise : array, bags x K x K, optional
        The covariance of each bag's proportions about the true ones.
    """

    order: Integers
    starts: Integers
    labels: tuple[Label, ...]
    classes: tuple[Label, ...]
    proportions: Floats
    noise: Floats | None = None

    @property
    def sizes(self) -> Integers:
        """How many rows each bag has."""
        return np.diff(self.starts)

    @property
    def codes(self) -> Integers:
        """The number of each row's bag, in the order of the rows."""
        codes = np.empty(len(self.order), dtype=np.int64)
        codes[self.order] = np.repeat(np.arange(len(self.labels)), self.sizes)
        return codes

    @property
    def shares(self) -> Floats:
        """The nearest proportions that lie between 0 and 1 and sum to one: noise may have carried them off."""
        return nearest_shares(self.proportions)

    @property
    def counts(self) -> Integers:
        """Labels of each class in each bag: whole numbers nearest to size times share that sum to the size."""
        return whole_counts(self.shares, self.sizes)

    @property
    def overall(self) -> Floats:
        """The proportions of the classes among all rows."""
        together: Floats = self.sizes @ self.shares / self.sizes.sum()
        return together

    @property
    def overdispersion(self) -> float:
        """The chi-square statistic of the proportions per degree of freedom: about 1 if rows were dealt at random."""
        share = self.overall
        seen = share > 0
        squares = (self.shares - share)[:, seen] ** 2 / share[seen]
        freedom = max((len(self.sizes) - 1) * (int(seen.sum()) - 1), 1)
        return float(self.sizes @ squares.sum(axis=1)) / freedom

    @property
    def variance_between(self) -> float:
        """The part of the labels' variance that lies between bags: 1 if every bag is pure, 0 if all are alike."""
        freedom = max((len(self.sizes) - 1) * (len(self.classes) - 1), 1)
        return self.overdispersion * freedom / (int(self.sizes.sum()) * (len(self.classes) - 1))

    def means(self, X: Floats) -> Floats:
        """The mean of each bag's rows."""
        sums: Floats = np.add.reduceat(X[self.order], self.starts[:-1])
        return sums / self.sizes[:, None]

    def check_identifiable(self) -> None:
        """Refuse proportions that cannot tell the classes apart."""
        weighted = self.proportions * np.sqrt(self.sizes / self.sizes.sum())[:, None]
        _, values, axes = np.linalg.svd(weighted, full_matrices=True)
        if len(values) == len(self.classes) and values[-1] > _SAME * values[0]:
            return
        absent = [name for name, most in zip(self.classes, self.proportions.max(axis=0), strict=True) if most <= _SAME]
        if absent:
            raise Unidentifiable(
                f"no bag with any of {listed(absent)}",
                "bags with some of every class: what was never seen cannot be learned",
                "Leave out the columns of classes that no bag has.",
            )
        missing = axes[-1] / np.abs(axes[-1]).max()
        terms = [f"{part:+.2g} {name}" for part, name in zip(missing, self.classes, strict=True) if abs(part) > _SAME]
        alike = "all bags have the same proportions" if len(self.classes) == 2 else "the bags' proportions do not vary"
        raise Unidentifiable(
            f"{alike} along {' '.join(terms)}, so nothing tells these classes apart",
            f"at least {len(self.classes)} bags whose proportions differ in every direction",
        )


def nearest_shares(proportions: Floats) -> Floats:
    """Return the nearest proportions, bags x K, that lie between 0 and 1 and sum to one."""
    return np.array([project_to_simplex(row) for row in proportions])


def read_bags(bags: Any, proportions: Any, classes: Sequence[Label] | None, noise: Any, rows: int) -> Bags:
    """Check bags and proportions, whatever they come as.

    Parameters
    ----------
    bags : n names
    proportions : mapping, frame, series or array
        By bag: shares of the classes, or of the second of two. An array has its rows in the order of the sorted names.
    classes : labels, optional
        The columns' names, or 0, 1, ... if not given.
    noise : number, array, mapping or frame, optional
        Variances of the shares (of the second of two classes; or of each class, independent), or covariances, K x K.
        One number is the same variance for all. In the order of the proportions' columns, where it names no classes.
    rows : int

    Examples
    --------
    >>> known = read_bags(["b", "a", "b"], {"a": 1.0, "b": 0.5}, ("no", "yes"), None, 3)
    >>> known.counts
    array([[0, 1],
           [1, 1]])
    """
    codes, names = bag_codes(bags, rows)
    table, named = _by_bag(proportions, names, "proportions")
    shares = _shares(table, names)
    labels = as_labels(classes if classes is not None else (named or range(shares.shape[1])), "classes")
    if len(labels) != shares.shape[1]:
        raise InvalidInput(
            f"proportions of {shares.shape[1]} classes, and the classes {listed(labels)}", "one column for each class"
        )
    spread = _noise(noise, names, named or labels)
    if classes is not None and named:
        columns = _places(labels, named, "proportions")
        shares = shares[:, columns]
        spread = None if spread is None else spread[:, columns][:, :, columns]
    _check_shares(shares, names, spread)
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(names)))]).astype(np.int64)
    total = shares.sum(axis=1, keepdims=True)
    exact = shares / total if noise is None else shares
    return Bags(order, starts, names, labels, exact, spread)


def bag_codes(bags: Any, rows: int, what: str = "bag") -> tuple[Integers, tuple[Any, ...]]:
    """Return the number of each row's bag, and the bags' names, sorted."""
    given = np.asarray(bags)
    if given.ndim != 1 or len(given) != rows:
        raise InvalidInput(f"{what}s of shape {given.shape} for {rows} rows", f"the name of its {what} for each row")
    missing = sum(map(_missing, given)) if given.dtype.kind == "O" else int(np.count_nonzero(given != given))
    if missing:
        raise InvalidInput(f"{missing} rows without a {what}", f"the name of its {what} for each row")
    try:
        names, codes = np.unique(given, return_inverse=True)
    except TypeError:
        raise InvalidInput(f"{what}s with names of several kinds", "numbers, or texts") from None
    return codes.astype(np.int64), tuple(names.tolist())


def _missing(name: Any) -> bool:
    """None, NaN and pandas' NA, of which even the equality with itself is not known."""
    same = name is not None and name == name
    return not (isinstance(same, bool | np.bool_) and same)


def _by_bag(table: Any, names: tuple[Any, ...], what: str) -> tuple[Floats, tuple[Label, ...]]:
    """Return one entry for each bag, in the order of their names; and the classes, where the table names them."""
    columns: tuple[Label, ...] = ()
    if (named := named_rows(table)) is not None:
        table, columns, rows = named
        table = dict(zip(rows, table, strict=True)) if rows else table
    if isinstance(table, Mapping):
        strangers = [name for name in table if name not in set(names)]
        absent = [name for name in names if name not in table]
        if strangers:
            raise InvalidInput(
                f"{what} of bags without rows: {listed(strangers)}",
                f"at least one row in every bag: there are rows of {listed(names, 6)}",
                "A number and its text are two names." * ({str(name) for name in names} >= set(map(str, strangers))),
            )
        if absent:
            raise InvalidInput(f"bags without {what}: {listed(absent)}", "an entry for every bag")
        entries = [table[name] for name in names]
        if isinstance(entries[0], Mapping):
            columns = tuple(entries[0])
            if any(set(entry) != set(columns) for entry in entries):
                raise InvalidInput(f"{what} that name other classes in other bags", "the same classes in all")
            entries = [[entry[label] for label in columns] for entry in entries]
        table = entries
    try:
        array = np.asarray(table, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{what} that are not numbers, or of different lengths: {str(table)[:60]}",
            "numbers by bag and class, with a decimal point",
        ) from None
    if array.ndim == 0 or len(array) != len(names):
        raise InvalidInput(
            f"{what} of shape {array.shape} for {len(names)} bags that have rows",
            "one entry for each bag, in the order of their sorted names",
            "An empty bag tells nothing: leave it out. A mapping by bag needs no order.",
        )
    if not np.isfinite(array).all():
        raise InvalidInput(f"{what} that are not finite", "numbers for every bag")
    return array, columns


def _shares(table: Floats, names: tuple[Any, ...]) -> Floats:
    shares = np.column_stack([1 - table.ravel(), table.ravel()]) if table.size == len(names) else table
    if shares.ndim != 2 or shares.shape[1] < 2:
        raise InvalidInput(f"proportions of shape {table.shape}", "bags x classes, or the second class's share by bag")
    return shares


def _check_shares(shares: Floats, names: tuple[Any, ...], noise: Floats | None) -> None:
    room, slack = np.zeros_like(shares), np.full(len(shares), _ROUNDED)
    if noise is not None:
        room = _BEYOND * np.sqrt(np.maximum(np.diagonal(noise, axis1=1, axis2=2), 0.0))
        slack = slack + _BEYOND * np.sqrt(np.maximum(noise.sum(axis=(1, 2)), 0.0))
    outside = (shares < -1e-9 - room) | (shares > 1 + 1e-9 + room)
    if outside.any():
        bag = int(np.flatnonzero(outside.any(axis=1))[0])
        remedy = "If they carry noise of a known variance, say so by noise=."
        if np.abs(shares[bag]).sum() > 2:
            remedy = "Divide counts by the number of rows of the bag, and percentages by 100."
        raise InvalidInput(
            f"proportions outside of [0, 1] in bag {names[bag]!r}: {shares[bag].round(4).tolist()}"
            + ", by more than their noise explains" * (noise is not None),
            "numbers from 0 to 1",
            remedy,
        )
    off = np.abs(shares.sum(axis=1) - 1)
    if (off > slack).any():
        bag = int((off - slack).argmax())
        raise InvalidInput(
            f"proportions that sum to {shares[bag].sum():.4g} in bag {names[bag]!r}", "proportions that sum to one"
        )


def _places(labels: tuple[Label, ...], named: tuple[Label, ...], what: str) -> list[int]:
    """Where the classes are among those that a table names."""
    if set(named) != set(labels):
        raise InvalidInput(f"{what} of {listed(named)}", f"the classes {listed(labels)}")
    return [named.index(label) for label in labels]


def _noise(noise: Any, names: tuple[Any, ...], labels: tuple[Label, ...]) -> Floats | None:
    if noise is None:
        return None
    classes = len(labels)
    if isinstance(noise, str | bool | np.bool_) or (np.isscalar(noise) and not np.isfinite(noise)):
        raise InvalidInput(f"noise={noise!r}", "a variance, or variances by bag")
    everywhere = np.isscalar(noise)
    table, named = (np.full(len(names), float(noise)), ()) if everywhere else _by_bag(noise, names, "noise")
    if named and table.ndim == 2:
        table = table[:, _places(labels, named, "noise")]
    if table.ndim == 3:
        if table.shape[1:] != (classes, classes):
            raise InvalidInput(f"noise of shape {table.shape}", f"bags x {classes} x {classes}")
        least = np.linalg.eigvalsh(table).min()
    elif table.ndim == 2 and table.shape[1] == classes:
        least, table = table.min(), table[:, :, None] * np.eye(classes)
    elif table.ndim == 1 and classes == 2:
        least, table = table.min(), table[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    elif everywhere:
        least, table = table.min(), table[:, None, None] * np.eye(classes)
    else:
        raise InvalidInput(f"noise of shape {table.shape}", f"variances, bags x {classes}, or covariances")
    if least < -1e-9:
        raise InvalidInput("noise with a negative variance", "variances of zero or more")
    return np.asarray(table, dtype=float)
