"""Proportions: points of the simplex."""

import numpy as np
from numpy.typing import NDArray

from askance.releases.simplex import project_to_simplex as project_to_simplex

Floats = NDArray[np.float64]


def mixture_proportions(matrix: Floats, counts: Floats, max_rounds: int = 10_000) -> Floats:
    """Maximise sum_o counts_o log (S p)_o over proportions p: the likelihood of reports.

    The problem is concave. Active-set Newton steps reach it to rounding error; expectation-maximisation,
    which never leaves the simplex, is what they fall back on.

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
        if np.abs(gradient * p - p).max() < 1e-14 and gradient.max() < 1 + 1e-9:
            break
        trial = _newton_point(table, weights, p, gradient)
        p = p * gradient if trial is None else trial
        p = p / p.sum()
    p[p < 1e-12] = 0.0
    proportions: Floats = p / p.sum()
    return proportions


def _newton_point(table: Floats, weights: Floats, p: Floats, gradient: Floats) -> Floats | None:
    """A Newton step on the classes that are not at the border, if it improves the likelihood.

    A step never goes quite to the border: a class at exactly zero could not come back.
    """
    active = (p > 1e-10) | (gradient > 1)
    columns = table[:, active]
    law = table @ p
    hessian = (columns * (weights / law**2)[:, None]).T @ columns
    size = int(active.sum())
    system = np.block([[hessian, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]])
    step = np.linalg.lstsq(system, np.append(gradient[active], 0.0), rcond=None)[0][:size]
    falling = step < 0
    room = float((p[active][falling] / -step[falling]).min()) if falling.any() else np.inf
    trial = p.copy()
    trial[active] = p[active] + min(1.0, 0.99 * room) * step
    trial /= trial.sum()
    new_law = table @ trial
    if not np.all(new_law > 0):
        return None
    return trial if weights @ np.log(new_law) > weights @ np.log(law) else None
