"""What structured response costs: the loss H = E[Cov[beta(o) | y]] of channels that hide whole vectors.

A report o about phi(y) is unbiased by beta, E[beta(o) | y] = phi(y). The moment estimator of theta then has
covariance (I^-1 + I^-1 H I^-1) / n ([LM] proposition 2): H is all that the channel adds. It is computed from the
channel itself; the closed forms of [LM] appendix A.3 stand beside it.
"""

import numpy as np
from numpy.typing import ArrayLike

from askance.arrays import Floats
from askance.channels.probabilities import checked_probabilities
from askance.channels.rows.vectors import VectorChannel
from askance.errors import InvalidInput


def response_loss(channel: VectorChannel, truths: ArrayLike, law: ArrayLike | None = None) -> Floats:
    """Return H = E[Cov[beta(o) | y]], dim x dim, over a finite population of truths.

    Parameters
    ----------
    channel : VectorChannel
        How a vector is hidden.
    truths : array, K x dim
        The vectors that occur, inside the channel's range: what is clipped is not estimated without bias.
    law : array, (K,), optional
        How often each occurs; equally often if not given.

    Examples
    --------
    >>> from askance import PerValueFlip
    >>> response_loss(PerValueFlip(dim=2, epsilon=2.0), [[0, 1], [1, 1]]).round(3)
    array([[0.921, 0.   ],
           [0.   , 0.921]])
    """
    inside, clipped = channel.clip(truths)
    if clipped:
        low, high = channel.range
        raise InvalidInput(
            f"truths with {clipped} values outside [{low:g}, {high:g}]",
            "values inside the channel's range: what is clipped is not estimated without bias",
        )
    if law is None:
        return channel.noise_covariance(inside)
    weights = checked_probabilities(law, len(inside), "a law", "truth")
    loss: Floats = np.zeros((channel.dim, channel.dim))
    for row, weight in zip(inside, weights, strict=True):
        loss += weight * channel.noise_covariance(row[None])
    return loss


def coordinate_release_loss(phi: ArrayLike, law: ArrayLike, q: float) -> Floats:
    """Return H of coordinate release by its closed form, for features that are 0 or 1.

    H = d q (1 - q) / (2 q - 1)^2 I + E[d diag(phi)^2 - phi phi'], where a coordinate is drawn uniformly and its bit
    kept with probability q. The first part is the flip, the second that one coordinate speaks for all.

    Parameters
    ----------
    phi : array, d x K
        Column k is phi(k), of zeros and ones.
    law : array, (K,)
        How often each truth occurs.
    q : float in (1/2, 1]
        The probability with which a bit is kept.

    Examples
    --------
    >>> coordinate_release_loss([[0, 1], [1, 1]], [0.5, 0.5], q=0.75)
    array([[ 2. , -0.5],
           [-0.5,  2.5]])

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), theorem 1, equation (26).
    """
    features = np.atleast_2d(np.asarray(phi, dtype=float))
    if features.ndim != 2 or not np.all((features == 0) | (features == 1)):
        raise InvalidInput(
            "features that are not all 0 or 1",
            "zeros and ones, for which the theorem is stated",
            "For numbers in between use response_loss, which counts their rounding too.",
        )
    weights = checked_probabilities(law, features.shape[1], "a law", "truth")
    d = len(features)
    chosen = d * np.diag(features**2 @ weights) - (features * weights) @ features.T
    loss: Floats = d * flip_variance(q) * np.eye(d) + chosen
    return loss


def per_value_loss(dim: int, q: float) -> Floats:
    """Return H of per-value response by its closed form, for features that are 0 or 1.

    H = q (1 - q) / (2 q - 1)^2 I, where every bit is kept with probability q.

    Examples
    --------
    >>> per_value_loss(2, q=0.75)
    array([[0.75, 0.  ],
           [0.  , 0.75]])

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), theorem 2, equation (28).
    """
    return flip_variance(q) * np.eye(dim)


def flip_variance(q: float) -> float:
    """Return q (1 - q) / (2 q - 1)^2: the variance that unbiasing leaves in a bit kept with probability q."""
    if not 0.5 < q <= 1:
        raise InvalidInput(f"q={q!r}", "the probability of keeping a bit: above 1/2, at most 1")
    return q * (1 - q) / (2 * q - 1) ** 2
