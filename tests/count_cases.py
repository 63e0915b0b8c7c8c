"""What tests of counts share: the counts of the paper, laws of noise, and every output of a small case."""

import itertools
import math

import numpy as np

from askance.entropy.bits import GeneratorBits
from askance.mechanisms.counts.balanced_counts import (
    BalancedGaussian,
    TruncatedLaplace,
)

PAPER = (50, 50, 50, 50, 800)  # five classes, m = 1000, rho = .05
NEEDS_DELTA = ("truncated-laplace", "discrete-gaussian", "gaussian", "dirichlet")


def bits(seed=0):
    return GeneratorBits(np.random.default_rng(seed))


def sum_zero(classes, reach):
    """Every whole vector of sum zero whose numbers but the last are at most so large."""
    free = np.array(list(itertools.product(range(-reach, reach + 1), repeat=classes - 1)))
    return np.column_stack([free, -free.sum(axis=1)])


def law_of(noise, vectors):
    """The probability of each vector."""
    if isinstance(noise, BalancedGaussian):
        weights = np.exp(-(vectors**2).sum(axis=1) / (2 * float(noise.variance)))
    else:
        weights = np.exp(-np.abs(vectors).sum(axis=1) / float(noise.scale))
    if isinstance(noise, TruncatedLaplace):
        weights = weights * (np.abs(vectors).sum(axis=1) <= 2 * noise.radius)
    return weights / weights.sum()


def moves(classes):
    """What one label can do to the counts: all of it, in both directions."""
    for i, j in itertools.permutations(range(classes), 2):
        yield np.eye(classes, dtype=int)[j] - np.eye(classes, dtype=int)[i]


def divergences(noise, reach, epsilon):
    """The hockey-stick divergence and the largest log-ratio over all outputs, for every neighbour."""
    vectors = sum_zero(noise.classes, reach)
    here = dict(zip(map(tuple, vectors), law_of(noise, vectors), strict=True))
    for move in moves(noise.classes):
        pairs = [(p, here.get(tuple(v - move), 0.0)) for v, p in zip(vectors, here.values(), strict=True)]
        excess = sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in pairs)
        yield excess, max(math.log(p / q) for p, q in pairs if p > 0 and q > 0)
