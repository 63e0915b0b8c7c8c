"""Channels for vectors of bounded numbers: one row of a truth is one person."""

import math
import sys
import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.columns import NOT_ARROW
from askance.channels.guarantee import Guarantee
from askance.channels.layouts import Layout, Reports
from askance.channels.value import ChannelValue
from askance.compiled import compiled
from askance.entropy.bits import BitSource, GeneratorBits, system_bits
from askance.errors import AskanceWarning, InvalidInput

LARGEST_EPSILON = 50.0


class RowMechanism(ChannelValue, ABC):
    """Hides a vector whose coordinates lie in a public range; a subclass is a frozen dataclass of its parameters."""

    dim: int

    # -- what a mechanism must say -------------------------------------------------------------------

    @property
    @abstractmethod
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that a coordinate may have. Values outside are clipped."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Exact privacy of the whole vector."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How reports are kept."""

    @abstractmethod
    def describe(self) -> str:
        """How the truth was hidden, in a sentence."""

    @abstractmethod
    def _draw(self, truth: Floats, bits: BitSource) -> Reports:
        """Draw a report for each row; all values are inside the range."""

    # -- what follows --------------------------------------------------------------------------------

    def privatize(self, truth: Any) -> Reports:
        """Draw a report for each row, with the operating system's entropy. There is no seed."""
        return self._report(truth, system_bits())

    def simulate(self, truth: Any, rng: np.random.Generator) -> Reports:
        """Draw reports reproducibly, for planning and tests; never for real answers."""
        return self._report(truth, GeneratorBits(rng))

    def _report(self, truth: Any, bits: BitSource) -> Reports:
        inside, clipped = self._inside(truth)
        if clipped:
            low, high = self.range
            warnings.warn(
                f"{clipped} values outside [{low:g}, {high:g}] were clipped before they were hidden",
                AskanceWarning,
                stacklevel=3,
            )
        return self._draw(inside, bits)

    def _inside(self, truth: Any) -> tuple[NDArray[Any], int]:
        """What :meth:`_draw` is given, and how many values were clipped; all checks are made here."""
        return self.clip(truth)

    def clip(self, truth: Any) -> tuple[Floats, int]:
        """Return the truth with every value inside the public range, and how many were not."""
        values = _shaped(truth, self.dim)
        low, high = self.range
        outside = count_outside(values.reshape(-1), low, high)
        if not outside:  # not a number would have been outside
            return values, 0
        return np.clip(_finite(values), low, high), int(outside)

    def encode_reports(self, reports: Any, design: Any = None) -> Reports:
        """Check reports, or unpack those of a file."""
        if design is not None:
            raise InvalidInput("a design for each row", "design=None: this channel has one design only")
        if hasattr(reports, "combine_chunks") or hasattr(reports, "buffers"):
            return self.layout.from_arrow(reports)
        return self.layout.check(reports)


class VectorChannel(RowMechanism):
    """A mechanism whose reports can be turned into unbiased estimates of the vector itself."""

    @abstractmethod
    def unbias(self, reports: Any) -> Floats:
        """Return b, n x dim, with E[b_i | truth_i] = truth_i."""

    @abstractmethod
    def noise_covariance(self, truth: Any) -> Floats:
        """Return the mean over rows of Cov[unbias(report) | truth], dim x dim, in closed form."""


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
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.integer | np.floating):
        raise InvalidInput(f"epsilon={epsilon!r}", "a positive number, such as 1.0")
    if math.isnan(epsilon) or epsilon <= 0:
        raise InvalidInput(f"epsilon={epsilon:g}", "a positive number, such as 1.0")
    if epsilon > LARGEST_EPSILON:
        raise InvalidInput(
            f"epsilon={epsilon:g}",
            f"at most {LARGEST_EPSILON:g}",
            f"A report could change the odds between two truths by a factor of e^{epsilon:.4g}: it would hide nothing.",
        )
    return float(epsilon)


def checked_dim(dim: Any) -> int:
    """Return a number of coordinates, or say why it is none."""
    if isinstance(dim, bool) or not isinstance(dim, int | np.integer) or dim < 1:
        raise InvalidInput(f"dim={dim!r}", "how many numbers a row has: a whole number of at least 1")
    return int(dim)


def checked_bound(bound: Any) -> float:
    """Return a public bound, or say why it is none."""
    good = isinstance(bound, int | float | np.integer | np.floating) and not isinstance(bound, bool)
    if not good or not math.isfinite(bound) or bound <= 0:
        raise InvalidInput(
            f"bound={bound!r}",
            "a positive, finite number that everybody may know",
            "It must not be computed from the data that are to be hidden.",
        )
    return float(bound)
