"""What units cannot tell: rows that are never apart, and shares that change with what a unit is made of."""

from collections.abc import Sequence

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label, listed
from askance.errors import Unidentifiable
from askance.learning.ecology.table_fit import MANY_UNITS, TableFit
from askance.learning.ecology.table_likelihood import UnitShares

_NEVER_APART = 1e-7  # of the largest singular value: what whole numbers of people cannot leave by chance
_LOADING = 0.2  # of a row in a direction that no unit shows, from which it is named


def check_units(sizes: Floats, rows: int) -> None:
    """Refuse one unit: its table may be anything that its margins allow."""
    if len(sizes) < 2:
        raise Unidentifiable(
            f"{len(sizes)} unit{'s' * (len(sizes) != 1)} with people, for {rows} rows",
            "several units, such as polling stations or districts: cross-tables are learned from how they differ",
        )


def notes_on_units(shares: UnitShares, names: Sequence[Label]) -> tuple[str, ...]:
    """Return what the rows and columns of the units cannot tell."""
    units, rows = shares.x.shape
    notes = []
    if units < rows:
        notes.append(
            f"{units} units for {rows} rows: they cannot tell all rows apart. What they leave open is taken to be near "
            "the overall mix, and its intervals are wide."
        )
    weighted = shares.x * np.sqrt(shares.sizes / shares.sizes.sum())[:, None]
    _, sizes, axes = np.linalg.svd(weighted, full_matrices=True)
    sizes = np.append(sizes, np.zeros(rows - len(sizes)))
    hidden = axes[sizes < _NEVER_APART * sizes[0]]
    if len(hidden) and units >= rows:
        among = [name for name, loading in zip(names, np.abs(hidden).max(axis=0), strict=True) if loading > _LOADING]
        notes.append(
            f"No unit tells {listed(among)} apart: their shares rise and fall together. Each is taken to be near the "
            "overall mix; merge them, or read their intervals only."
        )
    if units < shares.c.shape[1]:
        notes.append(f"{units} units for {shares.c.shape[1]} columns: there is little to learn from.")
    return tuple(notes)


def notes_on_rare(fit: TableFit, rows: Sequence[Label], columns: Sequence[Label]) -> tuple[str, ...]:
    """Name rows and columns whose shares differ between units by about as much as they are large, where units are few.

    No normal law holds of such shares: none is below zero, and one unit in ten has most of the people.
    """
    people = fit.units.sum(axis=0)
    share = people / np.maximum(people.sum(axis=1, keepdims=True), 1e-300)
    # The variance between units is p (1 - p) rho; more than p^2 / 2 is too much for a normal law about p. Columns of
    # 10% and 2% that differ as widely (Dirichlet, 30): .95 intervals covered .63 to .77 with two and four units, .80 to
    # .83 with twelve, .93 with 50, 1.00 with 200 (30 sets each).
    rare = (share > 0) & (2 * (1 - share) * fit.agreement[:, None] > share)
    if len(fit.units) >= MANY_UNITS or not rare.any():
        return ()
    few = [name for name, found in zip(columns, rare.any(axis=0), strict=True) if found]
    among = [name for name, found in zip(rows, rare.any(axis=1), strict=True) if found]
    return (
        f"So few of {listed(among)} chose {listed(few)} that their shares differ between units by nearly as much as "
        f"they are large, and {len(fit.units)} units tell little of that: intervals may be too short. More units, or a "
        "column merged with another, would help.",
    )


def notes_on_fit(fit: TableFit) -> tuple[str, ...]:
    """Return what the fit shows of its own assumptions."""
    notes = []
    if fit.leaning:
        notes.append(
            "Units lean one way or another, whatever their rows, by more than a normal law allows for: their "
            f"means alone lead elsewhere. Shares may be off; the intervals were widened by {fit.widened:g}."
        )
    if fit.hinted:
        notes.append(
            f"There may be aggregation bias: {len(fit.units)} units hint that how people of a row choose changes with "
            "what their unit is made of, and are too few to say. The intervals were widened by "
            f"{fit.widened:g}; more, and smaller, units would tell."
        )
    elif fit.changed > 1:
        notes.append(
            "Aggregation bias: how people of a row choose changes with what their unit is made of (likelihood ratio "
            f"{fit.gain:.0f} for {fit.effective:.0f} numbers). The model allows for some of it, and the intervals were "
            f"widened by {fit.widened:g}; what changes within units cannot be seen at all."
        )
    if not fit.converged:
        notes.append("The search stopped before it converged: merge rows or columns that hardly anybody is in.")
    return tuple(notes)
