"""How a tagger's tags compare with what is known: the tag of every token, or counts of windows."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.errors import InvalidInput
from askance.frames import lists_of_rows, refuse_other_rows
from askance.learning.counting.chain_crf import ChainModel
from askance.learning.counting.counted_regions import Corpus, Regions
from askance.learning.counting.node_model import NodeModel
from askance.tables.counted_region import checked_sentences


def tag_chances(model: NodeModel | ChainModel, corpus: Corpus) -> NDArray[np.floating]:
    """P(tag) of every token, tokens x tags."""
    if isinstance(model, ChainModel):
        return model.chances(corpus)
    return model.probabilities(corpus.vocabulary)[corpus.words]


def accuracy_on(sentences: Any, tags: Any, classes: Sequence[str]) -> Callable[[NodeModel | ChainModel], float]:
    """Check sentences and the tag of every token; return what says how many of them a model tags right."""
    refuse_other_rows(sentences=sentences, tags=tags)
    read = checked_sentences(sentences, blank=True)
    tags = lists_of_rows(tags, "lists of tags")
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidInput(f"tags={tags!r}", "a list of tags for each sentence")
    tags = [list(its) if isinstance(its, Iterable) else [its] for its in tags]
    if len(tags) != len(read):
        raise InvalidInput(f"tags of {len(tags)} sentences for {len(read)} sentences", "as many")
    for number, (words, its) in enumerate(zip(read, tags, strict=True)):
        if len(words) != len(its):
            raise InvalidInput(f"sentence {number}: {len(its)} tags for {len(words)} words", "one tag a word")
    # A tag that was never heard of is a mistake whatever is predicted.
    codes = {tag: code for code, tag in enumerate(classes)}
    corpus, truth = Corpus.of(read), np.array([codes.get(tag, -1) for its in tags for tag in its])
    return lambda model: float(np.mean(tag_chances(model, corpus).argmax(axis=1) == truth))


def watched_accuracy(validation: Any, classes: Sequence[str]) -> Callable[[NodeModel | ChainModel], float] | None:
    """The accuracy on a pair of sentences and tags; None if there is none to watch."""
    if validation is None:
        return None
    try:
        sentences, tags = validation
    except (TypeError, ValueError):
        raise InvalidInput(f"validation={validation!r}", "a pair: sentences, and their tags") from None
    return accuracy_on(sentences, tags, classes)


def compared_counts(chances: NDArray[np.floating], corpus: Corpus, regions: Regions) -> tuple[float, NDArray[np.int64]]:
    """Compare the counts of windows with those of the tags that are likeliest there.

    Returns the share of counts, "other" among them, that both have, and how often each asked tag was counted and found.
    """
    owner = np.repeat(np.arange(len(regions)), regions.width)
    predicted = chances[regions.tokens(corpus)].argmax(axis=1)
    was_asked = regions.asked[regions.subset[owner], predicted]
    found = np.zeros((len(regions), regions.tags + 1), np.int64)
    np.add.at(found, (owner, np.where(was_asked, predicted, regions.tags)), 1)
    counts = regions.dense_counts()
    counts = np.column_stack([counts, regions.width - counts.sum(axis=1)])
    shared = float(np.minimum(found, counts).sum() / regions.width.sum())
    return shared, np.stack([counts.sum(axis=0), found.sum(axis=0)])[:, :-1]
