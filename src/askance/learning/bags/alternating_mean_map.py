"""The alternating mean map: label every bag as its counts say, by the scores of the last fit, and fit again."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats, Integers
from askance.learning.bags.mean_map import LinearFit


class Alternation(NamedTuple):
    """The best fit of all starts, and how it went."""

    fit: LinearFit
    rounds: int
    converged: bool


def consistent_labels(scores: Floats, starts: Integers, counts: Integers) -> Integers:
    """Return the labels with the largest total score among those that have the bags' counts.

    Parameters
    ----------
    scores : array, n x K
        Rows of a bag are neighbours.
    starts : array, bags + 1
    counts : array, bags x K

    Examples
    --------
    >>> scores = np.array([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0]])
    >>> consistent_labels(scores, np.array([0, 3]), np.array([[1, 2]]))
    array([1, 1, 0])
    """
    if scores.shape[1] == 2:
        bags = np.repeat(np.arange(len(counts)), np.diff(starts))
        order = np.lexsort((scores[:, 0] - scores[:, 1], bags))
        rank = np.arange(len(scores)) - starts[bags]
        labels = np.empty(len(scores), dtype=np.int64)
        labels[order] = rank < counts[bags, 1]
        return labels
    from scipy.optimize import linear_sum_assignment

    labels = np.empty(len(scores), dtype=np.int64)
    for bag, wanted in enumerate(counts):
        slots = np.repeat(np.arange(scores.shape[1]), wanted)
        rows, columns = linear_sum_assignment(scores[starts[bag] : starts[bag + 1]][:, slots], maximize=True)
        labels[starts[bag] + rows] = slots[columns]
    return labels


def alternate(
    rows: Floats,
    starts: Integers,
    counts: Integers,
    fit: Callable[[Floats, LinearFit], LinearFit],
    first: Sequence[LinearFit],
    max_rounds: int,
) -> Alternation:
    """Alternate from every start until the labels stay, and keep the fit of the least risk.

    Neither step can raise the risk of the labels with the logistic loss, so labels never return, and it ends.

    Parameters
    ----------
    rows : array, n x p
        (1, x), or x without an intercept; rows of a bag are neighbours.
    starts, counts : as for ``consistent_labels``
    fit : function of totals (K x p) and the last fit
    first : fits to start from
    max_rounds : int
    """
    classes = counts.shape[1]
    best: Alternation | None = None
    for fitted in first:
        labels: Integers | None = None
        settled, rounds = False, 0
        while rounds < max_rounds and not settled:
            found = consistent_labels(scores_of(fitted.theta, rows), starts, counts)
            settled = labels is not None and bool(np.array_equal(found, labels))
            if not settled:
                labels, rounds = found, rounds + 1
                totals = np.array([rows[labels == k].sum(axis=0) for k in range(classes)]) / len(rows)
                fitted = fit(totals, fitted)
        if best is None or fitted.risk < best.fit.risk:
            best = Alternation(fitted, rounds, settled)
    if best is None:
        raise ValueError("no start")
    return best


def scores_of(theta: Floats, rows: Floats) -> Floats:
    """Return a score for each class, n x K."""
    scores: Floats = rows @ theta.T
    return np.column_stack([np.zeros(len(rows)), scores[:, 0]]) if scores.shape[1] == 1 else scores
