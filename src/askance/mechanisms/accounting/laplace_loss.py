"""Laplace noise: on whole-numbered totals, and rounded on counts."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.mechanisms.accounting.loss_law import LossLaw
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss, upwards

_POINTS = 1000  # of the profile up to epsilon: the chords add 10^-6 / 4 to the variance of the loss


@dataclass(frozen=True)
class LaplaceLoss(PrivacyLoss):
    """Discrete Laplace noise, P(z) proportional to ``exp(-|z| / scale)``, on whole numbers that one person moves.

    Whichever numbers are moved, and by how much each, nothing is worse than to move one of them by ``shift``, the
    1-norm: the law is log-concave, so that moving by s and then by t is told apart as moving by s + t (Awan & Dong,
    2022), and a second number adds no more than that.

    Examples
    --------
    >>> noise = LaplaceLoss(shift=1, scale=Fraction(1))
    >>> noise.delta(np.array([0.0, 0.5, 1.0])).round(4)
    array([0.4621, 0.2876, 0.    ])
    """

    shift: int
    scale: Fraction

    kind: ClassVar[str] = "laplace"

    @property
    def epsilon(self) -> float:
        return upwards(self.shift / self.scale)

    @property
    def size(self) -> float:
        return self.epsilon

    @cached_property
    def law(self) -> LossLaw:
        return LossLaw.from_profile(self.delta, np.linspace(0.0, self.epsilon, _POINTS + 1), infinite=0.0)

    def delta(self, epsilon: Floats) -> Floats:
        """Return P(z <= x) - e^epsilon P(z <= x - shift), largest over x.

        The best x has a loss (shift - 2 x) / scale just above epsilon. In doubles it may be missed by one; any other
        gives less.
        """
        scale, most = float(self.scale), self.epsilon
        best = np.ceil((self.shift - scale * epsilon) / 2)
        tails = math.exp(-1 / scale)
        found = np.zeros(len(epsilon))
        for off in (-1, 0, 1):
            reach = np.maximum(best + off, 0.0) / scale  # (x + 1) / scale
            found = np.maximum(found, (-np.expm1(-reach) - tails * np.expm1(epsilon - most + reach)) / (1 + tails))
        return np.asarray(np.where(epsilon < most, found, 0.0))

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "shift": self.shift, "scale": str(self.scale)}


@dataclass(frozen=True)
class CountLaplaceLoss(PrivacyLoss):
    """Laplace noise of some scale on counts, of which one label that changes moves two, by one each."""

    scale: Fraction

    @property
    def epsilon(self) -> float:
        return upwards(2 / self.scale)

    @property
    def size(self) -> float:
        return self.epsilon


@dataclass(frozen=True)
class RoundedLaplaceLoss(CountLaplaceLoss):
    """Real Laplace noise, rounded, on counts: one label that changes moves one count up and another down, by one each.

    Examples
    --------
    >>> noise = RoundedLaplaceLoss(Fraction(2))
    >>> noise.epsilon, len(noise.law.losses)
    (1.0, 16)
    """

    kind: ClassVar[str] = "rounded-laplace"

    @cached_property
    def law(self) -> LossLaw:
        one = self.epsilon / 2
        half = math.exp(-one / 2)
        # Of one count, P(0) = 1 - half and P(k) = half e^-(k - 1)one (1 - e^-one) / 2; the neighbour is one higher.
        zero, first = -math.expm1(-one / 2), half * -math.expm1(-one) / 2
        step = math.log(zero / first)  # at most ``one``: the law is log-concave
        losses = np.array([one, step, -step, -one])
        law = np.array([half / 2, zero, first, half / 2 - first])
        return LossLaw((losses[:, None] + losses).ravel(), (law[:, None] * law).ravel())

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "scale": str(self.scale)}
