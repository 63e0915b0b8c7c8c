"""Choose one of M random proposals, the B best ones more often: how much is learned, and what it costs.

A direction u is hidden by drawing M normal vectors g, ranking them by u.g, and reporting one: each of the B best with
weight ``high``, each of the others with weight ``low``. Whatever the proposals are, the weights add up to the same
total for every truth, so the level is log(high / low), also for somebody who sees all proposals and which one was
chosen. Rounding of scores and ties only change which proposals are called best: never the level.

The report has the mean m u, m = (high - low) E[sum of the B largest of M normals] / total. With M = infinity this is
the mechanism PrivUnitG, whose "best" are the proposals above a threshold. Beyond epsilon 12 or so the largest of a few
hundred normals is no longer large enough; then several rounds, each with its share of epsilon, say more than one.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.entropy.thresholds import RESOLUTION, log_ratio, shares_within
from askance.errors import Unidentifiable

MOST_ROUNDS = 16  # at epsilon 50, the most there is, 8 are best
# Of all rounds together, where nobody asked for more. Sixteen times as many take sixteen times as long, and would make
# what a report is worth 0.4% larger at epsilon 4, 3% at 8 and 5 to 19% beyond.
_MOST_PROPOSALS = 512
# Powers of two and their halfway points: from 128 on m changes by less than 5% from one to the next.
_SIZES = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_GOOD_ENOUGH = 0.97  # of the largest m, for fewer proposals: time grows with their number, and m hardly


@dataclass(frozen=True)
class Selection:
    """One of ``proposals``, the ``best`` ones more often, in each of ``rounds`` rounds.

    Examples
    --------
    >>> choice = Selection.within(2.0)
    >>> choice.proposals, choice.best, choice.rounds
    (32, 7, 1)
    >>> round(choice.level, 9), round(choice.mean, 4)
    (2.0, 0.763)
    """

    epsilon: float
    proposals: int
    best: int
    rounds: int = 1

    @classmethod
    def within(cls, epsilon: float) -> "Selection":
        """Return the cheapest selection at this level whose m is nearly the largest there is."""
        return _cheapest(epsilon)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The weight of each rank out of 2^62, the best last: what is drawn from in each round."""
        share = self.epsilon / self.rounds  # exact: the rounds are a power of two
        others = self.proposals - self.best
        low = -(-shares_within(share, [others, self.best])[0] // others)
        high = (RESOLUTION - others * low) // self.best
        counts = np.repeat(np.array([low, high], dtype=np.int64), [others, self.best])
        counts[0] += RESOLUTION - others * low - self.best * high  # a remainder of fewer units than there are best
        if counts[0] >= high:
            raise Unidentifiable(
                f"epsilon={self.epsilon:g} is so small that all proposals are equally likely",
                "an epsilon that leaves the reports some information",
            )
        counts.setflags(write=False)
        return counts

    @property
    def low(self) -> int:
        """The weight of a proposal that is not among the best."""
        return int(self.counts[: -self.best].min())

    @property
    def high(self) -> int:
        """The weight of each of the best."""
        return int(self.counts[-1])

    @property
    def level(self) -> float:
        """The exact level of all rounds together."""
        return self.rounds * log_ratio(self.high, self.low)

    @cached_property
    def mean(self) -> float:
        """E[u.g] of the chosen proposal: m."""
        total, _ = sums_of_largest(self.proposals, np.array([self.best]))
        return float(total[0]) * (self.high - self.low) / RESOLUTION

    @cached_property
    def second_moment(self) -> float:
        """E[(u.g)^2] of the chosen proposal."""
        _, squares = sums_of_largest(self.proposals, np.array([self.best]))
        return float(self.high * squares[0] + self.low * (self.proposals - squares[0])) / RESOLUTION


def sums_of_largest(count: int, largest: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return E[sum of x] and E[sum of x^2] over the B largest of ``count`` normals, for each B in ``largest``.

    A value x is among the B largest of M with probability I(x) = betainc(M - B, B, Phi(x)). Integrating by parts,
    M int x phi I dx = M int phi I' dx  and  M int x^2 phi I dx = B + M int x phi I' dx  with
    I' = phi(x) beta(Phi(x)): smooth integrands without cancellation, for which equal steps are accurate to the last
    digits.
    """
    from scipy.special import betaln, log_ndtr

    x = np.linspace(-10, 10, 1601)
    b = largest[:, None].astype(float)
    density = -(x**2) - math.log(2 * math.pi)  # the logarithm of phi^2
    beta = (count - b - 1) * log_ndtr(x) + (b - 1) * log_ndtr(-x) - betaln(count - b, b)
    integrand = count * np.exp(density + beta) * (x[1] - x[0])
    return integrand.sum(axis=1), largest + (x * integrand).sum(axis=1)


@lru_cache(maxsize=256)
def _cheapest(epsilon: float) -> Selection:
    found: list[tuple[float, Selection]] = []
    rounds = 1
    while rounds <= MOST_ROUNDS:
        for size in _SIZES:
            if size * rounds <= _MOST_PROPOSALS:
                odds = math.expm1(epsilon / rounds)
                best = np.unique(np.geomspace(1, size // 2, 40).round().astype(np.int64))
                mean = odds / (size + best * odds) * sums_of_largest(size, best)[0]
                # The noise of an average over rounds shrinks with their root: that is what one report is worth.
                found.append(
                    (math.sqrt(rounds) * mean.max(), Selection(epsilon, size, int(best[mean.argmax()]), rounds))
                )
        rounds *= 2
    enough = _GOOD_ENOUGH * max(worth for worth, _ in found)
    return min((s for worth, s in found if worth >= enough), key=lambda s: (s.rounds * s.proposals, s.rounds))
