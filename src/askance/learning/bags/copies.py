"""Rows that occur several times: a model that saw a copy of a held-out row knows what it should not know."""

import numpy as np

from askance.arrays import Floats, Integers

_OTHER_PEOPLE = 10  # rows of equal values, on average, from which these are other people and not copies


def row_copies(X: Floats) -> Integers:
    """Return for each row the place of the first that is equal.

    Where rows take few values equal ones are other people, and folds of values that no other fold has would teach
    nothing: every row then stands for itself.

    Examples
    --------
    >>> row_copies(np.array([[3.0], [1.0], [3.0]]))
    array([0, 1, 0])
    """
    _, first, copy = np.unique(X, axis=0, return_index=True, return_inverse=True)
    if len(X) > _OTHER_PEOPLE * len(first):
        return np.arange(len(X))
    return np.asarray(first[copy.ravel()], dtype=np.int64)
