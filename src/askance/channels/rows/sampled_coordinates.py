"""Some numbers of a row, each hidden by itself."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Reports
from askance.channels.rows.number_law import NumberLaw
from askance.channels.rows.report_views import ReportView, number_laws, window_cells
from askance.channels.rows.subset_channel import SubsetChannel
from askance.channels.rows.vectors import checked_bound, checked_dim, checked_epsilon
from askance.entropy.bits import BitSource
from askance.entropy.windows import row_blocks, subsets
from askance.errors import InvalidInput

_LEVEL_OF_ONE = 2.5  # where one number more costs the others as much as it brings (Wang et al. 2019)


@dataclass(frozen=True, eq=False, repr=False)
class SampledCoordinates(SubsetChannel):
    """Report k of the numbers of a row, each by the hybrid mechanism at epsilon / k.

    Parameters
    ----------
    dim : int
        How many numbers a row has.
    epsilon : float
        The level of the whole row.
    k : int, optional
        How many numbers a report is about; epsilon / 2.5, but at least one, if not given.
    bound : float
        Every number lies in [-bound, bound]. Values outside are clipped.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import SampledCoordinates
    >>> channel = SampledCoordinates(dim=20, epsilon=1.0)
    >>> print(channel.guarantee)
    epsilon 1, protects one row of 20 numbers (any two rows within the public bounds)
    >>> channel.privatize(np.zeros((1000, 20))).shape  # a coordinate, and a code
    (1000, 2)
    """

    dim: int
    epsilon: float
    k: int | None = None
    bound: float = 1.0

    kind: ClassVar[str] = "sampled-coordinates"

    def __post_init__(self) -> None:
        dim, epsilon, bound = checked_dim(self.dim), checked_epsilon(self.epsilon), checked_bound(self.bound)
        k = max(1, min(dim, math.floor(epsilon / _LEVEL_OF_ONE))) if self.k is None else self.k
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= dim:
            raise InvalidInput(f"k={k!r}", f"a whole number from 1 to {dim}")
        vars(self).update(dim=dim, epsilon=epsilon, k=int(k), bound=bound)
        _ = self.law  # an epsilon at which reports say nothing is refused now, not when reports are drawn

    @cached_property
    def law(self) -> NumberLaw:
        """How each number is hidden, once its bounds are -1 and 1."""
        share = self.epsilon / self._numbers
        if Fraction(share) * self._numbers > Fraction(self.epsilon):  # the division was rounded up
            share = math.nextafter(share, 0.0)
        return NumberLaw.within(share, "hybrid")

    @property
    def _numbers(self) -> int:
        return self.k  # type: ignore[return-value]  # chosen when not given

    @property
    def _codes(self) -> int:
        return self.law.codes

    @property
    def range(self) -> tuple[float, float]:
        return -self.bound, self.bound

    @cached_property
    def guarantee(self) -> Guarantee:
        return self._row_guarantee(self._numbers * self.law.epsilon)  # the worst report is the worst about every number

    def describe(self) -> str:
        which = f"All {self.dim} numbers" if self._reports_all else f"{self._numbers} of {self.dim} numbers"
        return (
            f"{which}{'' if self._reports_all else ', drawn at random,'} are hidden one by one, "
            f"each as one of {self.law.codes} codes at level {self.law.epsilon:.4g}."
        )

    def draw(self, values: Floats, bits: BitSource) -> Reports:
        k = self._numbers
        reports = np.empty((len(values), len(self.layout.states)), dtype=self.layout.dtype)
        for rows in row_blocks(len(values), k):
            which = subsets(rows.stop - rows.start, k, self.dim, (), bits)
            chosen = np.take_along_axis(values[rows], which.astype(np.intp), axis=1) / self.bound
            codes = np.empty((chosen.size, 1), dtype=self.layout.dtype)
            self.law.draw(chosen.ravel(), bits, codes)
            reports[rows, -k:] = codes.reshape(chosen.shape)
            if not self._reports_all:
                reports[rows, :k] = which
        return reports[:, 0] if len(self.layout.states) == 1 else reports

    def unbias(self, reports: Any) -> Floats:
        """Return b, n x dim, with E[b_i | truth_i] = truth_i; zero where a report says nothing."""
        return self._spread_out(reports, self.bound * self.law.values)

    def likelihood_of_rows(self, reports: Any, rows: Any) -> Floats:
        """Return P(report_i | the truth is row k), n x rows, of a few possible truths."""
        centred = self.clip(rows)[0] / self.bound
        return self._products(reports, centred, self.law.probabilities) / self._subsets

    def views_of(self, names: Sequence[str]) -> tuple[ReportView, ...]:
        return self._views_of_each(names, *number_laws(self.law), window_cells(self.law))

    def noise_covariance(self, truth: Any) -> Floats:
        """Return the mean over rows of Cov[unbias(report) | truth], dim x dim."""
        values, _ = self.clip(truth)
        rows = max(len(values), 1)
        moments = values.T @ values / rows
        single, both = self.inclusion()
        second = moments * both / np.multiply.outer(single, single)
        own = self.bound**2 * self.law.variance(values / self.bound).sum(axis=0) / rows
        np.fill_diagonal(second, (np.diag(moments) + own) / single)
        covariance: Floats = second - moments
        return covariance
