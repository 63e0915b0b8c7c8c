"""The compiled inner loops of ``softmax_score``: derivatives by logit, record by record, and their sums."""

import math

import numpy as np

from askance.compiled import compiled, compiled_for_sums

_SMALLEST = float(np.finfo(float).tiny)  # an impossible report has a logarithm too
# A logarithm costs as much as all else done for a record. So probabilities are multiplied, and the logarithm is taken
# when the product falls below this: two numbers that are not smaller have a product that a double still holds.
_SMALL = 1e-150
_TILE = 64  # records at a time, of 20 columns ten kilobytes: they stay in the first cache of a core


@compiled
def differentiate(logits, codes, table, weights, marginal, score, curvature):  # type: ignore[no-untyped-def]
    """Fill score and curvature of each record, and return the summed objective.

    Parameters
    ----------
    logits : n x K-1, against the reference class
    codes : n report codes
    table : report codes x K; the channel's matrix (marginal) or its transposed unbiasing matrix (moments)
    weights : n, or empty for all ones
    marginal : bool
    score : n x K-1, filled with the weighted derivative of the objective
    curvature : n x K(K-1)/2, filled with minus the weighted second derivatives, lower triangle by rows
    """
    n, free = logits.shape
    if free == 1:
        return _differentiate_two(logits, codes, table, weights, marginal, score, curvature)
    prior = np.empty(free)
    after = np.empty(free)
    total, product = 0.0, 1.0
    weighted = weights.shape[0] > 0
    for i in range(n):
        top = 0.0
        for k in range(free):
            top = max(top, logits[i, k])
        reference = 1.0 if top == 0.0 else math.exp(-top)
        power = reference
        for k in range(free):
            prior[k] = 1.0 if logits[i, k] == top else math.exp(logits[i, k] - top)
            power += prior[k]
        row = table[codes[i]]
        if marginal:
            evidence = row[0] * reference
            for k in range(free):
                after[k] = row[k + 1] * prior[k]
                evidence += after[k]
            evidence = max(evidence, _SMALLEST)
            objective, chance = 0.0, evidence / power
            for k in range(free):
                after[k] /= evidence
                prior[k] /= power
        else:
            objective, chance = -top, 1 / power
            for k in range(free):
                objective += row[k + 1] * logits[i, k]
                after[k] = row[k + 1]
                prior[k] /= power
        weight = weights[i] if weighted else 1.0
        if weighted or chance < _SMALL:
            objective += math.log(chance)
        else:
            product *= chance
            if product < _SMALL:
                total += math.log(product)
                product = 1.0
        total += weight * objective
        pair = 0
        for j in range(free):
            score[i, j] = weight * (after[j] - prior[j])
            for k in range(j + 1):
                value = -prior[j] * prior[k]
                if j == k:
                    value += prior[j]
                if marginal:
                    value += after[j] * after[k]
                    if j == k:
                        value -= after[j]
                curvature[i, pair] = weight * value
                pair += 1
    return total + math.log(product)


@compiled
def _differentiate_two(logits, codes, table, weights, marginal, score, curvature):  # type: ignore[no-untyped-def]
    """:func:`differentiate` for two classes, a tile at a time: what is no exponential or logarithm runs in lanes."""
    n = logits.shape[0]
    weighted = weights.shape[0] > 0
    power, first, second, chances = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    total, product = 0.0, 1.0
    for start in range(0, n, _TILE):
        count = min(_TILE, n - start)
        for i in range(count):
            power[i] = math.exp(-abs(logits[start + i, 0]))
            first[i] = table[codes[start + i], 0]
            second[i] = table[codes[start + i], 1]
        for i in range(count):
            logit = logits[start + i, 0]
            no, yes = (power[i], 1.0) if logit > 0 else (1.0, power[i])  # in proportion, the larger one 1
            chances[i] = 1 / (1 + power[i])
            prior = yes * chances[i]
            curvature[start + i, 0] = prior * no * chances[i]
            after = second[i]
            if marginal:
                evidence = max(first[i] * no + second[i] * yes, _SMALLEST)
                after *= yes / evidence
                chances[i] *= evidence
                curvature[start + i, 0] -= after * (1 - after)
            score[start + i, 0] = after - prior
        for i in range(count):
            weight = weights[start + i] if weighted else 1.0
            if not marginal:
                total += weight * (second[i] * logits[start + i, 0] - max(logits[start + i, 0], 0.0))
            if weighted or chances[i] < _SMALL:
                total += weight * math.log(chances[i])
                score[start + i, 0] *= weight
                curvature[start + i, 0] *= weight
            else:
                product *= chances[i]
                if product < _SMALL:
                    total += math.log(product)
                    product = 1.0
    return total + math.log(product)


@compiled_for_sums
def add_sums(features, centre, intercept, theta, codes, table, weights, marginal, gradient, information, outer):  # type: ignore[no-untyped-def]
    """Add the sums over all records, in one pass over the features and without a copy of them.

    Parameters
    ----------
    features : n x d
    centre : d, subtracted from the features where there is an intercept
    intercept : bool
    theta : K-1 x p
    codes, table, weights, marginal : as :func:`differentiate` takes them
    gradient : K-1 x p, added to
    information, outer : K-1 x p x K-1 x p, added to where the first class is not below the second, lower triangles
        only; an empty ``outer`` is left alone

    Returns
    -------
    The summed objective.
    """
    n = features.shape[0]
    free, width = theta.shape
    rows = np.empty((width, _TILE))
    logits = np.empty((_TILE, free))
    score = np.empty((_TILE, free))
    curvature = np.empty((_TILE, free * (free + 1) // 2))
    by_record = np.empty(_TILE)
    scaled = np.empty(_TILE)
    total = 0.0
    for start in range(0, n, _TILE):
        count = min(_TILE, n - start)
        stop = start + count
        _turn(features, centre, intercept, start, count, rows)
        for k in range(free):
            scaled[:count] = 0.0
            for j in range(width):
                for i in range(count):
                    scaled[i] += theta[k, j] * rows[j, i]
            for i in range(count):
                logits[i, k] = scaled[i]
        part = weights[start:stop] if weights.shape[0] else weights
        total += differentiate(logits[:count], codes[start:stop], table, part, marginal, score, curvature)
        pair = 0
        for j in range(free):
            for i in range(count):
                by_record[i] = score[i, j]
            for k in range(width):
                slope = 0.0
                for i in range(count):
                    slope += by_record[i] * rows[k, i]
                gradient[j, k] += slope
            for k in range(j + 1):
                for i in range(count):
                    by_record[i] = curvature[i, pair]
                _add_products(rows, by_record, scaled, information[j, :, k], count)
                if outer.size:
                    for i in range(count):
                        by_record[i] = score[i, j] * score[i, k]
                    _add_products(rows, by_record, scaled, outer[j, :, k], count)
                pair += 1
    return total


@compiled_for_sums
def add_cubed_reaches(features, centre, intercept, steps, weights, sums):  # type: ignore[no-untyped-def]
    """Add, for each step, the cubes of the distances by which it moves the logits of each record apart.

    Parameters
    ----------
    features, centre, intercept, weights : as :func:`add_sums` takes them
    steps : m x K-1 x p
    sums : m, added to
    """
    n = features.shape[0]
    count_steps, free, width = steps.shape
    rows = np.empty((width, _TILE))
    moved, highest, lowest = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    for start in range(0, n, _TILE):
        count = min(_TILE, n - start)
        _turn(features, centre, intercept, start, count, rows)
        for number in range(count_steps):
            highest[:count] = 0.0  # the reference class has the logit 0 and stays there
            lowest[:count] = 0.0
            for k in range(free):
                moved[:count] = 0.0
                for j in range(width):
                    for i in range(count):
                        moved[i] += steps[number, k, j] * rows[j, i]
                for i in range(count):
                    highest[i] = max(highest[i], moved[i])
                    lowest[i] = min(lowest[i], moved[i])
            cubes = 0.0
            for i in range(count):
                reach = highest[i] - lowest[i]
                cubes += reach * reach * reach * (weights[start + i] if weights.shape[0] else 1.0)
            sums[number] += cubes


@compiled
def add_cubes(moved, weights, sums):  # type: ignore[no-untyped-def]
    """Add the cube of how far apart steps move the logits of each record, where these were multiplied out already.

    Parameters
    ----------
    moved : n x m x K-1
    weights : n, or empty for all ones
    sums : m, added to
    """
    n, count_steps, free = moved.shape
    for i in range(n):
        weight = weights[i] if weights.shape[0] else 1.0
        for number in range(count_steps):
            highest, lowest, lost = 0.0, 0.0, 0.0
            for k in range(free):
                highest = max(highest, moved[i, number, k])
                lowest = min(lowest, moved[i, number, k])
                lost += 0.0 * moved[i, number, k]  # no number where a step was too long for one
            reach = highest - lowest
            sums[number] += weight * reach * reach * reach + lost


@compiled_for_sums
def _turn(features, centre, intercept, start, count, rows):  # type: ignore[no-untyped-def]
    """Fill a tile with some records, column by column: the intercept first, and less their centre if there is one."""
    shift = 1 if intercept else 0
    if intercept:
        rows[0] = 1.0
    for i in range(count):
        for j in range(features.shape[1]):
            rows[j + shift, i] = features[start + i, j] - centre[j] if intercept else features[start + i, j]


@compiled_for_sums
def _add_products(rows, weights, scaled, target, count):  # type: ignore[no-untyped-def]
    """Add the lower triangle of sum_i weights_i z_i z_i', four columns at a time: each scaled number is read once."""
    for j in range(rows.shape[0]):
        for i in range(count):
            scaled[i] = weights[i] * rows[j, i]
        k = 0
        while k + 3 <= j:
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            for i in range(count):
                value = scaled[i]
                first += value * rows[k, i]
                second += value * rows[k + 1, i]
                third += value * rows[k + 2, i]
                fourth += value * rows[k + 3, i]
            target[j, k] += first
            target[j, k + 1] += second
            target[j, k + 2] += third
            target[j, k + 3] += fourth
            k += 4
        while k <= j:
            last = 0.0
            for i in range(count):
                last += scaled[i] * rows[k, i]
            target[j, k] += last
            k += 1
