"""Whether a budget allows one more release, when each is chosen after seeing those before it.

A law of the loss that was composed in advance says nothing about levels that were chosen on the way: to stop when such
a law reaches the budget is not private in general. What may be chosen freely are sums of one number for each
release, and the rule must be fixed before the first:

- ``sums``: epsilon and delta are added up (Rogers, Roth, Ullman & Vadhan, 2016).
- ``gdp``: squares of mu are added up. If every release, whatever came before it, is mu_t-GDP, and the sum of mu_t^2
  never exceeds mu^2, then all together are mu-GDP (Smith & Thakurta, 2022).
- ``renyi``: Renyi divergences of one order are added up. If every release, whatever came before it, has a divergence
  of at most rho_t, and the sum never exceeds rho, then all together have at most rho (Feldman & Zrnic, 2021, theorem
  4.3; Lecuyer, 2021).

The last two keep a part of delta aside for outcomes that a neighbour cannot give: with a probability of at most the sum
of theirs there is one among all releases (approximate divergences, as in Whitehouse, Ramdas, Rogers & Wu, 2023).

They also allow what plain sums allow, as long as all losses have a bound. That is sound although nobody knows in
advance which of the two will allow the last release. Both sums only grow. So where plain sums are kept in the end, the
loss is at most epsilon. Where they are not, the other rule was kept all the way, and all outcomes of this kind are also
outcomes of the process that stops as soon as it is broken, for which they add up to at most delta.

- ``either`` is plain sums with one half of delta, or ``gdp`` with the other half, whichever allows more, for losses
  with and without a bound. The same argument holds: both rules, once broken, stay so. Outcomes for which the first is
  kept in the end are outcomes of the process that stops when it is broken, which is (epsilon, delta / 2)-private; all
  others are outcomes of the process that stops when the second is broken, which is so, too.

Which rule it is may be decided by anything that does not depend on the data, and must be fixed before the first
release: levels and mechanisms of the first release are chosen from public numbers, so it may decide.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from askance.errors import InvalidInput
from askance.mechanisms.accounting.level_loss import LevelLoss
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.budget import NOTHING, Budget
from askance.mechanisms.total_noise import gaussian_deviation

_ASIDE = Fraction(
    1, 100
)  # of delta, for outcomes that a neighbour cannot give: it costs a hundredth of epsilon or less
_ROUNDING = 1e-9  # relative: far beyond the rounding errors of the sums
_CALIBRATION = 1e-5  # relative: of the squared ratio for which normal noise has a level, down to levels of 1e-12
_SAME = 1e-12  # relative: a loss that exceeds its level by less does so by rounding errors only


_NO_DELTA = "filter={!r} with delta=0"


class Spend(NamedTuple):
    """Something that was paid for: its level in exact numbers, and the losses of which it consists."""

    level: Budget
    losses: tuple[PrivacyLoss, ...]


@dataclass(frozen=True)
class PrivacyFilter(ABC):
    """A rule that says whether releases, each chosen after seeing those before it, keep a budget together."""

    budget: Budget

    kind: ClassVar[str]

    @abstractmethod
    def allows(self, spends: Sequence[Spend]) -> bool:
        """Return whether the budget is kept by all these together."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able description, without the budget."""
        return {"filter": self.kind}

    def largest_level(self, spends: Sequence[Spend]) -> float:
        """Return about the largest epsilon, with delta 0, of which one more release would be allowed."""
        low, high = 0.0, 1.0
        while high < 2 * float(self.budget.epsilon):
            high *= 2
        for _ in range(40):
            middle = (low + high) / 2
            level = Budget.of(middle)
            fits = self.allows([*spends, Spend(level, (LevelLoss(level),))])
            low, high = (middle, high) if fits else (low, middle)
        return low


class SumsFilter(PrivacyFilter):
    """Levels add up, in exact numbers.

    Examples
    --------
    >>> rule = SumsFilter(Budget.of("0.3"))
    >>> tenth = Spend(Budget.of("0.1"), (LevelLoss.of("0.1"),))
    >>> rule.allows([tenth] * 3), rule.allows([tenth] * 4)
    (True, False)
    """

    kind: ClassVar[str] = "sums"

    def allows(self, spends: Sequence[Spend]) -> bool:
        return sum((spend.level for spend in spends), start=NOTHING).within(self.budget)

    def largest_level(self, spends: Sequence[Spend]) -> float:
        left = self.budget - sum((spend.level for spend in spends), start=NOTHING)
        return max(float(left.epsilon), 0.0) if left.delta >= 0 else 0.0


@dataclass(frozen=True)
class _LossFilter(PrivacyFilter):
    """A sum of one number for each loss."""

    def __post_init__(self) -> None:
        if not self.budget.delta:
            raise InvalidInput(_NO_DELTA.format(self.kind), "a positive delta such as 1e-6", "Or filter='sums'.")

    @cached_property
    def _rare(self) -> float:
        """The delta of what is finite."""
        return float(self.budget.delta * (1 - _ASIDE)) * (1 - _SAME)

    @property
    @abstractmethod
    def limit(self) -> float:
        """What the sum may reach."""

    @abstractmethod
    def part(self, loss: PrivacyLoss) -> float:
        """Return what one loss adds to the sum."""

    def allows(self, spends: Sequence[Spend]) -> bool:
        infinite = math.fsum(loss.infinite for spend in spends for loss in spend.losses) * (1 + _ROUNDING)
        if infinite > self.budget.delta * _ASIDE:
            return False
        return self._sums_allow(spends) or self.used(spends) <= 1

    def used(self, spends: Sequence[Spend]) -> float:
        """Return the share of the limit that is used."""
        return math.fsum(self.part(loss) for spend in spends for loss in spend.losses) * (1 + _ROUNDING) / self.limit

    def _sums_allow(self, spends: Sequence[Spend]) -> bool:
        bounded = all(
            math.fsum(loss.epsilon for loss in spend.losses) <= float(spend.level.epsilon) * (1 + _SAME)
            for spend in spends
        )
        return bounded and sum((spend.level.epsilon for spend in spends), start=Fraction(0)) <= self.budget.epsilon


@dataclass(frozen=True)
class GaussianFilter(_LossFilter):
    """Squares of mu add up.

    A pure level epsilon is mu-GDP with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)), about 1.25 epsilon.

    Examples
    --------
    >>> from askance.mechanisms.accounting import GaussianLoss
    >>> rule = GaussianFilter(Budget.of("0.915", "1e-6"))
    >>> noise = Spend(Budget.of("0.1", "1e-8"), (GaussianLoss.of(0.1, 1e-8),))
    >>> rule.allows([noise] * 100), rule.allows([noise] * 101)
    (True, False)
    """

    kind: ClassVar[str] = "gdp"

    @cached_property
    def limit(self) -> float:
        return gaussian_deviation(float(self.budget.epsilon), self._rare) ** -2 * (1 - _CALIBRATION)

    def part(self, loss: PrivacyLoss) -> float:
        return loss.gaussian_level**2


@dataclass(frozen=True)
class RenyiFilter(_LossFilter):
    """Renyi divergences of one order add up.

    Parameters
    ----------
    budget : Budget
    order : float
        Above 1. The best one for normal noise, if not given.

    Examples
    --------
    >>> rule = RenyiFilter.best(Budget.of(1, "1e-6"))
    >>> small = Spend(Budget.of("0.01"), (LevelLoss.of("0.01"),))
    >>> rule.order, rule.allows([small] * 490), rule.allows([small] * 491)
    (22.0, True, False)

    References
    ----------
    Canonne, Kamath & Steinke (2020), proposition 12, for delta = e^((order - 1)(rho - epsilon)) (1 - 1/order)^order /
    (order - 1).
    """

    order: float

    kind: ClassVar[str] = "renyi"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.order > 1 and math.isfinite(self.order)):
            raise InvalidInput(f"order={self.order!r}", "a number above 1")
        if self.limit <= 0:
            raise InvalidInput(f"order={self.order!r} for {self.budget}", "a larger order, for which something is left")

    @classmethod
    def best(cls, budget: Budget) -> "RenyiFilter":
        """Return the filter of the order that leaves most for normal noise, whose divergence grows with the order."""
        orders = 1 + np.geomspace(1e-3, 1e9, 2000)
        rare = float(budget.delta * (1 - _ASIDE)) or 1.0
        left = [_largest_divergence(float(budget.epsilon), rare, order) / order for order in orders]
        return cls(budget, float(f"{orders[int(np.argmax(left))]:.3g}"))

    @cached_property
    def limit(self) -> float:
        return _largest_divergence(float(self.budget.epsilon), self._rare, self.order) * (1 - _ROUNDING)

    def part(self, loss: PrivacyLoss) -> float:
        return _renyi(loss, self.order)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"order": self.order}


@lru_cache(maxsize=4096)  # a ledger asks for the same losses again and again
def _renyi(loss: PrivacyLoss, order: float) -> float:
    return loss.renyi(order)


def _largest_divergence(epsilon: float, delta: float, order: float) -> float:
    """The largest Renyi divergence of some order that is (epsilon, delta)-private."""
    return epsilon + (math.log(delta) + math.log(order - 1) - order * math.log1p(-1 / order)) / (order - 1)


@dataclass(frozen=True)
class EitherFilter(PrivacyFilter):
    """Levels add up with one half of delta, or squares of mu with the other, whichever allows more.

    Examples
    --------
    >>> from askance.mechanisms.accounting import GaussianLoss
    >>> rule = EitherFilter(Budget.of(1, "1e-6"))
    >>> noise = Spend(Budget.of("0.1", "1e-8"), (GaussianLoss.of(0.1, 1e-8),))
    >>> large = Spend(Budget.of("0.9"), (LevelLoss.of("0.9"),))
    >>> rule.allows([noise] * 100), rule.allows([noise, large]), GaussianFilter(rule.budget).allows([noise, large])
    (True, True, False)
    """

    kind: ClassVar[str] = "either"

    @cached_property
    def _rules(self) -> tuple[PrivacyFilter, PrivacyFilter]:
        half = Budget(self.budget.epsilon, self.budget.delta / 2)
        return SumsFilter(half), GaussianFilter(half)

    def __post_init__(self) -> None:
        if not self.budget.delta:
            raise InvalidInput(_NO_DELTA.format(self.kind), "a positive delta such as 1e-6", "Or filter='sums'.")

    def allows(self, spends: Sequence[Spend]) -> bool:
        return any(rule.allows(spends) for rule in self._rules)


FILTERS: tuple[type[PrivacyFilter], ...] = (SumsFilter, GaussianFilter, RenyiFilter, EitherFilter)


def filter_from_dict(spec: Mapping[str, Any], budget: Budget) -> PrivacyFilter:
    """Make the filter that :meth:`PrivacyFilter.to_dict` described.

    Examples
    --------
    >>> filter_from_dict({"filter": "renyi", "order": 20.0}, Budget.of(1, "1e-6")).order
    20.0
    """
    kinds = {rule.kind: rule for rule in FILTERS}
    if not isinstance(spec, Mapping) or spec.get("filter") not in kinds:
        raise InvalidInput(f"a filter {spec!r}", f"one of {', '.join(kinds)}")
    if spec["filter"] != RenyiFilter.kind:
        return kinds[spec["filter"]](budget)
    order = spec.get("order")
    if order is None:
        return RenyiFilter.best(budget)
    if isinstance(order, bool) or not isinstance(order, int | float):
        raise InvalidInput(f"order={order!r}", "a number above 1")
    return RenyiFilter(budget, float(order))
