"""The compiled inner loop of ``softmax_score``: derivatives by logit, record by record."""

import math

import numpy as np

from askance.compiled import compiled

_SMALLEST = float(np.finfo(float).tiny)  # an impossible report has a logarithm too


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
    prior = np.empty(free)
    after = np.empty(free)
    total = 0.0
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
            objective = math.log(evidence / power)
            for k in range(free):
                after[k] /= evidence
                prior[k] /= power
        else:
            objective = -top - math.log(power)
            for k in range(free):
                objective += row[k + 1] * logits[i, k]
                after[k] = row[k + 1]
                prior[k] /= power
        weight = weights[i] if weighted else 1.0
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
    return total
