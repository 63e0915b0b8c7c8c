"""The covariance of proportions, by how people came into the sample."""

from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.channels.base import LabelChannel
from askance.engines.base import Engine
from askance.learning.face.cluster_covariance import ClusterSpread, stratum_meat
from askance.learning.face.named_designs import designs_of
from askance.learning.face.sampling_design import SampledUnits
from askance.statistics.frequencies import ReportCounts
from askance.statistics.grouped_scores import GroupedReports, GroupSums


class SharesSpread(NamedTuple):
    """Covariance of the proportions, their degrees of freedom (none without clusters) and design effects."""

    covariance: Floats
    degrees: tuple[float, ...]
    effects: tuple[float, ...]


class Influence(NamedTuple):
    """How proportions follow the reports: each report's score, and the matrix that turns summed scores into changes."""

    scores: Floats  # reports x k
    change: Floats  # K x k

    def covariance(self, counts: ReportCounts, weighted: bool) -> Floats:
        """The covariance of a simple random sample; a sandwich where rows are weighted."""
        weights = counts.squared_weight if weighted else counts.weight
        covariance: Floats = self.change @ ((self.scores * weights[:, None]).T @ self.scores) @ self.change.T
        return covariance


def likelihood_influence(matrix: Floats, proportions: Floats, counts: ReportCounts) -> Influence:
    """The influence of reports on proportions of largest likelihood, which are free but for their sum."""
    law = matrix @ proportions
    # Free coordinates: all classes but the last, which takes up the slack.
    direction = np.vstack([np.eye(len(proportions) - 1), -np.ones(len(proportions) - 1)])
    scores = (matrix @ direction) / np.maximum(law, np.finfo(float).tiny)[:, None]
    return Influence(scores, direction @ np.linalg.inv((scores * counts.weight[:, None]).T @ scores))


def moment_influence(unbiasing: Floats, unbiased: Floats, counts: ReportCounts) -> Influence:
    """The influence of reports on unbiased proportions."""
    spread = (unbiasing - unbiased[:, None]).T
    # All coordinates but the last: the spreads of a report sum to zero over the classes.
    back = np.vstack([np.eye(len(unbiased) - 1), -np.ones(len(unbiased) - 1)])
    return Influence(spread[:, :-1], back / counts.weight.sum())


def with_unseen(counts: ReportCounts) -> ReportCounts:
    """The counts that errors are measured by: a report that nobody gave counts as half of one.

    Without it equal reports, be there five or a thousand, would have no error at all.
    """
    if (counts.weight > 0).all():
        return counts
    return counts._replace(
        weight=counts.law * counts.weight.sum(), squared_weight=counts.law * counts.squared_weight.sum()
    )


def _device_noise(scores: Floats, heft: Floats, channel: LabelChannel, proportions: Floats) -> Floats:
    """The variance of the scores given the truth, which a share of the population in the sample does not reduce.

    ``heft`` is how much each report counts: its squared weights, times the share of its population.
    """
    noise = np.zeros((scores.shape[1], scores.shape[1]))
    for _, _, rows in designs_of(channel):
        matrix, own = channel.matrix[rows], scores[rows]
        given = matrix.T @ own
        here = (own * (matrix @ proportions)[:, None]).T @ own - (given * proportions[:, None]).T @ given
        noise += heft[rows].sum() * here
    return noise


def sampled_shares(
    influence: Influence,
    counts: ReportCounts,
    sample: SampledUnits,
    engine: Engine,
    channel: LabelChannel,
    proportions: Floats,
) -> SharesSpread:
    """Return the spread of proportions in a stratified or clustered sample."""
    scores, change = influence
    grouped = engine.reduce(GroupedReports(len(scores), sample.units), sample.source)
    summed = grouped.weight @ scores
    one = (scores * counts.weight[:, None]).T @ scores / counts.weight.sum()
    simple = change @ one @ change.T * (counts.weight.sum() ** 2 / counts.rows)
    degrees: tuple[float, ...] = ()
    if sample.clustered:
        # Every report has the same information on average, so that a unit has as much of it as it weighs.
        second = grouped.weight.sum(axis=1)[:, None, None] * one
        spread = ClusterSpread.of(
            GroupSums(grouped.rows, grouped.weight.sum(axis=1), summed, second), sample.strata, sample.fraction
        )
        meat = spread.meat()
        degrees = tuple(spread.degrees(change).tolist())
    else:
        outer = np.einsum("go,oa,ob->gab", grouped.squared_weight, scores, scores)
        meat = stratum_meat(GroupSums(grouped.rows, grouped.weight.sum(axis=1), summed, outer), sample.fraction)
    meat = meat + _device_noise(scores, grouped.squared_weight.T @ sample.fraction, channel, proportions)
    covariance = change @ meat @ change.T
    effects = np.diag(covariance) / np.maximum(np.diag(simple), np.finfo(float).tiny)
    return SharesSpread(covariance, degrees, tuple(effects.tolist()))
