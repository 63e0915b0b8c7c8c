"""Tables of whole numbers near to noisy ones: not negative, with given sums of rows and columns."""

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats

Whole = NDArray[np.int64]

_CLOSE = 0.2  # people, by which column sums may be off before they are made whole: that mends them
_MOST_STEPS = 60  # of Newton's method: a piecewise quadratic function takes a dozen
_SHORTEST = 1e-4  # of a step: beyond it the function does not fall
_SINGULAR = 1e-9  # relative: adding the same to all columns changes nothing


def whole_rows(raw: Floats, totals: Whole) -> Whole:
    """Return the whole numbers nearest to each row that are not negative and sum to its total.

    Examples
    --------
    >>> whole_rows(np.array([[-3.0, 5.5, 7.5], [1.0, 2.0, 3.0]]), np.array([10, 6]))
    array([[0, 4, 6],
           [1, 2, 3]])
    """
    return _rounded(rows_on_simplex(raw, totals), totals)


def whole_table(raw: Floats, totals: Whole, columns: Whole) -> Whole:
    """Return a table of whole numbers near to ``raw`` that are not negative, with these sums of rows and columns.

    The nearest such table of real numbers is max(raw + u_row + v_column, 0): v is found by Newton's method, u is the
    projection of each row. It is made whole row by row, and what the columns are then off is moved within those rows in
    which that costs least.

    Examples
    --------
    >>> whole_table(np.array([[-2.0, 4.0], [3.0, 5.0]]), np.array([2, 8]), np.array([1, 9]))
    array([[0, 2],
           [1, 7]])
    """
    possible = columns > 0
    table = np.zeros(raw.shape, dtype=np.int64)
    if not possible.any():  # nobody
        return table
    inner, wanted = raw[:, possible], columns[possible]
    table[:, possible] = _mended(_rounded(_balanced(inner, totals, wanted), totals), inner, wanted)
    return table


def rows_on_simplex(raw: Floats, totals: Floats | Whole) -> Floats:
    """Return the nearest rows of numbers that are not negative and sum to the totals."""
    most = raw.max(axis=1, keepdims=True)
    ordered = -np.sort(most - raw, axis=1)  # differences from the largest are exact, however large it is
    excess = np.cumsum(ordered, axis=1) - totals[:, None]
    ranks = np.arange(1, raw.shape[1] + 1)
    kept = np.maximum((ordered - excess / ranks > 0).sum(axis=1) - 1, 0)  # of nobody, none
    shift = excess[np.arange(len(raw)), kept] / (kept + 1)
    return np.asarray(np.maximum(raw - (most[:, 0] + shift)[:, None], 0.0))


def _balanced(raw: Floats, totals: Whole, columns: Whole) -> Floats:
    """The nearest table of real numbers, nearly."""
    shift = np.zeros(raw.shape[1])
    table = rows_on_simplex(raw, totals)
    off = table.sum(axis=0) - columns
    for _ in range(_MOST_STEPS):
        if np.abs(off).max() < _CLOSE:
            break
        active = (table > 0).astype(float)
        counted = np.maximum(active.sum(axis=1), 1.0)
        slope = np.diag(active.sum(axis=0)) - (active / counted[:, None]).T @ active
        step = np.linalg.lstsq(slope + _SINGULAR * np.eye(len(slope)), -off, rcond=None)[0]
        size, found = 1.0, False
        while size > _SHORTEST and not found:
            moved = rows_on_simplex(raw + shift + size * step, totals)
            later = moved.sum(axis=0) - columns
            found = bool(np.abs(later).sum() < np.abs(off).sum())
            size /= 1 if found else 2
        if not found:
            break
        shift, table, off = shift + size * step, moved, later
    return table


def _rounded(table: Floats, totals: Whole) -> Whole:
    """Whole numbers with the sums of rows: the largest remainders are rounded up."""
    whole = np.floor(table).astype(np.int64)
    missing = totals - whole.sum(axis=1)
    # Numbers beyond 10^14 have no remainders to speak of: what does not fit goes where it is least beside the number.
    extra = np.where((missing >= 0) & (missing <= table.shape[1]), 0, missing)
    whole[np.arange(len(whole)), whole.argmax(axis=1)] += extra
    order = np.argsort(whole - table, axis=1, kind="stable")
    up = np.arange(table.shape[1]) < (missing - extra)[:, None]
    np.put_along_axis(whole, order, np.take_along_axis(whole, order, axis=1) + up, axis=1)
    return whole


def _mended(whole: Whole, raw: Floats, columns: Whole) -> Whole:
    """Move people between columns, within rows, until the columns have their sums."""
    missing = columns - whole.sum(axis=0)
    while missing.any():
        source, target = int(missing.argmin()), int(missing.argmax())
        count = int(min(-missing[source], missing[target]))
        rows = np.flatnonzero(whole[:, source] > 0)
        cost = (whole[rows, target] - raw[rows, target]) - (whole[rows, source] - raw[rows, source])
        best = rows[np.argsort(cost, kind="stable")[:count]]
        # One person of each row, and more only where there are too few rows.
        moved = np.minimum(whole[best, source], max(1, count // len(rows)))
        moved = np.minimum(moved, np.maximum(count - np.append(0, np.cumsum(moved)[:-1]), 0))
        whole[best, source] -= moved
        whole[best, target] += moved
        missing[source] += moved.sum()
        missing[target] -= moved.sum()
    return whole
