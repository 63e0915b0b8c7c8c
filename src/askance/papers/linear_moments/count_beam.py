"""Tags given counts by beam search, as [LM] section 7 does: a baseline for comparison, and nothing else.

Labellings of a region are built from left to right, and only the likeliest 500 are kept. The dynamic programme of
``learning.counting.count_posterior`` merges all labellings that have used the same counts: it is exact, and faster.
"""

import math

import numpy as np
from numpy.typing import NDArray

from askance.compiled import compiled
from askance.learning.counting.count_posterior import RegionPosteriors, impossible_counts
from askance.learning.counting.count_posterior_loops import counted_classes, spread_classes
from askance.learning.counting.counted_regions import Corpus, Regions

BEAM = 500  # as in the paper


def beam_posteriors(
    type_probs: NDArray[np.floating], corpus: Corpus, regions: Regions, beam: int = BEAM
) -> RegionPosteriors:
    """Condition the tags of every region on its counts, as far as the kept labellings tell.

    The log-likelihood is that of the kept labellings: a lower bound, exact if all fit into the beam. Parameters are
    those of :func:`~askance.learning.counting.count_posterior.region_posteriors`.
    """
    return beam_of_tokens(type_probs, corpus.words[regions.tokens(corpus)], regions, beam)


def beam_of_tokens(
    laws: NDArray[np.floating], types: NDArray[np.integer], regions: Regions, beam: int = BEAM
) -> RegionPosteriors:
    """The same, for the tokens of all regions one after the other: ``types`` are their rows in ``laws``."""
    probabilities = np.empty((int(regions.width.sum()), regions.tags))
    log_likelihood = np.empty(len(regions))
    _every_region(
        np.ascontiguousarray(laws, np.float64), np.ascontiguousarray(types, np.int64), regions.token_offsets,
        regions.offsets, regions.tag, regions.count, regions.subset, regions.asked, beam, probabilities, log_likelihood,
    )  # fmt: skip
    impossible = np.flatnonzero(np.isneginf(log_likelihood))
    if len(impossible):
        raise impossible_counts(regions, int(impossible[0]))
    return RegionPosteriors(probabilities, log_likelihood)


@compiled
def _every_region(  # type: ignore[no-untyped-def]
    type_probs, types, places, offsets, tag, count, subset, asked, beam, probabilities, log_likelihood
):
    for r in range(len(subset)):
        tokens, entries = slice(places[r], places[r + 1]), slice(offsets[r], offsets[r + 1])
        rows, asked_for = types[tokens], asked[subset[r]]
        held, tag_of, law = counted_classes(type_probs, rows, tag[entries], count[entries], asked_for)
        log_likelihood[r] = -np.inf
        if len(held):
            after = np.empty(law.shape)
            log_likelihood[r] = _search(law, held, beam, after)
            spread_classes(type_probs, rows, asked_for, tag_of, law, after, probabilities[tokens])


@compiled
def _search(law, counts, beam, after):  # type: ignore[no-untyped-def]
    """Fill P(class | counts) over the kept labellings, and return the log of their probability."""
    n, classes = law.shape
    chosen = np.empty((n, beam), np.int64)  # class of the i-th row in each kept labelling,
    parent = np.empty((n, beam), np.int64)  # and the labelling that it extends
    left, fresh = np.empty((beam, classes), np.int64), np.empty((beam, classes), np.int64)
    scores = np.zeros(beam)
    gains, by, into = np.empty(beam * classes), np.empty(beam * classes, np.int64), np.empty(beam * classes, np.int64)
    for k in range(classes):
        left[0, k] = counts[k]
    kept = 1
    for i in range(n):
        found = 0
        for k in range(classes):
            gain = math.log(max(law[i, k], 1e-300))
            for h in range(kept):
                if left[h, k] > 0:
                    gains[found], by[found], into[found] = scores[h] + gain, h, k
                    found += 1
        least = _least_of_best(gains[:found].copy(), beam) if found > beam else -np.inf
        kept = 0
        for c in range(found):
            if gains[c] >= least and kept < beam:
                for k in range(classes):
                    fresh[kept, k] = left[by[c], k]
                fresh[kept, into[c]] -= 1
                scores[kept], parent[i, kept], chosen[i, kept] = gains[c], by[c], into[c]
                kept += 1
        left, fresh = fresh, left
    top = scores[0]
    for h in range(kept):
        top = max(top, scores[h])
    total = 0.0
    for h in range(kept):
        total += math.exp(scores[h] - top)
    for i in range(n):
        for k in range(classes):
            after[i, k] = 0.0
    for h in range(kept):
        share = math.exp(scores[h] - top) / total
        place = h
        for i in range(n - 1, -1, -1):
            after[i, chosen[i, place]] += share
            place = parent[i, place]
    return top + math.log(total)


@compiled
def _least_of_best(values, size):  # type: ignore[no-untyped-def]
    """The least of the ``size`` largest values, by Hoare's selection; they are reordered."""
    low, high, wanted = 0, len(values) - 1, size - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return values[wanted]
