"""The compiled loops of ``window_chains``: the tags of one counted window under a chain, given its counts.

Only tags that were counted can stand in a window, and those that were not asked for share one class. First the scores
of classes are tilted until each is expected as often as it was counted. That changes nothing about the law given the
counts, and nothing underflows. Tokens that are sure of their tag then keep it. The rest is done exactly: forwards and
backwards over states of (how many tokens so far are in each class, tag of the last one).
"""

import math

import numpy as np

from askance.compiled import compiled, compiled_for_sums

_ROUNDS = 8  # of tilting: enough that a window's own counts are not improbable
_NEAR = 0.05  # tokens: classes that are expected within this of their count need no further round
_LONGEST = 4.0  # nats that a class is tilted by in one round
_LEAST_SURE = 0.5  # of the tokens that leave a window with too many states; below, another tag might be likelier


@compiled
def tags_of_window(tags, counts, asked, width):  # type: ignore[no-untyped-def]
    """The tags that can stand in a window, the class of each, and how often classes occur; none if that cannot be."""
    left, others = width, 0
    for j in range(len(tags)):
        left -= counts[j]
    for k in range(len(asked)):
        others += not asked[k]
    possible = left == 0 or (left > 0 and others > 0)
    active = np.empty(len(tags) + (others if left > 0 else 0), np.int64)
    owner = np.empty_like(active)
    held = np.empty(len(tags) + (left > 0), np.int64)
    many, classes = 0, 0
    for j in range(len(tags)):
        if counts[j] > 0:
            active[many], owner[many], held[classes] = tags[j], classes, counts[j]
            many += 1
            classes += 1
    if left > 0:
        for k in range(len(asked)):
            if not asked[k]:
                active[many], owner[many] = k, classes
                many += 1
        held[classes] = left
        classes += 1
    if not possible:
        many = 0
    return active[:many], owner[:many], held[:classes]


@compiled
def given_counts(scores, steps, active, owner, held, known, largest, certain, chances, pairs):  # type: ignore[no-untyped-def]
    """Fill P(tag | counts) of a window's tokens, add expected transitions to ``pairs``, return the log of their mass.

    Minus infinity if no tagging has the counts.

    Parameters
    ----------
    scores : tokens x tags
    steps : tags x tags, exp of the transition weights
    active, owner, held : what :func:`tags_of_window` says
    known : tag of each token where it is known, else -1
    largest : int, states that the programme may have; with more, the surest tokens are taken out first
    certain : tokens that are at least so sure of their tag are always taken out
    """
    length, many = len(scores), len(active)
    chances[:length] = 0.0
    law, step = np.empty((length, many)), np.empty((many, many))
    rest, fixed = held.copy(), np.full(length, -1, np.int64)
    value = 0.0
    for t in range(length):
        top = -np.inf
        for a in range(many):
            if known[t] < 0 or known[t] == active[a]:
                top = max(top, scores[t, active[a]])
                if known[t] >= 0:
                    fixed[t] = a
        if top == -np.inf:
            return top
        if fixed[t] >= 0:
            rest[owner[fixed[t]]] -= 1
        value += top
        for a in range(many):
            allowed = fixed[t] < 0 or fixed[t] == a
            law[t, a] = math.exp(scores[t, active[a]] - top) if allowed else 0.0
    if rest.min() < 0:
        return -np.inf
    for a in range(many):
        for b in range(many):
            step[a, b] = steps[active[a], active[b]]
    marginal, found = np.empty((length, many)), np.zeros((many, many))
    forward, backward = np.empty((length, many)), np.empty((length, many))
    mass, tilted = _tilted(law, step, owner, held, forward, backward, marginal)
    value += tilted
    done = False
    if len(held) > 1 and _take_out(marginal, owner, rest, fixed, largest, certain):
        exact = _programme(law, step, owner, rest, fixed, certain, marginal, found)
        done = exact > -np.inf
        if done:
            mass = exact
        else:  # it underflowed: model and counts contradict each other
            mass = _smoothed(law, step, forward, backward, marginal)
            found[:] = 0.0
    if not done:
        _expected_steps(law, step, forward, backward, found)
    for t in range(length):
        for a in range(many):
            chances[t, active[a]] = marginal[t, a]
    for a in range(many):
        for b in range(many):
            pairs[active[a], active[b]] += found[a, b]
    return value + mass


@compiled
def _tilted(law, step, owner, held, forward, backward, marginal):  # type: ignore[no-untyped-def]
    """Scale columns of ``law`` until classes are expected as often as they are held.

    Fills forward, backward and marginal of the last round; returns its log mass, and the log of what was divided out.
    """
    length, many = law.shape
    expected, factor = np.empty(len(held)), np.empty(len(held))
    removed, mass = 0.0, 0.0
    for done in range(_ROUNDS + 1):
        mass = _smoothed(law, step, forward, backward, marginal)
        if len(held) == 1 or done == _ROUNDS:
            break
        expected[:] = 0.0
        for t in range(length):
            for a in range(many):
                expected[owner[a]] += marginal[t, a]
        off = 0.0
        for c in range(len(held)):
            off = max(off, abs(expected[c] - held[c]))
        if off <= _NEAR:
            break
        for c in range(len(held)):
            tilt = math.log(held[c] / max(expected[c], 1e-300))
            tilt = min(max(tilt, -_LONGEST), _LONGEST)
            factor[c] = math.exp(tilt)
            removed -= held[c] * tilt
        for t in range(length):
            for a in range(many):
                law[t, a] *= factor[owner[a]]
    return mass, removed


@compiled_for_sums
def _smoothed(law, step, forward, backward, marginal):  # type: ignore[no-untyped-def]
    """Fill the marginals of a chain without counts, and return the log of its mass."""
    length, many = law.shape
    total, product = 0.0, 1.0
    for t in range(length):
        row = forward[t]
        if t == 0:
            for j in range(many):
                row[j] = law[0, j]
        else:
            row[:] = 0.0
            for i in range(many):
                share = forward[t - 1, i]
                for j in range(many):
                    row[j] += share * step[i, j]
            for j in range(many):
                row[j] *= law[t, j]
        norm = 0.0
        for j in range(many):
            norm += row[j]
        product *= norm
        if product < 1e-100 or product > 1e100:  # one logarithm for many tokens
            total += math.log(product)
            product = 1.0
        for j in range(many):
            row[j] /= norm
    total += math.log(product)
    backward[length - 1] = 1.0
    for t in range(length - 1, -1, -1):
        norm = 0.0
        for k in range(many):
            marginal[t, k] = forward[t, k] * backward[t, k]
            norm += marginal[t, k]
        for k in range(many):
            marginal[t, k] /= norm
        if t > 0:
            largest = 0.0
            for i in range(many):
                share = 0.0
                for j in range(many):
                    share += step[i, j] * law[t, j] * backward[t, j]
                backward[t - 1, i] = share
                largest = max(largest, share)
            for i in range(many):
                backward[t - 1, i] /= largest
    return total


@compiled_for_sums
def _expected_steps(law, step, forward, backward, found):  # type: ignore[no-untyped-def]
    """Add the expected transitions of a chain without counts."""
    length, many = law.shape
    here = np.empty((many, many))
    for t in range(1, length):
        norm = 0.0
        for i in range(many):
            for j in range(many):
                here[i, j] = forward[t - 1, i] * step[i, j] * law[t, j] * backward[t, j]
                norm += here[i, j]
        for i in range(many):
            for j in range(many):
                found[i, j] += here[i, j] / norm


@compiled
def _take_out(marginal, owner, rest, fixed, largest, certain):  # type: ignore[no-untyped-def]
    """Fix the surest tokens, and take them off the ``rest``; return whether few enough states are left."""
    length, many = marginal.shape
    best, sure = np.zeros(length, np.int64), np.empty(length)
    for t in range(length):
        for a in range(many):
            if marginal[t, a] > marginal[t, best[t]]:
                best[t] = a
        sure[t] = marginal[t, best[t]] if fixed[t] < 0 else -1.0
    few = _states(rest) * many <= largest
    for _ in range(length):
        t = int(np.argmax(sure))
        if sure[t] < (certain if few else _LEAST_SURE):
            break
        sure[t] = -1.0
        if rest[owner[best[t]]] > 0:
            fixed[t] = best[t]
            rest[owner[best[t]]] -= 1
            few = few or _states(rest) * many <= largest
    return few


@compiled
def _states(rest):  # type: ignore[no-untyped-def]
    """How many count vectors there are without the most frequent class, whose count follows; capped."""
    states, most = 1, rest.max() + 1
    for c in range(len(rest)):
        states *= rest[c] + 1
        if states > 1 << 40:
            break
    return states // most


@compiled_for_sums
def _programme(law, step, owner, rest, fixed, certain, marginal, found):  # type: ignore[no-untyped-def]
    """Fill ``marginal`` and ``found`` given the counts, and return the log of the mass; minus infinity if it vanishes.

    A state is how many of the free tokens so far are in each class but the most frequent, in mixed radix.
    """
    length, many = law.shape
    first = 0
    for c in range(len(rest)):
        if rest[c] > rest[first]:
            first = c
    stride = np.zeros(len(rest), np.int64)
    states = 1
    for c in range(len(rest)):
        if c != first:
            stride[c] = states
            states *= rest[c] + 1
    reached = np.zeros((length, many, states))
    summed = np.empty(states)
    total = 0.0
    for t in range(length):
        norm = 0.0
        for j in range(many):
            c = owner[j]
            if fixed[t] != j and (fixed[t] >= 0 or rest[c] == 0):
                continue
            summed[:] = 0.0
            if t == 0:
                summed[0] = 1.0
            else:
                for i in range(many):
                    if fixed[t - 1] < 0 or fixed[t - 1] == i:
                        share = step[i, j]
                        for s in range(states):
                            summed[s] += share * reached[t - 1, i, s]
            row, share = reached[t, j], law[t, j]
            if fixed[t] >= 0 or c == first:
                for s in range(states):
                    row[s] = share * summed[s]
                    norm += row[s]
            else:
                block = stride[c] * (rest[c] + 1)
                for begin in range(0, states, block):
                    for s in range(begin + stride[c], begin + block):
                        row[s] = share * summed[s - stride[c]]
                        norm += row[s]
        if norm <= 0:
            return -np.inf
        total += math.log(norm)
        for j in range(many):
            for s in range(states):
                reached[t, j, s] /= norm
    end = 0.0
    for j in range(many):
        end += reached[length - 1, j, states - 1]
    if end <= 0:
        return -np.inf
    total += math.log(end)
    ahead, coming = np.zeros((many, states)), np.zeros((many, states))
    here = np.empty((many, many))
    ahead[:, states - 1] = 1.0
    for t in range(length - 1, -1, -1):
        norm, largest = 0.0, 0.0
        for j in range(many):
            share = 0.0
            for s in range(states):
                share += reached[t, j, s] * ahead[j, s]
            here[0, j] = share
            norm += share
        if norm <= 0:
            return -np.inf
        # A token that is fixed, and not quite sure, keeps the tilted marginals that it was fixed by.
        if fixed[t] < 0 or marginal[t, fixed[t]] >= certain:
            for j in range(many):
                marginal[t, j] = here[0, j] / norm
        if t == 0:
            break
        for j in range(many):
            c, row = owner[j], coming[j]
            row[:] = 0.0
            if fixed[t] != j and (fixed[t] >= 0 or rest[c] == 0):
                continue
            share = law[t, j]
            if fixed[t] >= 0 or c == first:
                for s in range(states):
                    row[s] = share * ahead[j, s]
            else:
                block = stride[c] * (rest[c] + 1)
                for begin in range(0, states, block):
                    for s in range(begin, begin + block - stride[c]):
                        row[s] = share * ahead[j, s + stride[c]]
        norm = 0.0
        for i in range(many):
            row = ahead[i]
            row[:] = 0.0
            here[i] = 0.0
            if fixed[t - 1] >= 0 and fixed[t - 1] != i:
                continue
            for j in range(many):
                if fixed[t] >= 0 and fixed[t] != j:
                    continue
                share, joined = step[i, j], 0.0
                for s in range(states):
                    row[s] += share * coming[j, s]
                    joined += reached[t - 1, i, s] * coming[j, s]
                here[i, j] = share * joined
                norm += here[i, j]
            for s in range(states):
                largest = max(largest, row[s])
        if norm <= 0:
            return -np.inf
        for i in range(many):
            for j in range(many):
                found[i, j] += here[i, j] / norm
            for s in range(states):
                ahead[i, s] /= largest
    return total
