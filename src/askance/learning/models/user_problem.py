"""Truths with features of a user's own: states x features for each x, or a family that says its own log-partition."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.learning.models.chain_problem import Method
from askance.learning.models.fitted import summed

_SMALLEST = float(np.finfo(float).tiny)


def stacked_features(function: Any, X: Any, classes: int, width: int | None = None) -> sp.csr_matrix:
    """Return the features of all records and truths, one below the other: n * states x features."""
    blocks = []
    for number, x in enumerate(X):
        made = function(x)
        block = (
            sp.csr_matrix(made) if sp.issparse(made) else sp.csr_matrix(np.atleast_2d(np.asarray(made, dtype=float)))
        )
        if block.shape[0] != classes or (width is not None and block.shape[1] != width):
            raise InvalidInput(
                f"features of shape {block.shape} for row {number + 1}",
                f"({classes}, {'d' if width is None else width}): a row for each truth",
            )
        width = block.shape[1]
        blocks.append(block)
    if not blocks:
        raise InvalidInput("no rows", "at least one")
    stacked = sp.vstack(blocks).tocsr()
    if not np.isfinite(stacked.data).all():
        raise InvalidInput("features that are not finite", "finite numbers")
    return stacked


@dataclass(frozen=True, eq=False)
class FeatureProblem:
    """Objective of a family given by its features, n * states x parameters.

    ``evidence``: P(report | state), n x states, by the marginal method; unbiased indicators of the states by moments.
    """

    features: Any
    evidence: Floats
    method: Method

    @property
    def size(self) -> int:
        return int(self.features.shape[1])

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        values, weights = self._differences(theta)
        return float(values.sum()), np.asarray(self.features.T @ weights.ravel())

    def record_scores(self, theta: Floats) -> Floats:
        _, weights = self._differences(theta)
        n, states = weights.shape
        by_record = sp.csr_matrix((weights.ravel(), np.arange(n * states), np.arange(n + 1) * states))
        return np.asarray((by_record @ self.features).todense())

    def gradients(self, points: Floats) -> Floats:
        return np.array([self.value_and_gradient(theta)[1] for theta in points])

    def score_sums(self, theta: Floats) -> tuple[Floats, Floats]:
        return summed(self.record_scores(theta))

    def chances(self, theta: Floats) -> Floats:
        """Return P(state | x), n x states."""
        scores = np.asarray(self.features @ theta).reshape(self.evidence.shape)
        power = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(power / power.sum(axis=1, keepdims=True))

    def _differences(self, theta: Floats) -> tuple[Floats, Floats]:
        scores = np.asarray(self.features @ theta).reshape(self.evidence.shape)
        top = scores.max(axis=1, keepdims=True)
        power = np.exp(scores - top)
        total = power.sum(axis=1, keepdims=True)
        prior = power / total
        if self.method == "moments":
            return (self.evidence * scores).sum(axis=1) - (top + np.log(total))[:, 0], self.evidence - prior
        joint = self.evidence * prior
        chance = np.maximum(joint.sum(axis=1, keepdims=True), _SMALLEST)
        return np.log(chance)[:, 0], joint / chance - prior


@dataclass(frozen=True, eq=False)
class FamilyProblem:
    """Objective of a family of a user's own."""

    family: Any
    X: Any
    evidence: Floats | None
    method: Method

    @property
    def size(self) -> int:
        return int(self.family.size)

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        values, scores = self._of_records(theta)
        return float(values.sum()), scores.sum(axis=0)

    def record_scores(self, theta: Floats) -> Floats:
        return self._of_records(theta)[1]

    def gradients(self, points: Floats) -> Floats:
        return np.array([self.value_and_gradient(theta)[1] for theta in points])

    def score_sums(self, theta: Floats) -> tuple[Floats, Floats]:
        return summed(self.record_scores(theta))

    def _of_records(self, theta: Floats) -> tuple[Floats, Floats]:
        prior, expected = self._checked(self.family.log_partition(theta, self.X))
        if self.evidence is None:
            return -prior, -expected
        if self.method == "moments":
            wanted = np.asarray(self.family.weighted_features(self.X, self.evidence), dtype=float)
            return wanted @ theta - prior, wanted - expected
        after, given = self._checked(self.family.log_partition(theta, self.X, self.evidence))
        return after - prior, given - expected

    def _checked(self, found: Sequence[Any]) -> tuple[Floats, Floats]:
        values, expected = (np.asarray(part, dtype=float) for part in found)
        if values.ndim != 1 or expected.shape != (len(values), self.size):
            raise InvalidInput(
                f"a log-partition of shapes {values.shape} and {expected.shape}", f"(n,) and (n, {self.size})"
            )
        return values, expected

    def chances(self, theta: Floats) -> Floats:
        """Return P(truth | x), n x classes: the log-partition with one truth allowed, less that with all."""
        prior, _ = self._checked(self.family.log_partition(theta, self.X))
        logs = np.empty((len(prior), len(self.family.classes)))
        for k in range(logs.shape[1]):
            only = np.full(logs.shape, 0.0)
            only[:, k] = 1.0
            logs[:, k] = self._checked(self.family.log_partition(theta, self.X, only))[0]
        return np.asarray(np.exp(logs - prior[:, None]))
