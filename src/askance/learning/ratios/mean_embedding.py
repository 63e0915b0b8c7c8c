"""Mean embeddings: the mean of a kernel's features over a bag of rows, and inner products with it.

An *anchor* is a combination of bags' mean embeddings. With a feature map it is a vector; with a kernel alone it stays a
weighted sum over the training rows, which must then be kept. Kernel matrices are never in memory as a whole.
"""

from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from askance.arrays import Floats, Integers
from askance.learning.ratios.kernel_functions import FeatureMap, Kernel, Standard, row_blocks


class Anchors(Protocol):
    """Some points of the kernel's space, and how rows are seen from there."""

    @property
    def gram(self) -> Floats:
        """Inner products of the anchors, J x J."""

    def products(self, rows: Floats) -> Floats:
        """Inner products of every row with every anchor, n x J."""

    def mean_products(self, rows: Floats) -> Floats:
        """Inner products of the rows' mean embedding with every anchor, J."""

    def square_norms(self, rows: Floats) -> Floats:
        """k(x, x) of every row."""

    def mean_products_and_norm(self, rows: Floats) -> tuple[Floats, float]:
        """The same, and the squared norm of the rows' mean embedding."""

    def kernel(self, rows: Floats) -> Floats:
        """The kernel's values between all rows: for few of them."""

    def combined(self, weights: Floats) -> Self:
        """Anchors that are weighted sums of these; weights are new x J."""


@dataclass(frozen=True, eq=False)
class FeatureAnchors:
    """Anchors as vectors of features.

    Parameters
    ----------
    features : FeatureMap
    vectors : array, J x D
    """

    features: FeatureMap
    vectors: Floats

    @property
    def gram(self) -> Floats:
        return self.vectors @ self.vectors.T

    def products(self, rows: Floats) -> Floats:
        table: Floats = self.features(rows) @ self.vectors.T
        return table

    def mean_products(self, rows: Floats) -> Floats:
        return self.vectors @ self.mean(rows)

    def square_norms(self, rows: Floats) -> Floats:
        made = self.features(rows).astype(float)
        norms: Floats = np.einsum("ij,ij->i", made, made)
        return norms

    def mean_products_and_norm(self, rows: Floats) -> tuple[Floats, float]:
        mean = self.mean(rows)
        return self.vectors @ mean, float(mean @ mean)

    def kernel(self, rows: Floats) -> Floats:
        made = self.features(rows).astype(float)
        table: Floats = made @ made.T
        return table

    def combined(self, weights: Floats) -> Self:
        return replace(self, vectors=weights @ self.vectors)

    def mean(self, rows: Floats) -> Floats:
        """The rows' mean embedding, D."""
        total = np.zeros(self.features.width)
        for block in row_blocks(len(rows)):
            # Sums of a block's single-precision columns by a product with ones: as exact as a pairwise sum, and faster.
            total += np.ones(block.stop - block.start, dtype=np.float32) @ self.features(rows[block])
        return total / len(rows)


@dataclass(frozen=True, eq=False)
class RowAnchors:
    """Anchors as weighted sums over rows that are kept, for kernels without a feature map.

    Parameters
    ----------
    function : callable
    standard : Standard
        What is done to rows first.
    rows : array, n x d
        Standardised.
    codes : array, n
        The bag of each row.
    weights : array, J x bags
        Of the bags' mean embeddings in each anchor.
    gram : array, J x J
    """

    function: Kernel
    standard: Standard
    rows: Floats
    codes: Integers
    weights: Floats
    gram: Floats

    def products(self, rows: Floats) -> Floats:
        rows, bags = self.standard(rows), self.weights.shape[1]
        sizes = np.bincount(self.codes, minlength=bags)
        seen = np.zeros((len(rows), bags))
        for block in row_blocks(len(self.rows), len(rows)):
            indicator = np.eye(bags)[self.codes[block]]
            seen += self.function(rows, self.rows[block]) @ indicator
        table: Floats = (seen / sizes) @ self.weights.T
        return table

    def mean_products(self, rows: Floats) -> Floats:
        total = np.zeros(len(self.weights))
        for block in row_blocks(len(rows), 2000):
            total += self.products(rows[block]).sum(axis=0)
        return total / len(rows)

    def square_norms(self, rows: Floats) -> Floats:
        parts = [np.diag(self.kernel(rows[block])) for block in row_blocks(len(rows), 40_000)]
        return np.concatenate(parts)

    def mean_products_and_norm(self, rows: Floats) -> tuple[Floats, float]:
        made = self.standard(rows)
        total = sum(float(self.function(made[block], made).sum()) for block in row_blocks(len(made), len(made)))
        return self.mean_products(rows), total / len(rows) ** 2

    def kernel(self, rows: Floats) -> Floats:
        made = self.standard(rows)
        return np.asarray(self.function(made, made), dtype=float)

    def combined(self, weights: Floats) -> Self:
        return replace(self, weights=weights @ self.weights, gram=weights @ self.gram @ weights.T)


def bag_features(features: FeatureMap, rows: Floats, codes: Integers, bags: int) -> FeatureAnchors:
    """The bags' mean embeddings as vectors: one pass in blocks."""
    totals = np.zeros((bags, features.width))
    for block in row_blocks(len(rows)):
        inside, where = np.unique(codes[block], return_inverse=True)
        indicator = np.zeros((len(inside), len(where)), dtype=np.float32)
        indicator[where, np.arange(len(where))] = 1.0
        totals[inside] += indicator @ features(rows[block])
    return FeatureAnchors(features, totals / np.bincount(codes, minlength=bags)[:, None])


def bag_rows(function: Kernel, standard: Standard, rows: Floats, codes: Integers, bags: int) -> RowAnchors:
    """The bags' mean embeddings by a kernel alone: all pairs of rows, in blocks."""
    sizes = np.bincount(codes, minlength=bags)
    anchors = RowAnchors(function, standard, standard(rows), codes, np.eye(bags), np.zeros((bags, bags)))
    totals = np.zeros((bags, bags))
    for block in row_blocks(len(rows), 2000):
        np.add.at(totals, codes[block], anchors.products(rows[block]))
    gram = totals / sizes[:, None]
    return replace(anchors, gram=(gram + gram.T) / 2)
