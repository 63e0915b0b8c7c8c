"""What reports tell of second moments: with a = (1, columns), an unbiased estimate b of the upper triangle of a a'."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.statistics.base import Records
from askance.statistics.frequencies import counted
from askance.statistics.row_blocks import BLOCK_ROWS, blocks


class MomentSums(NamedTuple):
    """Sums over reports of weights, of estimated moments, and of their squares."""

    rows: int
    weight: float
    squared_weight: float
    total: Floats
    squares: Floats

    @property
    def mean(self) -> Floats:
        """The estimated moments, upper triangle."""
        mean: Floats = self.total / self.weight
        return mean

    @property
    def variance(self) -> Floats:
        """The variance of each estimated moment."""
        spread: Floats = np.maximum(self.squares - self.squared_weight * self.mean**2, 0.0) / self.weight**2
        return spread


def symmetric_matrix(upper: Floats) -> Floats:
    """Return the symmetric matrix with such an upper triangle, by rows."""
    width = math.isqrt(2 * len(upper))  # w (w + 1) / 2 entries
    matrix = np.empty((width, width))
    first, second = np.triu_indices(width)
    matrix[first, second] = matrix[second, first] = upper
    return matrix


def as_weights(form: Floats) -> Floats:
    """Return w with w . (upper triangle of M) = the sum of form * M over all entries, for symmetric M."""
    first, second = np.triu_indices(form.shape[-1])
    weights: Floats = form[..., first, second] * np.where(first == second, 1.0, 2.0)
    return weights


class Tally(NamedTuple):
    """Estimated moments of some reports, n x width (width + 1) / 2, with the sums of w and w^2 of equal reports."""

    moments: Floats
    weight: Floats
    squared_weight: Floats


class MomentReader(Protocol):
    """Estimates the moments of rows from their reports."""

    @property
    def width(self) -> int:
        """The length of a = (1, columns)."""

    @property
    def to_units(self) -> Floats:
        """L with a in the units of the data = L a on the reader's own scale."""

    @property
    def least_variance(self) -> float | None:
        """What the channel of an outcome alone adds to its variance at least; None where features are hidden too."""

    def tallies(self, records: Records) -> Iterator[Tally]:
        """Yield unbiased estimates of the upper triangle of a a', in pieces that fit a core's cache."""

    def sums(self, records: Records) -> MomentSums:
        """Return the sums over a batch."""


@dataclass(frozen=True)
class HiddenRows:
    """Rows of which every column is hidden."""

    channel: PrivateRow

    @property
    def width(self) -> int:
        return len(self.channel.bounds.names) + 1

    @property
    def to_units(self) -> Floats:
        return self.channel.to_units

    @property
    def least_variance(self) -> None:
        return None

    def tallies(self, records: Records) -> Iterator[Tally]:
        layout = self.channel.layout
        reports: NDArray[np.integer] = records.codes
        if len(layout.states) == 1 and layout.states[0] < len(records):
            # Equal reports have equal moments: each code is worked out once.
            weight, squared = counted(self.channel.encode_reports(reports), records.weights, layout.states[0])
            reports = np.arange(layout.states[0])
        else:
            weight, squared = row_weights(records)
        for start in range(0, len(reports), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            yield Tally(self.channel.moments(reports[rows]), weight[rows], squared[rows])

    def sums(self, records: Records) -> MomentSums:
        sums = self.channel.moment_sums(records.codes, records.weights)
        return _summed(self, records) if sums is None else MomentSums(len(records), *sums)


@dataclass(frozen=True)
class HiddenOutcome:
    """Public features, and an outcome that is hidden alone, or not at all.

    Parameters
    ----------
    channel : PrivateNumber, optional
        How the outcome was hidden; codes of records are outcomes themselves if not given.
    centre, scale : tuple of float
        By which features, and last the outcome, are standardised.
    """

    channel: PrivateNumber | None
    centre: tuple[float, ...]
    scale: tuple[float, ...]

    @property
    def width(self) -> int:
        return len(self.centre) + 1

    @cached_property
    def to_units(self) -> Floats:
        matrix = np.diag([1.0, *self.scale])
        matrix[1:, 0] = self.centre
        return matrix

    @property
    def tells_squares(self) -> bool:
        """Whether a report says something about the square of the outcome."""
        return self.channel is None or self.channel.tells_squares

    @property
    def least_variance(self) -> float | None:
        # The variance is linear in the square of the number.
        return None if self.channel is None else float(self.channel.law.variance(np.array([0.0, 1.0])).min())

    def tallies(self, records: Records) -> Iterator[Tally]:
        for block in blocks(records):
            yield Tally(self._moments(block), *row_weights(block))

    def _moments(self, records: Records) -> Floats:
        outcome = records.codes if self.channel is None else self.channel.unbias(records.codes)
        rows = np.empty((len(records), self.width))
        rows[:, 0] = 1.0
        rows[:, 1:-1] = records.features[:, : self.width - 2]  # which the number of a fold may follow
        rows[:, 1:-1] = (rows[:, 1:-1] - np.array(self.centre[:-1])) / np.array(self.scale[:-1])
        rows[:, -1] = (outcome - self.centre[-1]) / self.scale[-1]
        first, second = np.triu_indices(self.width)
        products: Floats = rows[:, first] * rows[:, second]
        if self.channel is not None:  # the square of an estimate is no estimate of the square
            products[:, -1] = self.channel.unbias_square(records.codes) if self.tells_squares else 0.0
        return products

    def sums(self, records: Records) -> MomentSums:
        found = _summed(self, records)
        if not self.tells_squares:
            found.total[-1] = np.nan
        return found


def row_weights(records: Records) -> tuple[Floats, Floats]:
    if records.weights is None:
        ones = np.ones(len(records))
        return ones, ones
    return records.weights, records.weights**2


def _summed(reader: MomentReader, records: Records) -> MomentSums:
    weight, squared = 0.0, 0.0
    size = reader.width * (reader.width + 1) // 2
    total, squares = np.zeros(size), np.zeros(size)
    for tally in reader.tallies(records):
        weight += float(tally.weight.sum())
        squared += float(tally.squared_weight.sum())
        total += tally.weight @ tally.moments
        squares += tally.squared_weight @ tally.moments**2
    return MomentSums(len(records), weight, squared, total, squares)
