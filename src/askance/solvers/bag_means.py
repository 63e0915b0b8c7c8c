"""Class means from bag means and proportions: b_j = sum_k pi_jk mu_k, solved by weighted least squares."""

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import Unidentifiable

Sizes = NDArray[np.float64] | NDArray[np.int64]

# Share of the proportions' spread that must be left after their noise is taken off. The noise is known on average only:
# with less left, the chance in it would decide about the classes.
_CLEAR = 0.05


def class_means(bag_means: Floats, sizes: Sizes, proportions: Floats, noise: Floats | None = None) -> Floats:
    """Return the class means, K x d, by weighted least squares.

    Parameters
    ----------
    bag_means : array, bags x d
    sizes : array, bags
    proportions : array, bags x K
    noise : array, bags x K x K, optional
        The covariance of each bag's proportions about the true ones. Noise in regressors pulls the classes together;
        taking its second moment off, as errors in variables ask, undoes that.

    Examples
    --------
    >>> class_means(np.array([[1.0], [2.0]]), np.array([4, 4]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([[1.],
           [3.]])
    """
    weighted = proportions * sizes[:, None]
    gram = weighted.T @ proportions
    if noise is not None:
        corrected = gram - np.tensordot(sizes, noise, axes=1)
        # What the proportions tell beyond their overall mean is the spread between bags: is any left of it?
        if _spread(corrected, sizes) <= _CLEAR * _spread(gram, sizes):
            raise Unidentifiable(
                "proportions whose noise is as large as their spread between bags",
                "bags that differ by more than the noise",
                "Join bags, or use less noise.",
            )
        gram = corrected
    return np.asarray(np.linalg.lstsq(gram, weighted.T @ bag_means, rcond=None)[0], dtype=float)


def _spread(gram: Floats, sizes: Sizes) -> float:
    """The least variance of the proportions between bags, over all contrasts of classes."""
    share = gram.sum(axis=1) / sizes.sum()
    centred = gram / sizes.sum() - np.outer(share, share)
    return float(np.linalg.eigvalsh(centred)[1])
