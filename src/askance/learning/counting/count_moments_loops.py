"""The compiled loops of ``count_moments``: laws of word types, one type after the other."""

import numpy as np

from askance.compiled import compiled


@compiled
def onto_simplex(point, weight):  # type: ignore[no-untyped-def]
    """Move ``point`` to the law w that is nearest by sum_k weight_k (w_k - point_k)^2.

    w_k = max(point_k - t / weight_k, 0) for some t; classes leave until all that stay are positive.
    """
    stays = np.ones(len(point), np.bool_)
    shift = 0.0
    changed = True
    while changed:
        excess, softness = -1.0, 0.0
        for k in range(len(point)):
            if stays[k]:
                excess += point[k]
                softness += 1 / weight[k]
        shift = excess / softness
        changed = False
        for k in range(len(point)):
            if stays[k] and point[k] * weight[k] <= shift:
                stays[k] = False
                changed = True
    for k in range(len(point)):
        point[k] = point[k] - shift / weight[k] if stays[k] else 0.0


@compiled
def sweep(indptr, regions, times, weight, subset, asked, prior, shrinkage, laws, residual):  # type: ignore[no-untyped-def]
    """Improve every word type's law in turn, exactly, with those of all others fixed.

    Minimises sum_r weight_r sum_{k asked} residual_rk^2 + shrinkage sum_a |laws_a - prior_a|^2 over laws.

    Parameters
    ----------
    indptr, regions, times : by word type: the regions that it occurs in, and how often
    weight, subset, asked : by region: its weight, and which tags were asked for
    prior, shrinkage : W x K laws, and how strongly they hold
    laws : W x K, changed
    residual : R x K, counts less the sum of laws, changed with them
    """
    known = laws.shape[1]
    fresh, stiff = np.empty(known), np.empty(known)
    for a in range(len(laws)):
        for k in range(known):
            fresh[k] = shrinkage * (prior[a, k] - laws[a, k])
            stiff[k] = shrinkage
        for e in range(indptr[a], indptr[a + 1]):
            r = regions[e]
            pull = times[e] * weight[r]
            for k in range(known):
                if asked[subset[r], k]:
                    fresh[k] += pull * residual[r, k]
                    stiff[k] += pull * times[e]
        for k in range(known):
            fresh[k] = laws[a, k] + fresh[k] / stiff[k]
        onto_simplex(fresh, stiff)
        for e in range(indptr[a], indptr[a + 1]):
            for k in range(known):
                residual[regions[e], k] -= times[e] * (fresh[k] - laws[a, k])
        for k in range(known):
            laws[a, k] = fresh[k]


@compiled
def rows_onto_simplex(table):  # type: ignore[no-untyped-def]
    """Move every row to the nearest law."""
    even = np.ones(table.shape[1])
    for a in range(len(table)):
        onto_simplex(table[a], even)
