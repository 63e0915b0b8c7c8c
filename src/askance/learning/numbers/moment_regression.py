"""Linear regression from an estimated moment matrix, which may not be one that any data could have."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.errors import Unidentifiable

# Noise sigma in the entries of a p x p matrix moves its eigenvalues by 2 sigma sqrt(p) at most (the edge of Wigner's
# semicircle). Twice that is beyond doubt.
_CLEAR = 4.0
# Of penalties from sigma sqrt(p) / 16 to 4 sigma sqrt(p), the half has the least median error of prediction, or one
# within 4% of it: measured with four features, epsilon 2 to 8, and 500 to 10 000 reports.
_SHRINKAGE = 0.5
# Dividing the penalty by the square of the relation is better than shrinking coefficients by it: measured on proteins,
# housing and made-up rows with 4 and 30 features, epsilon 2 to 8, seeds 100 to 105. No relation at all is a penalty of
# 400 times the usual one, which leaves next to nothing of any coefficient.
_LEAST_RELATION = 0.05
SINGULAR = 1e-10  # an eigenvalue below is rounding: moments of standardised columns are right to about 1e-13
_TAKES_PART = 1e-6  # share of a feature in a combination that does not vary: rounding leaves 1e-10


@dataclass(frozen=True)
class MomentRegression:
    """A line through hidden points.

    Parameters
    ----------
    parameters : array, 1 + d (or d without an intercept)
        Intercept and coefficients, on the scale of the moments.
    jacobian, shrunk : array
        Of the normal equations, by the parameters: with the least ridge, and with the one that was used.
    ridge : float
        The penalty on the coefficients that was used.
    projected : bool
        Whether the moment matrix had to be moved to the nearest one that data can have.
    relation : float
        How much of the relation of features and outcome stands clear of noise, from 0 to 1; 1 if nobody asked.
    flattest : float
        The smallest eigenvalue of the features' covariance, before any repair.
    undetermined : array of truth values, as the parameters
        Which coefficients may be others, and the line fits as well: some combination with them does not vary at all.
    """

    parameters: Floats
    jacobian: Floats
    shrunk: Floats
    ridge: float
    projected: bool
    relation: float
    flattest: float
    undetermined: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MomentProblem:
    """Regress the last column on the others.

    Parameters
    ----------
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
    unrelated : array, (p - 1) x (p - 1), optional
        The noise of the products of (1, features) with the outcome about its mean, where nothing relates them. If
        given, a ridge that is not grows the more, the less of their relation stands clear of it.
    """

    noise: float
    ridge: float | None
    intercept: bool
    outcome_noise: float = 0.0
    unrelated: Floats | None = None

    def with_fewer(self, factor: float) -> "MomentProblem":
        """The same problem of fewer reports, so that variances are larger by a factor."""
        root, unrelated = math.sqrt(factor), None if self.unrelated is None else factor * self.unrelated
        return replace(self, noise=root * self.noise, outcome_noise=root * self.outcome_noise, unrelated=unrelated)

    def solve(self, second: Floats) -> MomentRegression:
        """Return the line of a moment matrix.

        Parameters
        ----------
        second : array, p x p
            Estimated E[a a'] for a = (1, features, outcome); the last entry, the outcome's square, may be NaN.
        """
        means = second[0, 1:]
        spread = second[1:, 1:] - np.outer(means, means) if self.intercept else second[1:, 1:].copy()
        features = len(means) - 1
        flattest = float(np.linalg.eigvalsh(spread[:features, :features])[0]) if features else math.inf
        reach = self.noise * math.sqrt(len(second))
        clear = flattest > max(_CLEAR * reach, SINGULAR)
        relation, projected = 1.0, False
        if self.ridge is None and not clear and self.noise:  # what is known exactly needs no repair
            relation = self._relation(means[:-1], spread[:features, -1])
            spread, projected = _projected(spread)
        least = self.ridge if self.ridge is not None else 0.0 if clear else _SHRINKAGE * reach
        ridge = least / max(relation, _LEAST_RELATION) ** 2
        gram = spread[:features, :features] + least * np.eye(features)
        undetermined = _undetermined(gram)
        if undetermined.any() and self.noise:
            raise _flat_features(flattest, least)
        # Features that are known exactly may repeat each other: of all lines that fit, the shortest is taken.
        shrunk = gram + (ridge - least) * np.eye(features)
        slopes = np.linalg.pinv(shrunk, SINGULAR, hermitian=True) @ spread[:features, -1] if features else np.empty(0)
        # The errors are those of the least ridge: a coefficient that is held at zero is no better known.
        parameters, jacobian = slopes, gram
        if self.intercept:
            parameters = np.concatenate([[means[-1] - means[:-1] @ slopes], slopes])
            jacobian, shrunk = _with_intercept(gram, means[:-1]), _with_intercept(shrunk, means[:-1])
            undetermined = np.append(False, undetermined)
        return MomentRegression(parameters, jacobian, shrunk, float(ridge), projected, relation, flattest, undetermined)

    def _relation(self, means: Floats, products: Floats) -> float:
        """The share of the products of features and outcome that noise does not explain, from 0 to 1.

        With r the estimated products and S their noise it is 1 - p / r'S^-1 r, by which James & Stein (1961) shrink.
        """
        if self.unrelated is None:
            return 1.0
        about = np.eye(len(means))
        if self.intercept:
            about = np.hstack([-means[:, None], about])
        noise = self.unrelated if self.intercept else self.unrelated[1:, 1:]
        size = float(products @ np.linalg.pinv(about @ noise @ about.T, SINGULAR, hermitian=True) @ products)
        return max(0.0, 1 - len(means) / size) if size > 0 else 0.0


def _undetermined(gram: Floats) -> NDArray[np.bool_]:
    """Which features take part in a combination that does not vary."""
    if not len(gram):
        return np.zeros(0, dtype=bool)
    values, vectors = np.linalg.eigh(gram)
    still = vectors[:, values <= SINGULAR * max(1.0, np.abs(gram).max())]
    return np.asarray((np.abs(still) > _TAKES_PART).any(axis=1))


def _with_intercept(gram: Floats, means: Floats) -> Floats:
    """The slope of the normal equations with one for the intercept, of features with such means."""
    corner = np.concatenate([[1.0], means])
    whole: Floats = np.outer(corner, corner)
    whole[1:, 1:] += gram
    return whole


def _projected(spread: Floats) -> tuple[Floats, bool]:
    """Return the nearest positive semi-definite matrix, and whether it is another one."""
    known = spread if np.isfinite(spread[-1, -1]) else spread[:-1, :-1]
    values, vectors = np.linalg.eigh(known)
    if values[0] >= 0:
        return spread, False
    nearest = spread.copy()
    nearest[: len(known), : len(known)] = (vectors * np.maximum(values, 0)) @ vectors.T
    return nearest, True


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
