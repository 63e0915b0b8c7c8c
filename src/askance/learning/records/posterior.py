"""Mean and variance of the truth of every coordinate, given its report: all that the collapsed likelihood needs.

Noise and prior are factorised, so each coordinate is on its own, and all are closed form:

- state flips: the truth is the report with probability lambda = a pi(x~) / (a pi(x~) + b), and else a draw from pi;
- other finite laws: Bayes' rule, a table of K reports;
- normal noise under a normal prior: (68)-(69); Laplace noise under one: two pieces of truncated normals.
"""

from collections.abc import Sequence, Sized
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.noise_law import Law, NoiseCoordinate
from askance.errors import InvalidInput
from askance.learning.records.prior import BLOCK, NormalPrior, ReportsInMemory, SeenReports, learned_states


class Moments(NamedTuple):
    """Posterior means (n x d) and variances (n x d, or 1 x d where they do not depend on the report)."""

    mean: Floats
    variance: Floats


class Reliability(NamedTuple):
    """Of each coordinate: the prior's mean and variance, and the share of the variance that reports explain."""

    mean: Floats
    variance: Floats
    explained: Floats


class GroupPosterior(Protocol):
    """The posterior of coordinates that share a law."""

    def moments(self, reports: NDArray[Any]) -> Moments: ...

    def reliability(self) -> Reliability: ...

    def prior(self) -> dict[str, Floats]:
        """The prior, as arrays to keep."""


@dataclass(frozen=True, eq=False)
class FinitePosterior:
    """Of finite coordinates: one table of means and one of variances, looked up by the report's code."""

    law: FiniteCoordinate
    weights: Floats  # d x K
    means: Floats = field(init=False)  # d x K, by report
    variances: Floats = field(init=False)
    chances: Floats = field(init=False)  # of each report

    def __post_init__(self) -> None:
        values = self.law.values.astype(float)
        mean, square = self.weights @ values, self.weights @ values**2
        if self.law.is_flip and self.law.a > 0:
            kept = float(self.law.a) * self.weights
            chance = kept + float(self.law.b)
            keep = np.divide(kept, chance, out=np.ones_like(kept), where=chance > 0)
            first = keep * values + (1 - keep) * mean[:, None]
            second = keep * values**2 + (1 - keep) * square[:, None]
        else:
            chance = self.weights @ self.law.matrix.T
            share = np.divide(1.0, chance, out=np.zeros_like(chance), where=chance > 0)
            first = share * (self.weights * values @ self.law.matrix.T)
            second = share * (self.weights * values**2 @ self.law.matrix.T)
            never = chance <= 0  # a report that cannot happen under this prior says nothing
            first, second = np.where(never, mean[:, None], first), np.where(never, square[:, None], second)
        vars(self).update(means=first, variances=np.maximum(second - first**2, 0.0), chances=chance)

    def moments(self, reports: NDArray[Any]) -> Moments:
        found = Moments(np.empty(reports.shape), np.empty(reports.shape))
        first = len(self.law.values) * np.arange(len(self.weights))
        for start in range(0, len(reports), BLOCK):
            rows = slice(start, start + BLOCK)
            cells = reports[rows].astype(np.intp) + first
            for table, out in zip((self.means, self.variances), found, strict=True):
                table.ravel().take(cells, out=out[rows], mode="clip")  # codes were checked; "raise" would copy
        return found

    def reliability(self) -> Reliability:
        values = self.law.values.astype(float)
        mean = self.weights @ values
        variance = np.maximum(self.weights @ values**2 - mean**2, 0.0)
        explained = (self.chances * (self.means - mean[:, None]) ** 2).sum(axis=1)
        return Reliability(mean, variance, _share(explained, variance))

    def prior(self) -> dict[str, Floats]:
        return {"weights": self.weights}


@dataclass(frozen=True, eq=False)
class NoisePosterior:
    """Of numbers with added noise, under a normal prior; an infinite variance is the flat prior."""

    law: NoiseCoordinate
    normal: NormalPrior

    def moments(self, reports: NDArray[Any]) -> Moments:
        mean, variance, noise = self.normal.mean, self.normal.variance, self.law.variance
        flat = ~np.isfinite(variance)
        if not self.law.hides or flat.all():
            return Moments(reports, np.full((1, reports.shape[1]), noise))
        found = Moments(*self.law.posterior(reports, mean, np.where(flat, 1.0, variance)))
        if flat.any():
            found.mean[:, flat], found.variance[:, flat] = reports[:, flat], noise
        return found

    def reliability(self) -> Reliability:
        variance, noise = self.normal.variance, self.law.variance
        finite = np.where(np.isfinite(variance), variance, 1.0)
        # Exact for normal noise; for Laplace noise what the best linear predictor explains, which is a little less.
        explained = np.where(np.isfinite(variance), finite / (finite + noise), 1.0)
        return Reliability(self.normal.mean, variance, explained)

    def prior(self) -> dict[str, Floats]:
        return {"mean": self.normal.mean, "variance": self.normal.variance}


@dataclass(frozen=True, eq=False)
class FeaturePosterior:
    """The posterior of whole records: groups of coordinates that share a law."""

    width: int
    groups: tuple[tuple[GroupPosterior, NDArray[np.intp]], ...]

    @classmethod
    def fitted(
        cls, channel: FeatureChannel, reports: NDArray[Any], prior: Any, weights: Floats | None = None
    ) -> "FeaturePosterior":
        """Learn the prior from reports (codes of finite coordinates, numbers of others), or take a given one."""
        return cls.learned(channel, ReportsInMemory(reports, weights), prior)

    @classmethod
    def learned(cls, channel: FeatureChannel, seen: SeenReports, prior: Any) -> "FeaturePosterior":
        """The same from what was seen of the reports, wherever they are."""
        _refuse_other_width(prior, channel.width)
        return cls(
            channel.width, tuple((_group(law, seen, prior, columns), columns) for law, columns in channel.groups)
        )

    @classmethod
    def restored(cls, channel: FeatureChannel, priors: Sequence[dict[str, Floats]]) -> "FeaturePosterior":
        """Make it again from what :meth:`priors` returned."""
        groups: list[tuple[GroupPosterior, NDArray[np.intp]]] = []
        for (law, columns), kept in zip(channel.groups, priors, strict=True):
            if law.is_finite:
                groups.append((FinitePosterior(law, kept["weights"]), columns))
            else:
                groups.append((NoisePosterior(law, NormalPrior(kept["mean"], kept["variance"])), columns))
        return cls(channel.width, tuple(groups))

    def priors(self) -> tuple[dict[str, Floats], ...]:
        """The priors of the groups, as arrays to keep."""
        return tuple(group.prior() for group, _ in self.groups)

    def moments(self, reports: NDArray[Any]) -> Moments:
        """Posterior mean and variance of every coordinate of every record."""
        if len(self.groups) == 1:
            return self.groups[0][0].moments(reports)
        parts = [(group.moments(reports[:, columns]), columns) for group, columns in self.groups]
        constant = all(len(part.variance) == 1 for part, _ in parts)
        mean = np.empty(reports.shape)
        variance = np.empty((1 if constant else len(reports), self.width))
        for part, columns in parts:
            mean[:, columns], variance[:, columns] = part.mean, part.variance
        return Moments(mean, variance)

    def reliability(self) -> Reliability:
        """The prior's moments and what reports explain, for every coordinate."""
        whole = np.empty((3, self.width))
        for group, columns in self.groups:
            whole[:, columns] = group.reliability()
        return Reliability(*whole)


def _group(law: Law, seen: SeenReports, prior: Any, columns: NDArray[np.intp]) -> GroupPosterior:
    width = len(columns)
    given = None if isinstance(prior, str) else prior
    if law.is_finite:
        states = len(law.values)
        if given is not None:
            return FinitePosterior(law, _given_weights(given, columns, states))
        if prior == "flat":
            return FinitePosterior(law, np.full((width, states), 1 / states))
        if prior == "gaussian":
            raise InvalidInput(
                "prior='gaussian' for a coordinate of finitely many states", "'learned', 'flat' or marginals"
            )
        return FinitePosterior(law, learned_states(seen.shares(columns, states), law))
    if given is not None:
        return NoisePosterior(law, _given_normal(given, columns))
    if prior == "flat":
        return NoisePosterior(law, NormalPrior.flat(width))
    return NoisePosterior(law, NormalPrior.learned(*seen.moments(columns), law.variance))


def _refuse_other_width(prior: Any, width: int) -> None:
    """Refuse a prior for another number of attributes than there are."""
    if isinstance(prior, str):
        return
    parts = [prior.get("mean"), prior.get("variance")] if isinstance(prior, dict) else [prior]
    for part in parts:
        if isinstance(part, Sized) and getattr(part, "shape", None) != () and len(part) != width:
            raise InvalidInput(f"a prior for {len(part)} attributes", f"one for each of the {width} that there are")


def _given_weights(given: Any, columns: NDArray[np.intp], states: int) -> Floats:
    if isinstance(given, dict):
        raise InvalidInput("a normal prior for a coordinate of finitely many states", "the probability of each state")
    try:
        weights = np.array([np.asarray(given[column], dtype=float) for column in columns])
    except (TypeError, ValueError, IndexError, KeyError):
        weights = np.empty(0)
    if weights.shape != (len(columns), states):
        raise InvalidInput("a prior of another shape", f"{states} probabilities for each of {len(columns)} coordinates")
    if not np.all(weights >= 0) or np.abs(weights.sum(axis=1) - 1).max() > 1e-6:
        raise InvalidInput("a prior with a row that is no distribution", "probabilities that sum to one")
    laws: Floats = weights / weights.sum(axis=1, keepdims=True)
    return laws


def _given_normal(given: Any, columns: NDArray[np.intp]) -> NormalPrior:
    pair = [given.get("mean"), given.get("variance")] if isinstance(given, dict) else [None, None]
    try:
        mean, variance = (np.asarray(one, dtype=float) for one in pair)
        mean, variance = (
            np.broadcast_to(one, (max(one.size, columns.max() + 1),))[columns] for one in (mean, variance)
        )
    except (TypeError, ValueError):
        raise InvalidInput(
            f"prior={given!r} for numbers with noise", "{'mean': ..., 'variance': ...}, numbers or one for each column"
        ) from None
    if not np.all(np.isfinite(mean)) or not np.all(variance > 0):
        raise InvalidInput(
            f"prior={given!r} for numbers with noise",
            "{'mean': ..., 'variance': ...} with finite means and positive variances",
        )
    return NormalPrior(mean, variance)


def _share(part: Floats, whole: Floats) -> Floats:
    share: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return np.minimum(share, 1.0)
