"""What reports say about the truth of rows that a model predicts: the one place where a metric meets a channel.

With R S = I for the channel's matrix S, row i has ``indicators[i, k] = R[k, report_i]``, whose mean given the truth is
1 for the true class and 0 for the others. Whatever is a mean over rows of a function of the truth is estimated by the
same mean with these in the truth's place, and its error is seen from how the rows differ.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.alphabet import listed
from askance.channels.base import refuse_class
from askance.errors import InvalidInput, NotAvailable
from askance.frames import column_names, library_of, some_columns
from askance.learning.face.classes import class_array
from askance.learning.face.delta_law import reach
from askance.learning.face.report_weights import least_variance_weights
from askance.learning.face.sample_weights import checked_weights
from askance.learning.face.weighted_spread import WeightedSpread
from askance.statistics.frequencies import ReportCounts, counted

# A share is divided by only if it is seen to be there: its two-sided 95% interval leaves out zero. A ratio to a share
# that may be zero has no variance worth printing. What is shown is therefore chosen by what is divided by, of which
# Fieller's intervals know: of 2,400 sets (400 to 5,000 rows, shares of 2 to 18%, epsilon .7 to 2; seed 78) 73% were
# shown; of these, normal intervals of recall and of the area covered .90 and .91, Fieller's .96 and .95.
_SEEN = 0.95


class RatioSpread(NamedTuple):
    """The two numbers that a ratio is made of, their variances, and their covariance."""

    above: float
    below: float
    above_variance: float
    below_variance: float
    covariance: float

    def interval(self, quantile: float) -> tuple[float, float]:
        """Return the ratios r for which above - r below is within the quantile of its own error (Fieller 1954).

        Where what is divided by is small against its error, a ratio is far from normal: it is small, with a small
        error, just where there seem to be many to divide by.
        """
        square = quantile**2
        curve = self.below**2 - square * self.below_variance
        if not curve > 0:  # what is divided by may be zero
            return -math.inf, math.inf
        middle = self.above * self.below - square * self.covariance
        root = math.sqrt(max(middle**2 - curve * (self.above**2 - square * self.above_variance), 0.0))
        return (middle - root) / curve, (middle + root) / curve


@dataclass(frozen=True)
class Estimate:
    """A number about the hidden truth, estimated from reports.

    Parameters
    ----------
    value : float
        May lie outside of what the number itself can be, such as 1.02 for a share, when reports are few or noisy.
    std_error : float
        NaN where one row alone tells.
    n : int
        How many rows it was estimated from.
    kind : "unbiased" or "consistent"
        Whether its mean is right for any number of rows, or as rows grow: a ratio of two estimates, and whatever
        comes from a channel with more reports than classes, whose weights are learned from the same reports.
    spread : optional
        What a ratio is made of: its interval is then Fieller's, which need not have the value in its middle.
    degrees : float
        Degrees of freedom of the standard error: how many rows it was seen from, less if few of them weigh much.

    Examples
    --------
    >>> from askance.metrics import Estimate
    >>> found = Estimate(0.84, 0.02, 1200, "unbiased")
    >>> print(found)
    0.840 (standard error 0.020)
    >>> tuple(round(end, 3) for end in found.interval(0.95))
    (0.801, 0.879)
    >>> float(found), f"{found:.1%}"
    (0.84, '84.0%')
    """

    value: float
    std_error: float
    n: int
    kind: str
    spread: RatioSpread | None = field(default=None, repr=False, compare=False)
    degrees: float = field(default=math.inf, repr=False, compare=False)

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        return f"{self.value:.3f} (standard error {self.std_error:.3f})"

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the ends of the interval: Student's, or of a ratio Fieller's."""
        quantile = reach(level, self.degrees)
        if self.spread is not None and math.isfinite(self.std_error):
            return self.spread.interval(quantile)
        return self.value - quantile * self.std_error, self.value + quantile * self.std_error


def in_words(found: Estimate, level: float = 0.95) -> str:
    """Write an estimate with its interval.

    Examples
    --------
    >>> in_words(Estimate(0.84, 0.02, 1200, "unbiased"))
    '0.840 (95% from 0.801 to 0.879)'
    """
    low, high = found.interval(level)
    return f"{found.value:.3f} ({100 * level:.10g}% from {low:.3f} to {high:.3f})"


class ReportLaw(NamedTuple):
    """The rows that were asked under one design, with its matrix S (reports x K) and R (K x reports)."""

    rows: NDArray[np.int64]
    matrix: Floats
    unbiasing: Floats


@dataclass(frozen=True)
class HiddenTruth:
    """Rows whose truth is known through reports only.

    A metric is a table of *costs*, n x K: what row i would count if its truth were class k.

    Parameters
    ----------
    classes : K labels
    indicators : n x K
        Unbiased for the indicators of the true classes.
    kept : n0 truth values
        Which of the rows that came tell anything: rows of an anchor question, say, tell nothing.
    weights : n, or None
    codes : n
        The reports, as rows of the matrix.
    matrix : reports x K
    laws : how reports come about, for each design

    Examples
    --------
    >>> import askance as ask
    >>> truth = HiddenTruth.of(ask.Warner(0.75), ["yes", "no", "yes"])
    >>> truth.indicators
    array([[-0.5,  1.5],
           [ 1.5, -0.5],
           [-0.5,  1.5]])
    """

    classes: NDArray[Any]
    indicators: Floats
    kept: NDArray[np.bool_]
    weights: Floats | None
    codes: Codes
    matrix: Floats
    laws: tuple[ReportLaw, ...]

    @classmethod
    def of(cls, channel: Any, reports: Any, design: Any = None, sample_weight: Any = None) -> "HiddenTruth":
        """Read reports of a channel as people gave them."""
        refuse_class(channel)
        if not hasattr(channel, "unbiasing_matrix"):
            raise InvalidInput(
                f"{type(channel).__name__} as channel",
                "a finite channel, such as RandomizedResponse(classes, epsilon)",
                "It says how the truth was hidden; the order is (reports, predictions, channel).",
            )
        return cls.of_codes(channel, channel.encode_reports(reports, design), sample_weight)

    @classmethod
    def of_codes(cls, channel: Any, codes: Codes, sample_weight: Any = None) -> "HiddenTruth":
        """Read the codes of reports."""
        weights = checked_weights(sample_weight, codes)
        kept = np.ones(len(codes), dtype=bool)
        telling = getattr(channel, "telling", kept[:0])
        if not telling.all():  # of several designs some tell nothing, as anchor questions do: their rows are left out
            kept = telling[codes]
            codes, channel = (np.cumsum(telling) - 1)[codes[kept]], channel.only_telling()
            weights = None if weights is None else weights[kept]
        if not len(codes):
            raise InvalidInput("no reports that tell anything about the truth", "at least one")
        counts = ReportCounts(len(codes), *counted(codes, weights, len(channel.matrix)))
        unbiasing = least_variance_weights(channel, counts)
        designs = getattr(channel, "designs", {"": channel}).values()
        ends = np.cumsum([len(design.matrix) for design in designs])
        block = np.searchsorted(ends, codes, side="right")
        laws = tuple(
            ReportLaw(np.flatnonzero(block == place), design.matrix, unbiasing[:, end - len(design.matrix) : end])
            for place, (design, end) in enumerate(zip(designs, ends, strict=True))
        )
        return cls(class_array(channel.classes), unbiasing.T[codes], kept, weights, codes, channel.matrix, laws)

    def rows(self, values: Any, what: str) -> NDArray[Any]:
        """Return what a model says about each row, of the rows that tell; refuse another number of them."""
        table = np.asarray(values)
        if table.ndim == 0 or len(table) != len(self.kept):
            arrived = "one value" if table.ndim == 0 else f"{len(table)} {what}"
            raise InvalidInput(f"{len(self.kept)} reports and {arrived}", "as many of both")
        return table[self.kept]

    def numbers(self, values: Any, what: str) -> Floats:
        """Return what a model says about each row as numbers; columns of a table that are called as classes by name."""
        names, classes = column_names(values), [str(label) for label in self.classes.tolist()]
        if library_of(values) and names and set(names) == set(classes):  # numbers are the places of columns
            values = some_columns(values, classes)
        given = self.rows(values, what)
        try:
            return given.astype(float)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"the {what} {listed(given.ravel()[:3].tolist())}",
                "numbers, such as predict_proba returns",
                "For labels take accuracy.",
            ) from None

    def place(self, of: Any) -> int:
        """Return the place of the class that is asked about: the second of two, unless ``of`` names one."""
        classes = self.classes.tolist()
        if of is None and len(classes) == 2:
            return 1
        if of not in classes:
            raise InvalidInput("no class to look at" if of is None else f"of={of!r}", f"of= one of {classes!r}")
        return int(classes.index(of))

    def named(self, code: int) -> str:
        """A class as messages write it."""
        return repr(self.classes.tolist()[code])

    @property
    def n(self) -> int:
        """How many rows tell."""
        return len(self.indicators)

    @cached_property
    def shares(self) -> Floats:
        """The weight of each row; they sum to one."""
        weights = np.ones(self.n) if self.weights is None else self.weights
        return np.asarray(weights / weights.sum())

    @property
    def kind(self) -> str:
        """Of a mean: "unbiased" where R does not depend on the reports, "consistent" otherwise."""
        square = all(law.matrix.shape[0] == law.matrix.shape[1] for law in self.laws if len(law.rows))
        return "unbiased" if square else "consistent"

    def total(self, costs: Floats) -> float:
        """Return the estimate of the weighted mean of costs at the truth."""
        return float(self.shares @ (self.indicators * costs).sum(axis=1))

    def mean(self, costs: Floats) -> Estimate:
        """Return the estimate of the weighted mean of costs at the truth, with its error."""
        value = self.total(costs)
        return self.estimate(value, costs - value, self.kind)

    def estimate(self, value: float, costs: Floats, kind: str, spread: RatioSpread | None = None) -> Estimate:
        """Return a number whose error is that of the mean of some costs, which is zero."""
        return Estimate(value, self.std_error(costs), self.n, kind, spread, self._spread.degrees)

    def ratio(self, above: Floats, below: Floats, whom: str) -> Estimate:
        """Return the mean of ``above`` over the mean of ``below``, with the error of both.

        Refused where reports do not show that there is anything below: ``whom`` it is a share of.
        """
        return self.ratio_of(self.total(above), self.seen(below, whom), above, below)

    def ratio_of(self, above: float, below: float, above_costs: Floats, below_costs: Floats) -> Estimate:
        """Return the ratio of two numbers, with what each truth of each row contributes to either."""
        value = above / below
        one, other, both = (
            self.std_error(costs - self.total(costs)) ** 2
            for costs in (above_costs, below_costs, above_costs + below_costs)
        )
        spread = RatioSpread(above, below, one, other, (both - one - other) / 2)
        return self.estimate(value, (above_costs - value * below_costs) / below, "consistent", spread)

    def seen(self, costs: Floats, whom: str) -> float:
        """Return the mean of costs that will be divided by, or refuse if it may be zero."""
        return self._seen(self.mean(costs), whom)

    def seen_class(self, code: int, *, others: bool = False) -> float:
        """Return the share of a class, or of all others, that will be divided by; see :meth:`seen`."""
        values, errors = self._class_shares
        share = 1 - values[code, 0] if others else values[code, 0]
        whom = f"those who are {'not ' * others}{self.named(code)}"
        return self._seen(
            Estimate(float(share), float(errors[code, 0]), self.n, self.kind, None, self._spread.degrees), whom
        )

    @cached_property
    def _class_shares(self) -> tuple[Floats, Floats]:
        return self.cells(np.zeros(self.n, dtype=np.int64), 1)

    def cells(self, groups: NDArray[np.int64], many: int) -> tuple[Floats, Floats]:
        """Return the share of all rows that are of each true class and in each group, K x many, and the errors.

        As :meth:`mean` has them, of all cells in one pass.
        """

        def sums(columns: Floats) -> Floats:
            return np.stack([np.bincount(groups, column, many) for column in columns.T])

        weighted = self.shares[:, None] * self.indicators
        values, square = sums(weighted), float(self.shares @ self.shares)
        # Of x - value, where x is the weighted indicator of a row in the group, and 0 of others.
        spread = sums(weighted**2) - 2 * values * sums(self.shares[:, None] * weighted) + values**2 * square
        added = np.zeros_like(values)
        for law in self.laws:
            noise = (np.square(law.unbiasing) @ law.matrix - np.eye(len(values))).min(axis=1)
            added += np.outer(noise, np.bincount(groups[law.rows], self.shares[law.rows] ** 2, many))
        return values, np.sqrt(np.maximum(self._spread.inflation * np.maximum(spread, 0.0), added))

    def _seen(self, size: Estimate, whom: str) -> float:
        if not size.interval(_SEEN)[0] > 0:  # also where the error is not known
            raise NotAvailable(
                f"a share of {whom}: reports do not show that there are any (estimated {size.value:.3g} of all rows, "
                f"standard error {size.std_error:.2g})",
                "more rows, or rows in which they are less rare",
            )
        return size.value

    @cached_property
    def _spread(self) -> WeightedSpread:
        return WeightedSpread.of(self.shares)

    def std_error(self, costs: Floats, among: NDArray[np.bool_] | None = None) -> float:
        """Return the standard error of a mean of costs that is zero, of all rows or ``among`` some.

        It is seen from how rows differ, and is never less than what the channel adds whatever the truth is: where all
        reports happen to be of one kind, rows do not differ at all. NaN where one row alone tells.
        """
        differences = (self.indicators * costs).sum(axis=1)
        spread = self._spread if among is None else WeightedSpread.of(self.shares[among] / self.shares[among].sum())
        if math.isnan(spread.inflation):
            return math.nan
        seen = spread.inflation * np.sum((self.shares * differences) ** 2)
        added = 0.0
        for law in self.laws:
            mine = costs[law.rows]
            variances = (mine @ law.unbiasing) ** 2 @ law.matrix - mine**2  # of the estimate, given each truth
            added += float(self.shares[law.rows] ** 2 @ variances.min(axis=1, initial=np.inf))
        return float(np.sqrt(max(seen, added)))
