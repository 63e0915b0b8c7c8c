"""The proportion-SVM (Yu, Liu, Kumar, Jebara & Chang 2013), alternating version: the baseline of [CR] figure 2.

A support vector machine whose labels are unknown, too: it minimises
|w|^2 / 2 + C sum of hinge losses + C_p sum over bags of |share of positive labels - known share|
in turns over w, a plain support vector machine, and over the labels, bag by bag. C is raised slowly towards its value,
since the problem is far from convex; the best of several random starts is kept.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats, Integers

# As in the paper C starts far below its value and is raised step by step; the factor is larger than there, for speed.
_FIRST = 1e-5  # C starts at this part of its value
_FACTOR = 3.0  # and grows by this factor
_TURNS = 4  # at most, for each C
_SETTLED = 1e-4  # relative fall of the objective below which turns end


@dataclass(frozen=True, eq=False)
class ProportionSVM:
    """A fitted machine: its kernel, the rows that matter with their weights, and the objective it reached."""

    gamma: float
    support: Floats
    weights: Floats
    offset: float
    objective: float

    def share(self, X: Floats) -> float:
        """Count the rows that are classified as positive."""
        from sklearn.metrics.pairwise import rbf_kernel

        scores = rbf_kernel(X, self.support, gamma=self.gamma) @ self.weights + self.offset
        return float(np.mean(scores > 0))


def fit_proportion_svm(
    X: Floats,
    bags: Integers,
    shares: Floats,
    *,
    gamma: float,
    rng: np.random.Generator,
    cost: float = 1.0,
    proportion_cost: float = 10.0,
    starts: int = 2,
) -> ProportionSVM:
    """Fit an RBF machine to bags of which the share of positive rows is known.

    Parameters
    ----------
    X : array, n x d
    bags : array, n
        Codes 0 to J-1.
    shares : array, J
    gamma : float
        Of the kernel exp(-gamma |x - z|^2).
    cost, proportion_cost : float
        C, of every row, and C_p, of every bag.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 0, 1], [45, 5, 5, 45])
    >>> X = rng.normal(size=(100, 2)) + 4 * y[:, None]
    >>> fitted = fit_proportion_svm(X, np.repeat([0, 1], 50), np.array([0.1, 0.9]), gamma=0.1, rng=rng)
    >>> round(fitted.share(X), 1)
    0.5
    """
    from sklearn.metrics.pairwise import rbf_kernel

    kernel = rbf_kernel(X, gamma=gamma)
    reached = [_one_start(kernel, bags, shares, rng, cost, proportion_cost) for _ in range(starts)]
    best = min(reached, key=lambda turn: turn.objective)
    return ProportionSVM(gamma, X[best.support], best.weights, best.offset, best.objective)


class _Turn(NamedTuple):
    support: Integers
    weights: Floats
    offset: float
    objective: float


def _one_start(
    kernel: Floats, bags: Integers, shares: Floats, rng: np.random.Generator, cost: float, proportion_cost: float
) -> _Turn:
    labels = np.where(rng.random(len(kernel)) < shares[bags], 1, -1)
    strength = _FIRST * cost
    while True:
        strength = min(strength * _FACTOR, cost)
        best = np.inf
        for _ in range(_TURNS):
            support, weights, offset = _machine(kernel, labels, strength)
            scores = kernel[:, support] @ weights + offset
            labels, missed = _labelled(scores, bags, shares, strength, proportion_cost)
            objective = missed + 0.5 * float(weights @ kernel[np.ix_(support, support)] @ weights)
            if objective > best * (1 - _SETTLED):
                break
            best = objective
        if strength == cost:
            return _Turn(support, weights, offset, objective)


def _machine(kernel: Floats, labels: Integers, cost: float) -> tuple[Integers, Floats, float]:
    from sklearn.svm import SVC

    machine = SVC(C=cost, kernel="precomputed", cache_size=500).fit(kernel, labels)
    return machine.support_, machine.dual_coef_.ravel(), float(machine.intercept_[0])


def _labelled(
    scores: Floats, bags: Integers, shares: Floats, cost: float, proportion_cost: float
) -> tuple[Integers, float]:
    """The best labels for these scores: in each bag the rows that gain most are positive, and all numbers are tried."""
    labels = np.full(len(scores), -1)
    objective = 0.0
    for bag, share in enumerate(shares):
        members = np.flatnonzero(bags == bag)
        as_positive = np.maximum(0, 1 - scores[members])
        as_negative = np.maximum(0, 1 + scores[members])
        gain = np.sort(as_negative - as_positive)[::-1]
        order = np.argsort(as_positive - as_negative, kind="stable")
        losses = as_negative.sum() - np.concatenate([[0.0], np.cumsum(gain)])
        positive = np.arange(1, len(members))  # a machine needs both kinds: no bag is all one kind
        totals = cost * losses[positive] + proportion_cost * np.abs(positive / len(members) - share)
        chosen = int(positive[np.argmin(totals)])
        labels[members[order[:chosen]]] = 1
        objective += float(totals.min())
    return labels, objective
