"""Probabilities that users give: of base laws, of coordinates, of populations."""

from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput

# What probabilities may miss a sum of 1 by: less than ten written digits do, much more than doubles do.
SUM_TOLERANCE = 1e-9


def checked_probabilities(law: Any, count: int, name: str, each: str, never_zero: str = "") -> Floats:
    """Return probabilities that sum to 1, or say what is wrong with them.

    Parameters
    ----------
    law : what was given
    count : int
        How many there must be.
    name : str
        What they are called in messages.
    each : str
        What each is for.
    never_zero : str, optional
        Why none may be 0, if none may.

    Examples
    --------
    >>> checked_probabilities([0.25, 0.75], 2, "base", "class")
    array([0.25, 0.75])
    """
    wanted = f"positive numbers that sum to 1: {never_zero}" if never_zero else "probabilities that sum to 1"
    try:
        array = np.asarray(law, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name}={law!r}", wanted) from None
    if array.shape != (count,):
        raise InvalidInput(f"{name} of shape {array.shape}", f"{count} probabilities, one for each {each}")
    small = array.min() <= 0 if never_zero else array.min() < 0
    if not np.all(np.isfinite(array)) or small or abs(array.sum() - 1) > SUM_TOLERANCE:
        raise InvalidInput(f"{name}={array.tolist()!r}", wanted)
    return array
