"""Some numbers of a row, each hidden in a window of codes, with one coin for all of them."""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Reports
from askance.channels.rows.product_sums import accumulate_products
from askance.channels.rows.report_views import (
    CELLS,
    PAIR_CELLS,
    Cells,
    ReportView,
    blank_law,
    pair_places,
    window_laws,
)
from askance.channels.rows.subset_channel import SubsetChannel
from askance.channels.rows.vectors import checked_dim, checked_epsilon, product_names, products
from askance.channels.rows.window_law import Cost, WindowLaw, law_within, least_cost
from askance.entropy.bits import BitSource
from askance.entropy.windows import coins, report_windows, row_blocks, subsets
from askance.errors import InvalidInput

# The mean square for which k and the windows are chosen. A uniform column has 1/3; but columns rarely fill their public
# bounds, and most people are far from both. A wrong guess costs a few per cent of variance, never bias or privacy.
TYPICAL_SQUARE = 0.15

ONE_BYTE, TWO_BYTES = 1 << 8, 1 << 16  # codes that a report of so many bytes can have
_COARSE_WINDOW = 16  # in a narrower window, rounding to codes would add more than 1% to its variance


@dataclass(frozen=True, eq=False, repr=False)
class WindowRelease(SubsetChannel):
    """Report k of the numbers of a row, each as a code in a window around it, or all as uniform codes.

    One coin decides for all k numbers whether their codes lie near the truth, so that the product of two codes does so
    with the same probability as a single one. That makes second moments, and with them regressions, much more precise
    than numbers hidden one by one.

    Parameters
    ----------
    dim : int
        How many numbers a row has, each in [-1, 1].
    epsilon : float
        The level of the whole row.
    k : int, optional
        How many numbers a report is about. By default the one for which the products of two numbers are most precise.
    always : int or tuple of int
        Coordinates that every report is about, such as the outcome of a regression. The others are drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from askance import WindowRelease
    >>> channel = WindowRelease(dim=9, epsilon=4.0)
    >>> channel.k
    3
    >>> print(channel.guarantee)
    epsilon 4, protects one row of 9 numbers (any two rows within the public bounds)
    >>> truth = np.full((200_000, 9), 0.5)
    >>> channel.unbias(channel.simulate(truth, np.random.default_rng(0))).mean().round(2)
    np.float64(0.5)
    """

    dim: int
    epsilon: float
    k: int | None = None
    always: int | tuple[int, ...] = ()

    kind: ClassVar[str] = "window-release"

    def __post_init__(self) -> None:
        dim, epsilon = checked_dim(self.dim), checked_epsilon(self.epsilon)
        always = _checked_always(self.always, dim)
        # Every pair of numbers must be in some reports.
        fewest = len(always) + 2 if dim - len(always) >= 2 else dim
        if self.k is None:
            chosen = min(range(fewest, dim + 1), key=lambda k: _mean_variance(dim, len(always), epsilon, k))
        else:
            chosen = _checked_k(self.k, fewest, dim)
        vars(self).update(dim=dim, epsilon=epsilon, k=chosen, always=always)
        _ = self.law  # an epsilon at which reports say nothing is refused now, not when reports are drawn

    @cached_property
    def law(self) -> WindowLaw:
        """How the numbers of a report are hidden together."""
        return _law(self.epsilon, self._numbers)

    @property
    def _numbers(self) -> int:
        return self.k  # type: ignore[return-value]  # chosen when not given

    @property
    def _always(self) -> tuple[int, ...]:
        return self.always  # type: ignore[return-value]  # a single number became a tuple

    @property
    def _codes(self) -> int:
        return self.law.codes

    @property
    def range(self) -> tuple[float, float]:
        return -1.0, 1.0

    @cached_property
    def guarantee(self) -> Guarantee:
        return self._row_guarantee(self.law.epsilon)

    def describe(self) -> str:
        law = self.law
        which = (
            f"All {self.dim} numbers" if self._reports_all else f"{law.numbers} of {self.dim} numbers, drawn at random,"
        )
        return (
            f"{which} are each reported as one of {law.codes} codes: with probability {law.kappa:.3g} all of them "
            f"within {law.width} codes around the truth, otherwise anywhere."
        )

    # -- the respondent's side -----------------------------------------------------------------------

    def draw(self, values: Floats, bits: BitSource) -> Reports:
        law, k = self.law, self.law.numbers
        reports = np.empty((len(values), len(self.layout.states)), dtype=self.layout.dtype)
        for rows in row_blocks(len(values), k):
            count = rows.stop - rows.start
            which = subsets(count, k, self.dim, self._always, bits)
            in_window = coins(law.coin, count, bits)
            report_windows(values[rows], which, in_window, law.codes, law.width, bits, reports[rows])
        return reports[:, 0] if len(self.layout.states) == 1 else reports

    # -- the learner's side --------------------------------------------------------------------------

    def unbias(self, reports: Any) -> Floats:
        """Return b, n x dim, with E[b_i | truth_i] = truth_i; zero where a report says nothing."""
        return self._spread_out(reports, self.law.values / self.law.kappa)

    def unbiased_products(self, reports: Any) -> Floats:
        """Return b, n x dim (dim + 1) / 2, with E[b | truth z] = z_i z_j for i <= j.

        The pairs are in the order of ``np.triu_indices(dim)``; zero where a report is not about both.
        """
        which, codes = self._numbers_and_codes(self.encode_reports(reports))
        values = self.law.values[codes]
        dense = np.zeros((len(values), self.dim * (self.dim + 1) // 2))
        rows = np.arange(len(values))
        for a in range(which.shape[1]):
            line = which[:, a] * self.dim - which[:, a] * (which[:, a] + 1) // 2  # where row i of the triangle begins
            for b in range(a, which.shape[1]):
                offset = self.law.square_offset if a == b else 0.0
                dense[rows, line + which[:, b]] = values[:, a] * values[:, b] - offset
        dense *= self._scales[self.dim :]
        return dense

    def likelihood_of_rows(self, reports: Any, rows: Any) -> Floats:
        """Return P(report_i | the truth is row k), n x rows, of a few possible truths."""
        law = self.law
        together = law.kappa * self._products(reports, self.clip(rows)[0], law.inside)
        return np.asarray((together + (1 - law.kappa) / float(law.codes) ** law.numbers) / self._subsets)

    @property
    def estimated(self) -> list[str]:
        return [*self.names, *product_names(self.names)]

    def estimates(self, reports: Any) -> Floats:
        return np.hstack([self.unbias(reports), self.unbiased_products(reports)])

    def expected(self, row: Floats) -> Floats:
        return np.concatenate([row, products(row)])

    def estimate_sums(self, reports: Any, weights: Any = None) -> tuple[float, float, Floats, Floats]:
        return self.product_sums(reports, weights)

    def product_sums(self, reports: Any, weights: Any = None) -> tuple[float, float, Floats, Floats]:
        """Return the sums of w, w^2, w b and (w b)^2 over reports, where b = [unbias, unbiased_products].

        Each report costs as many steps as it has pairs, however many numbers a row has.
        """
        rows, law = self._shaped(reports), self.law
        weight = np.empty(0) if weights is None else _checked_weights(weights, len(rows))
        own, pairs = np.zeros((self.dim, 4)), np.zeros((self.dim * (self.dim + 1) // 2, 2))
        scale = (law.origin, law.step, law.square_offset)
        if not accumulate_products(rows, weight, self.dim, law.numbers, *scale, own, pairs):
            self.encode_reports(rows)  # says which row is wrong
        first, second = np.triu_indices(self.dim)
        pairs[first == second] = own[:, [1, 3]]
        sums = np.concatenate([own[:, 0], pairs[:, 0]]) * self._scales
        squares = np.concatenate([own[:, 2], pairs[:, 1]]) * self._scales**2
        if weights is None:
            return float(len(rows)), float(len(rows)), sums, squares
        return float(weight.sum()), float(weight @ weight), sums, squares

    def views_of(self, names: Sequence[str]) -> tuple[ReportView, ...]:
        law = self.law
        table, inside = window_laws(law, CELLS)
        alone = self._views_of_each(
            names, table, law.kappa * inside + (1 - law.kappa) * blank_law(table)[:, None], len(inside)
        )
        coarse, inside = window_laws(law, PAIR_CELLS)
        outside, cells = blank_law(coarse), len(inside)
        both = law.kappa * np.kron(inside, inside) + (1 - law.kappa) * np.kron(outside, outside)[:, None]
        _, together = self.inclusion()
        pairs = []
        for i, j in pair_places(self.dim):
            chance = float(together[i, j])
            laws = np.vstack([chance * both, np.full((1, both.shape[1]), 1 - chance)])
            pairs.append(ReportView(f"codes of {names[i]} and {names[j]}", laws, _PairCells(self, i, j, coarse, cells)))
        return (*alone, *pairs)

    def noise_covariance(self, truth: Any) -> Floats:
        """Return the mean over rows of Cov[unbias(report) | truth], dim x dim."""
        values, _ = self.clip(truth)
        moments = values.T @ values / max(len(values), 1)
        single, both = self.inclusion()
        kappa = self.law.kappa
        second = moments * both / np.multiply.outer(single, single) / kappa
        np.fill_diagonal(second, (np.diag(moments) + self.law.square_offset / kappa) / (kappa * single))
        covariance: Floats = second - moments
        return covariance

    @cached_property
    def _scales(self) -> Floats:
        """What the values of codes, and their products, are multiplied with."""
        single, both = self.inclusion()
        return 1 / (self.law.kappa * np.concatenate([single, both[np.triu_indices(self.dim)]]))

    def _shaped(self, reports: Any) -> Reports:
        """Return n x fields. Where the type itself keeps the codes in their limits, the kernel checks the rest."""
        layout, wide = self.layout, len(self.layout.states)
        ready = isinstance(reports, np.ndarray) and reports.dtype == layout.dtype and reports.shape[1:] == (wide,)
        if ready and np.iinfo(layout.dtype).max + 1 == self.law.codes:
            return np.ascontiguousarray(reports)
        return self.encode_reports(reports).reshape(-1, wide)


@dataclass(frozen=True, eq=False)
class _PairCells:
    """The cell of the codes of two numbers; a last one for reports that are not about both."""

    channel: WindowRelease
    first: int
    second: int
    table: Cells
    cells: int

    def __call__(self, reports: Reports) -> Cells:
        which, codes = self.channel._numbers_and_codes(reports)
        found = np.full((len(reports), 2), -1, dtype=np.intp)
        for place, number in enumerate((self.first, self.second)):
            rows, at = np.nonzero(which == number)
            found[rows, place] = self.table[codes[rows, at]]
        both = (found >= 0).all(axis=1)
        return np.where(both, self.cells * found[:, 0] + found[:, 1], self.cells**2)


def _law(epsilon: float, k: int) -> WindowLaw:
    """The law of k numbers, with as many codes as its windows need."""
    codes, (_, width) = ONE_BYTE, least_cost(epsilon, ONE_BYTE, k, _cost(k))
    if width < _COARSE_WINDOW:
        codes, (_, width) = TWO_BYTES, least_cost(epsilon, TWO_BYTES, k, _cost(k))
    return law_within(epsilon, codes, width, k)


def _cost(k: int) -> Cost:
    """The variance of an unbiased product of two numbers of typical size, or of the only number."""

    def of_products(kappa: Floats, window: Floats, blank: Floats) -> Floats:
        in_window = TYPICAL_SQUARE + window
        return (kappa * (in_window * in_window) + (1 - kappa) * (blank * blank)) / (kappa * kappa)

    def of_one(kappa: Floats, window: Floats, blank: Floats) -> Floats:
        return (kappa * (TYPICAL_SQUARE + window) + (1 - kappa) * blank) / (kappa * kappa)

    return of_one if k == 1 else of_products


def _mean_variance(dim: int, always: int, epsilon: float, k: int) -> float:
    """The variance of an unbiased product, in the mean over all pairs of different numbers."""
    free, others = k - always, dim - always
    # How many pairs there are, and how many reports it takes until one has such a pair: both always in, one, none.
    kinds = [
        (math.comb(always, 2), 1.0),
        (always * others, others / max(free, 1)),
        (math.comb(others, 2), math.comb(others, 2) / max(math.comb(free, 2), 1)),
    ]
    rarity = sum(pairs * reports for pairs, reports in kinds) / max(math.comb(dim, 2), 1)
    return rarity * least_cost(epsilon, ONE_BYTE, k, _cost(k))[0] if dim > 1 else 0.0


def _checked_always(always: Any, dim: int) -> tuple[int, ...]:
    given = (always,) if isinstance(always, int | np.integer) else always
    try:
        numbers = sorted({operator.index(number) for number in given})
    except TypeError:
        numbers = [-1]
    if numbers and not 0 <= numbers[0] <= numbers[-1] < dim:
        raise InvalidInput(f"always={always!r}", f"coordinates from 0 to {dim - 1}")
    return tuple(numbers)


def _checked_k(k: Any, fewest: int, dim: int) -> int:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not fewest <= k <= dim:
        wanted = f"a whole number from {fewest} to {dim}" if fewest < dim else f"{dim}"
        raise InvalidInput(
            f"k={k!r}",
            wanted,
            "A report must be able to hold any two numbers. SampledCoordinates also reports single ones.",
        )
    return int(k)


def _checked_weights(weights: Any, rows: int) -> Floats:
    array = np.ascontiguousarray(weights, dtype=float)
    if array.shape != (rows,) or not np.isfinite(array).all():
        raise InvalidInput(f"weights of shape {array.shape}", f"{rows} finite numbers, one a report")
    return array
