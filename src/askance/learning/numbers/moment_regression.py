"""Linear regression from an estimated moment matrix, which may not be one that any data could have."""

import math
from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.errors import Unidentifiable

# Noise sigma in the entries of a p x p matrix moves its eigenvalues by 2 sigma sqrt(p) at most (the edge of Wigner's
# semicircle). Twice that is beyond doubt.
_CLEAR = 4.0
# Of penalties from sigma sqrt(p) / 16 to 4 sigma sqrt(p), the half has the least median error of prediction, or one
# within 4% of it: measured with four features, epsilon 2 to 8, and 500 to 10 000 reports.
_SHRINKAGE = 0.5
SINGULAR = 1e-10  # an eigenvalue below is rounding: moments of standardised columns are right to about 1e-13


@dataclass(frozen=True)
class MomentRegression:
    """A line through hidden points.

    Parameters
    ----------
    parameters : array, 1 + d (or d without an intercept)
        Intercept and coefficients, on the scale of the moments.
    jacobian : array
        Of the normal equations, by the parameters.
    ridge : float
        The penalty on the coefficients that was used.
    projected : bool
        Whether the moment matrix had to be moved to the nearest one that data can have.
    r_squared : float
        Of the line on the truth, by the moments; NaN where these do not say.
    flattest : float
        The smallest eigenvalue of the features' covariance, before any repair.
    flat : bool
        Whether some combination of the features does not vary at all, so that other lines fit as well.
    """

    parameters: Floats
    jacobian: Floats
    ridge: float
    projected: bool
    r_squared: float
    flattest: float
    flat: bool


def regress_moments(
    second: Floats, noise: float, ridge: float | None, intercept: bool, outcome_noise: float = 0.0
) -> MomentRegression:
    """Regress the last column on the others.

    Parameters
    ----------
    second : array, p x p
        Estimated E[a a'] for a = (1, features, outcome); the last entry, the outcome's square, may be NaN.
    noise : float
        The standard error of a typical entry.
    ridge : float, optional
        Penalty on the coefficients; nothing else is repaired then. If not given: none where the features' covariance
        stands clear of its noise; otherwise half the noise times sqrt(p), after the covariance is projected to a
        positive semi-definite one.
    intercept : bool
        Whether the line may miss the origin.
    outcome_noise : float
        The standard error of the last entry.
    """
    means = second[0, 1:]
    spread = second[1:, 1:] - np.outer(means, means) if intercept else second[1:, 1:].copy()
    features = len(means) - 1
    flattest = float(np.linalg.eigvalsh(spread[:features, :features])[0]) if features else math.inf
    reach = noise * math.sqrt(len(second))
    clear = flattest > max(_CLEAR * reach, SINGULAR)
    projected = False
    if ridge is None and not clear:
        spread, projected = _projected(spread)
    if ridge is None:
        ridge = 0.0 if clear else _SHRINKAGE * reach
    gram = spread[:features, :features] + ridge * np.eye(features)
    flat = features > 0 and bool(np.linalg.eigvalsh(gram)[0] <= SINGULAR * max(1.0, np.abs(gram).max()))
    if flat and noise:
        raise _flat_features(flattest, ridge)
    # Features that are known exactly may repeat each other: of all lines that fit, the shortest is taken.
    slopes = np.linalg.pinv(gram, SINGULAR, hermitian=True) @ spread[:features, -1] if features else np.empty(0)
    parameters, jacobian = slopes, gram
    if intercept:
        parameters = np.concatenate([[means[-1] - means[:-1] @ slopes], slopes])
        corner = np.concatenate([[1.0], means[:-1]])
        jacobian = np.zeros((features + 1, features + 1))
        jacobian[1:, 1:] = gram
        jacobian += np.outer(corner, corner)
    explained = _r_squared(spread, slopes, outcome_noise)
    return MomentRegression(parameters, jacobian, float(ridge), projected, explained, flattest, flat)


def _projected(spread: Floats) -> tuple[Floats, bool]:
    """Return the nearest positive semi-definite matrix, and whether it is another one."""
    known = spread if np.isfinite(spread[-1, -1]) else spread[:-1, :-1]
    values, vectors = np.linalg.eigh(known)
    if values[0] >= 0:
        return spread, False
    nearest = spread.copy()
    nearest[: len(known), : len(known)] = (vectors * np.maximum(values, 0)) @ vectors.T
    return nearest, True


def _r_squared(spread: Floats, slopes: Floats, noise: float) -> float:
    total = spread[-1, -1]
    if not total > _CLEAR * noise:  # a share of something that is hardly known
        return math.nan
    # Residual variance of this line, which a ridge keeps from being the best one.
    explained = 2 * slopes @ spread[:-1, -1] - slopes @ spread[:-1, :-1] @ slopes
    return float(min(explained / total, 1.0))


def _flat_features(flattest: float, ridge: float) -> Unidentifiable:
    """The refusal of features that vary less, by what is known of them, than nothing."""
    known = f"the least variance of a combination of features is estimated as {flattest:.2g}"
    if flattest > -SINGULAR:
        return Unidentifiable(
            f"features that do not vary, or of which some combination does not ({known})",
            "features that vary, and of which none repeats others",
            "Drop a feature, or use a larger ridge.",
        )
    return Unidentifiable(
        f"noise outweighs the features: {known}, which ridge={ridge:g} does not make up for",
        f"ridge='auto', or a ridge well above {-flattest:.2g}",
        "More reports, a larger epsilon, tighter public bounds or fewer features would help.",
    )
