"""The ridge that somebody asks an estimator for."""

import math
from typing import Any

import numpy as np

from askance.errors import InvalidInput


def checked_ridge(ridge: Any) -> float | None:
    """Return a penalty, or None for "auto".

    Examples
    --------
    >>> checked_ridge("auto"), checked_ridge(2)
    (None, 2.0)
    """
    if isinstance(ridge, str) and ridge == "auto":
        return None
    usable = isinstance(ridge, int | float | np.number) and not isinstance(ridge, bool)
    if not usable or not 0 <= float(ridge) < math.inf:
        raise InvalidInput(f"ridge={ridge!r}", "'auto', 0 or a positive number")
    return float(ridge)
