"""What the truth of a coordinate is likely to be before its report is seen: learned from reports, flat, or given.

A factorised prior (62) is learned from the reports of each coordinate alone, whatever the label. For added noise it is
a normal law with the moments that the reports imply.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.solvers.simplex import mixture_proportions

BLOCK = 4096  # rows whose codes are widened to places in a table at a time: these stay in the cache
# Of a learned normal prior, as a share of the reports' variance: reports that vary no more than their noise leave
# nothing, and a prior of no width at all could not be told from a constant.
_LEAST_VARIANCE = 1e-6


def water_filling(shares: Floats, stay: float, spread: float) -> Floats:
    """Maximise sum_k H_k log(a pi_k + b) over the simplex: the likelihood of reports after state flips S = a I + b 11'.

    The solution is pi_k = max(0, H_k / nu - b / a). *Proof.* The objective is concave and the constraints are linear,
    so the Karush-Kuhn-Tucker conditions are necessary and sufficient: a H_k / (a pi_k + b) = nu' where pi_k > 0, and at
    most nu' where pi_k = 0. The first says pi_k = H_k / nu' - b / a; the second says H_k / nu' - b / a <= 0. Hence the
    formula with nu = nu'. The sum of it falls in nu, so exactly one nu makes it 1. With the m largest shares at work,
    nu_m = (H_(1) + ... + H_(m)) / (1 + m b / a); m is the largest number whose smallest member stays positive.
    Expectation-maximisation on the reports of this attribute alone converges to it, slowly. (65) as printed also weighs
    by the label and the classifier: in a sample it converges to a slightly different prior, that of the joint maximum.

    Parameters
    ----------
    shares : d x K
        How often each state was reported, in rows that sum to one.
    stay, spread : float
        a > 0 and b >= 0.

    Examples
    --------
    >>> water_filling(np.array([[0.62, 0.3, 0.08]]), stay=0.7, spread=0.1).round(4)
    array([[0.7236, 0.2764, 0.    ]])
    """
    leak = spread / stay
    if leak == 0:
        return shares.copy()
    falling = -np.sort(-shares, axis=1)
    level = np.cumsum(falling, axis=1) / (1 + leak * np.arange(1, shares.shape[1] + 1))
    # Members that stay positive come first: their number is where the last one is.
    at_work = (falling > leak * level).sum(axis=1) - 1
    nu = np.take_along_axis(level, at_work[:, None], axis=1)
    filled: Floats = np.maximum(0.0, shares / nu - leak)
    return filled


def state_counts(codes: NDArray[Any], states: int, weights: Floats | None = None) -> Floats:
    """How often each state was reported, or with what weight, for each of d columns of codes: d x K."""
    width = codes.shape[1]
    first = states * np.arange(width)
    counts = np.zeros(states * width)
    for start in range(0, len(codes), BLOCK):
        cells = codes[start : start + BLOCK].astype(np.intp) + first
        own = None if weights is None else np.repeat(weights[start : start + BLOCK], width)
        counts += np.bincount(cells.ravel(), own, minlength=states * width)
    return counts.reshape(width, states)


def learned_states(shares: Floats, law: FiniteCoordinate) -> Floats:
    """The prior of finite coordinates under which their reports are the likeliest, d x K."""
    if law.is_flip and law.a > 0:
        return water_filling(shares, float(law.a), float(law.b))
    return np.array([mixture_proportions(law.matrix, share) for share in shares])


def column_variances(table: Floats, mean: Floats, weights: Floats | None = None) -> Floats:
    """The variance of each column, without the copy of the table that numpy's var makes.

    About the mean, some rows at a time: a difference of squares would be lost where numbers are far from zero.
    """
    total = np.zeros(table.shape[1])
    for start in range(0, len(table), BLOCK):
        about = table[start : start + BLOCK] - mean
        if weights is None:
            total += np.einsum("ij,ij->j", about, about)
        else:
            total += np.einsum("i,ij,ij->j", weights[start : start + BLOCK], about, about)
    return total / (len(table) if weights is None else weights.sum())


@dataclass(frozen=True, eq=False)
class NormalPrior:
    """Independent normal laws, (66); an infinite variance is the flat prior."""

    mean: Floats
    variance: Floats

    @classmethod
    def flat(cls, width: int) -> "NormalPrior":
        return cls(np.zeros(width), np.full(width, np.inf))

    @classmethod
    def learned(cls, mean: Floats, variance: Floats, noise_variance: float) -> "NormalPrior":
        """The reports' own moments, less the noise."""
        least = _LEAST_VARIANCE * np.maximum(variance, np.finfo(float).tiny)
        return cls(mean, np.maximum(variance - noise_variance, least))


class SeenReports(Protocol):
    """What a prior is learned from: the reports of some attributes, each alone."""

    def shares(self, columns: NDArray[np.intp], states: int) -> Floats:
        """How often each state of finite attributes was reported, attributes x states."""

    def moments(self, columns: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Mean and variance of the reports of attributes with noise."""


@dataclass(frozen=True, eq=False)
class ReportsInMemory:
    """Reports as a table: codes of finite attributes, numbers of others, n x d."""

    table: NDArray[Any]
    weights: Floats | None = None

    def _block(self, columns: NDArray[np.intp]) -> NDArray[Any]:
        return self.table if len(columns) == self.table.shape[1] else self.table[:, columns]

    def shares(self, columns: NDArray[np.intp], states: int) -> Floats:
        total = len(self.table) if self.weights is None else self.weights.sum()
        shares: Floats = state_counts(self._block(columns), states, self.weights) / total
        return shares

    def moments(self, columns: NDArray[np.intp]) -> tuple[Floats, Floats]:
        block = self._block(columns)
        mean = np.average(block, axis=0, weights=self.weights)
        return mean, column_variances(block, mean, self.weights)
