"""What is to be fitted to hidden answers, and its objective as a function of the parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from askance.arrays import Flags, Floats
from askance.channels.base import LabelChannel
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput
from askance.learning.answers.compliance import designs_of
from askance.learning.answers.feature_geometry import Geometry
from askance.learning.answers.replicate_weights import Replicates
from askance.learning.face.cluster_covariance import ClusterSpread, stratum_meat
from askance.learning.face.linear_parameters import parameter_names
from askance.learning.face.sampling_design import SampledUnits
from askance.solvers.newton import Local
from askance.solvers.softmax import symmetric
from askance.statistics.device_noise import DeviceNoise
from askance.statistics.frequencies import ReportCounts
from askance.statistics.grouped_scores import GroupedScores
from askance.statistics.joint_score import JointScore
from askance.statistics.softmax_score import Method, ScoreSums, SoftmaxScore


@dataclass(frozen=True, eq=False)
class SoftmaxProblem:
    """What is to be fitted: which channel, by which method, with which penalty and which intervals.

    Parameters
    ----------
    channel : finite channel
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
    """

    channel: LabelChannel
    method: Method
    ridge: float | None
    intercept: bool
    feature_names: Sequence[str]
    max_iterations: int = 200
    penalty: str = "auto"
    intervals: str = "auto"
    robust: bool = False

    @property
    def parameter_names(self) -> tuple[str, ...]:
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
    def width(self) -> int:
        return len(self.problem.feature_names) + self.problem.intercept

    @property
    def effective_unit(self) -> float:
        """What log-likelihoods are multiplied by so that they weigh as much as their number of independent reports."""
        return float(self.reports.weight.sum() / self.reports.squared_weight.sum()) if self.problem.robust else 1.0

    @property
    def used(self) -> Flags:
        """Which parameters are fitted at all: those of constant columns are not."""
        return np.tile(~self.geometry.constant, self.classes - 1)

    def zero(self) -> Floats:
        return np.zeros((self.classes - 1, self.width))

    def table(self, method: Method) -> Floats:
        channel = self.problem.channel
        if method == "marginal":
            return np.ascontiguousarray(channel.matrix)
        return np.ascontiguousarray(channel.unbiasing_matrix(self.reports.law).T)

    def statistic(self, theta: Floats, method: Method | None = None, with_outer: bool = False) -> SoftmaxScore:
        method = method or self.problem.method
        return self.score(theta, self.table(method), method, with_outer)

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
        information: Floats = self.engine.reduce(self._by_unit(theta), self.source).second[0]
        return information

    def _by_unit(self, theta: Floats, units: int = 0, outer: bool = False) -> GroupedScores:
        problem, geometry = self.problem, self.geometry
        designs = tuple((rows.start, rows.stop) for _, _, rows in designs_of(problem.channel))
        table = self.table(problem.method)
        return GroupedScores(theta, table, problem.method, problem.intercept, geometry.centre, designs, units, outer)

    def score(self, theta: Floats, table: Floats, method: Method, with_outer: bool = False) -> SoftmaxScore:
        return SoftmaxScore(theta, table, method, self.problem.intercept, with_outer, self.geometry.centre)

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

        def local(flat: Floats) -> Local:
            sums = self.engine.reduce(self.score(flat.reshape(shape), table, method, with_outer), source)
            pull = penalty @ flat
            value = sums.objective - 0.5 * float(flat @ pull)
            information = (sums.information + penalty) * np.outer(used, used)
            return Local(unit * value, unit * used * (sums.gradient - pull), unit * information, sums.outer)

        return local

    def asked_penalty(self) -> Floats:
        """The ridge that the user asked for, in the features' own units; the intercept is free."""
        weights = np.full(self.width, self.problem.ridge or 0.0)
        if self.problem.intercept:
            weights[0] = 0.0
        penalty: Floats = np.kron(coupling(self.classes), np.diag(weights)).astype(float)
        return penalty


def coupling(classes: int) -> Floats:
    """Penalise two classes by their one coefficient vector, more by the symmetric representation."""
    if classes == 2:
        return np.ones((1, 1))
    rows = symmetric(np.eye(classes - 1))
    coupled: Floats = rows.T @ rows
    return coupled
