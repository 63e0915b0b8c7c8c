"""Counts drawn from a Dirichlet law of public scale."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.mechanisms.accounting.loss_law import LossLaw
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.counts.dirichlet_counts import dirichlet_profile

_PER_SIZE = 20  # points of the profile: more would differ by its rounding errors rather than by itself
_ROUNDING = 1e-5  # relative: of incomplete beta functions, as in the calibration of the mechanism
_RARE = 1e-40  # losses of a smaller probability are infinite


@dataclass(frozen=True)
class DirichletLoss(PrivacyLoss):
    """theta ~ Dir(scale (counts + pseudo_count)), at the worst counts of a total that there are.

    Examples
    --------
    >>> urn = DirichletLoss(Fraction(1, 20), Fraction(50), 1000, 5)
    >>> urn.delta(np.array([0.1])).round(4)
    array([0.0005])
    """

    scale: Fraction
    pseudo_count: Fraction
    total: int
    classes: int

    kind: ClassVar[str] = "dirichlet"

    @property
    def epsilon(self) -> float:
        return math.inf

    @property
    def size(self) -> float:
        """Of scale * log(x / (1 - x)) for the beta number x of the worst counts."""
        from scipy.special import polygamma

        scale = float(self.scale)
        return scale * math.sqrt(2 * float(polygamma(1, scale * float(self.pseudo_count))))

    @cached_property
    def law(self) -> LossLaw:
        largest = self.size
        while self.delta(np.array([largest]))[0] > _RARE:
            largest *= 1.5
        levels = np.arange(0.0, largest + self.size, self.size / _PER_SIZE)
        return LossLaw.from_profile(self.delta, levels, infinite=float(self.delta(levels[-1:])[0]))

    def delta(self, epsilon: Floats) -> Floats:
        numbers = float(self.scale), float(self.pseudo_count), self.total, self.classes
        return dirichlet_profile(*numbers, epsilon) * (1 + _ROUNDING)

    def to_dict(self) -> dict[str, Any]:
        numbers = {"scale": str(self.scale), "pseudo_count": str(self.pseudo_count)}
        return {"loss": self.kind} | numbers | {"total": self.total, "classes": self.classes}
