"""The inverse of an information matrix, of parameters in any units, some of which may be left out."""

import numpy as np

from askance.arrays import Floats

_NO_CURVATURE = 1e-13  # relative eigenvalue of an information matrix that is rounding alone


def inverse_information(information: Floats) -> Floats:
    """Return the inverse where there is information, and zeros where there is none.

    Examples
    --------
    >>> inverse_information(np.diag([4.0, 0.0]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    size = np.abs(np.diag(information))
    # Columns that are left out have zeros, of which an inverse makes rounding: it is not to be blown up.
    scale = np.sqrt(np.where(size > 0, np.maximum(size, np.finfo(float).tiny), 1.0))
    scaled = information / np.outer(scale, scale)
    inverse: Floats = np.linalg.pinv(scaled, rcond=_NO_CURVATURE, hermitian=True) / np.outer(scale, scale)
    return inverse
