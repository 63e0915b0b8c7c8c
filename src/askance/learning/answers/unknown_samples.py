"""How people came into the sample, for models with unknown numbers: the variance of their scores, or replicates."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.learning.answers.replicate_weights import Replicates
from askance.learning.answers.unknown_objective import JointModel, Penalties, objective
from askance.learning.answers.unknown_problem import counted_model
from askance.learning.face.cluster_covariance import ClusterSpread, stratum_meat
from askance.learning.face.sampling_design import SampledUnits
from askance.solvers.damped_newton import climb
from askance.statistics.device_noise import DeviceNoise
from askance.statistics.frequencies import ReportFrequencies
from askance.statistics.grouped_joint_scores import GroupedJointScores


@dataclass(frozen=True, eq=False)
class UnknownSample:
    """Strata and clusters, or replicate weights, of the records that a model with unknown numbers is fitted to.

    Parameters
    ----------
    channel : channel with ``unknowns``
    engine : Engine
        Where the sums over the sample's records run.
    units : SampledUnits, optional
    replicates : Replicates, optional
        One of the two.
    """

    channel: Any
    engine: Engine
    units: SampledUnits | None = None
    replicates: Replicates | None = None

    @property
    def drawn(self) -> SampledUnits | Replicates | None:
        """What describes the sample; None for people who were drawn one by one."""
        return self.units if self.replicates is None else self.replicates

    @property
    def kind(self) -> str:
        """Where standard errors come from."""
        if self.replicates is not None:
            return "replicate weights"
        return "cluster (CR2)" if self.units is not None and self.units.clustered else "stratified"

    def spread(self, model: JointModel, standardised: Floats) -> tuple[Floats, ClusterSpread | None]:
        """The variance of the summed score, in the model's units, and its spread between clusters if there are any."""
        if self.units is None:
            raise ValueError("a sample without strata or clusters")
        score, outer = model.score_at(standardised), not self.units.clustered
        statistic = GroupedJointScores(score, self._designs, self.units.units, outer)
        sums = self.engine.reduce(statistic, self.units.source)
        square = np.outer(model.scaling, model.scaling)
        # Information counts a weight once, outer products of scores count it twice.
        power = model.unit if self.units.clustered else model.unit**2
        sums = sums._replace(score=model.unit * model.scaling * sums.score, second=power * square * sums.second)
        noise = np.zeros_like(square)
        if self.units.fraction.any():  # a coin is none of the population
            noise = self.engine.reduce(DeviceNoise(score, self._designs, self.units.fraction), self.units.source)
            noise = model.unit**2 * square * noise
        if not self.units.clustered:
            return stratum_meat(sums, self.units.fraction) + noise, None
        spread = ClusterSpread.of(sums, self.units.strata, self.units.fraction)
        return spread.meat() + noise, spread

    def expected_information(self, model: JointModel, standardised: Floats) -> Floats:
        """The expected information of all records, in the model's units."""
        sums = model.engine.reduce(GroupedJointScores(model.score_at(standardised), self._designs), model.source)
        expected: Floats = model.unit * np.outer(model.scaling, model.scaling) * sums.second[0]
        return expected

    @property
    def _designs(self) -> tuple[tuple[int, int], ...]:
        """The report codes of each design."""
        designs = getattr(self.channel, "designs", {"": self.channel}).values()
        return tuple(pairwise(np.cumsum([0, *(len(design.report_labels) for design in designs)]).tolist()))

    def replicated(self, model: JointModel, penalties: Penalties, standardised: Floats) -> Floats | None:
        """The covariance of standardised parameters by replicate weights, each fitted from the full fit."""
        if self.replicates is None:
            return None
        again = [climb(objective(of(model), penalties), standardised).theta for of in self._models()]
        return self.replicates.covariance(np.array(again), standardised)

    def _models(self) -> list[Callable[[JointModel], JointModel]]:
        """What makes of the model that with the weights of each replicate."""

        def of(source: Any) -> Callable[[JointModel], JointModel]:
            def weighted(model: JointModel) -> JointModel:
                if model.squared is None:
                    return replace(model, source=source)
                counts = self.engine.reduce(ReportFrequencies(self.channel.corners.shape[-2]), source)
                return replace(counted_model(self.channel, counts), unit=model.unit)

            return weighted

        return [of(source) for source in (self.replicates.sources if self.replicates is not None else ())]
