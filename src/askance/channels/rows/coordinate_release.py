"""Coordinate release: one value of a row is drawn by chance, and reported as one noisy bit.

A coordinate j is drawn from a public law p that does not depend on the row; its value in [0, c] becomes a bit of mean
phi_j / c, which is flipped with log-odds e; (j, bit) is released ([LM] section 3.2). Two rows differ at most in the
one bit, so the exact level is e: the tight calibration takes e = epsilon. The paper takes e = epsilon / 2, which is
twice as private as it says, at four to nine times the variance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Fields, Reports
from askance.channels.probabilities import checked_probabilities
from askance.channels.rows.bit_channel import BitChannel, Calibration
from askance.channels.rows.report_views import ReportView, coded_view, some_of
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.bits import BitSource
from askance.entropy.draws import AliasSampler
from askance.entropy.thresholds import RESOLUTION, exact_counts


@dataclass(frozen=True, eq=False, repr=False)
class CoordinateRelease(BitChannel):
    """Report one value of a row, chosen by chance, as a noisy bit. Best for rows with few zeros.

    A report is the code 2 j + bit.

    Parameters
    ----------
    dim : int
        How many values a row has, of which one is drawn.
    epsilon : float
        The wanted privacy level of the whole row. The level that is really given is never above it.
    bound : float
        Values lie between 0 and this public number; values outside are clipped.
    calibration : {"tight", "paper"}
        ``"paper"`` flips more than the level needs, as [LM] does; the guarantee is the exact one either way.
    probabilities : sequence of float, optional
        The public law of the coordinate; uniform if not given.

    Examples
    --------
    >>> from askance import CoordinateRelease
    >>> channel = CoordinateRelease(dim=3, epsilon=1.0)
    >>> print(channel.guarantee)
    epsilon 1, protects one row of 3 numbers (any two rows within the public bounds)
    >>> channel.unbias([5]).round(3)  # coordinate 2, bit 1
    array([[0.   , 0.   , 4.746]])
    >>> CoordinateRelease(dim=3, epsilon=1.0, calibration="paper").guarantee.epsilon
    0.5

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), section 3.2.
    """

    dim: int
    epsilon: float
    bound: float = 1.0
    calibration: Calibration = "tight"
    probabilities: tuple[float, ...] | None = None

    kind: ClassVar[str] = "coordinate-release"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.probabilities is not None:
            why = "a value that is never drawn could not be estimated"
            law = checked_probabilities(self.probabilities, self.dim, "probabilities", "value of a row", why)
            vars(self).update(probabilities=tuple(law.tolist()))
        self.bit  # noqa: B018 - an epsilon too small to be drawn is refused here, not at the first report

    # -- the law -------------------------------------------------------------------------------------

    @cached_property
    def bit(self) -> NoisyBit:
        return NoisyBit.within(self.epsilon / 2 if self.calibration == "paper" else self.epsilon)

    @cached_property
    def coordinate_counts(self) -> NDArray[np.int64]:
        """The law of the coordinate in units of 2^-62: what is really drawn from."""
        law = np.full(self.dim, 1 / self.dim) if self.probabilities is None else np.array(self.probabilities)
        return exact_counts(law[:, None] / law.sum())[:, 0]

    @cached_property
    def guarantee(self) -> Guarantee:
        # The exact level is not above the asked one; its last digit as a double must not be either.
        return self._row_guarantee(min(self.bit.epsilon, self.epsilon))

    @cached_property
    def layout(self) -> Fields:
        return Fields((2 * self.dim,))

    def describe(self) -> str:
        law = "all equally likely" if self.probabilities is None else "by a public law"
        return (
            f"One of {self.dim} values is drawn, {law}, rounded to a bit by chance, in proportion to its share of "
            f"{self.bound:g}, and the bit is flipped with probability {self.bit.low / RESOLUTION:.4g}."
        )

    # -- the respondent's side -----------------------------------------------------------------------

    @cached_property
    def _coordinates(self) -> AliasSampler:
        return AliasSampler.from_counts(self.coordinate_counts[:, None], reports=self.dim)

    def draw(self, values: NDArray[Any], bits: BitSource) -> Reports:
        rows = len(values)
        drawn = self._coordinates.draw(np.zeros(rows, np.uint8), bits)
        return 2 * drawn.astype(self.layout.dtype) + self._draw_bits(values[np.arange(rows), drawn], bits)

    # -- the learner's side --------------------------------------------------------------------------

    @cached_property
    def _values(self) -> Floats:
        """The unbiased value of its coordinate for each report code."""
        chance = self.coordinate_counts / RESOLUTION
        return self.bound * (np.array(self.bit.unbiased) / chance[:, None]).ravel()

    def unbias(self, reports: Any) -> Floats:
        codes = self.encode_reports(reports)
        dense = np.zeros((len(codes), self.dim))
        dense[np.arange(len(codes)), codes >> 1] = self._values[codes]
        return dense

    def likelihood_of_rows(self, reports: Any, rows: Any) -> Floats:
        """Return P(report_i | the truth is row k), n x rows, of a few possible truths."""
        ones = self.bit.chance(self._fractions(rows))
        both = np.stack([1 - ones, ones], axis=2) * (self.coordinate_counts / RESOLUTION)[:, None]
        return np.asarray(both.reshape(len(ones), -1).T[self.encode_reports(reports)])

    def unbiased_sum(self, reports: Any) -> Floats:
        """Return the sum of the rows of :meth:`unbias`, from the counts of the 2 dim codes only."""
        counts = np.bincount(self.encode_reports(reports), minlength=2 * self.dim)
        total: Floats = (counts * self._values).reshape(self.dim, 2).sum(axis=1)
        return total

    def views_of(self, names: Sequence[str]) -> tuple[ReportView, ...]:
        chance = self.coordinate_counts / RESOLUTION
        low, high = self.bit.chance(np.array([0.0, 1.0])).tolist()
        sides = np.array([[1 - low, 1 - high], [low, high]])
        views = [ReportView("coordinates", chance[:, None], lambda reports: (reports >> 1).astype(np.intp))]
        for j in some_of(self.dim):
            laws = np.vstack([chance[j] * sides, np.full((1, 2), 1 - chance[j])])
            views.append(coded_view(f"bits of {names[j]}", 2 * j, 2, laws))
        return tuple(views)

    def noise_covariance(self, truth: Any) -> Floats:
        fraction = self._fractions(truth)
        chance = self.coordinate_counts / RESOLUTION
        second = np.diag(self.bit.second_moment(fraction.mean(axis=0)) / chance)
        covariance: Floats = self.bound**2 * (second - fraction.T @ fraction / len(fraction))
        return covariance
