"""How precise an estimate from hidden answers can be: population variances, before any data exist.

The truth y takes K values with p_theta(y) proportional to exp(theta . phi(y)); reports follow a finite
channel S, or a vector channel that hides phi(y) itself. With I = Cov[phi(y)], and beta(o) such that
E[beta(o) | y] = phi(y), an estimate from n reports has covariance Sigma / n, where ([LM] proposition 2)

    full      Sigma = I^-1                                       the truth itself is seen
    marginal  Sigma = (I - E Cov[phi(y) | o])^-1                 maximum marginal likelihood
    moments   Sigma = I^-1 + I^-1 E Cov[beta(o) | y] I^-1        unbiased moments, then the convex fit
"""

from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from askance.arrays import Floats
from askance.channels.base import LabelChannel
from askance.channels.labels.channel_matrix import checked_matrix, unbiasing_matrix
from askance.channels.rows.vectors import VectorChannel
from askance.errors import InvalidInput, Unidentifiable
from askance.planning.theory.structured_response import response_loss

Method = Literal["marginal", "moments", "full"]
Unbiasing = Literal["pseudo-inverse", "least-variance"]

# Information below this fraction of what the truth itself carries is rounding error, not information.
_NO_INFORMATION = 1e-24
_SINGULAR = 1e-12  # of features on one scale: below it, some combination of them is constant but for rounding


def family_law(features: ArrayLike, theta: ArrayLike) -> Floats:
    """Return p_theta(y), proportional to exp(theta . phi(y)).

    Parameters
    ----------
    features : array, d x K
        Column k is phi(k).
    theta : array, (d,) or (replicates, d)
        One parameter, or many at once.

    Examples
    --------
    >>> family_law([[0, 1, 2]], [0.0])
    array([0.33333333, 0.33333333, 0.33333333])
    """
    scores = np.asarray(theta, dtype=float) @ np.atleast_2d(np.asarray(features, dtype=float))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    law: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return law


def asymptotic_variance(
    features: ArrayLike,
    theta: ArrayLike,
    channel: LabelChannel | VectorChannel | ArrayLike | None = None,
    method: Method = "marginal",
    unbiasing: Unbiasing = "pseudo-inverse",
) -> Floats:
    """Return Sigma, d x d: an estimate of theta from n reports has covariance Sigma / n for large n.

    Parameters
    ----------
    features : array, d x K
        Column k is phi(k), the sufficient statistics of truth k.
    theta : array, (d,)
        The true parameter.
    channel : finite channel, array reports x K, or vector channel
        How the truth is hidden; not needed for ``method="full"``. A vector channel hides the column phi(y), as in
        structured response, and takes ``method="moments"``.
    method : {"marginal", "moments", "full"}
        The estimator, see the module's description.
    unbiasing : {"pseudo-inverse", "least-variance"}
        Which beta the moments use, where the channel leaves a choice: the pseudo-inverse needs no knowledge of
        the report law, the other takes the law that theta implies.

    Examples
    --------
    >>> from askance import RandomizedResponse
    >>> coin = RandomizedResponse(["no", "yes"], truth_probability=0.5)
    >>> asymptotic_variance([[0, 1]], [0.0], coin)
    array([[16.]])
    >>> asymptotic_variance([[0, 1]], [0.0], method="full")
    array([[4.]])
    >>> from askance import PerValueFlip
    >>> asymptotic_variance([[0, 0, 1, 1], [0, 1, 0, 1]], [0.0, 0.0], PerValueFlip(2, 2.0), "moments").round(2)
    array([[18.73,  0.  ],
           [ 0.  , 18.73]])

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), equations (13) and (14); theorems 1 and 2.
    """
    phi, law = _population(features, theta)
    centred = phi - (phi @ law)[:, None]
    information = (centred * law) @ centred.T
    inverse_information = _inverse(information, information, "the features")
    if method == "full":
        return inverse_information
    if _hides_vectors(channel):
        if method != "moments":
            raise InvalidInput(
                f"method={method!r} for a vector channel",
                "method='moments'",
                "The marginal likelihood sums over all vectors that could have been hidden.",
            )
        loss = response_loss(channel, phi.T, law)
        return inverse_information + inverse_information @ loss @ inverse_information
    matrix = _matrix_of(channel, phi.shape[1])
    report_law = matrix @ law
    if method == "marginal":
        # Cov E[phi | o] is I - E Cov[phi | o] without the cancellation.
        expected = centred @ (matrix * law / report_law[:, None]).T
        return _inverse((expected * report_law) @ expected.T, information, "the reports")
    if method == "moments":
        if unbiasing not in ("pseudo-inverse", "least-variance"):
            raise InvalidInput(f"unbiasing={unbiasing!r}", "'pseudo-inverse' or 'least-variance'")
        known_law = report_law if unbiasing == "least-variance" else None
        beta = unbiasing_matrix(matrix, tuple(range(phi.shape[1])), known_law, centred)
        # Cov[beta] = I + E Cov[beta | y], because E[beta | y] = phi(y); beta is centred as phi is.
        variance: Floats = inverse_information @ ((beta * report_law) @ beta.T) @ inverse_information
        return variance
    raise InvalidInput(f"method={method!r}", "'marginal', 'moments' or 'full'")


def classic_response_variance(
    features: ArrayLike, theta: ArrayLike, truth_probability: float, base: ArrayLike | None = None
) -> Floats:
    """Return Sigma of the moment estimator under classic response, in closed form.

    Sigma = I^-1 + I^-1 H I^-1 with, for y' drawn from the base law and truth probability t,
    H = (1 - t) / t^2 Cov[phi(y')] + (1 - t) / t E[(phi(y) - E phi(y'))(phi(y) - E phi(y'))'].

    Parameters
    ----------
    features, theta : arrays
        As for :func:`asymptotic_variance`.
    truth_probability : float in (0, 1]
        The probability t of telling the truth outright.
    base : array, (K,), optional
        The law that replaces the truth; uniform if not given.

    Examples
    --------
    >>> classic_response_variance([[0, 1]], [0.0], truth_probability=0.5)
    array([[16.]])

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), lemma 1, equation (15).
    """
    phi, law = _population(features, theta)
    t = float(truth_probability)
    if not 0 < t <= 1:
        raise InvalidInput(f"truth_probability={truth_probability!r}", "a number above 0 and at most 1")
    replacement = np.full(phi.shape[1], 1 / phi.shape[1]) if base is None else np.asarray(base, dtype=float)
    checked_matrix(replacement[..., None], classes=1, reports=phi.shape[1])
    from_mean = phi - (phi @ law)[:, None]
    from_base = phi - (phi @ replacement)[:, None]
    information = (from_mean * law) @ from_mean.T
    loss = (1 - t) / t**2 * (from_base * replacement) @ from_base.T
    loss += (1 - t) / t * (from_base * law) @ from_base.T
    inverse = _inverse(information, information, "the features")
    variance: Floats = inverse + inverse @ loss @ inverse
    return variance


def relative_efficiency(
    features: ArrayLike,
    theta: ArrayLike,
    channel: LabelChannel | VectorChannel | ArrayLike,
    unbiasing: Unbiasing = "pseudo-inverse",
    reference: LabelChannel | VectorChannel | ArrayLike | None = None,
) -> float:
    """Return tr(Sigma_reference Sigma_moments^-1) / d: how good moments from ``channel`` are.

    Parameters
    ----------
    features, theta, channel, unbiasing
        As for :func:`asymptotic_variance`.
    reference : channel, optional
        Compare with moments from this channel: above 1 if ``channel`` is the better one. If not given, compare with
        the marginal likelihood under ``channel`` itself: 1 if the moments waste nothing, less otherwise.

    Examples
    --------
    >>> from askance import CoordinateRelease, PerValueFlip, RandomizedResponse
    >>> coin = RandomizedResponse(["a", "b", "c"], truth_probability=0.5)
    >>> round(relative_efficiency([[0, 1, 2]], [1.0], coin), 3)
    0.886
    >>> bits = [[0, 0, 1, 1], [0, 1, 0, 1]]
    >>> every, one = PerValueFlip(dim=2, epsilon=1.0), CoordinateRelease(dim=2, epsilon=1.0)
    >>> round(relative_efficiency(bits, [0.5, -0.5], one, reference=every), 3)
    1.629
    """
    moments = asymptotic_variance(features, theta, channel, "moments", unbiasing)
    if reference is not None:
        other = asymptotic_variance(features, theta, reference, "moments", unbiasing)
    elif _hides_vectors(channel):
        raise InvalidInput("a vector channel and nothing to compare it with", "reference=another channel")
    else:
        other = asymptotic_variance(features, theta, channel, "marginal")
    return float(np.trace(np.linalg.solve(moments, other))) / len(other)


def _population(features: ArrayLike, theta: ArrayLike) -> tuple[Floats, Floats]:
    phi = np.atleast_2d(np.asarray(features, dtype=float))
    parameter = np.asarray(theta, dtype=float)
    if phi.ndim != 2 or phi.shape[1] < 2 or not np.all(np.isfinite(phi)):
        raise InvalidInput(f"features of shape {phi.shape}", "finite numbers, d features x at least two truths")
    if parameter.shape != phi.shape[:1] or not np.all(np.isfinite(parameter)):
        raise InvalidInput(f"theta={parameter.tolist()!r}", f"{phi.shape[0]} finite numbers, one a feature")
    return phi, family_law(phi, parameter)


def _hides_vectors(channel: Any) -> TypeGuard[VectorChannel]:
    """Whether a channel answers what noise it adds to a vector; a table, or its matrix, does not."""
    return hasattr(channel, "noise_covariance")


def _matrix_of(channel: Any, classes: int) -> Floats:
    """The channel's matrix, without the reports that no truth leads to."""
    if channel is None:
        raise InvalidInput("no channel", "a finite channel or its matrix, unless method='full'")
    table = np.asarray(getattr(channel, "matrix", channel), dtype=float)
    matrix = checked_matrix(table, classes, reports=len(table) if table.ndim else 0)
    possible: Floats = matrix[matrix.max(axis=1) > 0]
    return possible


def _inverse(information: Floats, full_information: Floats, source: str) -> Floats:
    """Invert an information matrix, on a scale on which all features are alike."""
    spread, full_spread = np.diag(information), np.diag(full_information)
    if np.all(spread > _NO_INFORMATION * full_spread):
        scale = 1 / np.sqrt(spread)
        alike = information * np.outer(scale, scale)
        if np.linalg.eigvalsh(alike)[0] > _SINGULAR:
            inverse: Floats = np.linalg.inv(alike) * np.outer(scale, scale)
            return inverse
    raise Unidentifiable(
        f"{source} carry no information about some direction of theta",
        "features that vary, that no combination makes constant, and reports that depend on them",
        "Drop the features that are constant or repeat others, or use a channel that tells the truths apart.",
    )
