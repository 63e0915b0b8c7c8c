"""What reports can be, whatever the truth is: laws by which reports are checked against their channel.

A *view* sorts reports into a few cells: by the code of one column, by those of two columns, by which columns they are
about. Of any one truth the law of the cells is known, and of many people it is a mixture of such laws. A view lists
laws of which every other one is a mixture, so that the possible laws are their convex hull. Reports that are far from
all of it were not made by the channel.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.rows.number_law import NumberLaw
from askance.channels.rows.window_law import WindowLaw

CELLS = (
    24  # of the codes of one column: fine enough to see a gap that a window leaves, coarse enough for a hundred rows
)
PAIR_CELLS = 6  # of either of two columns
MOST_VIEWS = 40  # of columns, and of pairs of them; more would cost time and find nothing that these do not

Cells = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ReportView:
    """Cells that reports fall into, and the laws that they can have.

    Parameters
    ----------
    what : str
        What the cells are of, in words.
    laws : array, cells x laws
        Every possible law of the cells is a mixture of the columns.
    cells : callable
        From reports, as the channel checked them, to the cell of each.
    number, windows : int
        Of which number the first so many cells are the codes, in order: laws then begin with that of the lower bound,
        and end with that of the upper. No cells are where windows are none.
    """

    what: str
    laws: Floats
    cells: Callable[[NDArray[Any]], Cells]
    number: int = 0
    windows: int = 0


def window_laws(law: WindowLaw, cells: int) -> tuple[Cells, Floats]:
    """Return the cell of each code, and the laws of cells inside a window, cells x starts of the window.

    The share of a window in a cell is linear in its start between starts at which one of its ends meets the end of a
    cell: those starts are enough.
    """
    cells = min(cells, law.codes)
    ends = -(-np.arange(cells + 1) * law.codes // cells)
    last = law.codes - law.width
    starts = np.unique(np.clip(np.concatenate([ends, ends - law.width, [0, last]]), 0, last))
    low = np.maximum(ends[:-1, None], starts)
    high = np.minimum(ends[1:, None], starts + law.width)
    inside: Floats = np.maximum(high - low, 0) / law.width
    return np.repeat(np.arange(cells), np.diff(ends)), inside


def blank_law(cell_of: Cells) -> Floats:
    """The law of the cells of uniform codes."""
    counts: Floats = np.bincount(cell_of) / len(cell_of)
    return counts


def number_laws(law: NumberLaw, cells: int = CELLS) -> tuple[Cells, Floats]:
    """Return the cell of each code of a number, and the laws of the cells: those of a window, then tails and heads."""
    table, laws = np.empty(0, dtype=np.intp), np.empty((0, 1))
    if law.window is not None:
        table, inside = window_laws(law.window, cells)
        own = law.window.kappa * inside + (1 - law.window.kappa) * blank_law(table)[:, None]
        laws = law.window_share * own
    if law.coin is None:
        return table, laws
    low, high = law.coin.chance(np.array([0.0, 1.0])).tolist()
    # Window and coin tell of the same number. Taken for two numbers, more is possible than can be: never less.
    sides = (1 - law.window_share) * np.array([[1 - low, 1 - high], [low, high]])
    both = np.vstack([np.repeat(laws, 2, axis=1), np.tile(sides, max(laws.shape[1], 1))[:, : 2 * laws.shape[1]]])
    return np.concatenate([table, len(laws) + np.arange(2)]), both


def window_cells(law: NumberLaw, cells: int = CELLS) -> int:
    """How many cells of :func:`number_laws` are those of a window."""
    return 0 if law.window is None else min(cells, law.window.codes)


def named_view(
    what: str, place: int, chance: float, width: int, table: Cells, laws: Floats, windows: int
) -> ReportView:
    """The view of one number among k that a report names before it gives their codes.

    Parameters
    ----------
    place, chance : the number, and how often it is named
    width : k
    table, laws : the cell of each code, and the laws of the cells
    windows : how many of the cells are those of a window
    """
    outside = len(laws)

    def cells(reports: NDArray[Any]) -> Cells:
        found = np.full(len(reports), outside, dtype=np.intp)
        rows, at = np.nonzero(reports[:, :width] == place)
        found[rows] = table[reports[rows, width + at]]
        return found

    whole = np.vstack([chance * laws, np.full((1, laws.shape[1]), 1 - chance)])
    return ReportView(what, whole, cells, place, windows)


def given_view(what: str, place: int, table: Cells, laws: Floats, windows: int) -> ReportView:
    """The view of one number of reports that give a code for every one."""
    return ReportView(what, laws, lambda reports: table[reports.reshape(len(reports), -1)[:, place]], place, windows)


def coded_view(what: str, first: int, count: int, laws: Floats) -> ReportView:
    """The view of some codes that follow each other, of reports that are one code; a last cell is any other code."""

    def cells(reports: NDArray[Any]) -> Cells:
        own = reports.astype(np.intp) - first
        return np.where((own >= 0) & (own < count), own, count)

    return ReportView(what, laws, cells)


def some_of(count: int) -> list[int]:
    """Return all of a few places, or some of many that are spread evenly."""
    return [int(place) for place in np.unique(np.linspace(0, count - 1, min(MOST_VIEWS, count)).astype(int))]


def pair_places(dim: int) -> list[tuple[int, int]]:
    """Return pairs of columns to look at: all, or some that are spread evenly."""
    first, second = np.triu_indices(dim, 1)
    return [(int(first[i]), int(second[i])) for i in some_of(len(first))] if dim > 1 else []
