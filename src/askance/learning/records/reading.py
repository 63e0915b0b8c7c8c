"""Read records of which every part was hidden: feature reports as codes or numbers, label reports as likelihoods."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Codes, Floats
from askance.channels.attributes.additive_noise import GaussianNoise
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.row_channel import RowChannel
from askance.channels.base import LabelChannel, refuse_class
from askance.channels.labels.finite import Identity
from askance.errors import InvalidInput
from askance.releases.row_reports import RowReports


@dataclass(frozen=True, eq=False)
class SpreadRecords:
    """Reports that a fit can use.

    Parameters
    ----------
    features : FeatureChannel
        For as many attributes as there are.
    reports : n x d
        Codes of finite attributes, numbers of others.
    label : LabelChannel
    label_codes : n
    counts : n, optional
        What each record counts for; 1 unless given.
    squares : n, optional
        The squares of that, unless records are counts of equal ones, which are not squared.
    """

    features: FeatureChannel
    reports: NDArray[Any]
    label: LabelChannel
    label_codes: Codes
    counts: Floats | None = None
    squares: Floats | None = None

    @property
    def weights(self) -> Floats:
        """What each record counts for."""
        return np.ones(len(self.label_codes)) if self.counts is None else self.counts

    @property
    def total(self) -> float:
        """How many records there are; of unequal weights, how many equal ones would tell as much."""
        return float(len(self.label_codes) if self.counts is None else self.counts.sum())

    def thinned(self, most: int) -> "SpreadRecords":
        """At most so many records, spread evenly."""
        step = -(-len(self.label_codes) // most)
        counts = None if self.counts is None else self.counts[::step]
        return SpreadRecords(self.features, self.reports[::step], self.label, self.label_codes[::step], counts)

    @property
    def label_likelihood(self) -> Floats:
        """P(label report_i | class), n x classes."""
        likelihood: Floats = self.label.matrix[self.label_codes]
        return likelihood


def read_records(channel: Any, X: NDArray[Any], y: Any, weights: Floats | None = None) -> SpreadRecords:
    """Check reports against a channel; None hides nothing. Records without weight are left out."""
    if weights is not None:
        X, y, weights = X[weights > 0], np.asarray(y)[weights > 0], weights[weights > 0]
        # In the unit in which their sum is the number of equal records that would tell as much (Kish 1965).
        weights = weights * (weights.sum() / (weights**2).sum())
    row = as_row_channel(channel)
    features = row.features.for_width(X.shape[1])
    label = row.label
    if label is None:
        found = np.unique(y)
        if len(found) < 2:
            raise InvalidInput(f"labels of one class only: {found!r}", "labels of at least two classes")
        label = Identity(found.tolist())
    codes = label.encode_reports(y)
    if len(codes) != len(X):
        raise InvalidInput(f"{len(X)} rows of features and {len(codes)} label reports", "one label report for each row")
    return _checked(SpreadRecords(features, features.codes_and_numbers(X), label, codes, weights))


def released_records(reports: RowReports) -> SpreadRecords:
    """Take the reports of a release, whose codes were checked when they were unpacked."""
    features, codes = reports.channel.features, reports.feature_codes
    numbered = codes if features.is_finite else features.codes_and_numbers(codes)
    return _checked(SpreadRecords(features, numbered, reports.channel.label, reports.label_codes))


def _checked(records: SpreadRecords) -> SpreadRecords:
    if len(np.unique(records.label_codes)) < 2:
        raise InvalidInput(
            "label reports that are all the same",
            "reports of at least two classes",
            "One class cannot be told from none.",
        )
    return records


def as_row_channel(channel: Any) -> RowChannel:
    """Return a row channel; None is one that hides nothing."""
    refuse_class(channel)
    if channel is None:
        return RowChannel(GaussianNoise(0.0))
    if getattr(channel, "hides", None) != "records":
        raise InvalidInput(
            f"channel={channel!r}",
            "RowChannel(features=..., label=...)",
            "If only labels were hidden, use IndirectClassifier.",
        )
    row: RowChannel = channel
    return row
