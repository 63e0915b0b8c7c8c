"""The compiled loops of ``count_posterior``: the tags of one region, given its counts."""

import math

import numpy as np

from askance.compiled import compiled, compiled_for_sums

_ROUNDS = 3  # of scaling before the dynamic programme: enough that nothing underflows
_MANY_ROUNDS = 30  # where scaling decides who is certain
_ALL_ROUNDS = 1000  # where the programme underflowed all the same: model and counts contradict each other
_NEAR = 1e-3  # columns that are off by this share of the tokens need no further round
_SURE = 0.9  # only tokens that are at least so sure of their tag are taken out of a large region


@compiled
def region_posterior(probs, rows, tags, counts, asked, largest, certain, work, found):  # type: ignore[no-untyped-def]
    """Fill P(tag | counts) of a region's tokens, and return log P(counts); minus infinity if they are impossible.

    Parameters
    ----------
    probs : types x K, P(tag | word type)
    rows : n, which row of ``probs`` holds for each token
    tags, counts : the asked tags that occur, and how often
    asked : K, whether a tag was asked for
    largest : int, states of the dynamic programme; with more, the surest tokens are taken out first
    certain : tokens that are at least so sure of their tag are always taken out; none if more than 1
    work : at least (n + 2) x largest numbers of scratch
    found : n x K, filled
    """
    held, tag_of, law = counted_classes(probs, rows, tags, counts, asked)
    if len(held) == 0:
        return -np.inf
    after = np.empty(law.shape)
    value = condition(law.copy(), held, largest, certain, work, after)
    spread_classes(probs, rows, asked, tag_of, law, after, found)
    return value


@compiled
def counted_classes(probs, rows, tags, counts, asked):  # type: ignore[no-untyped-def]
    """The classes that a region holds: how often, which tag (-1: those not asked for), and every token's law of them.

    There are none where the counts do not fit the region.
    """
    n, known = len(rows), len(asked)
    held = np.empty(len(tags) + 1, np.int64)
    tag_of = np.empty(len(tags) + 1, np.int64)
    classes, left, others = 0, n, 0
    for j in range(len(tags)):
        if counts[j] > 0:
            held[classes], tag_of[classes] = counts[j], tags[j]
            classes += 1
            left -= counts[j]
    for t in range(known):
        others += not asked[t]
    if left > 0:
        held[classes], tag_of[classes] = left, -1
        classes += 1
    if left < 0 or (left > 0 and others == 0):
        classes = 0
    law = np.empty((n, classes))
    for i in range(n):
        chances = probs[rows[i]]
        for k in range(classes):
            share = 0.0
            if tag_of[k] >= 0:
                share = chances[tag_of[k]]
            else:
                for t in range(known):
                    if not asked[t]:
                        share += chances[t]
            law[i, k] = share
    return held[:classes], tag_of[:classes], law


@compiled
def spread_classes(probs, rows, asked, tag_of, law, after, found):  # type: ignore[no-untyped-def]
    """Fill P(tag | counts) from P(class | counts): tags not asked for share their class as before."""
    for i in range(len(rows)):
        chances = probs[rows[i]]
        for t in range(len(asked)):
            found[i, t] = 0.0
        for k in range(len(tag_of)):
            if tag_of[k] >= 0:
                found[i, tag_of[k]] = after[i, k]
            elif law[i, k] > 0:
                for t in range(len(asked)):
                    if not asked[t]:
                        found[i, t] = after[i, k] * chances[t] / law[i, k]


@compiled
def condition(law, counts, largest, certain, work, after):  # type: ignore[no-untyped-def]
    """Fill the law of independent rows given how many are in each class; return log P(counts). ``law`` is scaled."""
    n, classes = law.shape
    if classes == 1:
        value = 0.0
        for i in range(n):
            value += math.log(law[i, 0]) if law[i, 0] > 0 else -np.inf
            after[i, 0] = 1.0
        return value
    possible = law.min() > 0  # nothing is impossible then, however unlikely
    large = _states(counts, _descending(counts)) > largest
    value = scale(law, counts, _MANY_ROUNDS if large else _ROUNDS)
    if value == -np.inf:
        return value
    rest = counts.copy()
    rows, taken = np.arange(n), 0
    if large or certain <= 1:
        rows, taken, likely = _certain_first(law, rest, largest, certain, after)
        if taken < 0:
            return value
        value += likely
    mass = _programme(law, rows[taken:], _descending(rest), rest, work, after)
    if mass == 0 and taken == 0:
        value += scale(law, counts, _ALL_ROUNDS)
        mass = _programme(law, rows, _descending(counts), counts, work, after)
    if mass > 0:
        return value + math.log(mass)
    for i in range(n):
        for k in range(classes):
            after[i, k] = law[i, k]
    return value if possible or taken > 0 else -np.inf


@compiled
def _certain_first(law, rest, largest, certain, after):  # type: ignore[no-untyped-def]
    """Take out the surest rows, until the next is less than certain and the ``rest`` has few enough states.

    Those that are out keep their law, but no longer take part: their class has one seat less.

    Return the rows, the surest first; how many are out, or -1 if there are still too many states; and the log of the
    probability that those have their classes.
    """
    n, classes = law.shape
    best = np.zeros(n, np.int64)
    sure = np.empty(n)
    for i in range(n):
        for k in range(classes):
            after[i, k] = law[i, k]
            if law[i, k] > law[i, best[i]]:
                best[i] = k
        sure[i] = law[i, best[i]]
    rows = _descending(sure)
    taken, likely = 0, 0.0
    few = _states(rest, _descending(rest)) <= largest
    while taken < n:
        i = rows[taken]
        if sure[i] < (certain if few else _SURE) or rest[best[i]] == 0:
            break
        rest[best[i]] -= 1
        likely += math.log(sure[i])
        taken += 1
        few = few or _states(rest, _descending(rest)) <= largest
    return rows, taken if few else -1, likely


@compiled
def _descending(values):  # type: ignore[no-untyped-def]
    """Places of the values from the largest to the smallest, by insertion: there are few."""
    order = np.arange(len(values))
    for j in range(1, len(values)):
        place = order[j]
        while j > 0 and values[order[j - 1]] < values[place]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = place
    return order


@compiled
def _states(counts, order):  # type: ignore[no-untyped-def]
    """How many count vectors there are, without the most frequent class, whose count follows; capped."""
    states = 1
    for k in order[1:]:
        states *= counts[k] + 1
        if states > 1 << 40:
            break
    return states


@compiled_for_sums
def scale(law, counts, rounds):  # type: ignore[no-untyped-def]
    """Scale columns to the counts and rows to one, in turn, and return the log of what was divided out.

    This leaves P(tag | counts) as it is. Minus infinity if a row or a column has nothing to scale.
    """
    n, classes = law.shape
    removed = 0.0
    for _ in range(rounds):
        off = 0.0
        for k in range(classes):
            total = 0.0
            for i in range(n):
                total += law[i, k]
            if total <= 0:
                return -np.inf
            off = max(off, abs(total - counts[k]))
            factor = counts[k] / total
            removed -= counts[k] * math.log(factor)
            for i in range(n):
                law[i, k] *= factor
        product = 1.0
        for i in range(n):
            total = 0.0
            for k in range(classes):
                total += law[i, k]
            if total <= 0:
                return -np.inf
            product *= total
            if product < 1e-100 or product > 1e100:  # one logarithm for many rows
                removed += math.log(product)
                product = 1.0
            for k in range(classes):
                law[i, k] /= total
        removed += math.log(product)
        if off <= _NEAR * n:
            break
    return removed


@compiled_for_sums
def _programme(law, rows, order, counts, work, after):  # type: ignore[no-untyped-def]
    """Fill ``after`` for some rows, and return P(counts): forwards and backwards over count vectors.

    ``order`` lists the classes, the most frequent first. A state is how many rows so far are in each of the others, in
    mixed radix; the count of the first follows. Row i of ``work`` is the law of the state before the i-th row.
    """
    n, classes = len(rows), len(order)
    strides = np.ones(classes, np.int64)
    states = 1
    for j in range(1, classes):
        strides[j] = states
        states *= counts[order[j]] + 1
    for s in range(states):
        work[s] = 0.0
    work[0] = 1.0
    for i in range(n - 1):
        before, reached = work[i * states : (i + 1) * states], work[(i + 1) * states : (i + 2) * states]
        share = law[rows[i], order[0]]
        for s in range(states):
            reached[s] = before[s] * share
        for j in range(1, classes):
            share, stride = law[rows[i], order[j]], strides[j]
            block = stride * (counts[order[j]] + 1)
            for first in range(0, states, block):
                for s in range(first + stride, first + block):
                    reached[s] += before[s - stride] * share
    ahead, further = work[n * states : (n + 1) * states], work[(n + 1) * states : (n + 2) * states]
    for s in range(states):
        ahead[s] = 0.0
    ahead[states - 1] = 1.0
    mass = 1.0
    for i in range(n - 1, -1, -1):
        before = work[i * states : (i + 1) * states]
        share = law[rows[i], order[0]]
        joined = 0.0
        for s in range(states):
            joined += before[s] * ahead[s]
            further[s] = ahead[s] * share
        for k in range(after.shape[1]):
            after[rows[i], k] = 0.0
        mass = share * joined
        after[rows[i], order[0]] = mass
        for j in range(1, classes):
            share, stride = law[rows[i], order[j]], strides[j]
            block = stride * (counts[order[j]] + 1)
            joined = 0.0
            for first in range(0, states, block):
                for s in range(first, first + block - stride):
                    joined += before[s] * ahead[s + stride]
                    further[s] += ahead[s + stride] * share
            after[rows[i], order[j]] = share * joined
            mass += share * joined
        if mass <= 0:
            return 0.0
        for k in range(after.shape[1]):
            after[rows[i], k] /= mass
        ahead, further = further, ahead
    return mass
