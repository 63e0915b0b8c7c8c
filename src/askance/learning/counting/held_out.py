"""How good a tagger is, from windows that it has not seen.

A window's counts do not say which of its tokens has which tag, but much about it: with what a model thinks, the law of
tags given the counts. The share of tokens whose predicted tag is right, expected under that law, is the estimate of the
accuracy. It leans on the model where counts leave something open.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Singles
from askance.learning.counting.chain_crf import ChainModel
from askance.learning.counting.chain_features import ContextTable
from askance.learning.counting.counted_regions import Corpus, Places, Regions
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.window_chains import WindowLaws, Windows, token_scores, window_laws

SHARE = 10  # one of so many annotated sentences is held out,
_AT_LEAST = 30  # but so many, if these are no more than a quarter of all
_FEWEST = 12  # annotated sentences: of fewer, none can be spared

_LEAST = 1e-30  # of a probability


@dataclass(frozen=True, eq=False)
class Judged:
    """What a model that has not seen some windows says about them."""

    law: WindowLaws
    predicted: NDArray[np.int64]  # the likeliest tag of every token of the corpus, by the whole sentence

    def log_likelihood(self, some: Places) -> float:
        """Of the counts of some windows."""
        return float(self.law.log_likelihood[some].sum())


def dealt(regions: Regions, sentences: int, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Deal annotated sentences to folds: fold 0 is held out. None if there are too few.

    Examples
    --------
    >>> from askance.learning.counting.counted_regions import labelled
    >>> regions = labelled(np.arange(1000), np.zeros(1000, int), np.zeros(1000, int), 2)
    >>> (dealt(regions, 1000, np.random.default_rng(0)) == 0).sum()
    np.int64(100)
    """
    annotated = np.unique(regions.sentence)
    if len(annotated) < _FEWEST:
        return None
    size = min(max(len(annotated) // SHARE, _AT_LEAST), len(annotated) // 4)
    fold = np.full(sentences, 1)
    fold[rng.permutation(annotated)[:size]] = 0
    return fold


def node_scores(model: NodeModel, corpus: Corpus) -> Singles:
    """Logarithms of a node model's laws, tokens x tags."""
    by_type = np.log(np.maximum(model.probabilities(corpus.vocabulary), _LEAST))
    return by_type.astype(np.float32)[corpus.words]


def judged_by(model: NodeModel | ChainModel, corpus: Corpus, windows: Windows, some: Places) -> Judged:
    """Judge some windows by a model."""
    if isinstance(model, NodeModel):
        scores = node_scores(model, corpus)
        still = np.zeros((windows.regions.tags,) * 2, np.float32)
        return Judged(window_laws(scores, still, windows, some), scores.argmax(axis=1))
    table = ContextTable.of(corpus.vocabulary, model.features, model.own)
    scores = token_scores(corpus, table, model)
    return Judged(window_laws(scores, model.transitions, windows, some), model.chances(corpus, table).argmax(axis=1))


def quality(judged: Judged, windows: Windows, some: Places) -> dict[str, Any]:
    """Estimate the accuracy on windows that a model has not seen.

    Returns how many ``windows`` and ``tokens`` they are, the expected ``accuracy``, the share of ``counts`` that the
    predicted tags have too, which no accuracy there can exceed, and the ``log_likelihood`` of the counts by token.
    """
    chosen = np.zeros(len(windows), bool)
    chosen[some] = True
    inside = np.repeat(chosen, windows.ends - windows.begins)
    tokens = windows.tokens()[inside]
    predicted = judged.predicted[tokens]
    laws = judged.law.laws[inside]
    return {
        "windows": len(some),
        "tokens": len(tokens),
        "accuracy": float(laws[np.arange(len(tokens)), predicted].mean()),
        "counts": shared_counts(
            laws, predicted, np.repeat(np.arange(len(some)), (windows.ends - windows.begins)[some])
        ),
        "log_likelihood": judged.log_likelihood(some) / len(tokens),
    }


def shared_counts(laws: Singles, predicted: NDArray[np.int64], owner: NDArray[np.int64]) -> float:
    """The share of counts that predicted tags have too; laws given counts add up to the counts."""
    windows, tags = int(owner[-1]) + 1, laws.shape[1]
    counted, found = np.zeros((windows, tags)), np.zeros((windows, tags))
    np.add.at(counted, owner, laws)
    np.add.at(found, (owner, predicted), 1)
    return float(np.minimum(counted, found).sum() / len(predicted))
