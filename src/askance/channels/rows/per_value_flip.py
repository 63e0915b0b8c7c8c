"""Per-value response: every value of a row is rounded to a bit, and every bit is flipped.

Values in [0, c] become bits of mean phi_j / c, which are then flipped with log-odds e ([LM] section 3.2). Two rows
with at most m values other than zero differ in at most D = min(2 m, d) bits, and a report that disagrees with one of
them in all D favours the other by D e: that is the exact level, and the tight calibration takes e = epsilon / D. The
paper takes e = epsilon / (2 m), which gives away epsilon (1 - D / (2 m)) where rows are dense.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.channel import Prepared
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Bits, Reports
from askance.channels.rows.bit_channel import BitChannel, Calibration
from askance.channels.rows.report_views import Cells, ReportView, pair_places, some_of
from askance.compiled import compiled
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.bits import BitSource
from askance.entropy.thresholds import RESOLUTION
from askance.errors import InvalidInput


@dataclass(frozen=True, eq=False, repr=False)
class PerValueFlip(BitChannel):
    """Report every value of a row as a noisy bit. Best for rows that are mostly zero.

    Parameters
    ----------
    dim : int
        How many values a row has.
    epsilon : float
        The wanted privacy level of the whole row. The level that is really given is never above it.
    max_ones : int, optional
        How many values of a row may differ from zero; all of them if not given. The fewer, the less noise; a row
        with more is refused, because the guarantee would not hold for it.
    bound : float
        Values lie between 0 and this public number; values outside are clipped.
    calibration : {"tight", "paper"}
        ``"paper"`` flips more than the level needs, as [LM] does; the guarantee is the exact one either way.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import PerValueFlip
    >>> channel = PerValueFlip(dim=4, epsilon=2.0, max_ones=1)
    >>> print(channel.guarantee)
    epsilon 2, protects one row of 4 numbers (any two rows with at most 1 values other than zero)
    >>> channel.unbias(np.array([[0, 1, 0, 0]], dtype=np.uint8)).round(3)
    array([[-0.582,  1.582, -0.582, -0.582]])

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), section 3.2, equation (9).
    """

    dim: int
    epsilon: float
    max_ones: int | None = None
    bound: float = 1.0
    calibration: Calibration = "tight"

    kind: ClassVar[str] = "per-value-flip"

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self).update(max_ones=_checked_max_ones(self.max_ones, self.dim))
        self.bit  # noqa: B018 - an epsilon too small to be drawn is refused here, not at the first report

    # -- the law -------------------------------------------------------------------------------------

    @property
    def _most(self) -> int:
        return self.max_ones or self.dim

    @cached_property
    def largest_distance(self) -> int:
        """In how many bits two rows can differ."""
        return min(2 * self._most, self.dim)

    @cached_property
    def bit(self) -> NoisyBit:
        shared = 2 * self._most if self.calibration == "paper" else self.largest_distance
        return NoisyBit.within(math.nextafter(self.epsilon / shared, 0))  # the quotient may have been rounded up

    @cached_property
    def guarantee(self) -> Guarantee:
        dense = self._most == self.dim
        return Guarantee(
            # The exact level is not above the asked one; its last digit as a double must not be either.
            epsilon=min(self.largest_distance * self.bit.epsilon, self.epsilon),
            protects=f"one row of {self.dim} numbers",
            neighbours="any two rows within the public bounds"
            if dense
            else f"any two rows with at most {self._most} values other than zero",
            per_attribute=(self.bit.epsilon,) * self.dim,
            proof=self.proof,
        )

    @cached_property
    def layout(self) -> Bits:
        return Bits(self.dim)

    def describe(self) -> str:
        return (
            f"Each of {self.dim} values is rounded to a bit by chance, in proportion to its share of {self.bound:g}, "
            f"and every bit is flipped with probability {self.bit.low / RESOLUTION:.4g}."
        )

    # -- the respondent's side -----------------------------------------------------------------------

    def prepare(self, truth: Any) -> Prepared:
        prepared = super().prepare(truth)
        if self._most < self.dim:
            row = _first_crowded(prepared.values, self._most)
            if row >= 0:
                raise InvalidInput(
                    f"row {row + 1} has {np.count_nonzero(prepared.values[row])} values other than zero",
                    f"at most max_ones={self._most}: the guarantee would not hold for this row",
                    "Raise max_ones, or drop values by a rule that is the same for everybody.",
                )
        return prepared

    def draw(self, values: NDArray[Any], bits: BitSource) -> Reports:
        return self._draw_bits(values, bits)

    # -- the learner's side --------------------------------------------------------------------------

    @cached_property
    def _values(self) -> Floats:
        return self.bound * np.array(self.bit.unbiased)

    def unbias(self, reports: Any) -> Floats:
        unbiased: Floats = self._values[self.encode_reports(reports)]
        return unbiased

    def likelihood_of_rows(self, reports: Any, rows: Any) -> Floats:
        """Return P(report_i | the truth is row k), n x rows, of a few possible truths."""
        ones = self.bit.chance(self._fractions(rows))
        bits = self.encode_reports(reports).astype(float)
        return np.asarray(np.exp(bits @ np.log(ones).T + (1 - bits) @ np.log1p(-ones).T))

    def unbiased_sum(self, reports: Any) -> Floats:
        """Return the sum of the rows of :meth:`unbias`, from the ones of each column only; packed bits stay packed."""
        rows, ones = self.layout.ones(reports)
        zero, one = self._values
        total: Floats = (rows - ones) * zero + ones * one
        return total

    def estimate_sums(self, reports: Any, weights: Any = None) -> tuple[float, float, Floats, Floats] | None:
        if weights is not None:
            return None
        rows, ones = self.layout.ones(reports)  # every estimate has two values, told apart by the bits of one column
        totals = [rows * zero + ones * (one - zero) for zero, one in (self._values, self._values**2)]
        return float(rows), float(rows), totals[0], totals[1]

    def views_of(self, names: Sequence[str]) -> tuple[ReportView, ...]:
        low, high = self.bit.chance(np.array([0.0, 1.0])).tolist()
        side = np.array([[1 - low, 1 - high], [low, high]])
        alone = [ReportView(f"bits of {names[j]}", side, _BitCells((j,))) for j in some_of(self.dim)]
        pairs = [
            ReportView(f"bits of {names[i]} and {names[j]}", np.kron(side, side), _BitCells((i, j)))
            for i, j in pair_places(self.dim)
        ]
        return (*alone, *pairs)

    def extreme_rows(self) -> dict[str, Floats]:
        rows = {name: self._first_values(row) for name, row in super().extreme_rows().items()}
        if self._most < self.dim:
            rows["highest and lowest by turns"] = self.limits[1] * (np.arange(self.dim) >= self.dim - self._most)
        return rows

    def random_row(self, rng: np.random.Generator) -> Floats:
        return self._first_values(super().random_row(rng))

    def _first_values(self, row: Floats) -> Floats:
        """Set to zero what a row has beyond the values that may differ from it."""
        return row * (np.arange(self.dim) < self._most)

    def noise_covariance(self, truth: Any) -> Floats:
        fraction = self._fractions(truth)
        noise = self.bit.second_moment(fraction.mean(axis=0)) - np.mean(fraction**2, axis=0)
        return np.diag(self.bound**2 * noise)


@dataclass(frozen=True)
class _BitCells:
    """The cell of one bit, or of two."""

    columns: tuple[int, ...]

    def __call__(self, reports: Reports) -> Cells:
        found = np.zeros(len(reports), dtype=np.intp)
        for column in self.columns:
            found = 2 * found + reports.reshape(len(reports), -1)[:, column]
        return found


def _checked_max_ones(max_ones: Any, dim: int) -> int:
    if max_ones is None:
        return dim
    if isinstance(max_ones, bool) or not isinstance(max_ones, int | np.integer) or not 1 <= max_ones <= dim:
        raise InvalidInput(
            f"max_ones={max_ones!r}", f"how many of {dim} values may differ from zero: a whole number from 1 to {dim}"
        )
    return int(max_ones)


@compiled
def _first_crowded(rows, most):  # type: ignore[no-untyped-def]
    """Return the first row with more than ``most`` values other than zero, -1 if there is none."""
    for i in range(rows.shape[0]):
        row, filled = rows[i], np.int32(0)
        for j in range(row.shape[0]):
            filled += np.int32(row[j] != 0)
        if filled > most:
            return i
    return -1
