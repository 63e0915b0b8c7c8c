"""The records that a fit goes over: in memory here; ``summed_records`` has those of an engine."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from askance.arrays import Floats
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.base import LabelChannel
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood
from askance.learning.records.dependence import excess_correlation
from askance.learning.records.enumerated_likelihood import DistinctReports, distinct_reports
from askance.learning.records.latent_data import LatentData
from askance.learning.records.logit_objective import LogitObjective
from askance.learning.records.posterior import FeaturePosterior, Moments
from askance.learning.records.reading import SpreadRecords
from askance.learning.records.spectral_fit import PrincipalScores
from askance.learning.records.validation import fold_weights

# Added to the variance of each attribute, as a share of the mean variance of those with the same law: what hardly
# varies, such as pixels of the border, would else be free of the ridge. A round number, small beside what varies.
_HARDLY = 0.02
_MOST_COMPARED = 200  # attributes whose correlations are looked at: the 20,000 pairs of so many miss nothing


class RecordData(Protocol):
    """Reports of records, wherever they are, with what is known of every attribute given its report."""

    @property
    def features(self) -> FeatureChannel:
        """For as many attributes as there are."""

    @property
    def label(self) -> LabelChannel:
        """How labels were hidden."""

    @property
    def posterior(self) -> FeaturePosterior:
        """Every attribute's truth given its report."""

    @property
    def rows(self) -> int:
        """How many records there are."""

    @property
    def nominal(self) -> tuple[bool, ...]:
        """Whether the states of each attribute are levels."""

    @property
    def in_memory(self) -> "RecordsInMemory | None":
        """The same records in memory; None where they are on an engine, and too many kinds of them to count."""

    @property
    def latent(self) -> LatentData | None:
        """The records as latent classes need them; None where they are too many to bring here."""

    @property
    def sampled(self) -> LatentData | None:
        """Some records in memory, where the others are on an engine: to see what correlations do not show."""

    @property
    def dependence(self) -> float:
        """By how many standard deviations reports of attributes are more correlated than those of independent ones."""

    @property
    def label_counts(self) -> Floats:
        """How often each label report came."""

    def collapsed(self, intercept: bool) -> LogitObjective:
        """The likelihood with the features integrated out, attribute by attribute."""

    def spectral(self, intercept: bool) -> tuple[LogitObjective, PrincipalScores]:
        """The likelihood of principal scores, and which these are."""

    def fold_weights(self, folds: int, rng: np.random.Generator | None) -> Floats:
        """The weights of folds, as the likelihoods take them."""

    def distinct(self) -> DistinctReports:
        """All reports, counted."""


@dataclass(frozen=True, eq=False)
class RecordsInMemory:
    """Reports in memory."""

    records: SpreadRecords
    posterior: FeaturePosterior
    nominal: tuple[bool, ...] = ()

    @classmethod
    def of(cls, records: SpreadRecords, prior: Any, nominal: tuple[bool, ...] = ()) -> "RecordsInMemory":
        """Learn the prior from the reports, or take a given one."""
        posterior = FeaturePosterior.fitted(records.features, records.reports, prior, records.counts)
        return cls(records, posterior, nominal or (False,) * records.features.width)

    @cached_property
    def latent(self) -> LatentData:
        return LatentData(self.records, self.nominal)

    @property
    def in_memory(self) -> "RecordsInMemory":
        return self

    @property
    def sampled(self) -> None:
        return None

    @cached_property
    def dependence(self) -> float:
        width = self._moments.mean.shape[1]
        mean, weights = self._moments.mean[:, :: -(-width // _MOST_COMPARED)], self.records.weights
        about = mean - np.average(mean, axis=0, weights=weights)
        products = (about * weights[:, None]).T @ about / weights.sum()
        return excess_correlation(products, self.records.total)

    @property
    def features(self) -> FeatureChannel:
        return self.records.features

    @property
    def label(self) -> LabelChannel:
        return self.records.label

    @property
    def rows(self) -> int:
        return round(self.records.total)

    @property
    def label_counts(self) -> Floats:
        codes, size = self.records.label_codes, len(self.label.matrix)
        return np.bincount(codes, self.records.counts, minlength=size).astype(float)

    @cached_property
    def _moments(self) -> Moments:
        return self.posterior.moments(self.records.reports)

    def collapsed(self, intercept: bool) -> CollapsedLikelihood:
        metric = unit_metric(self.posterior, lambda: self._moments.mean.var(axis=0))
        return CollapsedLikelihood(self._moments, self.records.label_likelihood, metric, intercept, self.records.counts)

    def spectral(self, intercept: bool) -> tuple[CollapsedLikelihood, PrincipalScores]:
        counts = self.records.counts
        scores = PrincipalScores.fitted(self._moments.mean, self.posterior.reliability(), counts=counts)
        moments = scores.scores(self._moments.mean)
        metric = scores_metric(moments.mean.var(axis=0), scores)
        return CollapsedLikelihood(moments, self.records.label_likelihood, metric, intercept, counts), scores

    def fold_weights(self, folds: int, rng: np.random.Generator | None) -> Floats:
        return fold_weights(len(self.records.label_codes), folds, rng)

    def distinct(self) -> DistinctReports:
        records = self.records
        return distinct_reports(records.reports.astype(np.int64), records.label_codes.astype(np.int64), records.counts)


def unit_metric(posterior: FeaturePosterior, spread: Callable[[], Floats]) -> Floats:
    """The variance of every true attribute, and a little more: ridges are then free of units.

    Parameters
    ----------
    posterior : FeaturePosterior
    spread : function
        The variance of posterior means, asked for where the prior is flat and has none.
    """
    variance = posterior.reliability().variance
    if not np.all(np.isfinite(variance)):
        variance = np.where(np.isfinite(variance), variance, spread())
    metric = np.empty(posterior.width)
    for _, columns in posterior.groups:
        mean = float(variance[columns].mean())
        metric[columns] = variance[columns] + _HARDLY * mean if mean > 0 else 1.0
    return metric


def scores_metric(spread: Floats, scores: PrincipalScores) -> Floats:
    """The mean variance of true scores, from that of their posterior means: one number for all of them."""
    return np.full(len(scores.shrinkage), float(spread.mean() + scores.shrinkage.mean()))
