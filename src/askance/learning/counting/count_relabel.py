"""The likeliest labels that have the counts: an assignment of tokens to the tags that were counted.

Every counted tag has as many seats as its count, and what was not asked for has the seats that are left; a token's
gain in a seat is the log-probability of its tag. The best seating is found exactly, region by region.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from askance.learning.counting.counted_regions import Corpus, Regions

_KEPT = 3.0  # gain of a token that keeps the label which a narrower region gave it, in nats
_CERTAIN = 1e6  # the same, where that region left no choice
_LEAST = 1e-30  # of a probability: what a model holds for impossible may still be the only way to have the counts


def relabel(chances: NDArray[np.floating], corpus: Corpus, regions: Regions) -> NDArray[np.int32]:
    """Return a tag for every token that lies in a region, and -1 for the others.

    Regions that overlap are seated from the narrowest to the widest, since the narrow ones tell most; a token then
    keeps its label where the wider counts allow. Labelled tokens are regions of width one: they come first, and stay.

    Parameters
    ----------
    chances : array, tokens x tags
        P(tag) of every token under a model that knows nothing of the counts.
    corpus : Corpus
    regions : Regions

    Examples
    --------
    >>> from askance.learning.counting.counted_regions import count_tags
    >>> corpus = Corpus.of([["the", "can", "can"]])
    >>> regions = count_tags(np.array([0, 1, 2]), corpus.starts, [0], [0], [3], [0], np.ones((1, 3), bool))
    >>> relabel(np.array([[0.8, 0.1, 0.1], [0.0, 0.6, 0.4], [0.0, 0.7, 0.3]]), corpus, regions)
    array([0, 2, 1], dtype=int32)
    """
    labels = np.full(len(corpus.words), -1, np.int32)
    kept = np.full(len(corpus.words), _KEPT)
    first = corpus.starts[regions.sentence] + regions.start
    for region in np.argsort(regions.width, kind="stable").tolist():
        window = slice(int(first[region]), int(first[region] + regions.width[region]))
        entries = slice(int(regions.offsets[region]), int(regions.offsets[region + 1]))
        seats = np.repeat(regions.tag[entries], regions.count[entries])
        if len(seats) == regions.width[region] and (seats == seats[0]).all():
            labels[window], kept[window] = seats, _CERTAIN
            continue
        gains = np.log(np.maximum(chances[window], _LEAST))
        earlier = np.flatnonzero(labels[window] >= 0)
        gains[earlier, labels[window][earlier]] += kept[window][earlier]
        labels[window] = _seated(gains, seats, np.flatnonzero(~regions.asked[regions.subset[region]]))
    return labels


def _seated(gains: NDArray[np.floating], seats: NDArray[np.int32], others: NDArray[np.int64]) -> NDArray[np.int32]:
    """Seat tokens; the best of the ``others``, tags that were not asked for, have the seats that are left."""
    tokens, spare = len(gains), len(gains) - len(seats)
    table = gains[:, seats]
    tags = np.broadcast_to(seats, (tokens, len(seats)))
    if spare:
        best = others[gains[:, others].argmax(axis=1)]
        table = np.hstack([table, np.repeat(gains[np.arange(tokens), best][:, None], spare, axis=1)])
        tags = np.hstack([tags, np.repeat(best[:, None], spare, axis=1)])
    token, seat = linear_sum_assignment(table, maximize=True)
    found: NDArray[np.int32] = tags[token, seat].astype(np.int32)
    return found
