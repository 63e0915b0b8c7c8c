"""What several releases about the same people cost together."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.accounting.response_loss import channel_loss
from askance.mechanisms.accounting.tail_of_sums import IndependentSum, SumTail

_PER_LOSS = 400.0  # steps of the grid within a typical loss: they add at most 2e-6 to the variance of the sum
_MOST_PLACES = float(1 << 18)  # of a window that is wide enough: with very many releases the grid is coarser
_WIDE = 24.0  # standard deviations of the sum, as wide as windows get for delta = 1e-12
_ADDED = 1e-15  # relative: rounding errors of a sum


@dataclass(frozen=True)
class Composition:
    """A list of releases that was fixed before the first of them was made.

    What each release says may depend on those before it. Which mechanisms are used, and at which levels, may not: for
    choices that depend on earlier releases there are filters.

    Parameters
    ----------
    losses : tuple
        Each loss with how often it occurs.

    Examples
    --------
    >>> from askance.mechanisms.accounting import GaussianLoss
    >>> hundred = Composition.of([GaussianLoss.of(0.1, 1e-8)] * 100)
    >>> round(hundred.epsilon(1e-6), 3)
    0.914

    References
    ----------
    Zhu, Dong & Wang (2022), theorem 10: laws that dominate each mechanism dominate, composed, what is composed.
    """

    losses: tuple[tuple[PrivacyLoss, int], ...]

    @classmethod
    def of(cls, releases: Iterable[Any]) -> "Composition":
        """Count equal releases; channels stand for a report through them."""
        counted = Counter(each if isinstance(each, PrivacyLoss) else channel_loss(each) for each in releases)
        if not counted:
            raise InvalidInput("no releases", "at least one")
        return cls(tuple(counted.items()))

    @property
    def largest(self) -> float:
        """The sum of the largest finite losses: plain addition of levels."""
        return math.fsum(times * loss.epsilon for loss, times in self.losses) * (1 + _ADDED)

    @property
    def infinite(self) -> float:
        """The probability that some outcome is one that a neighbour cannot give."""
        kept = math.fsum(
            times * math.log1p(-min(loss.infinite, 1.0)) for loss, times in self.losses if loss.infinite < 1
        )
        return 1.0 if any(loss.infinite >= 1 for loss, _ in self.losses) else -math.expm1(kept) * (1 + _ADDED)

    @cached_property
    def _sum(self) -> IndependentSum:
        count = sum(times for _, times in self.losses)
        spread = math.sqrt(math.fsum(times * loss.size**2 for loss, times in self.losses))
        step = max(spread / math.sqrt(count) / _PER_LOSS, _WIDE * spread / _MOST_PLACES)
        return IndependentSum([loss.law.on_grid(step, times) for loss, times in self.losses])

    def epsilon(self, delta: float) -> float:
        """Return a level epsilon that all releases together give at delta, never below the least."""
        if not 0 <= delta < 1:
            raise InvalidInput(f"delta={delta!r}", "a number from 0 to less than 1")
        failing = self.infinite
        if failing > delta or (delta == 0 and not math.isfinite(self.largest)):
            return math.inf
        if failing == delta:
            return self.largest
        tail = SumTail(self._sum, delta - failing)
        low, high = 0.0, self.largest
        if math.isinf(high):
            high = max(self._sum.quantile_bound(delta - failing), 0.0) + self._sum.step
            while self._delta(tail, high) > delta:
                low, high = high, 2 * high
        if self._delta(tail, low) <= delta:
            return low
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self._delta(tail, middle) > delta else (low, middle)
        return high

    def delta(self, epsilon: float) -> float:
        """Return a delta that all releases together give at a level, never below the least."""
        if not epsilon >= 0:
            raise InvalidInput(f"epsilon={epsilon!r}", "a number of at least 0")
        if epsilon >= self.largest:
            return self.infinite
        return min(self._delta(SumTail(self._sum, self._sum.exceedance_bound(epsilon)), epsilon), 1.0)

    def profile(self, epsilon: Iterable[float]) -> Floats:
        """Return delta by epsilon."""
        return np.array([self.delta(float(level)) for level in epsilon])

    def _delta(self, tail: SumTail, epsilon: float) -> float:
        return self.infinite + tail.mean(lambda loss: -np.expm1(epsilon - loss), above=epsilon, most=1.0)


def compose(releases: Iterable[Any], *, delta: float) -> float:
    """Return the level epsilon, at some delta, of a list of releases that was fixed before the first was made.

    Parameters
    ----------
    releases : iterable
        Privacy losses, or channels through which a person reports.
    delta : float

    Examples
    --------
    >>> from askance import Warner
    >>> from askance.mechanisms.accounting import LevelLoss
    >>> round(compose([LevelLoss.of(0.1)] * 100, delta=1e-6), 3), round(compose([Warner(0.55)] * 10, delta=1e-3), 3)
    (4.775, 1.598)
    """
    return Composition.of(releases).epsilon(delta)


def profile(releases: Iterable[Any], epsilon: Iterable[float]) -> Floats:
    """Return delta by epsilon, of a list of releases that was fixed before the first was made.

    Examples
    --------
    >>> from askance.mechanisms.accounting import LevelLoss
    >>> profile([LevelLoss.of(0.1)] * 100, [0, 1, 2]).round(4)
    array([0.382 , 0.1257, 0.0201])
    """
    return Composition.of(releases).profile(epsilon)
