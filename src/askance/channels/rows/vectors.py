"""Channels for vectors of bounded numbers: one row of a truth is one person."""

import math
import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from askance.arrays import Floats
from askance.channels.channel import Channel, Prepared, Truth, refuse_design
from askance.channels.columns import NOT_ARROW
from askance.channels.given_numbers import MOST_NUMBERS, as_number, shown
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Bits, Fields, Reports
from askance.compiled import compiled
from askance.entropy.bits import BitSource
from askance.errors import InvalidInput
from askance.frames import column_names, in_named_order, like, report_names

if TYPE_CHECKING:
    from askance.channels.rows.report_views import ReportView

LARGEST_EPSILON = 50.0  # odds of 5 * 10^21: whoever asks for more did not mean a level of privacy


class NumberChannel(Channel):
    """Hides one number or a row of numbers, each within public limits, in a report of a few whole numbers."""

    hides: ClassVar[Truth] = "numbers"

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What the numbers of a row are called."""

    @property
    @abstractmethod
    def limits(self) -> tuple[Floats, Floats]:
        """The lowest and the highest row. Values beyond are clipped."""

    @property
    @abstractmethod
    def layout(self) -> Fields | Bits:
        """How reports are kept."""

    @abstractmethod
    def draw(self, values: Any, bits: BitSource) -> Reports:
        """Draw a report for each prepared row."""

    def encode_reports(self, reports: Any, design: Any = None) -> Reports:
        """Check reports, or unpack those of a file."""
        refuse_design(design)
        named = column_names(reports)
        return self.layout.read(reports if named is None else in_named_order(reports, report_names(len(named))))

    def _like(self, truth: Any, reports: Any) -> Any:
        # A report is about the row as a whole: no column of it belongs to a column of the truth.
        return like(truth, reports, report_names(reports.shape[1]) if reports.ndim > 1 else None)

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of a column of reports."""
        return self.layout.arrow_type

    def store(self, codes: Reports) -> pa.Array:
        """Pack reports for a file."""
        return self.layout.to_arrow(codes)

    # -- what a report is worth, for whoever audits the channel ----------------------------------------

    @property
    @abstractmethod
    def estimated(self) -> list[str]:
        """What is estimated from a report, in words."""

    @abstractmethod
    def estimates(self, reports: Any) -> Floats:
        """Return unbiased estimates, n x as many as are :attr:`estimated`."""

    @abstractmethod
    def expected(self, row: Floats) -> Floats:
        """Return what the estimates from reports about a row are in the mean."""

    def extreme_rows(self) -> dict[str, Floats]:
        """Return rows between which reports differ most, by name."""
        low, high = self.limits
        rows = {"all lowest": low, "all highest": high, "in the middle": low / 2 + high / 2}
        if len(low) > 1:
            rows["highest and lowest by turns"] = np.where(np.arange(len(low)) % 2, low, high)
        return rows

    def random_row(self, rng: np.random.Generator) -> Floats:
        """Return a row anywhere within the limits."""
        low, high = self.limits
        share = rng.random(len(low))
        return (1 - share) * low + share * high

    def estimate_sums(self, reports: Any, weights: Any = None) -> tuple[float, float, Floats, Floats] | None:
        """Return the sums of w, w^2, w b and (w b)^2 over reports with estimates b; None if there is no short cut."""
        return None

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The columns of a truth that are no numbers, with their categories."""
        return {}

    @property
    def report_views(self) -> "tuple[ReportView, ...]":
        """How reports are checked against what the channel can make."""
        return ()

    @property
    def work(self) -> int:
        """How many numbers are drawn for a report beyond those that it holds."""
        return 0


class RowMechanism(NumberChannel):
    """Hides a vector whose coordinates share one public range."""

    dim: int

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that a coordinate may have. Values outside are clipped."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"number {number + 1}" for number in range(self.dim))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        low, high = self.range
        return np.full(self.dim, low), np.full(self.dim, high)

    def views_of(self, names: Sequence[str]) -> "tuple[ReportView, ...]":
        """How reports are checked against what the channel can make, in words that call the coordinates so."""
        return ()

    @property
    def report_views(self) -> "tuple[ReportView, ...]":
        return self.views_of(self.names)

    def _row_guarantee(self, epsilon: float) -> Guarantee:
        protects, neighbours = f"one row of {self.dim} numbers", "any two rows within the public bounds"
        return Guarantee(epsilon, protects=protects, neighbours=neighbours, proof=self.proof)

    def prepare(self, truth: Any) -> Prepared:
        """Return numbers inside the public range."""
        inside, clipped = self.clip(truth)
        short, shortened = self.shortened(inside)
        return Prepared(short, {"": clipped} if clipped else {}, shortened)

    def shortened(self, inside: Floats) -> tuple[Floats, int]:
        """Return rows no longer than a public radius, where there is one, and how many were longer."""
        return inside, 0

    def clip(self, truth: Any) -> tuple[Floats, int]:
        """Return the truth with every value inside the public range, and how many were not."""
        values = _shaped(truth, self.dim)
        low, high = self.range
        outside = count_outside(values.reshape(-1), low, high)
        if not outside:  # not a number would have been outside
            return values, 0
        return np.clip(_finite(values), low, high), int(outside)

    def _clipped_in_words(self, clipped: Mapping[str, int]) -> str:
        low, high = self.range
        return f"{clipped['']} values outside [{low:g}, {high:g}] were clipped before they were hidden"


class VectorChannel(RowMechanism):
    """A mechanism whose reports can be turned into unbiased estimates of the vector itself."""

    @abstractmethod
    def unbias(self, reports: Any) -> Floats:
        """Return b, n x dim, with E[b_i | truth_i] = truth_i."""

    @abstractmethod
    def noise_covariance(self, truth: Any) -> Floats:
        """Return the mean over rows of Cov[unbias(report) | truth], dim x dim, in closed form."""

    @property
    def estimated(self) -> list[str]:
        return list(self.names)

    def estimates(self, reports: Any) -> Floats:
        return self.unbias(reports).reshape(-1, self.dim)

    def expected(self, row: Floats) -> Floats:
        return row


def products(row: Floats) -> Floats:
    """Return the products of any two numbers of a row, in the order of ``np.triu_indices``."""
    first, second = np.triu_indices(len(row))
    return row[first] * row[second]


def product_names(names: Sequence[str]) -> list[str]:
    """Return what :func:`products` are called."""
    first, second = np.triu_indices(len(names))
    return [f"{names[i]} times {names[j]}" for i, j in zip(first.tolist(), second.tolist(), strict=True)]


def as_matrix(truth: Any, columns: int) -> Floats:
    """Return n x columns finite numbers, or say what is wrong."""
    return _finite(_shaped(truth, columns))


def _shaped(truth: Any, columns: int) -> Floats:
    try:
        values = np.ascontiguousarray(truth, dtype=float)
    except (*NOT_ARROW,):
        raise InvalidInput(f"a {type(truth).__name__} that is not a table of numbers", f"n x {columns}") from None
    if values.ndim == 1 and columns == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != columns:
        raise InvalidInput(f"an array of shape {values.shape}", f"one row a person: shape (n, {columns})")
    return values


def _finite(values: Floats) -> Floats:
    if count_outside(values.reshape(-1), -sys.float_info.max, sys.float_info.max):
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise InvalidInput(
            f"{values[row, column]} in row {row + 1}, column {column + 1}",
            "a finite number everywhere",
            "Drop or impute rows with missing values before they are hidden.",
        )
    return values


@compiled
def count_outside(values, low, high):  # type: ignore[no-untyped-def]
    """Count the values of a flat array outside [low, high]; what is not a number is outside."""
    # One pass without arrays in between: checking must not cost more than drawing.
    outside = 0
    for i in range(values.shape[0]):
        outside += not (low <= values[i] <= high)
    return outside


def checked_epsilon(epsilon: Any) -> float:
    """Return a usable privacy level, or say why it is none."""
    level = as_number(epsilon, "epsilon", "a positive number, such as 1.0")
    if level <= 0:
        raise InvalidInput(f"epsilon={level:g}", "a positive number, such as 1.0")
    if level > LARGEST_EPSILON:
        raise InvalidInput(
            f"epsilon={level:g}",
            f"at most {LARGEST_EPSILON:g}",
            f"A report could change the odds between two truths by a factor of e^{level:.4g}: it would hide nothing.",
        )
    return level


def checked_dim(dim: Any) -> int:
    """Return a number of coordinates, or say why it is none."""
    if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
        raise InvalidInput(f"dim={shown(dim)}", "how many numbers a row has: a whole number of at least 1")
    if dim > MOST_NUMBERS:
        raise InvalidInput(f"dim={shown(dim)}", f"at most {MOST_NUMBERS:,} numbers in a row")
    return int(dim)


def checked_bound(bound: Any) -> float:
    """Return a public bound, or say why it is none."""
    number = as_number(bound, "bound", "a positive, finite number that everybody may know")
    if not 0 < number < math.inf:
        raise InvalidInput(
            f"bound={shown(bound)}",
            "a positive, finite number that everybody may know",
            "It must not be computed from the data that are to be hidden.",
        )
    return number
