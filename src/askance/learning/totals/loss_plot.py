"""A loss and the two parts that it is the sum of."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askance.learning.totals.losses import Loss, factorise
from askance.reports.axes import new_axes
from askance.reports.colours import BLUE, INK, MIST, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOSS, _EVEN, _ODD, _GRID = INK, BLUE, VERMILION, MIST


def plot_factorisation(
    loss: Loss | Callable[[NDArray[np.float64]], NDArray[np.float64]],
    axes: "Axes | None" = None,
    reach: float = 3.0,
    legend: bool = True,
) -> Any:
    """Draw a loss, its even part, which needs no label, and its odd part, through which the label enters.

    Parameters
    ----------
    loss : Loss or function of the margin
    axes : matplotlib axes, optional
        A new figure if not given.
    reach : float
        Margins are drawn from -reach to reach.
    legend : bool
        Whether it is said which line is which.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from askance.learning.totals.losses import Logistic
    >>> plot_factorisation(Logistic()).get_xlabel()
    'margin z'
    """
    drawn = new_axes((4.4, 3.6), axes)
    z = np.linspace(-reach, reach, 301)
    parts = factorise(loss, z)
    drawn.axhline(0, color=_GRID, lw=0.8, zorder=0)
    drawn.axvline(0, color=_GRID, lw=0.8, zorder=0)
    drawn.plot(z, parts.loss, color=_LOSS, lw=2.2, label="loss")
    drawn.plot(z, parts.even, color=_EVEN, lw=1.8, ls=(0, (5, 2)), label="even part")
    drawn.plot(z, parts.odd, color=_ODD, lw=1.8, ls=(0, (1.5, 1.5)), label="odd part")
    drawn.set_xlabel("margin z")
    if legend:
        drawn.legend(frameon=False, loc="upper center")
    return drawn
