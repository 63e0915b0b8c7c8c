"""Class probabilities averaged over a normal logit: E[softmax(z)] with z ~ N(mean, variance).

Two classes: sigmoid(z) is a mixture of three normal distribution functions sum_j p_j Phi(z / s_j) to 4.4e-5 everywhere,
and E[Phi(z / s)] = Phi(mean / sqrt(s^2 + variance)) exactly. So the integral is as good as closed form.

Many classes: softmax of mean_k / sqrt(1 + (pi/8) c variance_k), the logits taken about their average over classes.
c = 2K / (K-1) makes the variance of a difference of two logits right when classes are exchangeable; at K = 2 that is
MacKay's probit approximation of the two-class integral. Probabilities are off by 0.01 where logits have variance 0.3,
and by 0.03 to 0.05 where it is 1 to 2: enough to choose a ridge and to start from. Fits that are
reported take the integral of ``softmax_normal``, which costs more.
"""

from typing import NamedTuple

import numpy as np

from askance.arrays import Floats

# The mixture of least maximal error; found by iteratively reweighted least squares on |z| <= 14.
SHARES = (0.25221247, 0.58521875, 0.16256878)
SCALES = (1.10141471, 1.73075378, 2.74697754)
# Normal tails are too thin for outliers among labels that are told as they are: a little logistic tail is mixed in.
TAIL = 1e-3
_MACKAY = np.pi / 8  # the probit with the sigmoid's slope at zero (MacKay 1992)


class Link(NamedTuple):
    """Probabilities, and their derivatives by mean and variance of the logit."""

    probability: Floats
    by_mean: Floats
    by_variance: Floats


def expected_sigmoid(mean: Floats, variance: Floats, *, rough: bool = False) -> Link:
    """Return E[sigmoid(z)] for z ~ N(mean, variance), elementwise.

    A rough answer is MacKay's probit approximation alone: off by up to 0.02, in a third of the time.

    Examples
    --------
    >>> expected_sigmoid(np.array([1.0]), np.array([4.0])).probability.round(4)
    array([0.6477])
    """
    from askance.learning.records.logistic_normal_loops import fill_expected_sigmoid

    at = np.ascontiguousarray(mean, dtype=float)
    width = np.ascontiguousarray(np.broadcast_to(variance, at.shape), dtype=float)
    link = Link(*(np.empty(at.shape) for _ in range(3)))
    tail = 1.0 if rough else TAIL
    shares = (1 - tail) * np.array(() if rough else SHARES)
    filled = (array.ravel() for array in link)
    fill_expected_sigmoid(at.ravel(), width.ravel(), shares, np.array(SCALES), tail, *filled)
    return link


class ManyLink(NamedTuple):
    """Probabilities (classes last), and what d(loss)/d(probability) is to be multiplied with."""

    probability: Floats
    root: Floats
    scaled: Floats


def expected_softmax(mean: Floats, variance: Floats) -> ManyLink:
    """Approximate E[softmax(z)] for logits about their average over the last axis."""
    classes = mean.shape[-1]
    root = 1 / np.sqrt(1 + _curvature(classes) * variance)
    scaled = mean * root
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return ManyLink(powers / powers.sum(axis=-1, keepdims=True), root, scaled)


def softmax_pullback(link: ManyLink, pull: Floats) -> tuple[Floats, Floats]:
    """Turn derivatives by the softmax's arguments into derivatives by mean and variance."""
    by_mean = pull * link.root
    by_variance = (-0.5 * _curvature(pull.shape[-1])) * by_mean * link.scaled * link.root
    return by_mean, by_variance


def _curvature(classes: int) -> float:
    return _MACKAY * 2 * classes / (classes - 1)
