"""How many values lie at a public bound, as those do that were clipped to it: told by the codes of windows.

The windows of all values begin within the codes that are possible. So the share of reports whose code is one of the
first c says, once the noise is undone, how many values are not above the c-th: the distribution function itself, as far
as a window is wide. With A and A' its means over the first few codes and over as many that follow, a share s at the
bound beside a density that does not change gives A = s + d and A' = s + 3 d, so that (3 A - A') / 2 is s. A density
that falls towards the bound, as in the tail of a bell, gives less, and never makes a pile where there is none.
"""

import math
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.channels.rows.report_views import ReportView

_PRECISE = 0.015  # standard error of a share that is worth no more codes: these would take what is inside for the bound
_WHOLE = 0.7  # of what the first cell gains by a value at the bound: what the end of a window may leave of a cell


class Pile(NamedTuple):
    """The share of values at a bound beyond what lies beside it, its standard error, and from how far it is told.

    The reach is a share of the distance between the bounds.
    """

    share: float
    error: float
    reach: float


def piles(view: ReportView, counts: Floats) -> tuple[Pile, Pile] | None:
    """Return the piles at the lower and at the upper bound; None where windows do not tell."""
    rows = counts.sum()
    if not tells_piles(view) or not rows:
        return None
    own, laws = counts[: view.windows] / rows, view.laws[: view.windows]
    return _pile(own, laws, rows), _pile(own[::-1], laws[::-1, ::-1], rows)


def tells_piles(view: ReportView) -> bool:
    """Whether windows are there, and wide enough to tell what is at a bound from what lies beside it."""
    laws = view.laws[: view.windows]
    return view.windows > 1 and min(_covered(laws), _covered(laws[::-1, ::-1])) > 1


def _covered(laws: Floats) -> int:
    """How many of the first cells are in the window of a value at the bound, and in none of those at the other end."""
    gain = laws[:, 0] - laws[:, -1]
    return int(np.argmin(np.append(gain > _WHOLE * gain[0], False)))


def _pile(share: Floats, laws: Floats, rows: float) -> Pile:
    """The pile at the first of the cells; the first law is that of a value there, the last of one at the other end."""
    far, gain, covered = laws[:, -1], laws[:, 0] - laws[:, -1], _covered(laws)
    width, pairs = 0, covered // 2
    while True:
        width += 1
        weights = np.zeros(len(share))
        weights[:width] = 1.5 / gain[:width].sum()
        weights[width : 2 * width] = -0.5 / gain[width : 2 * width].sum()
        error = math.sqrt(max(float(weights**2 @ share - (weights @ share) ** 2), 0.0) / rows)
        if error <= _PRECISE or width == pairs:
            return Pile(float(weights @ (share - far)), error, 2 * width / max(len(share) - covered, 1))
