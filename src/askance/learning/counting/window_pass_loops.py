"""The compiled passes of ``window_chains``: one Adagrad step for each window, and what a chain thinks of windows."""

import math

import numpy as np

from askance.compiled import compiled, compiled_for_sums
from askance.learning.counting.chain_loops import add_emissions, posteriors
from askance.learning.counting.window_chain_loops import given_counts, tags_of_window

_STILL = 1e-3  # tokens whose slopes are all smaller are passed over: there is nothing to learn from them


@compiled
def window_pass(  # type: ignore[no-untyped-def]
    order, begins, ends, lows, highs, offsets, tag, count, subset, asked, known, wanted, places, words, reach,
    indptr, indices, weights, sums, transitions, transition_sums, rate, largest, certain,
):  # fmt: skip
    """Go once over the windows; return the log-likelihood of the counts, and a window that cannot be, or -1.

    With ``wanted``, laws of the tokens of all windows (window s has its own from ``places[s]`` on), tags are learned
    from these and not from the counts.
    """
    tags = weights.shape[1]
    longest = 0
    for s in order:
        longest = max(longest, ends[s] - begins[s])
    forward = np.empty((longest, tags), weights.dtype)
    backward, scores = np.empty_like(forward), np.empty_like(forward)
    chances, given = np.empty_like(forward), np.empty((longest, tags))
    pairs, given_pairs = np.empty_like(transitions), np.empty((tags, tags))
    steps = np.exp(transitions)
    total = 0.0
    for s in order:
        begin, end, low, high = begins[s], ends[s], lows[s], highs[s]
        length = end - begin
        add_emissions(words, begin, end, low, high, reach, indptr, indices, weights, scores)
        given_pairs[:] = 0.0
        value = 0.0
        if len(wanted) > 0:
            _as_wanted(wanted[places[s] : places[s] + length], given, given_pairs)
        else:
            entries = slice(offsets[s], offsets[s + 1])
            value = window_given(
                scores[:length], transitions, steps, tag[entries], count[entries], asked[subset[s]], known[begin:end],
                largest, certain, given, given_pairs,
            )  # fmt: skip
            if value == -np.inf:
                return value, s
        pairs[:] = 0.0
        total += value - posteriors(scores[:length], steps, forward, backward, chances, pairs)
        for t in range(begin, end):
            if _slope(given[t - begin], chances[t - begin]) > _STILL:
                _move(words, t, low, high, reach, indptr, indices, chances[t - begin], rate, weights, sums)
        if length > 1:
            _move_steps(given_pairs, rate, pairs, transitions, transition_sums, steps)
    return total, -1


@compiled
def window_given(scores, transitions, steps, tag, count, asked, known, largest, certain, given, pairs):  # type: ignore[no-untyped-def]
    """Fill the law of a window's tags given its counts, or labels where all are known; return the log of its mass."""
    length = len(scores)
    if known.min() < 0:
        active, owner, held = tags_of_window(tag, count, asked, length)
        if len(active) == 0:
            return -np.inf
        return given_counts(scores, steps, active, owner, held, known, largest, certain, given, pairs)
    value = 0.0
    for t in range(length):
        given[t] = 0.0
        given[t, known[t]] = 1.0
        value += scores[t, known[t]]
        if t > 0:
            pairs[known[t - 1], known[t]] += 1.0
            value += transitions[known[t - 1], known[t]]
    return value


@compiled_for_sums
def _as_wanted(wanted, given, pairs):  # type: ignore[no-untyped-def]
    """Laws of tokens as if they were independent."""
    length, tags = wanted.shape
    for t in range(length):
        for k in range(tags):
            given[t, k] = wanted[t, k]
        if t > 0:
            for i in range(tags):
                if wanted[t - 1, i] > 0:
                    for j in range(tags):
                        pairs[i, j] += wanted[t - 1, i] * wanted[t, j]


@compiled_for_sums
def _slope(given, chances):  # type: ignore[no-untyped-def]
    """Turn a token's chances into slopes, and return the largest."""
    steepest = 0.0
    for k in range(len(chances)):
        slope = given[k] - chances[k]
        chances[k] = slope
        steepest = max(steepest, abs(slope))
    return steepest


@compiled_for_sums
def _move(words, t, low, high, reach, indptr, indices, slope, rate, weights, sums):  # type: ignore[no-untyped-def]
    """Move the weights of all features of a token, each with a step length of its own."""
    span = 2 * reach + 1
    edge = indptr.shape[0] // span - 1
    for shift in range(span):
        place = t + shift - reach
        word = words[place] if low <= place < high else edge
        cell = shift * (edge + 1) + word
        for at in range(indptr[cell], indptr[cell + 1]):
            weight, past = weights[indices[at]], sums[indices[at]]
            for k in range(len(slope)):
                past[k] += slope[k] * slope[k]
                weight[k] += rate * slope[k] / np.sqrt(past[k])


@compiled_for_sums
def _move_steps(given, rate, pairs, transitions, sums, steps):  # type: ignore[no-untyped-def]
    tags = len(transitions)
    for i in range(tags):
        for j in range(tags):
            slope = given[i, j] - pairs[i, j]
            if slope != 0.0:
                sums[i, j] += slope * slope
                transitions[i, j] += rate * slope / np.sqrt(sums[i, j])
                steps[i, j] = math.exp(transitions[i, j])


@compiled
def all_emissions(words, starts, reach, indptr, indices, weights, scores):  # type: ignore[no-untyped-def]
    """Fill the sums of weights of every token of every sentence."""
    for s in range(len(starts) - 1):
        low, high = starts[s], starts[s + 1]
        add_emissions(words, low, high, low, high, reach, indptr, indices, weights, scores[low:high])


@compiled
def judged(  # type: ignore[no-untyped-def]
    some, begins, ends, offsets, tag, count, subset, asked, known, scores, transitions, largest, certain, places, laws,
    log_likelihood, off,
):  # fmt: skip
    """Fill what a chain thinks of windows: laws of tags given counts, log P(counts), and how far counts seem off.

    ``off`` is the likelihood of the counts if one token was counted as another class than it is, which of them and as
    what being even, relative to the likelihood if all were counted as they are: the mean over tokens t and classes of
    p(y with another tag at t) / p(y), with the tags beside t as they are expected to be.
    """
    tags = scores.shape[1]
    longest = (ends - begins).max() if len(begins) else 0
    forward = np.empty((longest, tags), scores.dtype)
    backward, chances = np.empty_like(forward), np.empty_like(forward)
    given, pairs, free = np.empty((longest, tags)), np.empty((tags, tags)), np.empty_like(transitions)
    steps = np.exp(transitions)
    local = np.empty(tags)
    for s in some:
        begin, end = begins[s], ends[s]
        length = end - begin
        own, entries = scores[begin:end].copy(), slice(offsets[s], offsets[s + 1])
        value = window_given(
            own, transitions, steps, tag[entries], count[entries], asked[subset[s]], known[begin:end], largest,
            certain, given, pairs,
        )  # fmt: skip
        off[s] = np.inf if value == -np.inf else 0.0
        if value > -np.inf:
            odd = 0.0
            for t in range(length):
                for k in range(tags):
                    local[k] = own[t, k]
                    if t > 0:
                        for i in range(tags):
                            local[k] += given[t - 1, i] * transitions[i, k]
                    if t < length - 1:
                        for j in range(tags):
                            local[k] += given[t + 1, j] * transitions[k, j]
                odd += _odd(local, given[t], asked[subset[s]])
            off[s] = odd / length
            for t in range(length):
                for k in range(tags):
                    laws[places[s] + t, k] = given[t, k]
        log_likelihood[s] = value - posteriors(own, steps, forward, backward, chances, free)


@compiled_for_sums
def _odd(scores, given, asked):  # type: ignore[no-untyped-def]
    """The mean, over classes that a token may have in truth, of how much likelier they are than what was counted."""
    tags = len(scores)
    top = scores.max()
    total, others, classes = 0.0, 0.0, 0
    for k in range(tags):
        scores[k] = math.exp(scores[k] - top)
        total += scores[k]
        if asked[k]:
            classes += 1
        else:
            others += scores[k]
    if others > 0:
        classes += 1
    odd = 0.0
    for k in range(tags):
        if given[k] > 0:
            odd += given[k] * (total - (scores[k] if asked[k] else others)) / max(scores[k], 1e-300)
    return odd / max(classes - 1, 1)
