"""The compiled inner loops of chains: sequences forward and backward, and the likeliest path.

Probabilities are kept as they are and rescaled at every token, so that a loop over pairs of tags has no logarithm.
"""

import math

import numpy as np

from askance.compiled import compiled, compiled_for_sums

_SMALLEST = float(np.finfo(float).tiny)  # an impossible sequence has a logarithm too


@compiled_for_sums
def expectations(scores, steps, chances, starts, marginals, pairs):  # type: ignore[no-untyped-def]
    """Fill marginals of each token and expected transitions, and return the log-partition of each sequence.

    Parameters
    ----------
    scores : tokens x tags, log-potentials of the tokens
    steps : tags x tags, exp of the transition weights
    chances : tokens x tags, P(report | tag) that the potentials are multiplied by; empty for none
    starts : sequences + 1
    marginals : tokens x tags, filled
    pairs : 1 x tags x tags, added to over all sequences; or sequences x tags x tags, each to its own
    """
    tags = scores.shape[1]
    count = starts.shape[0] - 1
    longest = 0
    for s in range(count):
        longest = max(longest, starts[s + 1] - starts[s])
    forward = np.empty((longest, tags))
    backward = np.empty(tags)
    before = np.empty(tags)
    weights = np.empty((longest, tags))
    values = np.zeros(count)
    seen = chances.shape[0] > 0
    each = pairs.shape[0] > 1
    turned = np.ascontiguousarray(steps.T)
    for s in range(count):
        low = starts[s]
        length = starts[s + 1] - low
        total, product = 0.0, 1.0
        for t in range(length):
            row = scores[low + t]
            top = -1e308
            for k in range(tags):
                if (not seen or chances[low + t, k] > 0.0) and row[k] > top:
                    top = row[k]
            total += top
            now = weights[t]
            for k in range(tags):
                now[k] = math.exp(min(row[k] - top, 0.0)) if not seen or chances[low + t, k] > 0.0 else 0.0
            if seen:
                for k in range(tags):
                    now[k] *= chances[low + t, k]
            here = forward[t]
            if t == 0:
                for k in range(tags):
                    here[k] = now[k]
            else:
                last = forward[t - 1]
                for j in range(tags):
                    mass = 0.0
                    step = turned[j]
                    for i in range(tags):
                        mass += last[i] * step[i]
                    here[j] = mass * now[j]
            norm = max(here.sum(), _SMALLEST)
            product *= norm
            if product < 1e-150 or product > 1e150:
                total += math.log(product)
                product = 1.0
            for k in range(tags):
                here[k] /= norm
        values[s] = total + math.log(product)
        backward[:] = 1.0
        own = pairs[s if each else 0]
        for t in range(length - 1, -1, -1):
            norm = 0.0
            for k in range(tags):
                chance = forward[t, k] * backward[k]
                marginals[low + t, k] = chance
                norm += chance
            norm = max(norm, _SMALLEST)
            for k in range(tags):
                marginals[low + t, k] /= norm
            if t == 0:
                break
            for k in range(tags):
                backward[k] *= weights[t, k]
            last = forward[t - 1]
            norm = 0.0
            for i in range(tags):
                mass = 0.0
                step = steps[i]
                for j in range(tags):
                    mass += step[j] * backward[j]
                before[i] = mass
                norm += mass * last[i]
            norm = max(norm, _SMALLEST)
            top = 0.0
            for i in range(tags):
                share = last[i] / norm
                step, target = steps[i], own[i]
                for j in range(tags):
                    target[j] += share * step[j] * backward[j]
                top = max(top, before[i])
            for i in range(tags):
                backward[i] = before[i] / max(top, _SMALLEST)
    return values


@compiled
def likeliest(scores, transitions, starts, path):  # type: ignore[no-untyped-def]
    """Fill the path of largest probability of each sequence (Viterbi)."""
    tags = scores.shape[1]
    count = starts.shape[0] - 1
    longest = 0
    for s in range(count):
        longest = max(longest, starts[s + 1] - starts[s])
    came = np.zeros((longest, tags), np.int64)
    best = np.empty(tags)
    after = np.empty(tags)
    for s in range(count):
        low = starts[s]
        length = starts[s + 1] - low
        if length == 0:
            continue
        for k in range(tags):
            best[k] = scores[low, k]
        for t in range(1, length):
            for j in range(tags):
                top, where = best[0] + transitions[0, j], 0
                for i in range(1, tags):
                    value = best[i] + transitions[i, j]
                    if value > top:
                        top, where = value, i
                came[t, j] = where
                after[j] = top + scores[low + t, j]
            for j in range(tags):
                best[j] = after[j]
        place = int(np.argmax(best))
        for t in range(length - 1, -1, -1):
            path[low + t] = place
            place = came[t, place]
