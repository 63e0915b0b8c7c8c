"""The compiled pass of ``node_fit``: batch by batch, laws of word types, posteriors, one step."""

import math

import numpy as np

from askance.compiled import compiled, compiled_for_sums
from askance.learning.counting.count_posterior_loops import region_posterior

_LEAST = 1e-30  # of a probability: a count that the model holds for impossible can still teach it


@compiled
def one_pass(  # type: ignore[no-untyped-def]
    order, batch, words, first, width, offsets, tag, count, subset, asked, soft, indptr, indices, theta, squares, late,
    step, largest, certain
):  # fmt: skip
    """Go once over all regions; return their log-likelihood and the first region whose counts are impossible, or -1.

    Parameters
    ----------
    order : which region comes when
    batch : regions between two steps
    words, first, width, offsets, tag, count, subset, asked : corpus and regions; first by the corpus's tokens
    soft : word types x K, targets in place of posteriors; empty if posteriors are wanted
    indptr, indices : features of word types
    theta, squares : features x K, changed: weights, and sums of squared gradients
    late : features x K, changed: each step times the share of the pass that was over by then
    step : float32
    largest, certain : as of region_posterior
    """
    known = theta.shape[1]
    widest = width.max()
    slots = np.full(len(indptr) - 1, -1, np.int64)  # where a word type of the batch has its law and gradient
    types = np.empty(batch * widest, np.int64)
    laws = np.empty((batch * widest, known))
    gradients = np.empty((batch * widest, known), np.float32)
    places = np.full(len(theta), -1, np.int64)  # where a feature of the batch has its slope
    moved = np.empty(len(theta), np.int64)
    slopes = np.empty((len(theta), known), np.float32)
    after = np.empty((widest, known))
    rows = np.empty(widest, np.int64)
    work = np.empty((widest + 2) * largest)
    total = 0.0
    for begin in range(0, len(order), batch):
        members = order[begin : begin + batch]
        distinct = 0
        for r in members:
            for word in words[first[r] : first[r] + width[r]]:
                if slots[word] < 0:
                    slots[word], types[distinct] = distinct, word
                    _law(theta, indices[indptr[word] : indptr[word + 1]], gradients[distinct], laws[distinct])
                    distinct += 1
        for r in members:
            window = words[first[r] : first[r] + width[r]]
            for i in range(width[r]):
                rows[i] = slots[window[i]]
            if len(soft) == 0:
                entries = slice(offsets[r], offsets[r + 1])
                value = region_posterior(
                    laws, rows[: width[r]], tag[entries], count[entries], asked[subset[r]], largest, certain, work,
                    after,
                )  # fmt: skip
                if value == -np.inf:
                    return value, r
                total += value
            for i in range(width[r]):
                wanted = after[i] if len(soft) == 0 else soft[window[i]]
                _pull(wanted, laws[rows[i]], gradients[rows[i]])
        touched = 0
        for slot in range(distinct):
            word = types[slot]
            slots[word] = -1
            for feature in indices[indptr[word] : indptr[word + 1]]:
                if places[feature] < 0:
                    places[feature], moved[touched] = touched, feature
                    slopes[touched] = 0
                    touched += 1
                _add(gradients[slot], slopes[places[feature]])
        over = np.float32(begin / len(order))
        for place in range(touched):
            feature = moved[place]
            places[feature] = -1
            _step(slopes[place], step, over, theta[feature], squares[feature], late[feature])
    return total, -1


@compiled_for_sums
def _law(theta, features, logits, law):  # type: ignore[no-untyped-def]
    """Fill the softmax of the summed weights of some features; ``logits`` is scratch, and zero in the end."""
    known = len(law)
    for k in range(known):
        logits[k] = 0
    for feature in features:
        weights = theta[feature]
        for k in range(known):
            logits[k] += weights[k]
    top = logits[0]
    for k in range(known):
        top = max(top, logits[k])
    total = 0.0
    for k in range(known):
        law[k] = math.exp(logits[k] - top)
        total += law[k]
        logits[k] = 0
    for k in range(known):
        law[k] = max(law[k] / total, _LEAST)


@compiled_for_sums
def _pull(wanted, law, gradient):  # type: ignore[no-untyped-def]
    """Add a token's derivative by its logits."""
    for k in range(len(law)):
        gradient[k] += np.float32(wanted[k] - law[k])


@compiled_for_sums
def _add(gradient, slopes):  # type: ignore[no-untyped-def]
    for k in range(len(gradient)):
        slopes[k] += gradient[k]


@compiled_for_sums
def _step(slopes, step, over, weights, squares, late):  # type: ignore[no-untyped-def]
    """Move the weights of a feature, each with a step length of its own."""
    for k in range(len(slopes)):
        squares[k] += slopes[k] * slopes[k]
        move = step * slopes[k] / np.sqrt(squares[k])
        weights[k] += move
        late[k] += over * move
