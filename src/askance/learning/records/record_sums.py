"""Sums over hidden records: all that a fit on an engine needs of them.

A record travels as one row of codes: the reports of its attributes, that of its label, and the number of its fold.
"""

from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats, Integers
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood
from askance.learning.records.enumerated_likelihood import DistinctReports, distinct_reports
from askance.learning.records.posterior import FeaturePosterior, Moments
from askance.learning.records.prior import state_counts
from askance.learning.records.spectral_fit import PrincipalScores
from askance.statistics.base import Records, add_fields, merged
from askance.statistics.row_blocks import blocks


class PackedRecords(NamedTuple):
    """Reports of attributes (n x d), of labels, and the folds that leave them out."""

    reports: NDArray[Any]
    labels: Integers
    folds: Integers


def packed(reports: NDArray[Any], labels: NDArray[Any], folds: NDArray[Any]) -> Records:
    """Put the parts of records side by side, in whatever numbers hold all of them."""
    kind = np.result_type(reports, labels, folds)
    table = np.empty((len(labels), reports.shape[1] + 2), kind)
    table[:, :-2], table[:, -2], table[:, -1] = reports, labels, folds
    codes: NDArray[np.unsignedinteger] = table
    return Records(np.empty((len(table), 0)), codes)


def unpacked(records: Records) -> PackedRecords:
    """Take records apart again."""
    table = records.codes
    return PackedRecords(table[:, :-2], table[:, -2].astype(np.int64), table[:, -1].astype(np.int64))


class ReportTotals(NamedTuple):
    """What a prior and the choice of a ridge need of the reports.

    ``states`` has the counts of each group of attributes, in the order of the channel's groups, and nothing for
    numbers; ``first`` and ``second`` are sums and sums of squares of numbers about the centre, and zero for states.
    """

    rows: int
    labels: Floats
    folds: Floats
    states: Floats
    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class CountReports:
    """Count states, labels and folds, and sum numbers about a centre."""

    channel: FeatureChannel
    label_reports: int
    folds: int
    centre: Floats

    @property
    def _cells(self) -> int:
        return sum(len(columns) * len(law.values) for law, columns in self.channel.groups if law.is_finite)

    def empty(self) -> ReportTotals:
        width = self.channel.width
        return ReportTotals(
            0,
            np.zeros(self.label_reports),
            np.zeros(self.folds),
            np.zeros(self._cells),
            np.zeros(width),
            np.zeros(width),
        )

    def observe(self, records: Records) -> ReportTotals:
        reports, labels, folds = unpacked(records)
        total = self.empty()
        counted = [np.empty(0)]
        for law, columns in self.channel.groups:
            if law.is_finite:
                counted.append(state_counts(reports[:, columns], len(law.values)).ravel())
            else:
                about = reports[:, columns] - self.centre[columns]
                total.first[columns] = about.sum(axis=0)
                total.second[columns] = np.einsum("ij,ij->j", about, about)
        return total._replace(
            rows=len(records),
            labels=np.bincount(labels, minlength=self.label_reports).astype(float),
            folds=np.bincount(folds, minlength=self.folds).astype(float),
            states=np.concatenate(counted),
        )

    def merge(self, first: ReportTotals, second: ReportTotals) -> ReportTotals:
        return add_fields(first, second)


@dataclass(frozen=True, eq=False)
class CountDistinct:
    """Count reports of whole records that are the same."""

    width: int

    def empty(self) -> DistinctReports:
        return DistinctReports(np.empty((0, self.width + 1), np.int64), np.empty(0))

    def observe(self, records: Records) -> DistinctReports:
        reports, labels, _ = unpacked(records)
        return distinct_reports(reports.astype(np.int64), labels)

    def merge(self, first: DistinctReports, second: DistinctReports) -> DistinctReports:
        cells, place = np.unique(np.concatenate([first.cells, second.cells]), axis=0, return_inverse=True)
        counts = np.bincount(place.ravel(), np.concatenate([first.counts, second.counts]), minlength=len(cells))
        return DistinctReports(cells, counts.astype(float))


@dataclass(frozen=True, eq=False)
class BatchLikelihood:
    """Makes the likelihood of a batch of records: small, holds no data, works wherever the records are.

    Parameters
    ----------
    posterior : FeaturePosterior
    label_matrix : reports x classes
    frame : CollapsedLikelihood
        Centre, metric and kind of the likelihood; it has no reports.
    scores : PrincipalScores, optional
        The features are these scores.
    """

    posterior: FeaturePosterior
    label_matrix: Floats
    frame: CollapsedLikelihood
    scores: PrincipalScores | None = None

    def features(self, reports: NDArray[Any]) -> Moments:
        """Mean and variance of the features given their reports."""
        moments = self.posterior.moments(reports)
        return moments if self.scores is None else self.scores.scores(moments.mean)

    def of(self, records: PackedRecords, rough: bool = False) -> CollapsedLikelihood:
        """The likelihood of a batch."""
        likelihood = self.label_matrix[records.labels]
        made = self.frame.changed(
            type(self.frame), features=self.features(records.reports), label_likelihood=likelihood
        )
        return made.roughly() if rough else made


Sums = TypeVar("Sums", bound=tuple[Any, ...])


class _BlockByBlock(Generic[Sums]):
    """What statistics share whose tables in between are those of a block of records; ``empty`` is their own."""

    def block(self, rows: PackedRecords) -> Sums:
        """The sum over one block."""
        raise NotImplementedError

    def observe(self, records: Records) -> Sums:
        whole: Any = self
        return cast(Sums, merged(whole, (self.block(unpacked(some)) for some in blocks(records))))

    def merge(self, first: Sums, second: Sums) -> Sums:
        return add_fields(first, second)


class ProductSums(NamedTuple):
    """Sums over records of m and of m m', with m the posterior means of the features, less a centre."""

    rows: int
    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class MeanProducts(_BlockByBlock[ProductSums]):
    """Sum posterior means, less a centre, and their products."""

    posterior: FeaturePosterior
    centre: Floats

    def empty(self) -> ProductSums:
        width = self.posterior.width
        return ProductSums(0, np.zeros(width), np.zeros((width, width)))

    def block(self, rows: PackedRecords) -> ProductSums:
        about = self.posterior.moments(rows.reports).mean - self.centre
        return ProductSums(len(about), about.sum(axis=0), about.T @ about)


class LossSums(NamedTuple):
    """Minus the log-likelihood of reports times their shares, summed over sets, and its gradient."""

    value: float
    gradient: Floats


@dataclass(frozen=True, eq=False)
class LossAt(_BlockByBlock[LossSums]):
    """The loss and its gradient at one point of several sets.

    Parameters
    ----------
    batch : BatchLikelihood
    theta : sets x rows x (1 + d)
    shares : sets
        What a report of each set counts for.
    folded : bool
        A set leaves out the reports of the fold with its number; else it has all reports.
    rough : bool
    """

    batch: BatchLikelihood
    theta: Floats
    shares: Floats
    folded: bool
    rough: bool = False

    def empty(self) -> LossSums:
        return LossSums(0.0, np.zeros_like(self.theta))

    def block(self, rows: PackedRecords) -> LossSums:
        shares = np.tile(self.shares, (len(rows.labels), 1))
        if self.folded:
            shares[rows.folds[:, None] == np.arange(len(self.shares))] = 0.0
        return LossSums(*self.batch.of(rows, self.rough).data_loss(self.theta, shares))


class ScoreSums(NamedTuple):
    """The log-likelihood of reports, and the outer products of their scores."""

    value: float
    squares: Floats


@dataclass(frozen=True, eq=False)
class ScoresAt(_BlockByBlock[ScoreSums]):
    """The log-likelihood and the products of scores at theta, rows x (1 + d)."""

    batch: BatchLikelihood
    theta: Floats

    def empty(self) -> ScoreSums:
        size = max(len(self.theta) - 1, 1) * self.theta.shape[1]
        return ScoreSums(0.0, np.zeros((size, size)))

    def block(self, rows: PackedRecords) -> ScoreSums:
        likelihood = self.batch.of(rows)
        return ScoreSums(likelihood.total(self.theta), likelihood.score_squares(self.theta))


class DifferenceSums(NamedTuple):
    """Sums over reports of a difference, and of its square."""

    first: float
    second: float


@dataclass(frozen=True, eq=False)
class HeldOutDifference(_BlockByBlock[DifferenceSums]):
    """By how much the held-out log-likelihood of reports is larger at some parameters than at others.

    Parameters
    ----------
    at : pairs of a BatchLikelihood and theta, folds x rows x (1 + d)
        One, for its log-likelihood alone; or two, for that of the second less that of the first.
    """

    at: tuple[tuple[BatchLikelihood, Floats], ...]

    def empty(self) -> DifferenceSums:
        return DifferenceSums(0.0, 0.0)

    def block(self, rows: PackedRecords) -> DifferenceSums:
        each = [
            batch.of(rows, rough=True).log_likelihood(theta)[np.arange(len(rows.folds)), rows.folds]
            for batch, theta in self.at
        ]
        difference = each[-1] - each[0] if len(each) > 1 else each[0]
        return DifferenceSums(float(difference.sum()), float(difference @ difference))
