"""Weights of rows, as estimators take them."""

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from askance.arrays import Floats
from askance.errors import InvalidInput


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
    return weights
