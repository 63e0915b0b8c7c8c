"""Chains under a channel: p(y | x) ∝ exp(Σ_t w(y_t)·x_t + Σ_t v(y_{t-1}, y_t)), sums over sequences.

- marginal: A(scores + log S) - A(scores), gradient E[phi | o, x] - E[phi | x];
- moments: theta . Σ beta - Σ A, with b_t = R[:, o_t] for a token and b_t b_{t+1}' for a transition, which is unbiased
  because tokens are hidden independently.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.models.chain_loops import expectations
from askance.learning.models.fitted import summed

Method = Literal["marginal", "moments"]
_NO_EVIDENCE = np.empty((0, 0))  # what compiled loops, which know no None, take in place of it


@dataclass(frozen=True, eq=False)
class ChainProblem:
    """Objective of a chain, as a function of node weights (features x tags) and transitions, one after the other.

    Parameters
    ----------
    table : sparse, tokens x features
    starts : sequences + 1
    evidence : tokens x tags
        P(report | tag) by the marginal method, unbiased indicators of the tags by moments.
    method : "marginal" or "moments"
    """

    table: Any
    starts: NDArray[np.int64]
    evidence: Floats
    method: Method

    @property
    def tags(self) -> int:
        return int(self.evidence.shape[1])

    @property
    def size(self) -> int:
        return int(self.table.shape[1]) * self.tags + self.tags**2

    def split(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return node weights and transitions."""
        nodes = self.table.shape[1] * self.tags
        return theta[:nodes].reshape(-1, self.tags), theta[nodes:].reshape(self.tags, self.tags)

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the objective, summed over sequences, and its gradient."""
        values, nodes, pairs = self._differences(theta, each=False)
        return float(values.sum()), np.concatenate([(self.table.T @ nodes).ravel(), pairs[0].ravel()])

    def record_scores(self, theta: Floats) -> Floats:
        """Return the gradient of each sequence's objective, sequences x parameters."""
        _, nodes, pairs = self._differences(theta, each=True)
        rows = np.empty((len(self.starts) - 1, self.size))
        dense = self.table.toarray()
        for s, (a, b) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            rows[s] = np.concatenate([(dense[a:b].T @ nodes[a:b]).ravel(), pairs[s].ravel()])
        return rows

    def gradients(self, points: Floats) -> Floats:
        """Return the gradients at several points, points x parameters."""
        return np.array([self.value_and_gradient(theta)[1] for theta in points])

    def score_sums(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the sum of these gradients, and the sum of their products."""
        return summed(self.record_scores(theta))

    def _differences(self, theta: Floats, each: bool) -> tuple[Floats, Floats, Floats]:
        """Objective by sequence; and the difference of expected indicators, by token and of pairs."""
        weights, transitions = self.split(theta)
        scores = np.ascontiguousarray(self.table @ weights)
        steps = np.exp(transitions)
        count = len(self.starts) - 1
        shape = (count if each else 1, self.tags, self.tags)
        prior, pairs = np.empty_like(scores), np.zeros(shape)
        values = -expectations(scores, steps, _NO_EVIDENCE, self.starts, prior, pairs)
        if self.method == "marginal":
            after, more = np.empty_like(scores), np.zeros(shape)
            values += expectations(scores, steps, self.evidence, self.starts, after, more)
            return values, after - prior, more - pairs
        b = self.evidence
        inside = np.ones(len(b), dtype=bool)
        inside[self.starts[:-1][np.diff(self.starts) > 0]] = False  # tokens with one before them
        places = np.flatnonzero(inside)
        first, second = b[places - 1], b[places]
        gained = np.einsum("tk,tk->t", b, scores)
        gained[places] += np.einsum("ti,ij,tj->t", first, transitions, second, optimize=True)
        sequence = np.repeat(np.arange(count), np.diff(self.starts))
        values += np.bincount(sequence, gained, count)
        if each:
            seen = np.zeros(shape)
            np.add.at(seen, sequence[places], first[:, :, None] * second[:, None, :])
        else:
            seen = (first.T @ second)[None]
        return values, b - prior, seen - pairs

    def chances(self, theta: Floats, given: bool = False) -> Floats:
        """Return P(tag | sequence) of every token; with ``given``, P(tag | sequence, reports)."""
        weights, transitions = self.split(theta)
        scores = np.ascontiguousarray(self.table @ weights)
        found, pairs = np.empty_like(scores), np.zeros((1, self.tags, self.tags))
        expectations(scores, np.exp(transitions), self.evidence if given else _NO_EVIDENCE, self.starts, found, pairs)
        return found
