"""Hidden records of a release, summed over where they are: nothing but parameters and sums travels."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.base import LabelChannel
from askance.engines.base import Engine
from askance.engines.sources import RecordSource, thinned
from askance.entropy.draws import code_type
from askance.errors import InvalidInput
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood
from askance.learning.records.dependence import excess_correlation
from askance.learning.records.enumerated_likelihood import LARGEST_TABLE, DistinctReports
from askance.learning.records.joint_likelihood import JointLikelihood
from askance.learning.records.latent_data import LatentData
from askance.learning.records.logit_objective import HeldOut, LogitObjective, typical_direction
from askance.learning.records.posterior import FeaturePosterior
from askance.learning.records.reading import SpreadRecords
from askance.learning.records.record_data import RecordsInMemory, scores_metric, unit_metric
from askance.learning.records.record_sums import (
    BatchLikelihood,
    CountDistinct,
    CountReports,
    HeldOutDifference,
    LossAt,
    MeanProducts,
    ReportTotals,
    ScoresAt,
    packed,
    unpacked,
)
from askance.learning.records.spectral_fit import PrincipalScores
from askance.releases.partition import Partition
from askance.releases.release import Release
from askance.releases.row_reports import RowQuestions
from askance.statistics.base import Records

# A sum has a table of attributes x attributes: of so many it takes 32 MB, for each task of an engine.
MOST_ATTRIBUTES = 2048
# Distinct records that are brought here to learn latent classes from: a table of some megabytes.
_MOST_KINDS = 1 << 17
_SAMPLED = 20_000  # records by which it is seen whether numbers are normal and independent
_POINTS_AT_ONCE = 64  # whose gradients one pass sums: the logits of a block of 4096 reports at them take 2 MB


@dataclass(frozen=True)
class RowPartition:
    """One partition of a release: small to send, read and decoded where it is summed."""

    part: Partition
    asked: RowQuestions
    folds: int
    first: int = 0
    seed: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return self.asked.columns

    @property
    def num_rows(self) -> int:
        return self.part.num_rows

    def load(self) -> Records:
        found = self.asked.reports(self.part.read(self.columns))
        features = found.channel.features
        reports = found.feature_codes if features.is_finite else features.codes_and_numbers(found.feature_codes)
        fold = (self.first + np.arange(len(reports))) % self.folds
        if self.seed is not None:
            fold = np.random.default_rng([self.seed, self.first]).permutation(fold)
        labels = found.label_codes.astype(code_type(len(found.channel.label.matrix)))
        return packed(reports, labels, fold.astype(code_type(self.folds)))


@dataclass(frozen=True, eq=False)
class RowSource:
    """All records of a release, in its own partitions.

    Folds are every so many-th row; with a seed they are drawn, partition by partition.
    """

    release: Release
    asked: RowQuestions
    folds: int
    seed: int | None = None

    @property
    def num_rows(self) -> int:
        return self.release.num_rows

    def partitions(self) -> Sequence[RowPartition]:
        made, first = [], 0
        for part in self.release.partitions():
            made.append(RowPartition(part, self.asked, self.folds, first, self.seed))
            first += part.num_rows
        return made


@dataclass(frozen=True, eq=False)
class SummedReports:
    """Totals of reports, for learning a prior from."""

    channel: FeatureChannel
    totals: ReportTotals
    mean: Floats

    def shares(self, columns: NDArray[np.intp], states: int) -> Floats:
        place = 0
        for law, members in self.channel.groups:
            size = len(members) * len(law.values) if law.is_finite else 0
            if np.array_equal(members, columns):
                counts = self.totals.states[place : place + size].reshape(len(members), states)
                shares: Floats = counts / self.totals.rows
                return shares
            place += size
        raise KeyError(columns)

    def moments(self, columns: NDArray[np.intp]) -> tuple[Floats, Floats]:
        return self.mean[columns], self.totals.second[columns] / self.totals.rows


@dataclass(frozen=True, eq=False)
class SummedRecords:
    """Reports in parts, as a fit asks for them."""

    features: FeatureChannel
    label: LabelChannel
    engine: Engine
    source: RecordSource
    original: RecordSource
    totals: ReportTotals
    posterior: FeaturePosterior
    nominal: tuple[bool, ...]
    prior: Any

    @classmethod
    def of(
        cls,
        asked: RowQuestions,
        engine: Engine,
        source: RecordSource,
        original: RecordSource,
        folds: int,
        prior: Any,
        nominal: tuple[bool, ...] = (),
    ) -> "SummedRecords":
        """Learn the prior from sums over the reports, or take a given one.

        The source is where the engine keeps the records; the original is where anybody can read some of them.
        """
        features, label = asked.channel.features, asked.channel.label
        if features.width > MOST_ATTRIBUTES:
            raise InvalidInput(
                f"{features.width:,} attributes on an engine",
                f"at most {MOST_ATTRIBUTES:,}: sums have a table of attributes x attributes",
                "Use engine='local', which reads the records into memory.",
            )
        count = CountReports(features, len(label.matrix), folds, np.zeros(features.width))
        totals = engine.reduce(count, source)
        if not totals.rows or (totals.labels > 0).sum() < 2:
            raise InvalidInput(
                "label reports that are all the same" if totals.rows else "no records",
                "reports of at least two classes",
                "One class cannot be told from none.",
            )
        mean = totals.first / totals.rows
        if not features.is_finite:  # about their mean: squares of what is far from zero would leave no digits
            totals = engine.reduce(replace(count, centre=mean), source)
        posterior = FeaturePosterior.learned(features, SummedReports(features, totals, mean), prior)
        nominal = nominal or (False,) * features.width
        return cls(features, label, engine, source, original, totals, posterior, nominal, prior)

    @cached_property
    def in_memory(self) -> RecordsInMemory | None:
        possible = np.prod([float(len(law.values)) for law in self.features.laws if law.is_finite])
        if not self.features.is_finite or possible * len(self.label.matrix) > _MOST_KINDS:
            return None
        cells, counts, _ = self.distinct()
        records = SpreadRecords(self.features, cells[:, :-1], self.label, cells[:, -1], counts, counts)
        return RecordsInMemory(records, self.posterior, self.nominal)

    @property
    def latent(self) -> LatentData | None:
        return None if self.in_memory is None else self.in_memory.latent

    @cached_property
    def dependence(self) -> float:
        return excess_correlation(self._means[1], self.rows)

    @cached_property
    def sampled(self) -> LatentData:
        parts = [unpacked(part.load()) for part in thinned(self.original, _SAMPLED).partitions()]
        reports, labels = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        return LatentData(SpreadRecords(self.features, reports, self.label, labels), self.nominal)

    @property
    def rows(self) -> int:
        return self.totals.rows

    @property
    def label_counts(self) -> Floats:
        return self.totals.labels

    @cached_property
    def _means(self) -> tuple[Floats, Floats]:
        """Mean and covariance of the features' posterior means."""
        raw = self.engine.reduce(MeanProducts(self.posterior, np.zeros(self.features.width)), self.source)
        middle = raw.first / raw.rows
        sums = self.engine.reduce(MeanProducts(self.posterior, middle), self.source)
        return middle, sums.second / sums.rows

    def collapsed(self, intercept: bool) -> "SummedLikelihood":
        middle, covariance = self._means
        metric = unit_metric(self.posterior, lambda: np.diag(covariance).copy())
        return self._likelihood(middle, covariance, metric, intercept, None)

    def spectral(self, intercept: bool) -> tuple["SummedLikelihood", PrincipalScores]:
        middle, covariance = self._means
        scores = PrincipalScores.of_covariance(middle, covariance, self.rows, self.posterior.reliability())
        turned = scores.covariance(covariance)
        metric = scores_metric(np.diag(turned), scores)
        return self._likelihood(np.zeros(len(metric)), turned, metric, intercept, scores), scores

    def _likelihood(
        self, middle: Floats, covariance: Floats, metric: Floats, intercept: bool, scores: PrincipalScores | None
    ) -> "SummedLikelihood":
        centre = middle if intercept else np.zeros_like(middle)
        frame = CollapsedLikelihood.without_reports(
            len(self.label.classes),
            metric=metric,
            intercept=intercept,
            centre=centre,
            spread=np.diag(covariance).copy(),
            intercept_metric=1 / typical_direction(covariance, metric, self.rows),
        )
        batch = BatchLikelihood(self.posterior, self.label.matrix, frame, scores)
        return SummedLikelihood(batch, self.engine, self.source, self.totals)

    def fold_weights(self, folds: int, rng: np.random.Generator | None) -> Floats:
        """How many reports each fold leaves out; which they are was settled when they were read."""
        return self.totals.folds[:folds]

    def distinct(self) -> DistinctReports:
        possible = np.prod([float(len(law.values)) for law in self.features.laws if law.is_finite])
        if possible > LARGEST_TABLE:
            raise InvalidInput(
                f"{possible:,.0f} possible feature vectors",
                f"at most {LARGEST_TABLE:,}",
                "Enumeration is for few coordinates with few states; use method='collapsed'.",
            )
        return self.engine.reduce(CountDistinct(self.features.width), self.source)


@dataclass(frozen=True, eq=False)
class HeldOutSums(HeldOut):
    """Held-out log-likelihoods that are summed when somebody asks."""

    likelihood: "SummedLikelihood"
    theta: Floats
    _known: dict[int, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def mean(self) -> float:
        return self._compared(self)[0]

    def behind(self, other: "HeldOutSums") -> tuple[float, float]:
        if other is self:
            return 0.0, 0.0
        if id(other) not in self._known:
            self._known[id(other)] = self._compared(self, other)
        return self._known[id(other)]

    def _compared(self, *others: "HeldOutSums") -> tuple[float, float]:
        at = tuple((one.likelihood.batch, one.theta) for one in others)
        sums = self.likelihood.engine.reduce(HeldOutDifference(at), self.likelihood.source)
        rows = self.likelihood.reports
        mean = sums.first / rows
        return mean, float(np.sqrt(max(sums.second / rows - mean**2, 0.0) / rows))


@dataclass(frozen=True, eq=False)
class SummedLikelihood(LogitObjective):
    """The collapsed likelihood of reports in parts: each evaluation is a sum over them.

    Weights of sets are the numbers of reports that they leave out.
    """

    batch: BatchLikelihood
    engine: Engine
    source: RecordSource
    totals: ReportTotals
    rough: bool = False

    # What the frame knows is said once, there.
    @property
    def metric(self) -> Floats:  # type: ignore[override]
        return self.batch.frame.metric

    @property
    def intercept(self) -> bool:  # type: ignore[override]
        return self.batch.frame.intercept

    @property
    def centre(self) -> Floats:  # type: ignore[override]
        return self.batch.frame.centre

    @property
    def spread(self) -> Floats:  # type: ignore[override]
        return self.batch.frame.spread

    @property
    def intercept_metric(self) -> float:  # type: ignore[override]
        return self.batch.frame.intercept_metric

    @property
    def reports(self) -> int:
        return self.totals.rows

    @property
    def classes(self) -> int:
        return int(self.batch.label_matrix.shape[1])

    @property
    def label_table(self) -> tuple[Floats, Floats]:
        return self.batch.label_matrix, self.totals.labels

    def shares(self, weights: Floats | None) -> Floats:
        """What a report counts for in each set: all reports make up one set, or every fold is left out of one."""
        return 1 / (self.reports - (np.zeros(1) if weights is None else weights))

    def data_loss(self, theta: Floats, shares: Floats) -> tuple[float, Floats]:
        found = self.engine.reduce(LossAt(self.batch, theta, shares, len(shares) > 1, self.rough), self.source)
        return found.value, found.gradient

    def total(self, theta: Floats) -> float:
        return self._at(theta)[0]

    def score_squares(self, theta: Floats) -> Floats:
        return self._at(theta)[1]

    def _at(self, theta: Floats) -> tuple[float, Floats]:
        found = self.engine.reduce(ScoresAt(self.batch, theta), self.source)
        return found.value, found.squares

    def gradients(self, points: Floats, ridge: float) -> Floats:
        found = []
        for start in range(0, len(points), _POINTS_AT_ONCE):
            some = points[start : start + _POINTS_AT_ONCE]
            shares = np.full(len(some), 1 / self.reports)
            found.append(self.engine.reduce(LossAt(self.batch, some, shares, folded=False), self.source).gradient)
        slopes: Floats = np.concatenate(found) + self.penalty(ridge) * points
        return slopes

    def held_out(self, theta: Floats, weights: Floats) -> HeldOutSums:
        return HeldOutSums(self, theta)

    def roughly(self) -> "SummedLikelihood":
        return replace(self, rough=True)

    def thinned(self, most: int) -> "SummedLikelihood":
        if self.reports <= most:
            return self
        some = self.engine.sample(self.source, most)
        return replace(self, source=some, totals=self.totals._replace(rows=some.num_rows))

    def joint(self) -> "SummedLikelihood":
        return replace(self, batch=replace(self.batch, frame=self.batch.frame.changed(JointLikelihood)))
