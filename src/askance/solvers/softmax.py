"""The softmax model: p(k | x) proportional to exp(theta_k . x), with the first class as reference.

Its sufficient statistics are phi(x, k) = e_k (x) x, and its log-partition is A = log sum_k exp(eta_k) with
eta_0 = 0. Parameters are free (no redundancy): row k - 1 of theta is the log-odds of class k against class 0.
"""

from typing import NamedTuple

import numpy as np

from askance.arrays import Floats


class Posterior(NamedTuple):
    """Class probabilities (n x K, reference class first) and log-partition (n)."""

    probabilities: Floats
    log_partition: Floats


def posterior(logits: Floats) -> Posterior:
    """Turn logits against the reference class (n x K-1) into probabilities, without overflow."""
    top = np.maximum(logits.max(axis=1), 0.0) if logits.shape[1] > 1 else np.maximum(logits[:, 0], 0.0)
    powers = np.empty((logits.shape[0], logits.shape[1] + 1))
    np.exp(-top, out=powers[:, 0])
    np.exp(logits - top[:, None], out=powers[:, 1:])
    total = powers.sum(axis=1) if logits.shape[1] > 1 else powers[:, 0] + powers[:, 1]
    powers /= total[:, None]
    return Posterior(powers, top + np.log(total))


def symmetric(theta: Floats) -> Floats:
    """Turn parameters against the reference class (K-1 x p) into K rows that sum to zero.

    This is the representation that scikit-learn's multinomial logistic regression converges to.
    """
    full = np.vstack([np.zeros((1, theta.shape[1])), theta])
    centred: Floats = full - full.mean(axis=0)
    return centred


def about_average(theta: Floats) -> Floats:
    """Take the average over all classes, the reference's zeros among them, off parameters against the reference.

    It is half the slope of the summed squares of :func:`symmetric` parameters, which no class is special for. Of two
    classes there is one row of parameters, and it stays as it is.
    """
    return theta if len(theta) == 1 else symmetric(theta)[1:]
