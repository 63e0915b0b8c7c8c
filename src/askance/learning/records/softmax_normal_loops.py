"""The compiled inner loop of ``softmax_normal``: one report after another, nothing in between."""

import math

import numpy as np

from askance.compiled import compiled, compiled_for_sums

_LEAST_PIVOT = 1e-12  # in place of one that rounding made negative: a spread of 1e-6 moves no probability
_LARGEST = 600.0  # a logit, up to which odds are numbers that a double holds


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


@compiled_for_sums
def _stretch(lower, points, moves, factors):  # type: ignore[no-untyped-def]
    """Fill L point for each logit and point, and its power: what the spread multiplies the odds of a class with.

    Returns the largest distance that a logit is moved.
    """
    reach = 0.0
    for a in range(lower.shape[0]):
        for s in range(points.shape[1]):
            moves[a, s] = 0.0
        for b in range(a + 1):
            for s in range(points.shape[1]):
                moves[a, s] += lower[a, b] * points[b, s]
        for s in range(points.shape[1]):
            reach = max(reach, abs(moves[a, s]))
            factors[a, s] = math.exp(min(max(moves[a, s], -_LARGEST), _LARGEST))
    return reach


@compiled_for_sums
def _far_odds(mean, moves, whole, odds):  # type: ignore[no-untyped-def]
    """Fill odds, and those of the first class, in units of the largest at each point: logits are beyond doubles."""
    for s in range(moves.shape[1]):
        most = 0.0
        for a in range(moves.shape[0]):
            most = max(most, mean[a] + moves[a, s])
        whole[s] = math.exp(-most)
        for a in range(moves.shape[0]):
            odds[a, s] = math.exp(mean[a] + moves[a, s] - most)


@compiled_for_sums
def fill_label_slopes(mean, covariance, likelihoods, points, shares, value, by_mean, by_covariance):  # type: ignore[no-untyped-def]
    """Fill log sum_c likelihood_c E[softmax_c(u)], u ~ N(mean, covariance), and its derivatives by both.

    Logits are against the first class, whose own is 0; a covariance is the rows of its lower triangle. One row of
    covariances may serve all reports. Points are logits x S: loops over them are the inner ones, without a jump.
    """
    reports, size = mean.shape
    number = points.shape[1]
    shared = covariance.shape[0] == 1
    lower, pull = np.zeros((size, size)), np.zeros((size, size))
    moves, factors, odds = np.empty((size, number)), np.empty((size, number)), np.empty((size, number))
    whole, hit, scale = np.empty(number), np.empty(number), np.empty(number)
    reach = 0.0
    for i in range(reports):
        if i == 0 or not shared:
            _factor(covariance[i], lower)
            reach = _stretch(lower, points, moves, factors)
        most = least = 0.0
        for a in range(size):
            most, least = max(most, mean[i, a]), min(least, mean[i, a])
        if most - least + reach > _LARGEST:
            _far_odds(mean[i], moves, whole, odds)
        else:
            whole[:] = math.exp(-most)
            for a in range(size):
                middle = math.exp(mean[i, a] - most)
                for s in range(number):
                    odds[a, s] = middle * factors[a, s]
        for s in range(number):
            hit[s] = likelihoods[i, 0] * whole[s]
        for a in range(size):
            likelihood = likelihoods[i, a + 1]
            for s in range(number):
                whole[s] += odds[a, s]
                hit[s] += likelihood * odds[a, s]
        total = 0.0
        for s in range(number):
            hit[s] /= whole[s]
            scale[s] = shares[s] / whole[s]
            total += shares[s] * hit[s]
        total = max(total, 1e-300)
        value[i] = math.log(total)
        for a in range(size):
            likelihood, slope = likelihoods[i, a + 1], 0.0
            for s in range(number):
                odds[a, s] *= scale[s] * (likelihood - hit[s])
                slope += odds[a, s]
            by_mean[i, a] = slope / total
            for b in range(a + 1):
                pull[a, b] = 0.0
                for s in range(number):
                    pull[a, b] += odds[a, s] * points[b, s]
                pull[a, b] /= total
        _pull_back(lower, pull, by_covariance[i])
