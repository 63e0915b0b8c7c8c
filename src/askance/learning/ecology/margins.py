"""Count tables of units, as people hand them over: who is in which row, and who chose which column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.alphabet import Label, listed
from askance.channels.guarantee import Guarantee
from askance.errors import InvalidInput, did_you_mean
from askance.frames import named_rows
from askance.releases.counts_release import CountsRelease
from askance.tables.count_tables import CountTable, read_counts

Unmatched = Literal["refuse", "remainder", "scale"]
REMAINDER = "(in one table only)"  # the row or column of people whom only the other table counts

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Margins:
    """Rows and columns of the same units.

    Parameters
    ----------
    rows : array, units x R
        Numbers of people.
    columns : array, units x K
        Numbers of people; of a release noisy ones, which sum to the people of the unit.
    row_names, column_names, units : tuples
    noise : array, units x K x K, or None
        The covariance of the column shares of each unit about the true ones.
    guarantee : Guarantee
        How well one person's column is protected.
    notes : tuple of str
    """

    rows: Floats
    columns: Floats
    row_names: tuple[Label, ...]
    column_names: tuple[Label, ...]
    units: tuple[Label, ...]
    noise: Floats | None
    guarantee: Guarantee
    notes: tuple[str, ...]


def read_margins(
    rows: Any, columns: Any, row_names: Sequence[Any] | None, classes: Sequence[Any] | None, unmatched: Unmatched
) -> Margins:
    """Check two count tables of the same units.

    Examples
    --------
    >>> read = read_margins({"a": [3, 4], "b": [5, 5]}, {"b": [9, 1], "a": [2, 5]}, None, None, "refuse")
    >>> read.columns
    array([[2., 5.],
           [9., 1.]])
    """
    if unmatched not in ("refuse", "remainder", "scale"):
        raise InvalidInput(f"unmatched={unmatched!r}", "'refuse', 'remainder' or 'scale'")
    if isinstance(rows, CountsRelease):
        raise InvalidInput(
            "row counts with noise",
            "exact row counts",
            "Noise in the rows makes units look more different than they are, and every transition weaker. Where it is "
            "small beside the counts, pass release.counts.",
        )
    people = _table(rows, row_names, "row counts")
    noise, guarantee = None, Guarantee.none("one person's column")
    if isinstance(columns, CountsRelease):
        _check_classes(classes, columns.classes)
        chosen = CountTable(columns.counts, columns.classes, columns.bags)
        values, noise, guarantee = columns.raw, columns.noise, columns.guarantee
    else:
        chosen = _table(columns, classes, "column counts")
        values = chosen.counts.astype(float)
    order = _same_units(people, chosen)
    values, noise = values[order], None if noise is None else noise[order]
    table = people.counts.astype(float)
    names, labels = people.classes, chosen.classes
    off = table.sum(axis=1) - chosen.counts[order].sum(axis=1)
    notes: tuple[str, ...] = ()
    if off.any():
        if unmatched == "refuse" or (noise is not None and unmatched == "remainder"):
            raise _unmatched(people, off, table.sum(axis=1), noise is not None)
        if unmatched == "scale":
            table = table * _ratio(table.sum(axis=1) - off, table.sum(axis=1))[:, None]
            notes = (
                f"Rows were scaled to the columns' totals in {np.count_nonzero(off):,} units: people who are in one "
                "table only are taken to be like the others.",
            )
        else:
            missing = np.column_stack([np.maximum(-off, 0), np.maximum(off, 0)])
            if missing[:, 0].any():
                table, names = np.column_stack([table, missing[:, 0]]), (*names, REMAINDER)
            if missing[:, 1].any():
                values, labels = np.column_stack([values, missing[:, 1]]), (*labels, REMAINDER)
            notes = (
                f"{int(missing.sum()):,} people are in one table only, net of each unit: they are a row or column of "
                f"their own, {REMAINDER!r}.",
            )
    return Margins(table, values, names, labels, people.bags, noise, guarantee, notes)


def _table(counts: Any, names: Sequence[Any] | None, what: str) -> CountTable:
    """Read a table of whole numbers, in which a unit may be empty."""
    try:
        named = named_rows(counts)
        numbers = np.asarray(counts if named is None else named[0], dtype=float)
    except (TypeError, ValueError):
        numbers = np.empty(0)  # a mapping, or something that the reader refuses
    if numbers.ndim == 2 and np.isfinite(numbers).all() and (numbers != np.floor(numbers)).any():
        sums = numbers.sum(axis=1)
        if np.allclose(sums, 1, atol=0.02) or np.allclose(sums, 100, atol=2):
            raise InvalidInput(
                f"{what} that are proportions", "numbers of people by unit", "Multiply them by the people of each unit."
            )
        if (numbers >= 0).all():
            raise InvalidInput(
                f"{what} that are not whole numbers", "numbers of people by unit", "Round what was weighted."
            )
    try:
        return read_counts(counts, names, empty=True)
    except InvalidInput as error:
        raise InvalidInput(f"{what}: {error}") from None


def _check_classes(classes: Sequence[Any] | None, own: tuple[Label, ...]) -> None:
    if classes is not None and tuple(classes) != own:
        raise InvalidInput(f"classes={list(classes)!r:.60} beside a release", f"its own, {listed(own)}, or none")


def _same_units(rows: CountTable, columns: CountTable) -> NDArray[np.int64]:
    """Return where each unit of the rows is among those of the columns."""
    if len(rows.bags) != len(columns.bags):
        raise InvalidInput(
            f"row counts of {len(rows.bags):,} units and column counts of {len(columns.bags):,}", "the same units"
        )
    place = {name: number for number, name in enumerate(columns.bags)}
    numbered = [tuple(range(len(rows.bags)))]
    if rows.bags in numbered or columns.bags in numbered:  # one of them has no names: they are in order
        if rows.bags != columns.bags and {*rows.bags} == {*columns.bags}:
            raise InvalidInput(
                "units that are numbered in order in one table and in another order in the other",
                "the same units, with the same names, in both tables",
                "Give both tables the names of their units, or bring both into one order and number them anew.",
            )
        return np.arange(len(rows.bags))
    if lost := [name for name in rows.bags if name not in place]:
        raise InvalidInput(
            f"{len(lost):,} units that only the row counts have, such as {lost[0]!r}",
            "the same units, with the same names, in both tables",
            did_you_mean(lost[0], (name for name in columns.bags if name not in set(rows.bags))),
        )
    return np.array([place[name] for name in rows.bags])


def _unmatched(people: CountTable, off: Floats, totals: Floats, noisy: bool) -> InvalidInput:
    worst = int(np.abs(off).argmax())
    remainder = "" if noisy else "unmatched='remainder' makes them a row or column of their own; "
    return InvalidInput(
        f"row and column totals that differ in {np.count_nonzero(off):,} of {len(off):,} units: "
        f"{people.bags[worst]!r} has {totals[worst]:,.0f} by row and {totals[worst] - off[worst]:,.0f} by column",
        "the same people in both tables",
        f"If some are in one table only, as those who did not vote: {remainder}unmatched='scale' takes them for people "
        "like the others.",
    )


def _ratio(wanted: Floats, have: Floats) -> Floats:
    return np.divide(wanted, have, out=np.zeros_like(have), where=have > 0)
