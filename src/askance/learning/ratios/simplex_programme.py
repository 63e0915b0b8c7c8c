"""Quadratic programmes over proportions."""

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats


def nearest_mixture(gram: Floats, products: Floats) -> Floats:
    """Return the proportions r that minimise r' A r - 2 r' h: the mixture of K points that is nearest to another point.

    An active-set method: exact, and done after a few steps for as few classes as there are. On the classes that are in
    use it goes to the optimum of the equality-constrained problem, or as far as no share turns negative.

    Parameters
    ----------
    gram : array, K x K
        Inner products of the points.
    products : array, K
        Inner products with the point that is sought.

    Examples
    --------
    >>> nearest_mixture(np.eye(3), np.array([0.9, 0.5, -0.2]))
    array([0.7, 0.3, 0. ])
    """
    classes = len(gram)
    scale = max(float(np.abs(np.diag(gram)).max()), 1e-300)
    used = np.ones(classes, dtype=bool)
    r = np.full(classes, 1 / classes)
    for _ in range(10 * classes + 10):
        target, price = _on_the_face(gram, products, used)
        falling = used & (target < -1e-12)
        if falling.any():
            with np.errstate(divide="ignore"):
                reach = np.where(falling, r / np.where(falling, r - target, 1.0), np.inf)
            first = int(reach.argmin())
            r = r + min(float(reach[first]), 1.0) * (target - r)
            used[first], r[first] = False, 0.0
            continue
        r = target
        # A class outside would help if its gradient is below the price of a unit of share.
        gain = np.where(used, 0.0, products - gram @ r - price)
        if gain.max() <= 1e-10 * scale:
            break
        used[int(gain.argmax())] = True
    r = np.maximum(r, 0.0)
    proportions: Floats = r / r.sum()
    return proportions


def _on_the_face(gram: Floats, products: Floats, used: NDArray[np.bool_]) -> tuple[Floats, float]:
    """The optimum with the classes in use alone, shares of any sign; and the multiplier of the sum."""
    inside = np.flatnonzero(used)
    size = len(inside)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = gram[np.ix_(inside, inside)]
    system[:size, size] = system[size, :size] = 1.0
    found = least_squares(system, np.append(products[inside], 1.0))
    target = np.zeros(len(used))
    target[inside] = found[:size]
    return target, float(found[size])


def least_squares(system: Floats, wanted: Floats) -> Floats:
    """Solve a system that may be singular. Of numbers that are none LAPACK may never return: they are refused."""
    if not (np.isfinite(system).all() and np.isfinite(wanted).all()):
        raise FloatingPointError("inner products that are no finite numbers")
    return np.asarray(np.linalg.lstsq(system, wanted, rcond=None)[0], dtype=float)
