"""The bandwidth of a kernel, by how well the bags' proportions are estimated from the other bags."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats, Integers
from askance.learning.ratios.kernel_functions import Standard, frequencies, typical_distance
from askance.learning.ratios.simplex_programme import nearest_mixture
from askance.solvers.bag_means import class_means

POWERS = tuple(range(-5, 6))  # of two, times the typical distance between rows
_ROWS = 4000  # that a choice among eleven needs; every bandwidth takes a pass over them
_FEATURES = 128  # whose kernel errs by 1 / sqrt(128), the same for every bandwidth
_FOLDS = 20  # at most: with fewer bags each is left out alone


@dataclass(frozen=True)
class BandwidthChoice:
    """A bandwidth, and how all that were tried did.

    Parameters
    ----------
    bandwidth : float, optional
        None where a kernel has none.
    tried : tuple of float
    errors : tuple of float
        The root of the mean square error of the proportions of held-out bags.
    """

    bandwidth: float | None
    tried: tuple[float, ...]
    errors: tuple[float, ...]


def choose_bandwidth(
    kernel: str, standard: Standard, rows: Floats, codes: Integers, proportions: Floats, rng: np.random.Generator
) -> BandwidthChoice:
    """Try 2^-5 to 2^5 times the median distance; every bag's proportions are estimated from the others.

    Where the others alone do not tell the classes apart, from the other half of all bags' rows.

    Parameters
    ----------
    kernel : "rbf" or "laplace"
    standard : Standard
    rows : array, n x d
    codes : array, n
        The bag of each row.
    proportions : array, bags x K
    rng : Generator
    """
    unit = typical_distance(kernel, standard, rows, rng)
    some = _some_of_each(codes, _ROWS, rng)
    rows, codes = standard(rows[some]), codes[some]
    half = rng.random(len(codes)) < 0.5
    widest = unit * 2.0 ** POWERS[-1]
    waves = np.exp(1j * (rows @ frequencies(kernel, rows.shape[1], _FEATURES, rng).astype(float) / widest))
    losses = []
    for _ in POWERS:
        losses.append(_losses(waves, codes, half, proportions))
        waves *= waves  # twice the angle: half the bandwidth, without a sine
    table = np.array(losses[::-1])
    tried = tuple(float(unit * 2.0**power) for power in POWERS)
    return BandwidthChoice(tried[_nearest_good(table)], tried, tuple(np.sqrt(table.mean(axis=1)).tolist()))


def _nearest_good(losses: Floats) -> int:
    """Of the bandwidths that do no worse than the best one, but by chance, the nearest to the median distance.

    Few bags make a rough curve, and its least point can lie anywhere. An error twice as large is not called chance.
    """
    mean = losses.mean(axis=1)
    best = int(mean.argmin())
    worse = losses - losses[best]
    error = worse.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])
    good = (mean - mean[best] <= 2 * error) & (mean <= 4 * mean[best])
    return min(np.flatnonzero(good).tolist(), key=lambda number: (abs(POWERS[number]), -POWERS[number]))


def _some_of_each(codes: Integers, most: int, rng: np.random.Generator) -> Integers:
    """Rows of every bag: no more of each than makes ``most`` in all, or 20."""
    share = max(most // (int(codes.max()) + 1), 20)
    order = rng.permutation(len(codes))
    ranked = order[np.argsort(codes[order], kind="stable")]
    starts = np.searchsorted(codes[ranked], np.arange(codes.max() + 2))
    place = np.arange(len(codes)) - starts[codes[ranked]]
    return np.sort(ranked[place < share])


def _losses(waves: NDArray[np.complex128], codes: Integers, half: NDArray[np.bool_], proportions: Floats) -> Floats:
    """The mean square error of every held-out bag's proportions."""
    bags = len(proportions)
    folds = list(_folds(bags, proportions))
    if folds:
        means, sizes = _means(waves, codes, bags)
        return np.concatenate([_squares(means, sizes, proportions, others, means, part) for others, part in folds])
    squares = []
    for part in (half, ~half):
        (means, sizes), (seen, there) = _means(waves[part], codes[part], bags), _means(waves[~part], codes[~part], bags)
        whole = np.flatnonzero((sizes > 0) & (there > 0))
        squares.append(_squares(means, sizes, proportions, whole, seen, whole))
    return np.concatenate(squares) if sum(map(len, squares)) else np.zeros(2)


def _folds(bags: int, proportions: Floats) -> Iterator[tuple[Integers, Integers]]:
    """Bags to learn from and bags to estimate; none at all if some fold does not tell the classes apart."""
    count = min(bags, _FOLDS)
    parts = [np.arange(first, bags, count) for first in range(count)]
    splits = [(np.setdiff1d(np.arange(bags), part), part) for part in parts]
    if all(_tells_classes(proportions[others]) for others, _ in splits):
        yield from splits


def _tells_classes(proportions: Floats) -> bool:
    if len(proportions) < proportions.shape[1]:
        return False
    values = np.linalg.svd(proportions, compute_uv=False)
    return bool(values[-1] > 1e-3 * values[0])


def _squares(
    means: Floats, sizes: Floats, proportions: Floats, others: Integers, seen: Floats, held_out: Integers
) -> Floats:
    """The mean square error of the proportions of bags ``held_out``, seen as they are, by the class means of others."""
    if not len(others):
        return np.zeros(0)
    # One set of class means serves all bags of a fold: many bags would make each as dear as all of them.
    classes = class_means(means[others], sizes[others], proportions[others])
    gram, towards = classes @ classes.T, seen[held_out] @ classes.T
    estimated = np.array([nearest_mixture(gram, products) for products in towards])
    errors: Floats = np.mean((estimated - proportions[held_out]) ** 2, axis=1)
    return errors


def _means(waves: NDArray[np.complex128], codes: Integers, bags: int) -> tuple[Floats, Floats]:
    sizes = np.bincount(codes, minlength=bags).astype(float)
    order = np.argsort(codes, kind="stable")
    inside = np.flatnonzero(sizes > 0)
    starts = np.searchsorted(codes[order], inside)
    totals = np.zeros((bags, waves.shape[1]), dtype=complex)
    totals[inside] = np.add.reduceat(waves[order], starts)
    means = totals / np.maximum(sizes, 1.0)[:, None]
    return np.hstack([means.real, means.imag]) / np.sqrt(waves.shape[1]), sizes
