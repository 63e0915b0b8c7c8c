"""A conditional random field with transitions: p(y | x) ∝ exp(Σ_t w(y_t)·f(x, t) + Σ_t v(y_{t-1}, y_t)).

It is learned from windows (``window_chains``); here is what it says about sentences.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Singles
from askance.learning.counting.chain_features import REACH, ContextTable, WordNames
from askance.learning.counting.chain_loops import all_chances
from askance.learning.counting.counted_regions import Corpus

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Runs:
    """Labelled tokens from ``begins`` to ``ends``, in sentences from ``lows`` to ``highs``: places in the corpus."""

    begins: Places
    ends: Places
    lows: Places
    highs: Places

    @classmethod
    def of(cls, corpus: Corpus, labels: NDArray[np.int32]) -> "Runs":
        """Find the longest runs of tokens whose label is not negative.

        Examples
        --------
        >>> corpus = Corpus.of([["a", "b", "c", "d"], ["e"]])
        >>> found = Runs.of(corpus, np.array([0, 1, -1, 1, 0], np.int32))
        >>> found.begins, found.ends
        (array([0, 3, 4]), array([2, 4, 5]))
        """
        known = labels >= 0
        first = np.zeros(len(labels), bool)
        first[corpus.starts[:-1][corpus.lengths > 0]] = True
        begins = np.flatnonzero(known & (first | ~np.concatenate([[False], known[:-1]])))
        last = np.concatenate([first[1:], [True]])
        ends = 1 + np.flatnonzero(known & (last | ~np.concatenate([known[1:], [False]])))
        sentence = np.searchsorted(corpus.starts, begins, side="right") - 1
        return cls(begins, ends, corpus.starts[sentence], corpus.starts[sentence + 1])


@dataclass(frozen=True, eq=False)
class ChainModel:
    """Weights of features by tag, and of transitions from tag to tag."""

    features: tuple[str, ...]
    weights: Singles
    transitions: Singles
    own: WordNames | None = None

    def chances(self, corpus: Corpus, table: ContextTable | None = None) -> Singles:
        """Return P(tag | sentence) of every token, tokens x tags; ``table`` spares looking up the features."""
        if table is None:
            table = ContextTable.of(corpus.vocabulary, self.features, self.own)
        found = np.empty((len(corpus.words), self.weights.shape[1]), self.weights.dtype)
        all_chances(
            corpus.words, corpus.starts, REACH, table.indptr, table.indices, self.weights, self.transitions, found
        )
        return found
