"""The compiled inner loop of :mod:`askance.solvers.softmax_normal`: one report after another, nothing in between."""

import math

import numpy as np

from askance.entropy.compiled import compiled

_LEAST_PIVOT = 1e-12


@compiled
def _factor(packed, lower):  # type: ignore[no-untyped-def]
    """Fill the Cholesky factor of a covariance given by the rows of its lower triangle; it may be singular."""
    size = lower.shape[0]
    place = 0
    for a in range(size):
        for b in range(a + 1):
            left = packed[place]
            for c in range(b):
                left -= lower[a, c] * lower[b, c]
            lower[a, b] = math.sqrt(max(left, _LEAST_PIVOT)) if a == b else left / lower[b, b]
            place += 1


@compiled
def _pull_back(lower, pull, packed):  # type: ignore[no-untyped-def]
    """Turn derivatives by the factor (lower triangle of ``pull``) into those by the covariance's lower triangle.

    With A the lower triangle of L'pull, its diagonal halved, they are the symmetric part of L^-T A L^-1.
    """
    size = lower.shape[0]
    middle = np.zeros((size, size))
    for a in range(size):
        for b in range(a + 1):
            for c in range(a, size):
                middle[a, b] += lower[c, a] * pull[c, b]
        middle[a, a] *= 0.5
    for b in range(size):  # L' X = A
        for a in range(size - 1, -1, -1):
            for c in range(a + 1, size):
                middle[a, b] -= lower[c, a] * middle[c, b]
            middle[a, b] /= lower[a, a]
    for a in range(size):  # Y L = X
        for b in range(size - 1, -1, -1):
            for c in range(b + 1, size):
                middle[a, b] -= middle[a, c] * lower[c, b]
            middle[a, b] /= lower[b, b]
    place = 0
    for a in range(size):
        for b in range(a):
            packed[place] = middle[a, b] + middle[b, a]
            place += 1
        packed[place] = middle[a, a]
        place += 1


@compiled
def fill_label_slopes(mean, covariance, told, points, shares, value, by_mean, by_covariance):  # type: ignore[no-untyped-def]
    """Fill log sum_c told_c E[softmax_c(u)], u ~ N(mean, covariance), and its derivatives by both.

    Logits are against the first class, whose own is 0; a covariance is the rows of its lower triangle. One row of
    covariances may serve all reports.
    """
    reports, size = mean.shape
    shared = covariance.shape[0] == 1
    lower, pull = np.zeros((size, size)), np.zeros((size, size))
    chance, logit, slope = np.empty(size + 1), np.empty(size), np.empty(size)
    for i in range(reports):
        if i == 0 or not shared:
            _factor(covariance[i], lower)
        total = 0.0
        pull[:] = 0.0
        slope[:] = 0.0
        for s in range(points.shape[0]):
            most = 0.0
            for a in range(size):
                logit[a] = mean[i, a]
                for b in range(a + 1):
                    logit[a] += lower[a, b] * points[s, b]
                most = max(most, logit[a])
            chance[0] = math.exp(-most)
            whole = chance[0]
            for a in range(size):
                chance[a + 1] = math.exp(logit[a] - most)
                whole += chance[a + 1]
            hit = 0.0
            for a in range(size + 1):
                chance[a] /= whole
                hit += told[i, a] * chance[a]
            total += shares[s] * hit
            for a in range(size):
                step = shares[s] * chance[a + 1] * (told[i, a + 1] - hit)
                slope[a] += step
                for b in range(a + 1):
                    pull[a, b] += step * points[s, b]
        total = max(total, 1e-300)
        value[i] = math.log(total)
        _pull_back(lower, pull, by_covariance[i])
        for a in range(size):
            by_mean[i, a] = slope[a] / total
        for place in range(by_covariance.shape[1]):
            by_covariance[i, place] /= total
