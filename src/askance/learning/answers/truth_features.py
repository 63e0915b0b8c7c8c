"""Truths that share parameters: phi(x, k) = T[k] (x) x, by the softmax model in which these parameters are embedded.

The logits of the truths are T Theta (1, x): those of a softmax model whose parameters, against the first truth, are
(T - T[0]) Theta. So objective, score and information are the softmax model's, carried over by that matrix. With one
indicator for each truth but the first the matrix is the identity, and this is the softmax model itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance.arrays import Flags, Floats
from askance.statistics.softmax_score import ScoreSums

_REPEATED = 1e-10  # relative singular value of the contrasts below which features of the truth repeat each other
_DETERMINED = 1e-8  # what may be missing of a feature's own direction: rounding alone


@dataclass(frozen=True, eq=False)
class TruthFeatures:
    """The features of the truths.

    Parameters
    ----------
    table : array, K x F
        T.
    names : tuple of F str
        What its columns are called.

    Examples
    --------
    >>> TruthFeatures(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), ("smokes", "drinks")).contrasts
    array([[0., 1.],
           [1., 0.]])
    """

    table: Floats
    names: tuple[str, ...]

    @cached_property
    def basis(self) -> Floats:
        """F x r: directions of the features that tell truths apart; the identity unless some repeat others."""
        _, sizes, directions = np.linalg.svd(self.table[1:] - self.table[0], full_matrices=False)
        rank = int(np.count_nonzero(sizes > _REPEATED * sizes.max(initial=0.0)))
        return np.eye(self.table.shape[1]) if rank == self.table.shape[1] else np.asarray(directions[:rank].T)

    @cached_property
    def contrasts(self) -> Floats:
        """K-1 x r: what parameters are multiplied by to become those of the softmax model."""
        return np.asarray((self.table[1:] - self.table[0]) @ self.basis)

    @cached_property
    def determined(self) -> Flags:
        """Which features have parameters of their own, F."""
        own: Flags = (self.basis**2).sum(axis=1) > 1 - _DETERMINED
        return own

    def repeated(self) -> list[str]:
        """Say which features of the truth say the same thing."""
        involved = [name for name, own in zip(self.names, self.determined, strict=True) if not own]
        if not involved:
            return []
        return [
            "These features of the truth are collinear, or the same for all truths, so their parameters are not "
            f"determined one by one and have no standard error: {', '.join(involved[:6])}. Drop one of them."
        ]

    def parameter_names(self, columns: Sequence[str], intercept: bool) -> tuple[str, ...]:
        """Names of all parameters, feature by feature: that of a constant is the feature's own."""
        own = [(name,) if intercept else () for name in self.names]
        return tuple(
            called
            for name, first in zip(self.names, own, strict=True)
            for called in (*first, *(f"{name}: {column}" for column in columns))
        )

    # -- from the softmax model's parameters to these --------------------------------------------------

    def pulled(self, gradient: Floats) -> Floats:
        """The gradient of parameters, of that of the softmax model's; both flattened."""
        return np.asarray((self.contrasts.T @ gradient.reshape(len(self.contrasts), -1)).ravel())

    def pulled_square(self, square: Floats) -> Floats:
        """The information about parameters, of that about the softmax model's; both flattened."""
        states, rank = self.contrasts.shape
        width = len(square) // states
        blocks = np.tensordot(self.contrasts, square.reshape(states, width, states, width), axes=(0, 0))
        turned = np.tensordot(blocks, self.contrasts, axes=(2, 0)).transpose(0, 1, 3, 2)
        return np.ascontiguousarray(turned.reshape(rank * width, rank * width))

    def pulled_sums(self, sums: ScoreSums) -> ScoreSums:
        """The sums of scores over records, in these parameters."""
        return sums._replace(
            gradient=self.pulled(sums.gradient),
            information=self.pulled_square(sums.information),
            outer=None if sums.outer is None else self.pulled_square(sums.outer),
        )

    def states_with(self, features: Floats) -> Floats:
        """Weights of the states, n x K, that sum to one and have the wanted features, n x F."""
        free = (features - self.table[0]) @ self.basis @ np.linalg.pinv(self.contrasts)
        return np.ascontiguousarray(np.hstack([1 - free.sum(axis=1, keepdims=True), free]))
