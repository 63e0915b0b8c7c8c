"""The law of a privacy loss, never more favourable than the true one.

The privacy loss of an outcome is l = log P(outcome) / Q(outcome), for two neighbouring data sets P and Q. Its law under
P decides about privacy: delta(epsilon) = E[1 - e^(epsilon - l)]+, and losses of independent releases add up.

A law that is not discrete is made so by splitting what lies between two multiples of a step between both, so that its
probability under P and under Q stays the same. As a function of e^epsilon, delta then follows the chords of the true
one, which is convex: it is never below it, and equal to it at the multiples of the step (Doroshenko, Ghazi, Kamath,
Kumar & Manurangsi, 2022).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats
from askance.mechanisms.accounting.tail_of_sums import GridLaw

ROUNDING = 1e-9  # relative: added to every probability; the rounding errors of what is summed here are below 1e-11
_SAME = 1e-12  # relative: losses that differ by less are the same, computed twice


@dataclass(frozen=True, eq=False)
class LossLaw:
    """Probabilities of finitely many losses under P, and of an infinite one. Exchanging P and Q gives the same law.

    Parameters
    ----------
    losses, probabilities : array
        The probabilities may sum to a little more than 1: rounding is upwards.
    infinite : float
        The probability of outcomes that the neighbour cannot give.

    Examples
    --------
    >>> coin = LossLaw(np.array([1.0, -1.0]), np.array([0.73105858, 0.26894142]))
    >>> coin.delta(np.array([0.0, 0.5, 1.0])).round(4)
    array([0.4621, 0.2876, 0.    ])
    >>> round(coin.renyi(2.0), 4), round(coin.gaussian_level, 4)
    (0.7353, 1.232)
    """

    losses: Floats
    probabilities: Floats
    infinite: float = 0.0

    @classmethod
    def from_profile(cls, profile: Callable[[Floats], Floats], levels: Floats, infinite: float) -> "LossLaw":
        """Take the second differences of delta(epsilon), where both orders of every two neighbours have been looked at.

        Parameters
        ----------
        profile : function
            delta by epsilon, with a relative error far below 1e-9.
        levels : array
            From 0 upwards. Losses above the last are infinite.
        infinite : float
            At least delta at the last level: 0 if there are no larger losses.
        """
        deltas = np.minimum(np.append(profile(levels[:-1]), infinite) * (1 + ROUNDING), 1.0)
        # Slopes of delta by e^epsilon, each times e^epsilon at its left end; P(l) is e^l times how much they change.
        apart = np.diff(levels)
        slopes = np.append(np.diff(deltas) / np.expm1(apart), 0.0)
        above = np.maximum(slopes[1:] - np.exp(apart) * slopes[:-1], 0.0)
        below = above * np.exp(-levels[1:])  # P(-l) = Q(l) = e^-l P(l)
        middle = max(1 - deltas[-1] - above.sum() - below.sum(), 0.0)
        losses = np.concatenate([-levels[:0:-1], levels])
        return cls(losses, np.concatenate([below[::-1], [middle], above]), float(deltas[-1]))

    def on_grid(self, step: float, times: int) -> GridLaw:
        """Split the finite losses between multiples of a step."""
        places = self.losses / step
        below = np.floor(places)
        # The part above: (1 - e^-(l - low)) / (1 - e^-step), so that P and Q = P e^-l stay the same.
        upper = np.expm1(-(places - below) * step) / math.expm1(-step) * self.probabilities
        first = int(below.min())
        at = (below - first).astype(int)
        size = int(at.max()) + 2
        masses = np.bincount(at, self.probabilities - upper, size) + np.bincount(at + 1, upper, size)
        return GridLaw(step, first, np.asarray(masses * (1 + ROUNDING), dtype=np.float64), times)

    def delta(self, epsilon: Floats) -> Floats:
        """Return delta by epsilon."""
        order = np.argsort(self.losses)[::-1]
        losses, probabilities = self.losses[order], self.probabilities[order]
        deltas = np.empty(len(epsilon))
        for at, level in enumerate(epsilon):
            counts = int(np.searchsorted(-losses, -level))  # those with a larger loss
            deltas[at] = probabilities[:counts] @ -np.expm1(level - losses[:counts])
        return np.minimum(deltas * (1 + ROUNDING) + self.infinite, 1.0)

    def renyi(self, order: float) -> float:
        """Return log E[e^((order - 1) l)] / (order - 1), of what is finite."""
        from scipy.special import logsumexp

        if self.infinite == 1:
            return 0.0
        sizes = logsumexp((order - 1) * self.losses, b=self.probabilities / (1 - self.infinite))
        return (max(float(sizes), 0.0) + ROUNDING * (order - 1) * float(np.abs(self.losses).max())) / (order - 1)

    @property
    def gaussian_level(self) -> float:
        """The mu for which what is finite is no easier to tell apart than N(0, 1) and N(mu, 1).

        All tests worth looking at report a loss of at least some bound. Such a test finds P with probability P(l >=
        bound) and is wrong about Q with Q(l >= bound) = P(l <= -bound). mu is the largest distance of their normal
        quantiles: between these tests the errors lie on chords, and those of the normal laws below.
        """
        from scipy.special import ndtri

        if self.infinite == 1:
            return 0.0
        order = np.argsort(self.losses)
        losses, probabilities = self.losses[order], self.probabilities[order] / (1 - self.infinite)
        bounds = losses[losses > 0]  # the others are the same tests, after exchanging P and Q
        up_to, at_least = np.append(0.0, np.cumsum(probabilities)), np.append(np.cumsum(probabilities[::-1])[::-1], 0.0)
        # The two sides of zero were computed separately: they may differ in their last digits.
        wrong = up_to[np.searchsorted(losses, -bounds * (1 - _SAME), side="right")]
        found = at_least[np.searchsorted(losses, bounds, side="left")]
        possible = (wrong > 0) & (found > 0) & (found < 1)
        distances = ndtri(found[possible]) - ndtri(wrong[possible])
        return float(distances.max(initial=0.0)) + 3 * ROUNDING  # probabilities of P were rounded upwards
