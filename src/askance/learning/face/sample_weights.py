"""Weights of rows, as estimators take them."""

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from askance.arrays import Floats
from askance.errors import InvalidInput

_UNEQUAL = 0.1  # a sample whose weights leave so little of it is decided by a few of its rows


def checked_weights(sample_weight: Any, rows: Any) -> Floats | None:
    """Return one weight for each row, or None for equal ones; refuse weights that are negative, or all zero."""
    if sample_weight is None:
        return None
    try:
        weights: Floats = _check_sample_weight(sample_weight, rows, dtype=np.float64)
    except ValueError as error:
        raise InvalidInput(f"unusable sample weights ({error})", "one weight for each row, of zero or more") from None
    if weights.min(initial=0.0) < 0 or not weights.sum() > 0:
        raise InvalidInput("negative sample weights, or all of them zero", "weights of zero or more")
    with np.errstate(over="ignore", under="ignore"):
        squares = float((weights**2).sum())
        is_held = squares >= np.finfo(float).tiny and np.isfinite(weights.sum() ** 2)
    if not is_held:
        raise InvalidInput(
            f"sample weights of up to {weights.max():.3g}, whose squares no double holds",
            "weights in a unit in which they are about 1",
            "Divide them by their mean.",
        )
    return weights


def unequal_weights(rows: int, weights: Floats, squares: Floats) -> tuple[str, ...]:
    """Say that weights, whose squares are given too, leave next to nothing of a sample; nothing where they do not."""
    size = float(weights.sum()) ** 2 / float(squares.sum())
    if size >= _UNEQUAL * rows:
        return ()
    return (
        f"The weights are very unequal: {rows:,} reports tell as much as {size:,.1f} of equal weight. A few of them "
        "decide the estimates, and errors are measured as if there were many.",
    )
