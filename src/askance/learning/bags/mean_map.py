"""Mean maps: class means from bag means and proportions, and the linear fit that needs nothing else of the labels.

If E[x | y, bag] = E[x | y], a bag's mean is b_j = sum_k pi_jk mu_k. The mean map solves this by least squares, weighted
by the bags' sizes. The Laplacian mean map lets every bag have class means of its own, which differ little between
similar bags.
"""

from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.learning.totals.losses import Loss
from askance.learning.totals.public_features import PublicFeatures
from askance.learning.totals.risk_solver import minimise_risk, minimise_softmax
from askance.solvers.bag_means import Sizes
from askance.solvers.softmax import symmetric

_ANCHOR = 1e-6  # pull of every bag's class means to the mean of all rows, which makes the system regular


def bagwise_class_means(
    bag_means: Floats, sizes: Sizes, proportions: Floats, smoothness: float, width: float | None = None
) -> Floats:
    """Return class means of every bag, bags x K x d, smooth over similar bags.

    Minimises  sum_j (n_j/n) |b_j - sum_k pi_jk mu_jk|^2 + (smoothness / 2B^2) sum_k sum_ij v_ij |mu_ik - mu_jk|^2  with
    v_ij = exp(-|b_i - b_j|^2 / 2 width^2). As the smoothness grows it becomes the plain mean map.

    Parameters
    ----------
    bag_means, sizes, proportions : as for ``class_means``
    smoothness : float
    width : float, optional
        The median distance between bag means if not given.

    References
    ----------
    Patrini, Nock, Rivera & Caetano (2014), (Almost) no label no cry.
    """
    bags, classes = proportions.shape
    centre = sizes @ bag_means / sizes.sum()
    distance = np.sqrt(np.maximum(((bag_means[:, None] - bag_means[None]) ** 2).sum(axis=2), 0.0))
    apart = distance[np.triu_indices(bags, 1)]
    scale = width if width is not None else max(float(np.median(apart)) if len(apart) else 1.0, 1e-300)
    similar = np.exp(-0.5 * (distance / scale) ** 2)
    laplacian = (np.diag(similar.sum(axis=1)) - similar) * smoothness / bags**2
    weight = sizes / sizes.sum()
    system = np.zeros((classes, bags, classes, bags))
    each = np.arange(bags)
    for j in range(classes):
        for k in range(classes):
            system[j, each, k, each] = weight * proportions[:, j] * proportions[:, k]
        system[j, :, j, :] += laplacian + _ANCHOR / bags * np.eye(bags)
    right = (proportions.T * weight)[:, :, None] * (bag_means - centre)
    size = classes * bags
    solved = np.linalg.solve(system.reshape(size, size), right.reshape(size, -1))
    means: Floats = solved.reshape(classes, bags, -1).transpose(1, 0, 2) + centre
    return means


class LinearFit(NamedTuple):
    """A linear model under a ridge."""

    theta: Floats  # of (1, x): one row for two classes, one for each of more
    risk: float  # with the penalty
    freedom: float  # how many parameters it is worth: those that the ridge leaves free
    converged: bool


def fit_class_totals(
    totals: Floats, loss: Loss, features: PublicFeatures, ridge: float, start: LinearFit | None = None
) -> LinearFit:
    """Fit a linear model to (1/n) sum_i 1[y_i = k] (1, x_i), K x p, which may be estimated.

    Two classes: the risk of the loss. More: the softmax risk for the logistic loss, and each class against the others
    for another one.

    Parameters
    ----------
    totals : array, K x p
    loss : Loss
    features : PublicFeatures
    ridge : float
        Penalty ridge / 2 |coefficients|^2 on the mean risk.
    start : LinearFit, optional
        A guess.
    """
    classes = len(totals)
    penalised = np.full(features.width, ridge)
    if features.intercept:
        penalised[0] = 0.0
    there = np.linalg.inv(features.uncentring)
    guess = None if start is None else start.theta @ there.T
    mu = features.centred(totals)
    if classes > 2 and loss.softmax:
        rows = symmetric(np.eye(classes - 1))
        free = None if guess is None else guess[1:] - guess[0]
        penalty = np.asarray(np.kron(rows.T @ rows, np.diag(penalised)), dtype=float)
        parts = [minimise_softmax(mu, features, penalty, start=free)]
        theta = symmetric(parts[0].theta)
    else:
        against = [mu[1] - mu[0]] if classes == 2 else [2 * each - mu.sum(axis=0) for each in mu]
        penalty = np.asarray(np.diag(penalised), dtype=float)
        parts = [
            minimise_risk(loss, pull, features, penalty, start=None if guess is None else guess[number])
            for number, pull in enumerate(against)
        ]
        theta = np.array([part.theta for part in parts])
    return LinearFit(
        theta @ features.uncentring.T,
        risk=float(sum(part.value for part in parts)),
        freedom=float(sum(_freedom(part.hessian, penalty) for part in parts)),
        converged=all(part.converged for part in parts),
    )


def _freedom(hessian: Floats, penalty: Floats) -> float:
    """tr(H (H + P)^-1), where ``hessian`` is H + P; all parameters where there is none."""
    if not np.isfinite(hessian).all():
        return float(len(hessian))
    return float(len(hessian) - np.trace(np.linalg.pinv(hessian, hermitian=True) @ penalty))
