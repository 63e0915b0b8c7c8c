"""Ways to release a mean operator, and which of them errs least.

Central noise is added to sums of features by class; response changes every label before anything is added up. What each
of them costs in squared error follows from public numbers, so that comparing them costs no privacy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import Label
from askance.channels.labels.randomized_response import RandomizedResponse
from askance.entropy.bits import BitSource
from askance.errors import InvalidInput
from askance.mechanisms.accounting.mechanism_losses import total_loss
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.accounting.response_loss import ChannelLoss
from askance.mechanisms.budget import Budget
from askance.mechanisms.sums.label_sums import LabelSums, Rows, rounded_blocks
from askance.mechanisms.total_noise import Sensitivity, TotalGaussian, TotalLaplace, TotalNoise, TotalRadial

_CENTRAL: dict[str, type[TotalLaplace] | type[TotalRadial] | type[TotalGaussian]] = {
    "laplace": TotalLaplace,
    "knorm": TotalRadial,
    "gaussian": TotalGaussian,
}
_LARGEST_RESPONSE = 30.0  # beyond it, response has no integers left to draw from


class Drawn(NamedTuple):
    """The values of a mean operator, and the covariance of their noise, all values in a row."""

    values: Floats
    covariance: Floats


class SumMechanism(Protocol):
    """A mechanism, calibrated and ready to draw."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def how_known(self) -> str:
        """Why its guarantee holds."""

    @property
    def cost(self) -> Budget:
        """What it spends."""

    @property
    def epsilon(self) -> float:
        """The level that is really given; never above what is spent."""

    def loss(self, sums: LabelSums) -> PrivacyLoss:
        """Return what it gives away."""

    def error(self, sums: LabelSums) -> float:
        """Return the expected squared error of the mean operator, all values together."""

    def covariance(self, sums: LabelSums) -> Floats | None:
        """Return the covariance of the noise of all values, where it follows from public numbers."""

    def draw(self, sums: LabelSums, features: Rows, codes: Any, source: BitSource) -> Drawn:
        """Draw the release."""


def choose_sum_mechanism(
    mechanism: str, sums: LabelSums, budget: Budget, classes: tuple[Label, ...]
) -> tuple[SumMechanism, dict[str, float]]:
    """Calibrate a mechanism, or with "auto" the one of least error; return it and the errors that were compared."""
    names = possible_mechanisms(mechanism, budget)
    calibrated = [_calibrated(name, sums, budget, classes) for name in names]
    errors = {each.name: each.error(sums) for each in calibrated}
    return min(calibrated, key=lambda each: errors[each.name]), errors


def possible_mechanisms(mechanism: str, budget: Budget) -> tuple[str, ...]:
    """Return the mechanisms that a name stands for at a level: itself, or with "auto" all that can give it."""
    if budget.delta and mechanism not in ("auto", "gaussian"):
        raise InvalidInput(f"delta={float(budget.delta):g} with mechanism={mechanism!r}", "delta=0, or 'gaussian'")
    if mechanism == "gaussian":
        budget.require_delta(mechanism)
    if mechanism != "auto":
        return (mechanism,)
    gaussian = ("gaussian",) if budget.delta else ()
    response = ("response",) if budget.epsilon <= _LARGEST_RESPONSE else ()
    return ("laplace", "knorm", *gaussian, *response)


def _calibrated(name: str, sums: LabelSums, budget: Budget, classes: tuple[Label, ...]) -> SumMechanism:
    pure = Budget(budget.epsilon)
    if name == "response":
        return _Response(pure, classes)
    cost = budget if name == "gaussian" else pure
    return _Central(cost, _CENTRAL[name].calibrated(sensitivity(sums), cost))


def sensitivity(sums: LabelSums) -> Sensitivity:
    """Return how far one label can move the sums that are released.

    With two classes the sum of the second class is enough: that of the first is the public rest. With more, a label
    that changes leaves one row and enters another.
    """
    classes, width = sums.shape
    moved = 1 if classes == 2 else 2
    return Sensitivity(moved * sums.one_norm, moved * sums.squared_two_norm, width if classes == 2 else classes * width)


@dataclass(frozen=True, eq=False)
class _Central:
    """Noise on the sums."""

    cost: Budget
    noise: TotalNoise

    @property
    def name(self) -> str:
        return self.noise.name

    @property
    def how_known(self) -> str:
        return self.noise.how_known

    @property
    def epsilon(self) -> float:
        return float(self.cost.epsilon)

    def loss(self, sums: LabelSums) -> PrivacyLoss:
        return total_loss(self.noise, sensitivity(sums))

    def _variance(self, sums: LabelSums) -> float:
        """The variance of each value."""
        classes = sums.shape[0]
        factor = 4.0 if classes == 2 else 1 - 1 / classes  # see `values`
        return factor * self.noise.variance * (sums.step / sums.rows) ** 2

    def error(self, sums: LabelSums) -> float:
        return self._variance(sums) * math.prod(sums.shape) / (2 if sums.shape[0] == 2 else 1)

    def covariance(self, sums: LabelSums) -> Floats:
        classes, width = sums.shape
        if classes == 2:
            return np.eye(width) * self._variance(sums)
        # The common part of all classes was taken away.
        apart: Floats = (np.eye(classes) - 1 / classes) / (1 - 1 / classes)
        return np.asarray(np.kron(apart, np.eye(width)) * self._variance(sums), dtype=np.float64)

    def draw(self, sums: LabelSums, features: Rows, codes: Any, source: BitSource) -> Drawn:
        return Drawn(values_from(sums, self.noise.draw(source)), self.covariance(sums))


def values_from(sums: LabelSums, noise: Sequence[int]) -> Floats:
    """Return the mean operator of noisy sums.

    With two classes it is (2 s - t) / m for the noisy sum s of the second class and the public sum t of all rows. With
    more, the noisy sums are moved, all by the same, to add up to the public sum, which takes 1/K of the noise away.
    """
    classes, width = sums.shape
    public = sums.totals.sum(axis=0)
    if classes == 2:
        numerators, denominator = 2 * (sums.totals[1] + np.array(noise, dtype=object)) - public, sums.rows
    else:
        noisy = sums.totals + np.array(noise, dtype=object).reshape(classes, width)
        numerators, denominator = classes * noisy - (noisy.sum(axis=0) - public), classes * sums.rows
    # Whole numbers of any size, divided with one rounding. The noise is in already: doubles can tell nothing more.
    quotients = [math.ldexp(int(number) / denominator, -sums.step_bits) for number in numerators.ravel()]
    return np.array(quotients).reshape(numerators.shape)


@dataclass(frozen=True, eq=False)
class _Response:
    """Randomised response of every label, and unbiased sums of the features by what was reported."""

    cost: Budget
    classes: tuple[Label, ...]

    name: str = "response"
    how_known: str = (
        "every label goes through randomised response, drawn from exact integers, before anything is added up: the "
        "level is that of one report"
    )

    @cached_property
    def _channel(self) -> RandomizedResponse:
        wanted = float(self.cost.epsilon)
        # The nearest double may be above the exact number.
        return RandomizedResponse(
            tuple(range(len(self.classes))),
            epsilon=wanted if wanted <= self.cost.epsilon else math.nextafter(wanted, 0),
        )

    @property
    def epsilon(self) -> float:
        return self._channel.guarantee.epsilon

    def loss(self, sums: LabelSums) -> PrivacyLoss:
        return ChannelLoss(self._channel)

    @cached_property
    def _spreads(self) -> tuple[float, float]:
        """The variance of the unbiased indicator of a class, for a person who is in it and for one who is not."""
        kept, moved = self._channel.matrix[0, 0], self._channel.matrix[1, 0]
        gap = (kept - moved) ** 2
        return float(kept * (1 - kept) / gap), float(moved * (1 - moved) / gap)

    def error(self, sums: LabelSums) -> float:
        own, other = self._spreads
        # y = 2 [second class] - 1; else all K indicators together, which is the same for everybody.
        spread = 4 * own if len(self.classes) == 2 else own + (len(self.classes) - 1) * other
        return spread * sums.squared_sum * (sums.step / sums.rows) ** 2

    def covariance(self, sums: LabelSums) -> None:
        return None  # it depends on the features of those who report each class

    def draw(self, sums: LabelSums, features: Rows, codes: Any, source: BitSource) -> Drawn:
        reports = self._channel.draw(self._channel.prepare(codes).values, source)
        totals, grams = _sums_of_reports(sums, features, reports)
        guess = self._channel.unbiasing_matrix()  # classes x reports
        # Cov(guess | truth k) = sum_o S[o, k] b(o) b(o)' - e_k e_k'; the truth of a report is guessed as before.
        seconds = np.einsum("ok,io,jo->kij", self._channel.matrix, guess, guess)
        each = np.arange(len(guess))
        seconds[each, each, each] -= 1
        covariance = np.einsum("kij,kab->iajb", seconds, np.einsum("ko,oab->kab", guess, grams))
        unit = sums.step / sums.rows
        values = guess @ totals * unit
        if len(self.classes) == 2:  # y = [second class] - [first class]
            signs = np.array([-1.0, 1.0])
            return Drawn(signs @ values, np.einsum("i,iajb,j->ab", signs, covariance, signs) * unit**2)
        return Drawn(values, covariance.reshape(values.size, values.size) * unit**2)


def _sums_of_reports(sums: LabelSums, features: Rows, reports: Any) -> tuple[Floats, Floats]:
    """Return the sums of the rounded features x and of their products x x', by report."""
    classes, width = sums.shape
    intercept = width - features.shape[1]
    totals, grams = np.zeros((classes, width)), np.zeros((classes, width, width))
    for rows, steps in rounded_blocks(features, sums.step_bits):
        whole = np.column_stack([np.full((len(steps), intercept), math.ldexp(1.0, sums.step_bits)), steps])
        for report in range(classes):
            mine = whole[reports[rows] == report]
            totals[report] += mine.sum(axis=0)
            grams[report] += mine.T @ mine
    return totals, grams
