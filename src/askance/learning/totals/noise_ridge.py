"""How much to shrink a fit from a noisy mean operator: a rule that looks at public numbers only.

Near zero the risk of theta is that of a linear model: its slope g = H theta - (a/2) mu is known up to noise of
covariance Sigma = (a/2)^2 Cov(mu), with H = even''(0) E[z z'] from the public features. If theta is taken to be normal
beforehand with covariance T, the likeliest theta afterwards is the minimiser with the penalty Sigma H^-1 T^-1. We use
its symmetric form. T says that a score has variance 2 at the mean of the features, and 2 more around it: odds of one to
four, or four to one, are as large as most. Directions in which people differ little are shrunk most; there
noise could otherwise do what it likes.
"""

import numpy as np

from askance.arrays import Floats
from askance.learning.totals.public_features import PublicFeatures

SCORE_VARIANCE = 2.0  # one standard deviation is odds of four to one; see above
_FLOOR = 1e-6  # of the largest variance: where people differ less they count as alike, a thousandth in length


def noise_penalty(
    noise: Floats, features: PublicFeatures, curvature: float, score_variance: float = SCORE_VARIANCE
) -> Floats:
    """Return the penalty P of theta' P theta / 2, p x p.

    Parameters
    ----------
    noise : array, p x p
        Sigma: the covariance of the noise in the risk's slope.
    features : PublicFeatures
    curvature : float
        even''(0).
    score_variance : float
        How large scores are thought to be before any label is seen.
    """
    second = features.moments
    first = int(features.intercept)
    around = max(float(np.trace(second[first:, first:])), np.finfo(float).tiny)
    prior = np.full(features.width, score_variance / around)
    prior[:first] = score_variance
    values, vectors = np.linalg.eigh(second)
    floored = np.maximum(values, _FLOOR * values[-1])
    # second and prior share their axes: the intercept's is one of them, and the prior is even over the others.
    half = (vectors / np.sqrt(curvature * floored)) @ vectors.T / np.sqrt(prior)
    sizes, axes = np.linalg.eigh(half.T @ noise @ half)
    # Collinear features: noise that follows the features says nothing of what people do not differ in, and rounding may
    # even leave a negative penalty there.
    penalty: Floats = (axes * np.maximum(sizes, _FLOOR * sizes[-1])) @ axes.T
    return penalty


def rescue_penalty(features: PublicFeatures, intercept: bool) -> Floats:
    """Return a small penalty for labels without noise that no finite theta fits best: 1 / sqrt(m), half of it.

    Parameters
    ----------
    features : PublicFeatures
    intercept : bool
        Whether the score at the mean of the features is shrunk too.
    """
    form = np.diag(np.diag(features.moments))
    if features.intercept and not intercept:
        form[0, 0] = 0.0
    penalty: Floats = 0.5 / np.sqrt(features.rows) * form
    return penalty
