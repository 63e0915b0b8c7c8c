"""From counts to a tagger with transitions: label the regions as the counts allow, learn a chain, and label anew.

The first labels come from node models, those of further rounds from chains. Each labels only sentences that it has not
learned from: a model has made up its mind about the counts that it was shown, and would repeat its mistakes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.learning.counting.chain_crf import ChainModel, fit_chain, useful_features
from askance.learning.counting.chain_features import ContextTable
from askance.learning.counting.count_relabel import relabel
from askance.learning.counting.counted_regions import Corpus, Regions, chosen
from askance.learning.counting.node_model import NodeModel

Labels = NDArray[np.int32]
Chances = NDArray[Any]

_SHORT = 2  # passes of a chain that only labels anew: the counts do the rest


def chain_from_counts(
    corpus: Corpus,
    regions: Regions,
    fit_node: Callable[[Regions], NodeModel],
    rng: np.random.Generator,
    *,
    rounds: int,
    folds: int,
    passes: int,
    callback: Callable[[ChainModel], None] | None = None,
) -> ChainModel:
    """Learn a chain-structured tagger from the counts of regions.

    Parameters
    ----------
    corpus, regions
    fit_node : function
        Fits a node model to some of the regions.
    rng : numpy Generator
    rounds : int
        How often chains label the regions anew.
    folds : int
        In how many parts the sentences are split for labelling.
    passes : int
        Of the chain that is returned.
    callback : function, optional
        Called after each of these passes with the model so far.
    """
    tags = regions.tags

    def by_node(left_out: NDArray[np.bool_], part: Corpus) -> Chances:
        model = fit_node(chosen(regions, ~left_out[regions.sentence]))
        return model.probabilities(corpus.vocabulary)[part.words]

    if _nothing_left_open(regions):
        rounds, first = 0, np.ones((len(corpus.words), tags), np.float32)
    else:
        first = _cross_fitted(by_node, corpus, regions, rng, folds)
    labels = relabel(first, corpus, regions)
    # Which tokens have labels stays the same from round to round, and so do the features.
    table = useful_features(corpus, labels, ContextTable.of(corpus.vocabulary))

    def by_chain(left_out: NDArray[np.bool_], part: Corpus) -> Chances:
        known = np.where(np.repeat(left_out, corpus.lengths), np.int32(-1), labels)
        return fit_chain(corpus, known, tags, rng, _SHORT, table=table).chances(part, table)

    for _ in range(rounds):
        labels = relabel(_cross_fitted(by_chain, corpus, regions, rng, folds), corpus, regions)
    return fit_chain(corpus, labels, tags, rng, passes, callback, table)


def _nothing_left_open(regions: Regions) -> bool:
    """Whether counts leave nothing open: every region is of one tag, as labelled tokens are."""
    single = np.diff(regions.offsets) == 1
    return bool(single.all() and (regions.count == regions.width).all())


def _cross_fitted(
    chances_of: Callable[[NDArray[np.bool_], Corpus], Chances],
    corpus: Corpus,
    regions: Regions,
    rng: np.random.Generator,
    folds: int,
) -> Chances:
    """Chances of the tags of all tokens in annotated sentences, by models that have not seen the sentence.

    ``chances_of(left_out, part)`` learns without the sentences that are left out, and judges them: they are ``part``.
    """
    annotated = np.unique(regions.sentence)
    # Dealt like cards: the folds are of one size. A single sentence can only be judged by what has seen it.
    fold = np.full(len(corpus.lengths), -1)
    fold[annotated] = rng.permutation(np.arange(len(annotated)) % folds)
    found = np.ones((len(corpus.words), regions.tags), np.float32)
    for number in range(min(folds, len(annotated))):
        mine = fold == number
        tokens = np.repeat(mine, corpus.lengths)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(corpus.lengths[mine])])
        left_out = mine if len(annotated) > 1 else np.zeros_like(mine)
        found[tokens] = chances_of(left_out, Corpus(corpus.words[tokens], starts, corpus.vocabulary))
    return found
