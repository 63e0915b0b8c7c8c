"""How far off class ratios of a new group will be, that were learned from bags with noisy proportions.

Each bag's mean is a mixture of class means by the bag's proportions; class means come back by least squares, and the
mean of the new group is then matched by a mixture of them. To first order the error of the estimated mixture is the
sum of

- the sampling error of the new group's own mean, and of the bags' means: these are divided by how far the classes
  lie apart, G = Z' M S^-1 M' Z (class means M, covariance S within classes, Z a basis of the vectors of sum zero);
- the noise of the bags' proportions, which passes straight through: noise e_j in bag j moves the class means by just
  what it takes to be believed, however far the classes lie apart.

With proportions P (bags x K), sizes W, B = (P' W P)^-1, and weights a = W P B theta of the bags in a mixture theta,

    Cov = Z [ (1 / n_new + theta' B theta) G^-1 + sum_j a_j^2 Z' N_j Z ] Z'

which is averaged over all mixtures theta, uniform on the simplex.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import InvalidInput, Unidentifiable

_ROWS_A_FEATURE = 5  # at least, for a covariance that is worth inverting
_SAME_BAGS = 1e-10  # proportions that differ by less than the root of this, 1e-5, do not differ
_A_HAIR = 1e-9  # of the mean variance, or of the largest distance: what rounding leaves where there is none
_FAINT = 0.2  # of a squared distance: what at least is taken for signal, not chance


class RatioError(NamedTuple):
    """Expected L1 errors of class ratios: all together, and what each cause alone would give."""

    total: float
    sampling: float
    noise: float


def expected_ratio_error(proportions: Floats, sizes: Floats, noise: Floats, apart: Floats, new_rows: int) -> RatioError:
    """Return the expected L1 error of the ratios of a new group.

    Parameters
    ----------
    proportions : array, bags x K
    sizes : array, bags
    noise : array, bags x K x K
        The covariances of the released proportions.
    apart : array, K x K
        The class means' inner products M S^-1 M', up to a common shift of all means.
    new_rows : int
        The size of the new group.

    Examples
    --------
    >>> P = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> error = expected_ratio_error(P, np.array([500.0, 500.0]), np.zeros((2, 2, 2)), equally_apart(2, 2.0), 1000)
    >>> round(error.total, 3), error.noise
    (0.04, 0.0)
    """
    classes = proportions.shape[1]
    basis = sum_zero_basis(classes)
    gram = basis.T @ apart @ basis
    weighted = proportions * sizes[:, None]
    information = proportions.T @ weighted
    if (
        np.linalg.matrix_rank(information / sizes.sum(), tol=_SAME_BAGS) < classes
        or np.linalg.matrix_rank(gram) < classes - 1
    ):
        raise Unidentifiable("bags or classes that cannot be told apart", "proportions that differ in every direction")
    inverse = np.linalg.inv(information)
    mixtures = (np.eye(classes) + 1) / (classes * (classes + 1))  # E[theta theta'], uniform on the simplex
    sampled = (1 / new_rows + float(np.trace(inverse @ mixtures))) * np.linalg.inv(gram)
    lever = weighted @ inverse  # a = lever theta
    weights = np.einsum("jk,kl,jl->j", lever, mixtures, lever)
    noisy = basis.T @ np.einsum("j,jkl->kl", weights, noise) @ basis
    return RatioError(*(_mean_size(basis @ part @ basis.T) for part in (sampled + noisy, sampled, noisy)))


def sum_zero_basis(classes: int) -> Floats:
    """Return orthonormal columns that sum to zero."""
    from scipy.linalg import helmert

    return np.asarray(helmert(classes).T)


def equally_apart(classes: int, separation: float) -> Floats:
    """Return inner products of class means that all lie ``separation`` standard deviations from each other."""
    return np.eye(classes) * separation**2 / 2


def measured_apart(X: Any, codes: NDArray[Any], classes: int) -> Floats:
    """Return the inner products M S^-1 M' of class means, in the metric of the covariance within classes.

    What chance adds is taken off: the means' own errors, and those of the covariance, which grow with the number of
    features. Of more features than rows can tell of, the main components are looked at, which can only lose distance.
    """
    try:
        features = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput("features that are not numbers", "finite numbers, a row for each label") from None
    if features.ndim != 2 or len(features) != len(codes) or not np.isfinite(features).all():
        raise InvalidInput(f"features of shape {features.shape}", "finite numbers, a row for each label")
    freedom = max(len(features) - classes, 1)
    features = _main_components(features, max(freedom // _ROWS_A_FEATURE, classes - 1))
    means = np.array([features[codes == k].mean(axis=0) for k in range(classes)])
    rest = features - means[codes]
    within = rest.T @ rest / freedom
    if not within.any():
        raise InvalidInput("features that are constant in every class", "features that vary")
    width = len(within)
    within += _A_HAIR * np.trace(within) / width * np.eye(width)
    centred = means - means.mean(axis=0)
    seen = np.asarray(centred @ np.linalg.solve(within, centred.T))
    level = np.eye(classes) - 1 / classes
    chance = width * level @ np.diag(1 / np.bincount(codes, minlength=classes)) @ level
    basis = sum_zero_basis(classes)
    values, axes = np.linalg.eigh(basis.T @ seen @ basis)
    if values[0] <= _A_HAIR * max(values[-1], np.finfo(float).tiny):
        raise Unidentifiable(
            f"{features.shape[1]} features in which some of {classes} classes have the same mean",
            "features that tell all classes apart",
            "Give separation= in place of X, if other features will.",
        )
    less = max(freedom - width - 1, 1) / freedom
    left = np.diag(axes.T @ basis.T @ (less * seen - chance) @ basis @ axes)
    kept = np.maximum(left, _FAINT * values)
    apart: Floats = basis @ (axes * kept) @ axes.T @ basis.T
    return apart


def _main_components(features: Floats, most: int) -> Floats:
    """The features, each in units of its deviation, or as many of their main components as there may be."""
    spread = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if scaled.shape[1] <= most:
        return np.asarray(scaled)
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    made: Floats = left[:, :most] * values[:most]
    return made


def _mean_size(covariance: Floats) -> float:
    """The expected sum of absolute normal errors."""
    return float(np.sqrt(2 / np.pi * np.maximum(np.diag(covariance), 0.0)).sum())
