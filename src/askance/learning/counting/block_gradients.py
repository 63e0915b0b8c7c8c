"""Conjugate gradients for many right-hand sides at once, each with a matrix of its own; who is done drops out."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.floating[Any]]


def conjugate_gradients(
    multiply: Callable[[Block, NDArray[np.int64]], Block],
    right: Block,
    diagonal: Block,
    tolerance: float = 1e-2,
    max_rounds: int = 200,
) -> Block:
    """Solve A_k x_k = b_k for every column k, with A_k symmetric and positive semi-definite.

    Columns share products, which is what makes sparse tables fast, and nothing else. One that is within the tolerance
    is left out of all further products.

    Parameters
    ----------
    multiply : function of a block and the numbers of its columns
        Returns A_k x_k for those columns.
    right : array, n x K
    diagonal : array, n x K
        The diagonals of the A_k, or something near: they scale the unknowns.
    tolerance : float
        Length of the residual, relative to that of the right-hand side.
    max_rounds : int

    Examples
    --------
    >>> matrices = np.array([[[2.0, 1.0], [1.0, 2.0]], [[4.0, 0.0], [0.0, 1.0]]])
    >>> right = np.array([[3.0, 4.0], [3.0, 2.0]])
    >>> def multiply(block, columns):
    ...     return np.einsum("kij,jk->ik", matrices[columns], block)
    >>> conjugate_gradients(multiply, right, np.array([[2.0, 4.0], [2.0, 1.0]]), 1e-9).round(6)
    array([[1., 1.],
           [1., 2.]])
    """
    found = np.zeros_like(right)
    active = np.flatnonzero((right != 0).any(axis=0))
    residual, scale = right[:, active].copy(), diagonal[:, active]
    goal = tolerance**2 * _squares(residual, residual)
    scaled = residual / scale
    direction, size = scaled.copy(), _squares(residual, scaled)
    for _ in range(max_rounds):
        if not len(active):
            break
        product = multiply(direction, active)
        length = size / _squares(direction, product)
        found[:, active] += length * direction
        residual -= length * product
        left = _squares(residual, residual) > goal
        if not left.all():
            active, goal, size = active[left], goal[left], size[left]
            residual, direction, scale = residual[:, left], direction[:, left], scale[:, left]
        scaled = residual / scale
        fresh = _squares(residual, scaled)
        direction = scaled + (fresh / size) * direction
        size = fresh
    return found


def _squares(left: Block, right: Block) -> Block:
    products: Block = np.einsum("ik,ik->k", left, right)
    return products
