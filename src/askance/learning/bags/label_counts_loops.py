"""The compiled loops of ``label_counts``: tilt a bag, then condition it on its counts."""

import math

import numpy as np

from askance.compiled import compiled


@compiled
def condition_bags(logits, starts, counts, largest_table, conditioned, log_likelihood):  # type: ignore[no-untyped-def]
    """Fill P(label | counts), n x K, and log P(counts) of every bag."""
    classes = logits.shape[1]
    order = np.empty(classes, np.int64)
    for bag in range(len(counts)):
        first, last = starts[bag], starts[bag + 1]
        # The most frequent class goes first: its count follows from the others. Classes without a label stay out.
        present = 0
        for k in range(classes):
            if counts[bag, k] > 0:
                place = present
                while place > 0 and counts[bag, order[place - 1]] < counts[bag, k]:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = k
                present += 1
        wanted = np.empty(present, counts.dtype)
        for k in range(present):
            wanted[k] = counts[bag, order[k]]
        chosen = np.empty((last - first, present))
        normaliser = 0.0
        for i in range(first, last):
            normaliser += _log_sum_exp(logits[i])
            for k in range(classes):
                conditioned[i, k] = 0.0
            for k in range(present):
                chosen[i - first, k] = logits[i, order[k]]
        tilted = np.empty_like(chosen)
        value = _tilt(chosen, wanted, tilted) - normaliser
        cells = float(last - first)
        for k in range(1, present):
            cells *= wanted[k] + 1
        if present > 1 and cells <= largest_table:
            value += math.log(_condition(tilted, wanted[1:], chosen))
            tilted = chosen
        for i in range(first, last):
            for k in range(present):
                conditioned[i, order[k]] = tilted[i - first, k]
        log_likelihood[bag] = value


@compiled
def _log_sum_exp(values):  # type: ignore[no-untyped-def]
    top = values.max()
    total = 0.0
    for value in values:
        total += math.exp(value - top)
    return top + math.log(total)


@compiled
def _softmax(logits, shift, tilted):  # type: ignore[no-untyped-def]
    """Fill softmax(logits + shift) and return the summed log-partition."""
    rows, classes = logits.shape
    partition = 0.0
    for i in range(rows):
        top = -np.inf
        for k in range(classes):
            top = max(top, logits[i, k] + shift[k])
        total = 0.0
        for k in range(classes):
            tilted[i, k] = math.exp(logits[i, k] + shift[k] - top)
            total += tilted[i, k]
        for k in range(classes):
            tilted[i, k] /= total
        partition += top + math.log(total)
    return partition


@compiled
def _tilt(logits, counts, tilted):  # type: ignore[no-untyped-def]
    """Fill ``tilted`` with softmax(logits + t), which sums to the counts, and return sum log-partition - t.counts.

    A convex problem in t, with t_0 = 0, by Newton's method with step halving.
    """
    rows, classes = logits.shape
    free = classes - 1
    shift = np.zeros(classes)
    trial = np.zeros(classes)
    step = np.zeros(free)
    gradient = np.zeros(free)
    hessian = np.zeros((free, free))
    value = _softmax(logits, shift, tilted)
    for _ in range(200):
        largest = 0.0
        for j in range(free):
            gradient[j] = -counts[j + 1]
            for k in range(free):
                hessian[j, k] = 0.0
        for i in range(rows):
            for j in range(free):
                share = tilted[i, j + 1]
                gradient[j] += share
                hessian[j, j] += share
                for k in range(j + 1):
                    hessian[j, k] -= share * tilted[i, k + 1]
        for j in range(free):
            largest = max(largest, abs(gradient[j]))
            # Where every label is all but certain the curvature vanishes: a floor keeps the step finite.
            hessian[j, j] += 1e-12 * rows
        if largest <= 1e-10 * rows:
            break
        _solve(hessian, gradient, step)
        longest = 0.0
        for j in range(free):
            longest = max(longest, abs(step[j]))
        scale = min(1.0, 5.0 / longest)
        slope = 0.0
        for j in range(free):
            slope -= gradient[j] * step[j]
        reached = value
        for _ in range(40):
            for j in range(free):
                trial[j + 1] = shift[j + 1] - scale * step[j]
            reached = _softmax(logits, trial, tilted)
            for j in range(free):
                reached -= trial[j + 1] * counts[j + 1]
            if reached <= value + 1e-4 * scale * slope + 1e-12 * abs(value):
                break
            scale *= 0.5
        for j in range(classes):
            shift[j] = trial[j]
        value = reached
    return value


@compiled
def _solve(matrix, right, solution):  # type: ignore[no-untyped-def]
    """Solve a small positive definite system by Cholesky's method, in the lower triangle of ``matrix``."""
    size = len(right)
    for j in range(size):
        for k in range(j + 1):
            value = matrix[j, k]
            for m in range(k):
                value -= matrix[j, m] * matrix[k, m]
            matrix[j, k] = math.sqrt(max(value, 1e-300)) if j == k else value / matrix[k, k]
    for j in range(size):
        value = right[j]
        for m in range(j):
            value -= matrix[j, m] * solution[m]
        solution[j] = value / matrix[j, j]
    for j in range(size - 1, -1, -1):
        value = solution[j]
        for m in range(j + 1, size):
            value -= matrix[m, j] * solution[m]
        solution[j] = value / matrix[j, j]


@compiled
def _condition(probabilities, counts, conditioned):  # type: ignore[no-untyped-def]
    """Fill ``conditioned`` with P(label | counts), and return P(counts).

    States are counts of all classes but the first, in mixed radix. ``prefix[i]`` is their law after i rows; the law of
    the rows that follow is rolled back from the last one; a row's own label is what joins the two.
    """
    rows, classes = probabilities.shape
    free = classes - 1
    strides = np.empty(free, np.int64)
    states = 1
    for k in range(free):
        strides[k] = states
        states *= counts[k] + 1
    room = np.empty((free, states), np.bool_)  # whether a state holds a label of class k
    for k in range(free):
        for s in range(states):
            room[k, s] = (s // strides[k]) % (counts[k] + 1) > 0
    prefix = np.zeros((rows + 1, states))
    prefix[0, 0] = 1.0
    for i in range(rows):
        before, after = prefix[i], prefix[i + 1]
        for s in range(states):
            after[s] = before[s] * probabilities[i, 0]
        for k in range(free):
            share, stride = probabilities[i, k + 1], strides[k]
            for s in range(stride, states):
                if room[k, s]:
                    after[s] += before[s - stride] * share
    last = states - 1
    suffix = np.zeros(states)
    longer = np.zeros(states)
    suffix[0] = 1.0
    for i in range(rows - 1, -1, -1):
        before = prefix[i]
        joined = 0.0
        for s in range(states):
            joined += before[s] * suffix[last - s]
            longer[s] = suffix[s] * probabilities[i, 0]
        conditioned[i, 0] = probabilities[i, 0] * joined
        total = conditioned[i, 0]
        for k in range(free):
            share, stride = probabilities[i, k + 1], strides[k]
            joined = 0.0
            for s in range(stride, states):
                if room[k, s]:
                    joined += before[last - s] * suffix[s - stride]
                    longer[s] += suffix[s - stride] * share
            conditioned[i, k + 1] = share * joined
            total += conditioned[i, k + 1]
        for k in range(classes):
            conditioned[i, k] /= total
        suffix, longer = longer, suffix
    return prefix[rows, last]
