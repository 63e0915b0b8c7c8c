"""Noise of uniform direction whose length has a Gamma law."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.mechanisms.accounting.loss_law import LossLaw
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss, upwards

_PER_SIZE = 60  # points of the profile: the chords add less than 10^-4 to the variance of the loss
_SIZES = 40.0  # losses beyond, if there are any, count as epsilon: their probability is below 10^-300
_RARE = 1e-290  # lengths of a smaller probability are left out; they are added to delta
_PANELS, _NODES = 24, 24  # of the quadrature: doubling either changed no probability by more than 1e-13 of itself
_ERROR = 1e-11  # relative: a hundred times that


@dataclass(frozen=True)
class RadialLoss(PrivacyLoss):
    """Noise of density ``exp(-|w|_2 / scale)``, scaled, on numbers that one person moves by at most ratio times scale.

    Rounding after the noise is in cannot raise it, and moving by less is told apart less well: along any line the law
    is symmetric and log-concave.

    Parameters
    ----------
    ratio : Fraction
        The 2-norm that one person moves the numbers by, in scales; the level epsilon.
    count : int
        How many numbers there are.

    Examples
    --------
    >>> [round(float(RadialLoss(Fraction(1), d).delta(np.array([0.0]))[0]), 4) for d in (1, 2, 10)]
    [0.3935, 0.296, 0.1287]
    """

    ratio: Fraction
    count: int

    kind: ClassVar[str] = "radial"

    @property
    def epsilon(self) -> float:
        return upwards(self.ratio)

    @property
    def size(self) -> float:
        return self.epsilon / math.sqrt(self.count)

    @cached_property
    def law(self) -> LossLaw:
        levels = np.arange(0.0, min(self.epsilon, _SIZES * self.size), self.size / _PER_SIZE)
        return LossLaw.from_profile(self.delta, np.append(levels, self.epsilon), infinite=0.0)

    def delta(self, epsilon: Floats) -> Floats:
        r"""Return delta by epsilon.

        With y = length / scale and c = epsilon / ratio, the loss ratio (|w - v| - |w|) of noise w, moved by v of length
        1, is above epsilon where the cosine between both is below (1 - c^2) ratio / 2y - c; under the neighbour, where
        it is below -(1 - c^2) ratio / 2y - c.
        """
        if self.count == 1:
            return np.asarray(-np.expm1(np.minimum(epsilon - self.epsilon, 0.0) / 2))
        shares = np.minimum(epsilon / self.epsilon, 1.0)
        here, there = self._probability(shares, 1.0), self._probability(shares, -1.0)
        found = np.maximum(here * (1 + _ERROR) - np.exp(epsilon) * there, 0.0)
        return np.asarray(np.where(shares < 1, found, 0.0))

    def _probability(self, shares: Floats, sign: float) -> Floats:
        """The probability that the cosine is below sign (1 - c^2) ratio / 2y - c, by quadrature over y."""
        from scipy.special import betainc, gammainc, gammainccinv, gammaincinv, gammaln

        half = (self.count - 1) / 2
        reach = (1 - shares**2) * self.epsilon / 2
        # Where the bound on the cosine is 1, or -1: below, all cosines are in, or none.
        border = (1 - sign * shares) * self.epsilon / 2
        low = np.maximum(border, gammaincinv(self.count, _RARE))
        high = np.maximum(gammainccinv(self.count, _RARE), low + 1)
        # y = border + s^2 makes the integrand smooth where a cosine comes in.
        ends = np.sqrt(low - border), np.sqrt(high - border)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        panels = (np.arange(_PANELS)[:, None] + (nodes + 1) / 2).ravel() / _PANELS
        s = ends[0][:, None] + (ends[1] - ends[0])[:, None] * panels
        y = border[:, None] + s**2
        log_density = (self.count - 1) * np.log(y) - y - gammaln(self.count)
        cosines = np.clip((sign * reach[:, None] / y - shares[:, None] + 1) / 2, 0.0, 1.0)
        inner = betainc(half, half, cosines) * np.exp(log_density) * 2 * s
        integral = inner @ np.tile(weights / 2 / _PANELS, _PANELS) * (ends[1] - ends[0])
        return np.asarray(integral + gammainc(self.count, low) if sign > 0 else integral)

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "ratio": str(self.ratio), "count": self.count}
