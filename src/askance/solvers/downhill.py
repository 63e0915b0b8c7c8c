"""Newton's own step of many parameters, where a function surely curves downwards: without its eigenvalues."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from askance.arrays import Floats

_MANY = 64  # parameters of which Cholesky's factors, a fraction of the time of eigenvalues, are worth a try
_FLAT = 1e-10  # relative curvature that is surely no rounding


def downhill_step(information: Floats, gradient: Floats) -> Floats | None:
    """Return the step to the maximum of a parabola of many parameters that has one; otherwise nothing.

    Parameters
    ----------
    information : array, p x p
        Minus the second derivatives.
    gradient : array, p

    Examples
    --------
    >>> downhill_step(2 * np.eye(100), np.ones(100))[:3]
    array([0.5, 0.5, 0.5])
    >>> downhill_step(-np.eye(100), np.ones(100)) is None
    True
    """
    if len(gradient) < _MANY:
        return None
    most = float(np.abs(information).sum(axis=0).max())  # no eigenvalue is larger
    try:
        # With all curvatures less by what is next to nothing: there are factors only if none is smaller than that.
        factor = cho_factor(information - _FLAT * most * np.eye(len(information)))
    except (LinAlgError, ValueError):
        return None
    step: Floats = cho_solve(factor, gradient)
    return np.asarray(step + cho_solve(factor, gradient - information @ step))
