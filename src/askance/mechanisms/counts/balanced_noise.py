"""Whole-numbered noise that sums to zero, with an exact law.

The counts of a bag sum to a number that everybody knows. Noise that changes this sum hides nothing more, so noise is
drawn from the vectors z of whole numbers with sum zero only:

- balanced Laplace: P(z) proportional to exp(-|z|_1 / scale), optionally up to a largest size |z|_1 / 2;
- balanced Gaussian: P(z) proportional to exp(-|z|_2^2 / (2 variance)).

All numbers but one are drawn independently, the last one is minus their sum, and it is kept with the probability that
is its own share of the law. No double is involved; see ``entropy.exact_tables``. Bags are drawn all at once: those that
are not kept are drawn again.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from askance.entropy.bits import BitSource
from askance.entropy.exact_tables import exp_coins
from askance.entropy.noise_arrays import gaussian_array, laplace_array
from askance.entropy.rounded_arrays import Whole
from askance.entropy.words import RandomWords

_AT_ONCE = 1 << 20  # numbers that are drawn together: some megabytes


def balanced_laplace(scale: Fraction, count: int, bags: int, source: BitSource, radius: int | None = None) -> Whole:
    """Draw ``count`` whole numbers with sum zero for each bag, P(z) proportional to exp(-sum |z| / scale).

    Parameters
    ----------
    scale : Fraction
    count : int
        At least two.
    bags : int
    source : BitSource
    radius : int, optional
        The largest sum of the positive numbers; vectors beyond it are drawn again.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> balanced_laplace(Fraction(5, 2), 4, 3, system_bits()).sum(axis=1)
    array([0, 0, 0])
    """
    words = RandomWords(source)
    if count == 2 and radius is None:  # the second is minus the first, and as large
        first = laplace_array(scale / 2, bags, words)
        return np.column_stack([first, -first])
    # Up to a radius R in n dimensions, nearly all numbers of a wide law would be beyond it. What is drawn then is
    # narrower, 2 R / n at most, and kept the sooner the larger it is: about once in sqrt(2 pi n).
    inner = scale if radius is None else min(scale, Fraction(max(2 * radius, 1), count - 1))
    slope = 1 / inner - 1 / scale

    def proposed(vectors: int) -> tuple[Whole, NDArray[np.bool_]]:
        drawn = _completed(laplace_array(inner, vectors * (count - 1), words), count)
        keep = exp_coins(np.abs(drawn[:, -1]), 1 / inner, words)
        if radius is not None:
            room = 2 * radius - np.abs(drawn).sum(axis=1)
            keep &= room >= 0
            if slope:
                keep &= exp_coins(np.maximum(room, 0), slope, words)
        return drawn, keep

    return _kept(proposed, count, bags)


def balanced_gaussian(variance: Fraction, count: int, bags: int, source: BitSource) -> Whole:
    """Draw ``count`` whole numbers with sum zero for each bag, P(z) proportional to exp(-sum z^2 / (2 variance)).

    Examples
    --------
    >>> from fractions import Fraction
    >>> from askance.entropy.bits import system_bits
    >>> balanced_gaussian(Fraction(9, 4), 4, 3, system_bits()).sum(axis=1)
    array([0, 0, 0])
    """
    words = RandomWords(source)
    if count == 2:
        first = gaussian_array(variance / 2, bags, words)
        return np.column_stack([first, -first])

    def proposed(vectors: int) -> tuple[Whole, NDArray[np.bool_]]:
        drawn = _completed(gaussian_array(variance, vectors * (count - 1), words), count)
        return drawn, exp_coins(np.abs(drawn[:, -1]), 1 / (2 * variance), words, power=2)

    return _kept(proposed, count, bags)


def _completed(free: Whole, count: int) -> Whole:
    """All numbers of each vector: the last makes up for the others."""
    vectors = free.reshape(-1, count - 1)
    return np.column_stack([vectors, -vectors.sum(axis=1)])


def _kept(propose: Callable[[int], tuple[Whole, NDArray[np.bool_]]], count: int, bags: int) -> Whole:
    """Propose vectors until there is one for each bag."""
    kept, missing, share = [np.empty((0, count), dtype=np.int64)], bags, 0.4
    while missing > 0:
        drawn, keep = propose(min(int(missing / share) + 8, max(1, _AT_ONCE // count)))
        kept.append(drawn[keep][:missing])
        missing -= len(kept[-1])
        share = min(max(float(keep.mean()), 0.01), 1.0)
    return np.concatenate(kept)
