"""Intervals for shares that lie between 0 and 1, from estimates that need not."""

import numpy as np

from askance.arrays import Floats

_HALVINGS = 40  # the ends are exact to 2^-40, 1e-12


def bounded_interval(estimates: Floats, errors: Floats, level: float) -> tuple[Floats, Floats]:
    """Return lower and upper ends within [0, 1] for normal estimates of shares.

    A share is in the interval unless a likelihood-ratio test refuses it, where the alternative lies in [0, 1] too
    (Feldman & Cousins 1998). Far from the border this is estimate -+ z error. At the border it becomes one-sided,
    without a gap in coverage, and it is never empty, as a clipped interval would be.

    Parameters
    ----------
    estimates : array
        Of any sign and size.
    errors : array
        Standard errors.
    level : float

    Examples
    --------
    >>> low, high = bounded_interval(np.array([0.5, 0.01, -0.3]), np.array([0.1, 0.1, 0.1]), 0.95)
    >>> low.round(3), high.round(3)
    (array([0.304, 0.   , 0.   ]), array([0.696, 0.206, 0.042]))
    """
    errors = np.maximum(errors, 1e-12)
    nearest = np.clip(estimates, 0.0, 1.0)
    ends = []
    for border in (0.0, 1.0):
        inside, outside = nearest.copy(), np.full_like(nearest, border)
        whole = _p_value(estimates, errors, outside) >= 1 - level
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            kept = _p_value(estimates, errors, middle) >= 1 - level
            inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
        ends.append(np.where(whole, border, inside))
    return ends[0], ends[1]


def _p_value(estimates: Floats, errors: Floats, share: Floats) -> Floats:
    """The probability of a likelihood ratio as large as this one if ``share`` is the truth."""
    from scipy.special import ndtr

    beyond = estimates - np.clip(estimates, 0.0, 1.0)
    ratio = np.maximum((estimates - share) ** 2 - beyond**2, 0.0) / errors**2
    below, above = _reach(ratio, share / errors), _reach(ratio, (1 - share) / errors)
    tail: Floats = ndtr(-below) + ndtr(-above)
    return tail


def _reach(ratio: Floats, border: Floats) -> Floats:
    """How far to one side an estimate may lie before its ratio is larger. Beyond the border that grows linearly."""
    root = np.sqrt(ratio)
    with np.errstate(divide="ignore", invalid="ignore"):
        beyond = np.where(border > 0, (ratio + border**2) / (2 * border), np.inf)
    reached: Floats = np.where(root <= border, root, beyond)
    return reached
