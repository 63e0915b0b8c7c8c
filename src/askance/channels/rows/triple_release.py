"""Three bits about two coordinates: their squares and their product ([LM] section 7, the songs experiment).

A pair i < j is drawn, and a bit is reported about each of x_i^2, x_i x_j and x_j^2: rounded at random, then flipped, so
that P(bit = 1) lies between 1 - q and q, with q / (1 - q) = e^t. What it costs:

- on [0, 1] the truths (1, 1) and (0, 0) differ in all three bits: 3 t, exactly;
- on [-1, 1] the product's bit is about (1 + x_i x_j) / 2. The report (0, 1, 0) has its largest probability at
  (0, 0), q^2 / 2: with |x_i x_j| = p it is at most (q - c p)^2 (1 + c p) / 2, c = 2 q - 1, which falls in p. Its
  smallest is (1 - q)^3, at (1, -1). That ratio, 2 t + log((1 + e^t) / 2), is the largest of all reports.

The paper's t = epsilon / 2 costs 1.5 epsilon on [0, 1]. Tight is t = epsilon / 3; on [-1, 1], t is between that and
0.4 epsilon.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Fields, Reports
from askance.channels.rows.report_views import ReportView, coded_view, some_of
from askance.channels.rows.vectors import RowMechanism, checked_dim, checked_epsilon, product_names, products
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.bits import BitSource
from askance.entropy.draws import AliasSampler
from askance.entropy.thresholds import RESOLUTION, exact_counts, log_ratio
from askance.errors import InvalidInput, Unidentifiable

_LARGEST_DIM = 4096  # eight million pairs
# Thresholds are multiples of this: then the distance between them is a double without rounding, a product of 0 has
# exactly the threshold 2^61, and the level is exact also for values next to 0.
_UNIT = 1 << 9
# Signed products are cut to multiples of 2^-50. Next to 0, where the report (0, 1, 0) is likeliest, a product that is
# rounded up by a double's last digit would exceed the level, by a part in 10^17.
_GRAIN = 2.0**50
_EXP_BITS = 192  # of e^budget after the point: a cost is a ratio of products of three numbers of 62 bits, 186 bits
_DIGITS = 120  # of e^budget: its 22 digits before the point at most, and the 58 of 192 bits behind it


@dataclass(frozen=True, eq=False, repr=False)
class TripleRelease(RowMechanism):
    """Report three noisy bits about the products of two coordinates of a row.

    Parameters
    ----------
    dim : int
        How many numbers a row has, at least 2.
    epsilon : float
        The wanted level of the whole row.
    signed : bool
        Whether values lie in [-1, 1] rather than in [0, 1].
    calibration : "tight" or "paper"
        "tight" gives the level asked for. "paper" flips each bit with log-odds epsilon / 2, as published, which costs
        1.5 epsilon on [0, 1] and more on [-1, 1]; :attr:`guarantee` says how much.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import TripleRelease
    >>> channel = TripleRelease(3, epsilon=6.0)
    >>> reports = channel.simulate(np.tile([1.0, 0.6, 1.0], (50_000, 1)), np.random.default_rng(0))
    >>> channel.unbiased_products(reports).mean(axis=0).round(1)
    array([1. , 0.6, 1. , 0.4, 0.6, 1. ])
    >>> print(TripleRelease(3, epsilon=6.0, calibration="paper").guarantee)
    epsilon 9, protects one row of 3 numbers (any two rows within the public bounds)

    References
    ----------
    Raghunathan, Frostig, Duchi & Liang (2016), section 7.
    """

    dim: int
    epsilon: float
    signed: bool = False
    calibration: str = "tight"

    kind: ClassVar[str] = "triple-release"

    def __post_init__(self) -> None:
        dim = checked_dim(self.dim)
        if not 2 <= dim <= _LARGEST_DIM:
            raise InvalidInput(f"dim={dim}", f"from 2 to {_LARGEST_DIM} numbers a row: a report is about two of them")
        if not isinstance(self.signed, bool):
            raise InvalidInput(f"signed={self.signed!r}", "True or False")
        if self.calibration not in ("tight", "paper"):
            raise InvalidInput(f"calibration={self.calibration!r}", "'tight' or 'paper'")
        vars(self).update(dim=dim, epsilon=checked_epsilon(self.epsilon))
        self.bit  # refuses an epsilon that says nothing  # noqa: B018

    # -- the law -------------------------------------------------------------------------------------

    @cached_property
    def bit(self) -> NoisyBit:
        """The law of each bit: what is really drawn from."""

        def costs(low: int) -> tuple[int, int]:
            """The ratio of probabilities that the budget is for."""
            high = RESOLUTION - low
            if self.calibration == "paper":
                return high, low
            return high**2 * (RESOLUTION // 2 if self.signed else high), low**3

        budget = Decimal(self.epsilon) / (2 if self.calibration == "paper" else 1)
        return NoisyBit(_least_low(costs, budget))

    @cached_property
    def guarantee(self) -> Guarantee:
        one = self.bit.epsilon
        level = 2 * one + (log_ratio(RESOLUTION // 2, self.bit.low) if self.signed else one)
        # A tight level is not above the asked one; its last digit as a double must not be either.
        return self._row_guarantee(min(level, self.epsilon) if self.calibration == "tight" else level)

    @property
    def range(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.signed else (0.0, 1.0)

    @cached_property
    def layout(self) -> Fields:
        return Fields((8 * len(self._pairs[0]),))

    def describe(self) -> str:
        text = (
            "Two of the numbers are drawn, and three bits are reported, about their squares and their product, each "
            f"flipped with probability {self.bit.low / RESOLUTION:.4g}."
        )
        if self.calibration == "paper":
            text += (
                f" The flips are those published for epsilon {self.epsilon:g}; "
                f"together they give epsilon {self.guarantee.epsilon:.4g}."
            )
        return text

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        first, second = np.triu_indices(self.dim, 1)
        return first, second

    # -- the respondent's side -----------------------------------------------------------------------

    def draw(self, values: Floats, bits: BitSource) -> Reports:
        pair = self._which.draw(np.zeros(len(values), np.uint8), bits).astype(np.int64)
        rows = np.arange(len(values))
        fractions = self._fractions(values[rows, self._pairs[0][pair]], values[rows, self._pairs[1][pair]])
        three = self.bit.draw(fractions, 1.0, bits)
        codes: Reports = (8 * pair + three @ np.array([4, 2, 1])).astype(self.layout.dtype)
        return codes

    def _fractions(self, a: Floats, b: Floats) -> Floats:
        """What the three bits are about, as numbers from 0 to 1."""
        product = a * b
        if self.signed:
            product = (1 + np.trunc(product * _GRAIN) / _GRAIN) / 2
        return np.column_stack([a * a, product, b * b])

    @cached_property
    def _which(self) -> AliasSampler:
        pairs = len(self._pairs[0])
        return AliasSampler.from_counts(exact_counts(np.full((pairs, 1), 1 / pairs)), reports=pairs)

    # -- the learner's side --------------------------------------------------------------------------

    def unbiased_products(self, reports: Any) -> Floats:
        """Return b, n x dim (dim + 1) / 2, with E[b | x] = x_i x_j in the order of ``np.triu_indices(dim)``.

        What a report is not about is 0. A product is reported by one pair, a square by every pair with its coordinate:
        each is divided by the probability of that.
        """
        codes = self.encode_reports(reports).astype(np.int64)
        pair, three = codes >> 3, codes & 7
        zero, one = self.bit.unbiased
        values = np.array([zero, one])
        middle = 2 * values - 1 if self.signed else values
        first, second = self._pairs[0][pair], self._pairs[1][pair]
        start = np.arange(self.dim) * (2 * self.dim - np.arange(self.dim) + 1) // 2  # where the row of x_i^2 begins
        out = np.zeros((len(codes), self.dim * (self.dim + 1) // 2))
        rows = np.arange(len(codes))
        out[rows, start[first]] = values[three >> 2] * (self.dim / 2)
        out[rows, start[second]] = values[three & 1] * (self.dim / 2)
        out[rows, start[first] + second - first] = middle[three >> 1 & 1] * len(self._pairs[0])
        return out

    def views_of(self, names: Sequence[str]) -> tuple[ReportView, ...]:
        low, high = self.bit.chance(np.array([0.0, 1.0])).tolist()
        side = np.array([[1 - low, 1 - high], [low, high]])
        three, pairs = np.kron(np.kron(side, side), side), len(self._pairs[0])
        views = [ReportView("pairs", np.full((pairs, 1), 1 / pairs), lambda reports: (reports >> 3).astype(np.intp))]
        for place in some_of(pairs):
            laws = np.vstack([three / pairs, np.full((1, 8), 1 - 1 / pairs)])
            about = " and ".join(names[side[place]] for side in self._pairs)
            views.append(coded_view(f"bits of {about}", 8 * place, 8, laws))
        return tuple(views)

    @property
    def estimated(self) -> list[str]:
        return product_names(self.names)

    def estimates(self, reports: Any) -> Floats:
        return self.unbiased_products(reports)

    def expected(self, row: Floats) -> Floats:
        return products(row)


def _least_low(costs: Callable[[int], tuple[int, int]], budget: Decimal) -> int:
    """Return the smallest threshold, in whole units, whose exact cost is within e^budget."""
    with localcontext() as context:
        context.prec = _DIGITS
        allowed = int(budget.exp() * (1 << _EXP_BITS)) - 1

    def fits(low: int) -> bool:
        more, less = costs(low)
        return more << _EXP_BITS <= allowed * less

    too_low, low = 0, RESOLUTION // 2 // _UNIT
    while low - too_low > 1:  # costs fall as the threshold rises
        middle = (too_low + low) // 2
        too_low, low = (too_low, middle) if fits(middle * _UNIT) else (middle, low)
    if 2 * low * _UNIT >= RESOLUTION:
        raise Unidentifiable(
            f"an epsilon so small ({float(budget):g}) that the bits say nothing",
            "an epsilon that leaves the reports some information",
        )
    return low * _UNIT
