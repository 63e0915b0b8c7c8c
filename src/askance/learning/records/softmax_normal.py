"""Class probabilities averaged over correlated normal logits: E[softmax(u)] with u ~ N(mean, covariance).

Logits u are against the first class, so that there are K - 1 of them for K classes. The integral is a sum over points
of the standard normal law, moved and stretched to each report's own: a product of Gauss-Hermite rules for three and
four classes, a scrambled Sobol sequence with its mirror image and with its covariance made exactly one for more.
Where logits have a variance of 1, probabilities of three or four classes are off by 2e-4 (at most 7e-4), of more by
2e-3 (at most 7e-3); where it is 3, by 5e-4 to 6e-3 (at most 0.017). Gradients are those of the sum itself, through the
Cholesky factor, so that a solver sees a smooth function and its derivatives.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats

_NODES = {2: 9, 3: 5}  # by logits: of a Gauss-Hermite rule along each; 81 and 125 points for the errors stated above
_POINTS = 128  # of the sequence, a power of two as Sobol's asks for: the errors stated above


class LabelSlopes(NamedTuple):
    """Log-likelihoods of label reports, and their derivatives by the logits' means and covariances."""

    value: Floats
    by_mean: Floats
    by_covariance: Floats


def label_slopes(mean: Floats, covariance: Floats, likelihood: Floats) -> LabelSlopes:
    """Return log sum_c likelihood_c E[softmax_c(u)] and its derivatives.

    Parameters
    ----------
    mean : n x (K-1)
        Of the logits against the first class.
    covariance : n x K (K-1) / 2, or one row
        The rows of the lower triangle. Derivatives are by these, each pair of logits once.
    likelihood : n x K
        P(label report | class).

    Examples
    --------
    >>> even = label_slopes(np.zeros((1, 2)), np.array([[2.0, 1.0, 2.0]]), np.array([[0.0, 0.0, 1.0]]))
    >>> np.exp(even.value).round(4)
    array([0.3333])
    """
    from askance.learning.records.softmax_normal_loops import fill_label_slopes

    points, shares = normal_points(mean.shape[1])
    mean, covariance, likelihood = (
        np.ascontiguousarray(table, dtype=float) for table in (mean, covariance, likelihood)
    )
    slopes = LabelSlopes(np.empty(len(mean)), np.empty(mean.shape), np.empty((len(mean), covariance.shape[1])))
    fill_label_slopes(mean, covariance, likelihood, np.ascontiguousarray(points.T), shares, *slopes)
    return slopes


def expected_probabilities(mean: Floats, covariance: Floats) -> Floats:
    """Return E[softmax(u)], n x K, for logits as in :func:`label_slopes`."""
    classes = mean.shape[1] + 1
    each = [np.exp(label_slopes(mean, covariance, np.tile(row, (len(mean), 1))).value) for row in np.eye(classes)]
    return np.column_stack(each)


@cache
def normal_points(dimensions: int) -> tuple[Floats, Floats]:
    """Points, S x dimensions, and shares of a rule for the mean of a function of standard normal numbers."""
    if dimensions in _NODES:
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES[dimensions])
        points = np.stack(np.meshgrid(*[nodes] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
        shares = np.stack(np.meshgrid(*[weights] * dimensions, indexing="ij"), axis=-1).reshape(-1, dimensions)
        return points, shares.prod(axis=1) / weights.sum() ** dimensions
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    half = ndtri(Sobol(dimensions, seed=0).random(_POINTS // 2))
    both = np.vstack([half, -half])
    points = np.linalg.solve(np.linalg.cholesky(both.T @ both / _POINTS), both.T).T
    return np.ascontiguousarray(points), np.full(_POINTS, 1 / _POINTS)
