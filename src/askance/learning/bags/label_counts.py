"""Labels of a bag given how many of each class it holds: the law of independent labels, conditioned on their counts.

With p_ik = P(label i is k), the counts of a bag follow a Poisson-binomial law (Poisson-multinomial for more classes).
Adding the same numbers t to every row's logits leaves the conditional law as it is, so a bag is first tilted until its
expected counts are the given ones: then nothing underflows, and what is left is one dynamic programme over counts.
"""

from typing import NamedTuple

import numpy as np

from askance.arrays import Floats, Integers
from askance.learning.bags.label_counts_loops import condition_bags

_SUREST = -950.0  # a log-probability: what is rarer is as rare as this, which 200 steps of the tilt can still undo
LARGEST_TABLE = 4_000_000  # cells of the dynamic programme of a bag, 32 MB; a larger bag is tilted only


class BagLabels(NamedTuple):
    """The labels of bags given their counts."""

    probabilities: Floats  # n x K: P(label i is k | counts of its bag)
    log_likelihood: Floats  # log P(counts), one for each bag


def labels_given_counts(
    logits: Floats, starts: Integers, counts: Integers, largest_table: int = LARGEST_TABLE
) -> BagLabels:
    """Condition independent labels on the counts of their bags.

    Exact by dynamic programming over count vectors, in O(n prod (counts_k + 1)) without the largest count, where the
    table of a bag has at most ``largest_table`` cells. A larger bag gets the tilted law: log P(counts) is then the
    Chernoff bound min_t sum_i log E exp(t.y_i) - t.counts, whose derivative is exactly that of the tilted
    probabilities, and whose error, relative to the bag's rows, vanishes as log(n)/n.

    Parameters
    ----------
    logits : array, n x K
        Logs of class probabilities, normalised or not; rows of a bag are neighbours.
    starts : array, bags + 1
        Bag j holds the rows from starts[j] to starts[j + 1].
    counts : array, bags x K
        How many labels of each class a bag holds; they sum to its rows.

    Examples
    --------
    >>> given = labels_given_counts(np.log([[0.5, 0.5], [0.2, 0.8]]), np.array([0, 2]), np.array([[1, 1]]))
    >>> given.probabilities.round(2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    >>> np.exp(given.log_likelihood).round(2)
    array([0.5])
    """
    probabilities = np.empty(logits.shape)
    log_likelihood = np.empty(len(counts))
    # Where a model is that sure and the counts say otherwise, the tilt would not get there.
    sure = np.maximum(logits - logits.max(axis=1, keepdims=True), _SUREST)
    condition_bags(np.ascontiguousarray(sure), starts, counts, largest_table, probabilities, log_likelihood)
    return BagLabels(probabilities, log_likelihood)
