"""A conditional random field with transitions: p(y | x) ∝ exp(Σ_t w(y_t)·f(x, t) + Σ_t v(y_{t-1}, y_t)).

Learned from runs of labelled tokens, which may begin and end inside a sentence: words outside a run are still seen as
context, and what tag stands there is left open. Training is online, an Adagrad step for each run, and the weights after
each pass but the first are averaged: two or three passes come as far as a batch optimiser does in a hundred.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Singles
from askance.learning.counting.chain_features import REACH, ContextTable
from askance.learning.counting.chain_loops import all_chances, one_pass
from askance.learning.counting.counted_regions import Corpus

Places = NDArray[np.int64]

# Chosen on the development file of the English Web Treebank, as is the node model's (``node_fit``).
PASSES = 5
_RATE = 0.3  # of Adagrad
_FIRST_SUM = 1.0  # what Adagrad's sums of squared slopes begin with
_RARE = 2  # a feature of fewer tokens is left out


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

    def chances(self, corpus: Corpus, table: ContextTable | None = None) -> Singles:
        """Return P(tag | sentence) of every token, tokens x tags; ``table`` spares looking up the features."""
        if table is None:
            table = ContextTable.of(corpus.vocabulary, self.features)
        found = np.empty((len(corpus.words), self.weights.shape[1]), self.weights.dtype)
        all_chances(
            corpus.words, corpus.starts, REACH, table.indptr, table.indices, self.weights, self.transitions, found
        )
        return found


def useful_features(corpus: Corpus, labels: NDArray[np.int32], table: ContextTable) -> ContextTable:
    """Leave out features of fewer than two labelled tokens, which teach little and fill memory."""
    runs = Runs.of(corpus, labels)
    sizes = runs.ends - runs.begins
    lows, highs = np.repeat(runs.lows, sizes), np.repeat(runs.highs, sizes)
    return table.only(table.occurrences(corpus.words, np.flatnonzero(labels >= 0), lows, highs) >= _RARE)


def fit_chain(
    corpus: Corpus,
    labels: NDArray[np.int32],
    tags: int,
    rng: np.random.Generator,
    passes: int = PASSES,
    callback: Callable[[ChainModel], None] | None = None,
    table: ContextTable | None = None,
) -> ChainModel:
    """Learn a chain from labelled tokens.

    Parameters
    ----------
    corpus : Corpus
    labels : array, tokens
        The tag of each token; negative where it is not known.
    tags : int
        How many tags there are.
    rng : numpy Generator
        Orders the runs, anew for each pass.
    passes : int
    callback : function, optional
        Called after each pass with the model so far.
    table : ContextTable, optional
        The features of the corpus's vocabulary, if somebody has looked them up already.

    Examples
    --------
    >>> corpus = Corpus.of([["the", "dog", "barks"], ["the", "cat", "runs"]] * 20)
    >>> labels = np.tile(np.array([0, 1, 2], np.int32), 40)
    >>> model = fit_chain(corpus, labels, 3, np.random.default_rng(0))
    >>> model.chances(Corpus.of([["the", "owl", "eats"]])).argmax(axis=1)
    array([0, 1, 2])
    """
    if table is None:
        table = useful_features(corpus, labels, ContextTable.of(corpus.vocabulary))
    runs = Runs.of(corpus, labels)
    weights, transitions = np.zeros((len(table.names), tags), np.float32), np.zeros((tags, tags), np.float32)
    sums, transition_sums = np.full_like(weights, _FIRST_SUM), np.full_like(transitions, _FIRST_SUM)
    model = ChainModel(table.names, weights, transitions)
    for number in range(passes):
        one_pass(
            rng.permutation(len(runs.begins)), runs.begins, runs.ends, runs.lows, runs.highs, corpus.words, labels,
            REACH, table.indptr, table.indices, weights, sums, transitions, transition_sums, np.float32(_RATE),
        )  # fmt: skip
        # The first pass is still far from where the others wander about.
        share = np.float32(1 / max(number, 1))
        model = ChainModel(
            table.names,
            model.weights + share * (weights - model.weights),
            model.transitions + share * (transitions - model.transitions),
        )
        if callback is not None:
            callback(model)
    return model
