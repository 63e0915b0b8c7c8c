"""How widely the rows of each class scatter in a kernel's space: the law of every distance between mean embeddings.

A mean embedding of n rows of class k errs by a vector whose covariance is Sigma_k / n. Squared distances between mean
embeddings are then sums of chi-squares, weighted by the eigenvalues of such covariances, and what is needed of them are
traces: t1_k = tr Sigma_k and t2_kl = tr Sigma_k Sigma_l. Rows have no labels, so the traces are regressed on the shares
of their bags, as class means are.
"""

from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats, Integers
from askance.learning.ratios.mean_embedding import Anchors
from askance.solvers.bag_means import class_means

ROWS = 800  # whose pairs are looked at: a quarter of a million pairs make a trace good to a few percent
_LEAST = 1e-3  # share of the mean trace below which none may fall, since regressed ones can


@dataclass(frozen=True, eq=False)
class Traces:
    """Traces of the classes' covariances.

    Parameters
    ----------
    first : array, K
        tr Sigma_k.
    second : array, K x K
        tr Sigma_k Sigma_l.
    skewness : float
        Of a weighted sum of chi-squares with the eigenvalues of the pooled covariance.
    """

    first: Floats
    second: Floats
    skewness: float


@dataclass(frozen=True, eq=False)
class ClassSpread:
    """The traces of the classes' covariances, and those of what lies off the classes' own plane.

    Parameters
    ----------
    whole, off_plane : Traces
        Off the plane: after projection on the complement of the differences of class embeddings, along which ratios are
        fitted and no misfit can show.
    """

    whole: Traces
    off_plane: Traces


def class_spread(
    bags: Anchors, mixing: Floats, proportions: Floats, sizes: Floats, rows: Floats, codes: Integers
) -> ClassSpread:
    """Look at some training rows.

    Parameters
    ----------
    bags : Anchors
        The bags' mean embeddings.
    mixing : array, K x bags
        Class embeddings are these combinations of the bags'.
    proportions : array, bags x K
    sizes : array, bags
    rows : array, m x d
        Some training rows, at random.
    codes : array, m
        Their bags.
    """
    table = bags.kernel(rows)
    seen = without_oneself(bags.products(rows), np.diag(table), sizes, codes) @ mixing.T
    classes = mixing @ bags.gram @ mixing.T
    share = sizes @ proportions / sizes.sum()
    # All is seen from the classes' common mean: numbers stay small, and covariances do not change.
    about = seen @ share
    level = float(share @ classes @ share)
    centred = table - about[:, None] - about[None] + level
    towards = seen - about[:, None] - (classes @ share)[None] + level
    planar = classes - (classes @ share)[:, None] - (classes @ share)[None] + level
    by_class = class_means(np.eye(len(rows)), np.ones(len(rows)), proportions[codes])
    lean = tangent(len(classes))
    along = towards @ lean
    off = centred - along @ np.linalg.pinv(lean.T @ planar @ lean, hermitian=True) @ along.T

    # |mu_k|^2 holds the error of mu_k itself, in proportion to the traces that are sought.
    own = np.einsum("kb,bl->kl", mixing**2, proportions / sizes[:, None])
    first = np.linalg.solve(np.eye(len(classes)) - own, by_class @ np.diag(centred) - np.diag(planar))
    pairs = centred**2
    np.fill_diagonal(pairs, 0.0)
    spread = by_class @ towards**2
    second = by_class @ pairs @ by_class.T - spread - spread.T + planar**2
    pairs_off = off**2
    np.fill_diagonal(pairs_off, 0.0)
    return ClassSpread(
        _sound(first, second, centred), _sound(by_class @ np.diag(off), by_class @ pairs_off @ by_class.T, off)
    )


def tangent(classes: int) -> Floats:
    """An orthonormal basis of the directions along which shares can change, K x K-1."""
    basis: Floats = np.linalg.qr(np.eye(classes) - 1 / classes)[0][:, : classes - 1]
    return basis


def without_oneself(products: Floats, norms: Floats, sizes: Floats, codes: Integers) -> Floats:
    """Inner products of training rows with the bags, their own bag's mean taken over the other rows."""
    left = products.copy()
    each = np.arange(len(codes))
    size = sizes[codes]
    several = size > 1
    own = products[each, codes]
    left[each, codes] = np.where(several, (size * own - norms) / np.where(several, size - 1, 1.0), own)
    return left


def _sound(first: Floats, second: Floats, table: Floats) -> Traces:
    """Regressed traces can be negative by chance: keep them positive, and consistent with each other."""
    rows = len(table)
    kernel = table.copy()
    np.fill_diagonal(kernel, 0.0)
    pooled = float((kernel**2).sum()) / (rows * (rows - 1))
    third = float(((kernel @ kernel) * kernel).sum()) / (rows * (rows - 1) * max(rows - 2, 1))
    first = np.maximum(first, _LEAST * max(float(np.diag(table).mean()), 1e-300))
    values, axes = np.linalg.eigh((second + second.T) / 2)
    second = (axes * np.maximum(values, 0.0)) @ axes.T
    second = np.maximum(second, _LEAST * max(pooled, 1e-300))
    # The eigenvalues' shape bounds their skewness: sqrt(8), when there is but one.
    skewness = float(np.clip(8 * third / max(2 * pooled, 1e-300) ** 1.5, 1e-3, np.sqrt(8)))
    return Traces(first, second, skewness)
