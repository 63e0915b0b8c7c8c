"""A random forest as plain arrays: scikit-learn grows it, JSON can hold it, and a compiled loop walks it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees laid end to end.

    Parameters
    ----------
    roots : array, trees
        The node at which each tree starts.
    columns : array, nodes
        The feature that a node looks at; -1 at a leaf.
    thresholds : array, nodes
        A row whose feature is at most this goes to the left.
    lefts, rights : array, nodes
    shares : array, nodes x classes
        Of the rows of training that a leaf holds.
    """

    roots: NDArray[np.int32]
    columns: NDArray[np.int32]
    thresholds: NDArray[np.float32]
    lefts: NDArray[np.int32]
    rights: NDArray[np.int32]
    shares: NDArray[np.float32]

    def predict_proba(self, X: Floats) -> Floats:
        """Return the mean of the leaves' shares, n x classes."""
        from askance.learning.ratios.forest_loops import walk

        made = np.zeros((len(X), self.shares.shape[1]))
        rows = np.ascontiguousarray(X, dtype=np.float32)
        walk(rows, self.roots, self.columns, self.thresholds, self.lefts, self.rights, self.shares, made)
        return made

    def to_dict(self) -> dict[str, Any]:
        """Arrays that ``from_dict`` turns into the forest again."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The forest that ``to_dict`` described."""
        return cls(**content)


def grow_forest(X: Floats, codes: Integers, classes: int, trees: int, rows_per_tree: int, seed: int) -> Forest:
    """Grow trees that tell the classes 0 to K-1 apart, each on at most ``rows_per_tree`` rows.

    Examples
    --------
    >>> X = np.arange(40.0)[:, None]
    >>> forest = grow_forest(X, np.repeat([0, 1], 20), 2, trees=10, rows_per_tree=100, seed=0)
    >>> forest.predict_proba(np.array([[0.0], [39.0]])).argmax(axis=1)
    array([0, 1])
    """
    from sklearn.ensemble import RandomForestClassifier

    # Leaves of five rows: bags differ less than classes, so that smaller ones hold noise and larger ones little else.
    model = RandomForestClassifier(
        trees, min_samples_leaf=5, max_samples=min(len(X), rows_per_tree), random_state=seed
    ).fit(X, codes)
    grown = [tree.tree_ for tree in model.estimators_]
    first = np.concatenate([[0], np.cumsum([tree.node_count for tree in grown])]).astype(np.int32)
    shares = np.zeros((first[-1], classes), dtype=np.float32)
    for start, tree in zip(first, grown, strict=False):
        counts = tree.value[:, 0, :]
        part = counts / counts.sum(axis=1, keepdims=True)
        shares[start : start + tree.node_count, np.asarray(model.classes_, dtype=int)] = part.round(5)
    leaf = np.concatenate([tree.children_left < 0 for tree in grown])

    def joined(name: str) -> Any:
        return np.concatenate([getattr(tree, name) for tree in grown])

    offsets = np.repeat(first[:-1], np.diff(first))
    return Forest(
        roots=first[:-1].copy(),
        columns=np.where(leaf, -1, joined("feature")).astype(np.int32),
        thresholds=np.where(leaf, 0.0, joined("threshold")).astype(np.float32),
        lefts=np.where(leaf, -1, joined("children_left") + offsets).astype(np.int32),
        rights=np.where(leaf, -1, joined("children_right") + offsets).astype(np.int32),
        shares=shares,
    )
