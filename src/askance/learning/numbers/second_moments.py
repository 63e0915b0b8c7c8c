"""Sums of estimated second moments: all that a linear regression needs of hidden rows.

One pass sums the estimates and their squares, fold by fold; when the coefficients are known, a second pass sums the
products of the scores that their errors come from.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.learning.numbers.folds import in_folds
from askance.learning.numbers.moment_readers import MomentReader, MomentSums
from askance.statistics.base import Records, add_fields


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """Sum the estimated moments of a reader."""

    reader: MomentReader

    def empty(self) -> MomentSums:
        size = self.reader.width * (self.reader.width + 1) // 2
        return MomentSums(0, 0.0, 0.0, np.zeros(size), np.zeros(size))

    def observe(self, records: Records) -> MomentSums:
        return self.reader.sums(records)

    def merge(self, first: MomentSums, second: MomentSums) -> MomentSums:
        return add_fields(first, second)


class FoldSums(NamedTuple):
    """The same sums fold by fold: folds, or folds x moments."""

    rows: Floats
    weight: Floats
    squared_weight: Floats
    total: Floats
    squares: Floats

    @property
    def whole(self) -> MomentSums:
        """The sums over all folds."""
        rows, weight, squared, total, squares = (field.sum(axis=0) for field in self)
        return MomentSums(int(rows), float(weight), float(squared), total, squares)

    def only(self, folds: list[int]) -> MomentSums:
        """The sums over some folds."""
        rows, weight, squared, total, squares = (field[folds].sum(axis=0) for field in self)
        return MomentSums(int(rows), float(weight), float(squared), total, squares)


@dataclass(frozen=True, eq=False)
class FoldMoments:
    """Sum the estimated moments of a reader, fold by fold."""

    reader: MomentReader
    folds: int

    def empty(self) -> FoldSums:
        nothing = SecondMoments(self.reader).empty()
        return FoldSums(*(np.array([field] * self.folds, dtype=float) for field in nothing))

    def observe(self, records: Records) -> FoldSums:
        sums = [self.reader.sums(part) for part in in_folds(records, self.folds)]
        return FoldSums(*(np.array(field, dtype=float) for field in zip(*sums, strict=True)))

    def merge(self, first: FoldSums, second: FoldSums) -> FoldSums:
        return add_fields(first, second)


class ScoreSums(NamedTuple):
    """The sums of s s', and of the squares of the forms of folds."""

    products: Floats
    squared_forms: float


@dataclass(frozen=True, eq=False)
class ScoreProducts:
    """Sum s s' over reports, where s = (estimated a a') direction: the noise of the normal equations.

    With ``forms``, folds x moments, also the squares of w form . moments, each report by the form of its fold.
    """

    reader: MomentReader
    direction: Floats  # of length width, on the reader's own scale
    forms: Floats | None = None

    def empty(self) -> ScoreSums:
        return ScoreSums(np.zeros((self.reader.width, self.reader.width)), 0.0)

    @cached_property
    def _contraction(self) -> Floats:
        """K with (upper triangle of a a') K = a a' direction."""
        width = self.reader.width
        first, second = np.triu_indices(width)
        matrix = np.zeros((len(first), width))
        entry = np.arange(len(first))
        matrix[entry, first] = self.direction[second]
        off = first != second
        matrix[entry[off], second[off]] = self.direction[first[off]]
        return matrix

    def observe(self, records: Records) -> ScoreSums:
        products, squared = self.empty()
        parts: Iterable[tuple[Records, Floats | None]] = [(records, None)]
        if self.forms is not None:
            parts = zip(in_folds(records, len(self.forms)), self.forms, strict=True)
        for part, form in parts:
            for tally in self.reader.tallies(part):
                scores = tally.moments @ self._contraction
                products += (scores * tally.squared_weight[:, None]).T @ scores
                if form is not None:
                    squared += float(tally.squared_weight @ (tally.moments @ form) ** 2)
        return ScoreSums(products, squared)

    def merge(self, first: ScoreSums, second: ScoreSums) -> ScoreSums:
        return add_fields(first, second)


@dataclass(frozen=True, eq=False)
class FormProducts:
    """Sum w^2 f f' over reports, where f = forms @ moments: a form is one weight for each moment."""

    reader: MomentReader
    forms: Floats  # k x moments

    def empty(self) -> Floats:
        return np.zeros((len(self.forms), len(self.forms)))

    def observe(self, records: Records) -> Floats:
        products = self.empty()
        for tally in self.reader.tallies(records):
            values = tally.moments @ self.forms.T
            products += (values * tally.squared_weight[:, None]).T @ values
        return products

    def merge(self, first: Floats, second: Floats) -> Floats:
        return first + second
