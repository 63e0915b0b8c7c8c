"""Slow, independent versions of what the library computes: plain formulas, general-purpose optimisers.

Nothing here imports askance: an error that the library and its test shared would go unseen.
"""

import numpy as np
from scipy import optimize


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


def objectives(theta, Z, told, method, classes):
    """The objective of each record; ``told`` is S[o_i, :] (marginal) or R[:, o_i] (moments), n x K."""
    logits = np.column_stack([np.zeros(len(Z)), Z @ theta.reshape(classes - 1, -1).T])
    if method == "marginal":
        return np.log((softmax(logits) * told).sum(axis=1))
    top = logits.max(axis=1)
    return (told[:, 1:] * logits[:, 1:]).sum(axis=1) - (top + np.log(np.exp(logits - top[:, None]).sum(axis=1)))


def slopes(theta, Z, told, method, classes):
    """The derivatives of each record's objective, by hand: n x parameters."""
    chances = softmax(np.column_stack([np.zeros(len(Z)), Z @ theta.reshape(classes - 1, -1).T]))
    wanted = told
    if method == "marginal":
        joint = chances * told
        wanted = joint / joint.sum(axis=1, keepdims=True)
    return ((wanted - chances)[:, 1:, None] * Z[:, None, :]).reshape(len(Z), -1)


def numeric_gradient(function, point, step=1e-5):
    """Central differences of order four; ``function`` may return an array."""
    columns = []
    for i in range(len(point)):
        e = np.zeros(len(point))
        e[i] = step
        near = function(point + e) - function(point - e)
        far = function(point + 2 * e) - function(point - 2 * e)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=-1)


def fit(X, told, method, weights=None, penalty=None, intercept=True, start=None):
    """Maximise by BFGS, polish by a root search; return theta and both covariances.

    Derivatives of the objective are by hand, and must be the numeric ones where the search ends. Those of its gradient
    are numeric.
    """
    Z = with_ones(X) if intercept else X
    n, classes = told.shape
    weights = np.ones(n) if weights is None else weights
    size = (classes - 1) * Z.shape[1]
    penalty = np.zeros((size, size)) if penalty is None else penalty

    def negative(theta):
        return -(weights @ objectives(theta, Z, told, method, classes)) + theta @ penalty @ theta / 2

    def gradient(theta):
        return -(weights @ slopes(theta, Z, told, method, classes)) + penalty @ theta

    start = np.zeros(size) if start is None else start
    found = optimize.minimize(negative, start, jac=gradient, method="BFGS", options={"gtol": 1e-6 * n})
    theta = found.x
    for _ in range(4):
        information = numeric_gradient(gradient, theta, 1e-3)
        theta = theta - np.linalg.solve(information, gradient(theta))
    information = numeric_gradient(gradient, theta, 1e-3)
    numeric = numeric_gradient(lambda t: objectives(t, Z, told, method, classes), theta, 1e-4)
    np.testing.assert_allclose(slopes(theta, Z, told, method, classes), numeric, rtol=1e-6, atol=1e-7)
    scores = weights[:, None] * numeric
    bread = np.linalg.inv(information)
    total = scores.sum(axis=0)
    meat = scores.T @ scores - np.outer(total, total) * (weights @ weights) / weights.sum() ** 2
    return theta.reshape(classes - 1, -1), bread, bread @ meat @ bread
