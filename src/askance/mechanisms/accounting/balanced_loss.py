"""Whole-numbered noise of sum zero on counts: one label that changes moves one count up and another down, by one."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.mechanisms.accounting.gaussian_loss import GaussianLoss
from askance.mechanisms.accounting.laplace_loss import CountLaplaceLoss
from askance.mechanisms.accounting.loss_law import ROUNDING, LossLaw
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss, upwards
from askance.mechanisms.counts.balanced_counts import balanced_gaussian_differences
from askance.mechanisms.counts.sum_zero_vectors import log_vectors, rim_probabilities

_WIDE = 1e5  # a variance beyond which there are too many whole numbers to look at each
_LEFT_OUT = 1e-300  # the probability of differences that the law of D leaves out
_KEPT, _SUMMED = 37.0, 45.0  # deviations of whole numbers: whose quantiles are compared, and that are added up


@dataclass(frozen=True)
class BalancedLaplaceLoss(CountLaplaceLoss):
    """P(z) proportional to ``exp(-|z|_1 / scale)``, sum zero, for some number of classes.

    Its losses are epsilon = 2 / scale, 0 and -epsilon. The first is that of z_i >= 0 >= z_j, whose probability is a
    ratio of Legendre polynomials at y = coth(epsilon / 2): P_(K - 2)(y) / ((1 - e^-epsilon) P_(K - 1)(y)). (The
    generating function of sum zero is an integral of powers of 1 / (1 - 2 x cos t + x^2), Laplace's for P_n.)

    Examples
    --------
    >>> BalancedLaplaceLoss(Fraction(2), 2).law.probabilities.round(4)  # of two classes, randomised response
    array([0.7311, 0.    , 0.2689])
    >>> BalancedLaplaceLoss(Fraction(2), 10).law.probabilities.round(4)
    array([0.4104, 0.4387, 0.151 ])
    """

    classes: int

    kind: ClassVar[str] = "discrete-laplace"

    @cached_property
    def law(self) -> LossLaw:
        y = 1 / math.tanh(self.epsilon / 2)
        ratio = y  # P_1 / P_0; then n P_n = (2n - 1) y P_(n-1) - (n - 1) P_(n-2)
        for n in range(2, self.classes):
            ratio = ((2 * n - 1) * y - (n - 1) / ratio) / n
        above = 1 / (-math.expm1(-self.epsilon) * ratio) * (1 + ROUNDING)
        return three_losses(self.epsilon, above, 0.0)

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "scale": str(self.scale), "classes": self.classes}


@dataclass(frozen=True)
class TruncatedLaplaceLoss(CountLaplaceLoss):
    """The same up to a radius ``|z|_1 / 2``: on its rim lie outcomes that the neighbour cannot give.

    Examples
    --------
    >>> f"{TruncatedLaplaceLoss(Fraction(2), 20, 3).infinite:.3g}"
    '1.3e-08'
    """

    radius: int
    classes: int

    kind: ClassVar[str] = "truncated-laplace"

    @cached_property
    def law(self) -> LossLaw:
        radii = np.arange(self.radius + 1)
        shells = log_vectors(self.classes, radii, radii) - self.epsilon * radii
        totals = np.logaddexp.accumulate(shells)
        # What is delta for each radius is, within this one, the share of each shell that has z_i >= 0 >= z_j.
        rims = rim_probabilities(self.classes, self.epsilon, self.radius) * np.exp(totals[1:] - totals[-1])
        inside = math.exp(-float(totals[-1])) + float(rims[:-1].sum())  # the centre has all z = 0
        return three_losses(self.epsilon, inside * (1 + ROUNDING), float(rims[-1]) * (1 + ROUNDING))

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "scale": str(self.scale), "radius": self.radius, "classes": self.classes}


def three_losses(epsilon: float, above: float, infinite: float) -> LossLaw:
    """Return the law of the losses epsilon, 0 and -epsilon, by the probability of the first."""
    below = above * math.exp(-epsilon)
    middle = max(1 - infinite - above - below, 0.0)
    return LossLaw(np.array([epsilon, 0.0, -epsilon]), np.array([above, middle, below]), infinite)


@dataclass(frozen=True)
class BalancedGaussianLoss(PrivacyLoss):
    """P(z) proportional to ``exp(-|z|_2^2 / (2 variance))``, sum zero, for some number of classes.

    The loss is (1 - D) / variance with D = z_i - z_j, so that its law is that of D.

    Examples
    --------
    >>> noise = BalancedGaussianLoss(Fraction(8), 5)  # D / 2 has the standard deviation 2
    >>> round(noise.gaussian_level, 4), noise.renyi(3.0)
    (0.5053, 0.375)
    """

    variance: Fraction
    classes: int

    kind: ClassVar[str] = "discrete-gaussian"

    @property
    def epsilon(self) -> float:
        return math.inf

    @property
    def size(self) -> float:
        return math.sqrt(2 / self.variance)

    @cached_property
    def law(self) -> LossLaw:
        if self.variance > _WIDE:
            return GaussianLoss(Fraction(self.gaussian_level)).law
        variance = float(self.variance)
        differences, law = balanced_gaussian_differences(variance, self.classes)
        return LossLaw((1 - differences) / variance, law, infinite=_LEFT_OUT)

    @cached_property
    def gaussian_level(self) -> float:
        """The largest distance of normal quantiles of neighbours in the law of D / 2.

        That is a whole number or, if D is odd, a half more; which of these is the same for the neighbour. Either has
        P(k) proportional to exp(-k^2 / 2 s) with s = variance / 2, and the neighbour moves it by 1. For s >= 2 the
        distance is largest in the middle, where it is at most (1 + 1 / (22 s)) / sqrt(s): found by looking at all
        distances from s = 2 to s = 50,000, and 22 tends to 24.
        """
        square = float(self.variance / 2) * (1 - 1e-15)
        if self.variance > _WIDE:
            return (1 + 1 / (22 * square)) / math.sqrt(square)
        return max(_largest_gap(square, 0.0), _largest_gap(square, 0.5)) * (1 + ROUNDING)

    def renyi(self, order: float) -> float:
        """Return order / variance: on a lattice no more than that of normal noise (Canonne, Kamath & Steinke, 2020)."""
        return order * upwards(1 / self.variance)

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "variance": str(self.variance), "classes": self.classes}


def _largest_gap(square: float, offset: float) -> float:
    """The largest distance of the normal quantiles of P(k <= x) for neighbouring x; by symmetry, below the middle."""
    from scipy.special import ndtri_exp

    reach = int(_SUMMED * math.sqrt(square)) + 10
    numbers = np.arange(-reach, 1) + offset
    weights = -(numbers**2) / (2 * square)
    sums = np.logaddexp.accumulate(weights)[:-1]
    half = sums[-1] + math.log(2)
    quantiles = ndtri_exp(sums - (half if offset else np.logaddexp(half, weights[-1])))
    kept = quantiles[numbers[:-1] > -_KEPT * math.sqrt(square) - 5]
    return float(np.diff(kept if offset else np.append(kept, -kept[-1])).max())
