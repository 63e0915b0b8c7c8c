"""[LM] section 7: a line from rows that were hidden as the paper hides them, solved as it comes out."""

from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.channels.rows.coordinate_release import CoordinateRelease
from askance.channels.rows.per_value_flip import PerValueFlip
from askance.channels.rows.triple_release import TripleRelease

PAIRS = "pairs"  # triples of all pairs alike, the outcome's among them: not what the paper does


class Line(NamedTuple):
    """A fitted line on columns that lie in [0, 1], and the exact privacy of the rows it was learned from."""

    slopes: Floats
    intercept: float
    epsilon: float


def edge_features(rows: Floats) -> Floats:
    """Return the paper's statistics of rows (x, y): x_i x_j for i <= j, then x_i y."""
    x, y = rows[:, :-1], rows[:, -1:]
    first, second = np.triu_indices(x.shape[1])
    return np.hstack([x[:, first] * x[:, second], x * y])


def published_line(mechanism: str, train: Floats, alpha: float, rng: np.random.Generator) -> Line:
    """Hide the edge features as the paper does, and solve the normal equations as they come out: no intercept."""
    width = train.shape[1] - 1
    first, second = np.triu_indices(width)
    gram, cross = np.zeros((width, width)), np.empty(width)
    if mechanism == "triple":
        gram[first, second], cross, level = _half_triples(train, alpha, rng)
    elif mechanism == PAIRS:
        triple = TripleRelease(width + 1, alpha, calibration="paper")
        products = np.zeros((width + 1, width + 1))
        products[np.triu_indices(width + 1)] = triple.unbiased_products(triple.simulate(train, rng)).mean(axis=0)
        gram[first, second], cross, level = products[first, second], products[:-1, -1], triple.guarantee.epsilon
    else:
        features = edge_features(train)
        count = features.shape[1]
        channel = (
            CoordinateRelease(count, alpha, calibration="paper")
            if mechanism == "coordinate"
            else PerValueFlip(count, alpha, count, calibration="paper")
        )
        mean = channel.unbiased_sum(channel.simulate(features, rng)) / len(features)
        gram[first, second], cross, level = mean[: len(first)], mean[len(first) :], channel.guarantee.epsilon
    gram = gram + np.triu(gram, 1).T
    slopes: Floats = np.linalg.lstsq(gram, cross, rcond=None)[0]
    return Line(slopes, 0.0, level)


def _half_triples(train: Floats, alpha: float, rng: np.random.Generator) -> tuple[Floats, Floats, float]:
    """The songs experiment: one half of the people reveal x_i y, the other half a triple of x_i and x_j.

    Returns the means of x_i x_j, i <= j, and of x_i y; and the level, which is that of the triple.
    """
    x, y = train[:, :-1], train[:, -1:]
    about_y = rng.random(len(train)) < 0.5
    one = CoordinateRelease(x.shape[1], alpha, calibration="paper")
    triple = TripleRelease(x.shape[1], alpha, calibration="paper")
    crossed = (x * y)[about_y]
    cross = one.unbiased_sum(one.simulate(crossed, rng)) / len(crossed)
    products = triple.unbiased_products(triple.simulate(x[~about_y], rng)).mean(axis=0)
    return products, cross, max(one.guarantee.epsilon, triple.guarantee.epsilon)
