"""The inverse of an information matrix, of parameters in any units, some of which may be left out."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor
from scipy.linalg.lapack import dpotri

from askance.arrays import Floats

_NO_CURVATURE = 1e-13  # relative eigenvalue of an information matrix that is rounding alone
_PLAIN = 1e8  # trace of the inverse up to which all eigenvalues are far from that


def inverse_information(information: Floats) -> Floats:
    """Return the inverse where there is information, and zeros where there is none; NaN where that is not known.

    Examples
    --------
    >>> inverse_information(np.diag([4.0, 0.0]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    if np.isnan(information).any():  # no number is larger than it: its column would be left out, as if certain
        return np.full_like(information, np.nan)
    size = np.abs(np.diag(information))
    # Columns that are left out have zeros, of which an inverse makes rounding: it is not to be blown up.
    told = np.flatnonzero(size > 0)
    inverse: Floats = np.zeros_like(information)
    if not told.size:
        return inverse
    scale, both = np.sqrt(np.maximum(size[told], np.finfo(float).tiny)), np.ix_(told, told)
    inverse[both] = _inverse(information[both] / np.outer(scale, scale)) / np.outer(scale, scale)
    return inverse


def _inverse(matrix: Floats) -> Floats:
    """By Cholesky's factors, which take a tenth of the time of eigenvalues, unless some of these are to be left out."""
    try:
        lower, _ = dpotri(cho_factor(matrix, lower=True)[0], lower=True)
        inverse: Floats = np.tril(lower)
        inverse += np.tril(lower, -1).T
    except (LinAlgError, ValueError):
        inverse = np.full_like(matrix, np.nan)
    if np.trace(inverse) <= _PLAIN:
        return inverse
    return np.asarray(np.linalg.pinv(matrix, rcond=_NO_CURVATURE, hermitian=True))
