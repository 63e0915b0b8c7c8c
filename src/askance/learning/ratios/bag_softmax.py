"""Softmax models of the class by the likelihood of the bags: sum_i log sum_k p(k | x_i) P(bag_i | k).

A bag is to a row what a report is to a truth: P(bag | class) is a channel, known from the bags' proportions. The
gradient by the logits is p(k | x, bag) - p(k | x), and L-BFGS follows it.
"""

from typing import NamedTuple

import numpy as np

from askance.arrays import Floats, Integers
from askance.solvers.progress import steps
from askance.solvers.softmax import posterior, symmetric

RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)  # for standardised features, on the summed likelihood
_SHARE = 0.2  # of the time that a bag classifier takes: 6 of 33 seconds for 60,000 rows of 20 columns
_WORSE = 3.0  # nats below the best at which weaker ridges are not tried any more
_SLOPE_VARIANCE, _OFFSET_VARIANCE = 4.0, 1.0  # of a stack's parameters, before the bags are seen


class BagScore(NamedTuple):
    """The likelihood of the bags, and its derivative by the logits, n x K."""

    log_likelihood: float
    by_logits: Floats


def score_bags(logits: Floats, likelihood: Floats) -> BagScore:
    """Return sum_i log sum_k p(k | x_i) P(bag_i | k) and its derivative.

    Parameters
    ----------
    logits : array, n x K
    likelihood : array, n x K
        P(bag_i | class k), up to a factor for each bag.
    """
    model = posterior(logits[:, 1:] - logits[:, :1]).probabilities
    joint = model * likelihood
    evidence = np.maximum(joint.sum(axis=1), 1e-300)
    return BagScore(float(np.log(evidence).sum()), joint / evidence[:, None] - model)


def log_posterior(logits: Floats) -> Floats:
    """Return the logarithms of softmax(logits), n x K."""
    top = logits - logits.max(axis=1, keepdims=True)
    made: Floats = top - np.log(np.exp(top).sum(axis=1, keepdims=True))
    return made


def fit_bag_softmax(X: Floats, likelihood: Floats, ridge: float, start: Floats | None = None) -> Floats:
    """Maximise the likelihood of the bags less ridge / 2 |coefficients|^2.

    Parameters
    ----------
    X : array, n x d
    likelihood : array, n x K
    ridge : float
        On coefficients that sum to zero over the classes; the intercept is free.
    start : array, K-1 x (1 + d), optional

    Returns
    -------
    array, K-1 x (1 + d)
        Intercept and coefficients against the first class.
    """
    from scipy.optimize import minimize

    shape = (likelihood.shape[1] - 1, 1 + X.shape[1])

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(shape)
        likely, by_logits = score_bags(linear_logits(X, theta), likelihood)
        pull = by_logits[:, 1:]
        centred = symmetric(theta[:, 1:])
        gradient = np.column_stack([pull.sum(axis=0), pull.T @ X - ridge * centred[1:]])
        return 0.5 * ridge * float((centred**2).sum()) - likely, -gradient.ravel()

    first = np.zeros(shape) if start is None else start
    found: Floats = minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return found.reshape(shape)


def linear_logits(X: Floats, theta: Floats) -> Floats:
    """Return the logits of all classes, n x K; the first class's are zero."""
    return np.column_stack([np.zeros(len(X)), X @ theta[:, 1:].T + theta[:, 0]])


def best_bag_softmax(X: Floats, likelihood: Floats, fold: Integers) -> tuple[Floats, ...]:
    """Fit to all rows but one fold, for each fold, with the ridge under which the held-out bags are likeliest.

    Parameters
    ----------
    X : array, n x d
        Standardised.
    likelihood : array, n x K
    fold : array, n
        0, 1, ...
    """
    numbers = range(int(fold.max()) + 1)
    best: tuple[Floats, ...] = ()
    best_value = -np.inf
    fits: list[Floats | None] = [None for _ in numbers]
    for ridge in steps(RIDGES, share=_SHARE):  # from the strongest on, each from the last
        fits = [fit_bag_softmax(X[fold != f], likelihood[fold != f], ridge, fits[f]) for f in numbers]
        value = sum(
            score_bags(linear_logits(X[fold == f], theta), likelihood[fold == f]).log_likelihood
            for f, theta in zip(numbers, fits, strict=True)
            if theta is not None
        )
        if value > best_value:
            best, best_value = tuple(theta for theta in fits if theta is not None), value
        elif value < best_value - _WORSE:
            break
    return best


class Stack(NamedTuple):
    """Several models' log-probabilities become logits: sum_m slopes_m log p_m(k | x) + offsets_k."""

    slopes: Floats
    offsets: Floats

    def logits(self, members: Floats) -> Floats:
        """Of log-probabilities, members x n x K."""
        combined: Floats = np.tensordot(self.slopes, members, axes=1) + self.offsets
        return combined


def fit_stack(members: Floats, likelihood: Floats) -> Stack:
    """Find slopes, none negative, and offsets under which the bags are likeliest.

    Parameters
    ----------
    members : array, members x n x K
        Log-probabilities of rows that the models did not see.
    likelihood : array, n x K
    """
    from scipy.optimize import minimize

    count, _, classes = members.shape
    prior = np.concatenate([np.full(count, 1 / count), np.zeros(classes - 1)])
    tightness = np.concatenate([np.full(count, 1 / _SLOPE_VARIANCE), np.full(classes - 1, 1 / _OFFSET_VARIANCE)])

    def loss(flat: Floats) -> tuple[float, Floats]:
        likely, by_logits = score_bags(_stack(flat, count).logits(members), likelihood)
        gradient = np.concatenate([np.tensordot(members, by_logits, axes=2), by_logits.sum(axis=0)[1:]])
        apart = flat - prior
        return 0.5 * float(tightness @ apart**2) - likely, tightness * apart - gradient

    bounds = [(0.0, None)] * count + [(None, None)] * (classes - 1)
    return _stack(minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=bounds).x, count)


def _stack(flat: Floats, count: int) -> Stack:
    return Stack(flat[:count], np.concatenate([[0.0], flat[count:]]))
