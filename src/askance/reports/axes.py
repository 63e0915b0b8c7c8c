"""Axes for who gives none."""

from typing import Any

from askance.errors import InvalidInput


def new_axes(size: tuple[float, float], ax: Any = None, dpi: float | None = None) -> Any:
    """Return the axes that were given, or those of a new figure that pyplot knows.

    A notebook shows such a figure below its cell, and ``plt.show()`` opens its window. It stays open until pyplot
    closes it: whoever draws hundreds, or in threads, gives axes of a figure of their own.

    Parameters
    ----------
    size : tuple of float
        Inches of a new figure.
    ax : matplotlib axes, optional
    dpi : float, optional
        Dots to an inch of a new figure.

    Examples
    --------
    >>> new_axes((4.0, 3.0)).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    if ax is not None:
        if not hasattr(ax, "set_xlabel"):
            raise InvalidInput(f"a {type(ax).__name__} as ax", "matplotlib axes, such as plt.subplots()[1], or none")
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained", dpi=dpi)[1]
