"""What is to be fitted to hidden answers, and its objective as a function of the parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance.arrays import Flags, Floats
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput, Unidentifiable
from askance.learning.answers.feature_geometry import Geometry
from askance.learning.answers.replicate_weights import Replicates
from askance.learning.answers.report_law import ReportLaw
from askance.learning.answers.truth_features import TruthFeatures
from askance.learning.face.cluster_covariance import ClusterSpread, stratum_meat
from askance.learning.face.linear_parameters import parameter_names
from askance.learning.face.named_designs import designs_of
from askance.learning.face.report_weights import least_variance_weights
from askance.learning.face.sampling_design import SampledUnits
from askance.solvers.newton import Local
from askance.solvers.softmax import symmetric
from askance.statistics.device_noise import DeviceNoise
from askance.statistics.frequencies import ReportCounts
from askance.statistics.grouped_scores import GroupedScores
from askance.statistics.joint_score import JointScore
from askance.statistics.softmax_score import NARROW, Method, ScoreSums, SoftmaxScore
from askance.statistics.softmax_slope import SoftmaxSlope


@dataclass(frozen=True, eq=False)
class SoftmaxProblem:
    """What is to be fitted: which channel, by which method, with which penalty and which intervals.

    Parameters
    ----------
    channel : finite channel, or reports that are looked at one by one
    method : "marginal" or "moments"
    ridge : float, optional
        None: no ridge, and log-F where it is called for. Any number is kept to, or the fit is refused.
    penalty : "auto" or "log-f"
        "log-f": always; "auto": near the border, and where there is no finite maximiser.
    intervals : "auto", "profile" or "wald"
    intercept : bool
    feature_names : sequence of str
    max_iterations : int
    robust : bool
        Whether the scores' own variance replaces the information: sampling weights, moments, or by choice.
    truths : TruthFeatures, optional
        What parameters are about, where it is not each truth but the first.
    listed : bool
        Whether the channel's matrix has all possible reports, and not only those that came.
    """

    channel: ReportLaw
    method: Method
    ridge: float | None
    intercept: bool
    feature_names: Sequence[str]
    max_iterations: int = 200
    penalty: str = "auto"
    intervals: str = "auto"
    robust: bool = False
    truths: TruthFeatures | None = None
    listed: bool = True

    @property
    def parameter_names(self) -> tuple[str, ...]:
        if self.truths is not None:
            return self.truths.parameter_names(self.feature_names, self.intercept)
        return parameter_names(self.channel.classes, self.feature_names, self.intercept)


@dataclass(frozen=True, eq=False)
class SoftmaxTask:
    """A problem together with its data: how the features lie, how often each report came, where sums run."""

    problem: SoftmaxProblem
    engine: Engine
    source: RecordSource
    geometry: Geometry
    reports: ReportCounts
    sample: SampledUnits | None = None
    replicates: Replicates | None = None

    @property
    def classes(self) -> int:
        return len(self.problem.channel.classes)

    @property
    def free(self) -> int:
        """How many parameters each column of z = (1, x - centre) has."""
        truths = self.problem.truths
        return self.classes - 1 if truths is None else truths.contrasts.shape[1]

    @property
    def width(self) -> int:
        return len(self.problem.feature_names) + self.problem.intercept

    @property
    def with_outer(self) -> bool:
        """Whether the scores' own products are summed: of many columns they cost as much as the rest of the fit."""
        return self.problem.robust or self.width <= NARROW

    @property
    def possible(self) -> Floats:
        """P(report | truth) of the reports that could have come: all of each design that was used.

        Where the law is assumed, those that came: that others can come is not known.
        """
        matrix = self.problem.channel.matrix
        if not self.problem.listed:
            return matrix
        used = np.zeros(len(matrix), dtype=bool)
        for _, design, rows in designs_of(self.problem.channel):
            came = self.reports.weight[rows] > 0
            used[rows] = came if getattr(design, "is_assumed", False) else came.any()
        return matrix[used]

    def reported_along(self, directions: Floats) -> Floats:
        """Directions of the parameters that are fitted, as they are of those that are reported; flattened, columns."""
        truths = self.problem.truths
        return directions if truths is None else np.asarray(np.kron(truths.basis, np.eye(self.width)) @ directions)

    def as_reported(self, matrix: Floats) -> Floats:
        """Rows of a matrix, one to a parameter of z, as they are of the parameters of (1, x) that are reported."""
        return self.geometry.uncentred(self.reported_along(matrix))

    def root_mean_square_logit(self, theta: Floats) -> float:
        """How far parameters lead: the largest of the truths'."""
        return self.geometry.root_mean_square_logit(self.softmax(theta))

    @property
    def effective_unit(self) -> float:
        """What log-likelihoods are multiplied by so that they weigh as much as their number of independent reports."""
        return float(self.reports.weight.sum() / self.reports.squared_weight.sum()) if self.problem.robust else 1.0

    @property
    def used(self) -> Flags:
        """Which parameters are fitted at all: those of constant columns are not."""
        return np.tile(~self.geometry.constant, self.free)

    def unknown_among(self, columns: Flags) -> Flags:
        """Which of the reported parameters have no estimate of their own, where some columns of z have none."""
        truths = self.problem.truths
        if truths is None:
            return np.tile(columns, self.free)
        return np.tile(columns, len(truths.names)) | np.repeat(~truths.determined, len(columns))

    def zero(self) -> Floats:
        return np.zeros((self.free, self.width))

    def table(self, method: Method) -> Floats:
        return np.ascontiguousarray(self.problem.channel.matrix) if method == "marginal" else self._unbiased_truths

    @cached_property
    def _unbiased_truths(self) -> Floats:
        """What each report says of the truth, or of its features, without bias."""
        channel, truths = self.problem.channel, self.problem.truths
        if truths is not None:
            return truths.states_with(least_variance_weights(channel, self.reports, truths.table.T).T)
        return np.ascontiguousarray(least_variance_weights(channel, self.reports).T)

    def softmax(self, theta: Floats) -> Floats:
        """The softmax model's parameters, K-1 x p, of those that are fitted; of several at once, too."""
        truths = self.problem.truths
        return theta if truths is None else np.ascontiguousarray(truths.contrasts @ theta)

    def sums(self, theta: Floats, *, with_outer: bool = False) -> ScoreSums:
        """Objective, score and information over all records at some parameters."""
        method = self.problem.method
        return self._sums(theta, self.table(method), method, self.source, with_outer)

    def _sums(
        self, theta: Floats, table: Floats, method: Method, source: RecordSource, with_outer: bool = False
    ) -> ScoreSums:
        truths = self.problem.truths
        score = SoftmaxScore(
            self.softmax(theta), table, method, self.problem.intercept, with_outer, self.geometry.centre
        )
        found = self.engine.reduce(score, source)
        return found if truths is None else truths.pulled_sums(found)

    def complete_information(self, theta: Floats) -> Floats:
        """The information that true labels would give at some parameters."""
        # It is that of the moments' objective, whatever their table has.
        empty = np.zeros(self.problem.channel.matrix.shape)
        return self._sums(theta, empty, "moments", self.source).information

    def meat(self, theta: Floats, sums: ScoreSums, about_mean: bool = False) -> tuple[Floats, ClusterSpread | None]:
        """The variance of the summed score, by how people came into the sample; and its spread between clusters.

        ``about_mean`` at parameters that are not the full fit's: what the scores sum to is then no part of it.
        """
        if self.sample is None:
            outer = sums.outer if sums.outer is not None else np.zeros_like(sums.information)
            # With a penalty the scores do not sum to zero: their covariance is what is left after the mean.
            share = self.reports.squared_weight.sum() / max(sums.weight**2, np.finfo(float).tiny)
            return outer - share * np.outer(sums.gradient, sums.gradient), None
        sample = self.sample
        grouped = self.engine.reduce(self._by_unit(theta, sample.units, not sample.clustered), sample.source)
        noise = self._device_noise(theta, sample)
        if not sample.clustered:
            return stratum_meat(grouped, sample.fraction) + noise, None
        spread = ClusterSpread.of(grouped, sample.strata, sample.fraction)
        return spread.meat(about_mean) + noise, spread

    def _device_noise(self, theta: Floats, sample: SampledUnits) -> Floats:
        """What the sample's share of its population does not reduce."""
        problem, centre = self.problem, self.geometry.centre
        if not sample.fraction.any():
            return np.zeros((theta.size, theta.size))
        if problem.method == "moments":
            raise InvalidInput("fpc with method='moments'", "method='marginal', or no fpc")
        columns = np.arange(len(problem.feature_names))
        centre = np.zeros(len(columns)) if centre is None else centre
        score = JointScore(theta, (), problem.channel.matrix, columns, (), problem.intercept, centre)
        designs = tuple((rows.start, rows.stop) for _, _, rows in designs_of(problem.channel))
        return self.engine.reduce(DeviceNoise(score, designs, sample.fraction), sample.source)

    def expected_information(self, theta: Floats) -> Floats:
        """The information that reports have on average at these parameters: positive, also far from the maximum."""
        truths = self.problem.truths
        if not self.problem.listed:
            # What other reports there might have been is not known: the curvature as these have it, and its size.
            values, vectors = np.linalg.eigh(self.sums(theta).information)
            return np.asarray((vectors * np.abs(values)) @ vectors.T)
        information: Floats = self.engine.reduce(self._by_unit(self.softmax(theta)), self.source).second[0]
        return information if truths is None else truths.pulled_square(information)

    def _by_unit(self, theta: Floats, units: int = 0, outer: bool = False) -> GroupedScores:
        problem, geometry = self.problem, self.geometry
        designs = tuple((rows.start, rows.stop) for _, _, rows in designs_of(problem.channel))
        table = self.table(problem.method)
        return GroupedScores(theta, table, problem.method, problem.intercept, geometry.centre, designs, units, outer)

    def objective(
        self,
        source: RecordSource,
        penalty: Floats,
        unit: float,
        method: Method | None = None,
        *,
        with_outer: bool = False,
    ) -> Callable[[Floats], Local]:
        """Return ``unit`` times the objective less a quadratic penalty, as a function of the parameters."""
        method = method or self.problem.method
        table, shape, used = self.table(method), self.zero().shape, self.used.astype(float)
        both_used = np.outer(used, used)

        def local(flat: Floats) -> Local:
            sums = self._sums(flat.reshape(shape), table, method, source, with_outer)
            pull = penalty @ flat
            value = sums.objective - 0.5 * float(flat @ pull)
            information = (sums.information + penalty) * both_used
            return Local(unit * value, unit * used * (sums.gradient - pull), unit * information, sums.outer)

        return local

    def slope(
        self, theta: Floats, source: RecordSource, penalty: Floats, method: Method | None = None
    ) -> tuple[float, Floats]:
        """The objective less a quadratic penalty, and its gradient, at some parameters: without its curvature."""
        method, truths = method or self.problem.method, self.problem.truths
        table, intercept = self.table(method), self.problem.intercept
        score = SoftmaxSlope(self.softmax(theta), table, method, intercept, self.geometry.centre)
        sums = self.engine.reduce(score, source)
        gradient = sums.gradient if truths is None else truths.pulled(sums.gradient)
        pull = penalty @ theta.ravel()
        return sums.objective - 0.5 * float(theta.ravel() @ pull), gradient - pull

    def asked_penalty(self) -> Floats:
        """The ridge that the user asked for, in the features' own units; the intercept is free."""
        weights = np.full(self.width, self.problem.ridge or 0.0)
        if self.problem.intercept:
            weights[0] = 0.0
        # A ridge is on the parameters as they are reported: features of one's own are not coupled.
        coupled = coupling(self.classes) if self.problem.truths is None else np.eye(self.free)
        penalty: Floats = np.kron(coupled, np.diag(weights)).astype(float)
        return penalty

    def coupled(self) -> Floats:
        """How much the logits of the truths differ, as a quadratic form in one column's parameters."""
        truths, of_truths = self.problem.truths, coupling(self.classes)
        return of_truths if truths is None else np.asarray(truths.contrasts.T @ of_truths @ truths.contrasts)

    def label_noise(self) -> float:
        """The variance of an unbiased label, at least that of a guessed one."""
        law, truths = self.reports.law, self.problem.truths
        try:
            weights = self.table("moments").T[1:] if truths is None else self.table("moments").T
        except Unidentifiable:
            return 1.0
        return float(max((weights**2 @ law - (weights @ law) ** 2).max(), 1 / self.classes**2))


def coupling(classes: int) -> Floats:
    """Penalise two classes by their one coefficient vector, more by the symmetric representation."""
    if classes == 2:
        return np.ones((1, 1))
    rows = symmetric(np.eye(classes - 1))
    coupled: Floats = rows.T @ rows
    return coupled
