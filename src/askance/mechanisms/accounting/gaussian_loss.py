"""Normal noise: the loss is normal itself."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.mechanisms.accounting.loss_law import LossLaw
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss, upwards
from askance.mechanisms.budget import Number
from askance.mechanisms.total_noise import gaussian_deviation

_PER_DEVIATION = 400  # points: the chords add 10^-6 / 6 to the variance of the loss
_DEVIATIONS = 37.0  # larger losses have probabilities that are no doubles, about 10^-299


@dataclass(frozen=True)
class GaussianLoss(PrivacyLoss):
    """Normal noise on numbers that one person moves, in the 2-norm, by ``ratio`` standard deviations.

    It is mu-GDP with mu = ratio: the loss is N(mu^2 / 2, mu^2) (Dong, Roth & Su, 2022). Rounding after the noise is in
    cannot raise it.

    Examples
    --------
    >>> noise = GaussianLoss.of(0.1, 1e-8)
    >>> bool(noise.delta(np.array([0.1]))[0] <= 1e-8)
    True
    """

    ratio: Fraction

    kind: ClassVar[str] = "gaussian"

    @classmethod
    def of(cls, epsilon: Number, delta: Number) -> "GaussianLoss":
        """Return the loss of the least normal noise for (epsilon, delta)."""
        return cls(1 / Fraction(gaussian_deviation(float(epsilon), float(delta))))

    @property
    def epsilon(self) -> float:
        return math.inf

    @property
    def size(self) -> float:
        return self.gaussian_level

    @cached_property
    def gaussian_level(self) -> float:
        return upwards(self.ratio)

    @cached_property
    def law(self) -> LossLaw:
        mu = self.gaussian_level
        levels = np.arange(0.0, mu * mu / 2 + _DEVIATIONS * mu, mu / _PER_DEVIATION)
        return LossLaw.from_profile(self.delta, levels, infinite=float(self.delta(levels[-1:])[0]))

    def delta(self, epsilon: Floats) -> Floats:
        """Return Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)."""
        from scipy.special import log_ndtr

        mu = self.gaussian_level
        first, second = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        # Rounded up by what the difference may have lost: each logarithm is right to a few units in its last place.
        lost = 8 * np.finfo(float).eps * (1 - first - second + 2 * epsilon) / np.maximum(first - second, 1e-300)
        return np.asarray(-np.exp(first) * np.expm1(second - first) * (1 + lost))

    def renyi(self, order: float) -> float:
        return order * self.gaussian_level**2 / 2

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "ratio": str(self.ratio)}
