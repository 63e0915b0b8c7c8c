"""Fisher information of a law over finitely many outcomes, by differences: for models without a formula."""

from collections.abc import Callable

import numpy as np

from askance.arrays import Floats

_STEP = 1e-5  # central differences are then right to about 1e-10 of parameters of order one


def law_information(law: Callable[[Floats], Floats], at: Floats) -> Floats:
    """Return the information that one draw from ``law(parameters)`` holds about the parameters.

    Parameters
    ----------
    law : function of the parameters
        Returns the probability of each outcome.
    at : array
        The parameters.

    Examples
    --------
    >>> import numpy as np
    >>> law_information(lambda p: np.array([p[0], 1 - p[0]]), np.array([0.2])).round(6)
    array([[6.25]])
    """
    here = law(at)
    slopes = []
    for unit in np.eye(len(at)):
        slopes.append((law(at + _STEP * unit) - law(at - _STEP * unit)).ravel() / (2 * _STEP))
    moved = np.array(slopes)
    seen = here.ravel() > 0
    information: Floats = (moved[:, seen] / here.ravel()[seen]) @ moved[:, seen].T
    return information
