"""Proportions: points of the simplex."""

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats

_JUST_BELOW = 1e-9  # of a person: a product such as 0.3 * 10 may round to a little less than the whole number meant
_STATIONARY = 1e-14  # how far a step may still move a proportion where it is at its optimum: rounding
_SLOPE = 1e-9  # by which a slope may exceed 1 where it may not: what rounding leaves of sums over reports
_ABSENT = 1e-12  # proportions below are zero: with fewer than 10^12 people such a class has nobody
_AT_BORDER = 1e-10  # proportions below are left out of Newton steps, unless they grow; zero if they want to fall
_SHORT_OF_BORDER = 1 - 1e-8  # of the way: a class at exactly zero could not come back


def project_to_simplex(point: Floats) -> Floats:
    """Return the nearest vector of non-negative numbers that sum to one.

    Examples
    --------
    >>> project_to_simplex(np.array([1.2, -0.2]))
    array([1., 0.])
    """
    point = point - point.max()  # the same projection, and exact however large the numbers are
    ordered = np.sort(point)[::-1]
    excess = np.cumsum(ordered) - 1
    ranks = np.arange(1, len(point) + 1)
    kept = int(np.flatnonzero(ordered - excess / ranks > 0)[-1])
    projected: Floats = np.maximum(point - excess[kept] / (kept + 1), 0.0)
    return projected


def whole_counts(shares: Floats, size: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the whole numbers nearest to size times share that sum to the size, for one group or a row for each.

    Examples
    --------
    >>> whole_counts(np.array([0.5, 0.3, 0.2]), 9)
    array([4, 3, 2])
    """
    wanted = shares * np.expand_dims(size, -1)
    whole = np.floor(wanted + _JUST_BELOW).astype(np.int64)
    missing = np.expand_dims(size - whole.sum(axis=-1), -1)
    by_remainder = np.argsort(np.argsort(whole - wanted, axis=-1, kind="stable"), axis=-1)
    counts: NDArray[np.int64] = whole + (by_remainder < missing)
    return counts


def mixture_proportions(matrix: Floats, counts: Floats, max_rounds: int = 10_000) -> Floats:
    """Maximise sum_o counts_o log (S p)_o over proportions p: the likelihood of reports.

    The problem is concave. Active-set Newton steps reach it to rounding error; between them, and where they fail, there
    are steps of expectation-maximisation, which never leaves the simplex.

    Parameters
    ----------
    matrix : array, reports x classes
    counts : array, reports
    """
    weights = counts / counts.sum()
    seen = weights > 0
    table, weights = matrix[seen], weights[seen]
    p = np.full(matrix.shape[1], 1 / matrix.shape[1])
    for _ in range(max_rounds):
        gradient = table.T @ (weights / (table @ p))
        # At the optimum the gradient is 1 where p > 0, and at most 1 elsewhere.
        leaving = (p <= _AT_BORDER) & (gradient < 1 - _SLOPE)
        if np.abs(gradient * p - p)[~leaving].max() < _STATIONARY and gradient.max() < 1 + _SLOPE:
            p[leaving] = 0.0
            break
        trial = _newton_point(table, weights, p, gradient)
        # An expectation-maximisation step from there, too: it lets go of classes that a parabola keeps at the border.
        p = p * gradient if trial is None else trial * (table.T @ (weights / (table @ trial)))
        p = p / p.sum()
    p[p < _ABSENT] = 0.0
    proportions: Floats = p / p.sum()
    return proportions


def _newton_point(table: Floats, weights: Floats, p: Floats, gradient: Floats) -> Floats | None:
    """A Newton step on the classes that are not at the border, if it improves the likelihood."""
    border = p <= _AT_BORDER
    active = ~border | (gradient > 1)
    law = table @ p
    step = _newton_step(table[:, active], weights / law**2, gradient[active])
    # A class may want to grow by itself and yet fall together with the others: at the border that would stop them all.
    while (held := border[active] & (step < 0)).any():
        active[np.flatnonzero(active)[held]] = False
        step = _newton_step(table[:, active], weights / law**2, gradient[active])
    falling = step < 0
    room = float((p[active][falling] / -step[falling]).min()) if falling.any() else np.inf
    trial = p.copy()
    trial[active] = p[active] + min(1.0, _SHORT_OF_BORDER * room) * step
    trial /= trial.sum()
    new_law = table @ trial
    if not np.all(new_law > 0):
        return None
    return trial if weights @ np.log(new_law) > weights @ np.log(law) else None


def _newton_step(columns: Floats, curvature: Floats, gradient: Floats) -> Floats:
    """The step to the maximum of the parabola, with a sum of zero."""
    size = columns.shape[1]
    hessian = (columns * curvature[:, None]).T @ columns
    system = np.block([[hessian, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    step: Floats = np.linalg.lstsq(system, np.append(gradient, 0.0), rcond=None)[0][:size]
    return step
