"""The compiled inner loops of ``chain_crf``: sequences forward and backward.

Probabilities are kept as they are and rescaled at every token, so that a loop over pairs of tags has no logarithm.
"""

import math

import numpy as np

from askance.compiled import compiled


@compiled
def add_emissions(words, begin, end, low, high, reach, indptr, indices, weights, scores):  # type: ignore[no-untyped-def]
    """Sum the weights of all features of the tokens begin..end of a sentence low..high, tokens x tags."""
    span = 2 * reach + 1
    edge = indptr.shape[0] // span - 1  # the word type that stands for what lies outside the sentence
    tags = weights.shape[1]
    for t in range(begin, end):
        row = scores[t - begin]
        row[:] = 0.0
        for shift in range(span):
            place = t + shift - reach
            word = words[place] if low <= place < high else edge
            cell = shift * (edge + 1) + word
            for at in range(indptr[cell], indptr[cell + 1]):
                weight = weights[indices[at]]
                for k in range(tags):
                    row[k] += weight[k]


@compiled
def posteriors(scores, steps, forward, backward, chances, pairs):  # type: ignore[no-untyped-def]
    """Fill ``chances`` with P(tag) of each token, add expected transitions to ``pairs``, return the log-partition.

    Parameters
    ----------
    scores : tokens x tags; replaced by exp(scores - largest of the token)
    steps : tags x tags, exp of the transition weights
    forward, backward : tokens x tags, scratch
    """
    length, tags = scores.shape
    total = 0.0
    for t in range(length):
        top = scores[t].max()
        total += top
        for k in range(tags):
            scores[t, k] = math.exp(scores[t, k] - top)
        row = forward[t]
        if t == 0:
            for j in range(tags):
                row[j] = scores[0, j]
        else:
            row[:] = 0.0
            for i in range(tags):
                mass = forward[t - 1, i]
                for j in range(tags):
                    row[j] += mass * steps[i, j]
            for j in range(tags):
                row[j] *= scores[t, j]
        norm = row.sum()
        total += math.log(norm)
        row /= norm
    backward[length - 1, :] = 1.0
    for t in range(length - 1, -1, -1):
        norm = 0.0
        for k in range(tags):
            chances[t, k] = forward[t, k] * backward[t, k]
            norm += chances[t, k]
        for k in range(tags):
            chances[t, k] /= norm
        if t == 0:
            break
        for j in range(tags):
            backward[t, j] *= scores[t, j]
        norm = 0.0
        for i in range(tags):
            mass = backward[t, 0] * 0.0
            step = steps[i]
            for j in range(tags):
                mass += step[j] * backward[t, j]
            backward[t - 1, i] = mass
            norm += mass * forward[t - 1, i]
        for i in range(tags):
            share = forward[t - 1, i] / norm
            for j in range(tags):
                pairs[i, j] += share * steps[i, j] * backward[t, j]
        largest = backward[t - 1].max()
        for i in range(tags):
            backward[t - 1, i] /= largest
    return total


@compiled
def all_chances(words, starts, reach, indptr, indices, weights, transitions, chances):  # type: ignore[no-untyped-def]
    """Fill ``chances`` with P(tag) of every token, sentence by sentence."""
    tags = weights.shape[1]
    longest = 0
    for s in range(starts.shape[0] - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    forward = np.empty((longest, tags), weights.dtype)
    backward = np.empty_like(forward)
    scores = np.empty_like(forward)
    pairs = np.zeros_like(transitions)
    steps = np.exp(transitions)
    for s in range(starts.shape[0] - 1):
        low, high = starts[s], starts[s + 1]
        if low == high:
            continue
        add_emissions(words, low, high, low, high, reach, indptr, indices, weights, scores)
        posteriors(scores[: high - low], steps, forward, backward, chances[low:high], pairs)
