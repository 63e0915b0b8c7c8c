"""What every mechanism says about the privacy that it costs."""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from askance.arrays import Floats
from askance.mechanisms.accounting.loss_law import LossLaw


class PrivacyLoss(ABC):
    """The privacy that one release by a mechanism costs: a frozen value, made of public numbers only.

    All that it says holds for any two neighbouring data sets, in both orders.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The largest finite loss; infinite if losses have no bound."""

    @property
    @abstractmethod
    def size(self) -> float:
        """A typical loss: about its standard deviation."""

    @cached_property
    @abstractmethod
    def law(self) -> LossLaw:
        """A discrete law of the loss that is at least as bad as the true one."""

    @property
    def infinite(self) -> float:
        """The probability of outcomes that some neighbour cannot give, or that is not worth telling from it."""
        return self.law.infinite

    def delta(self, epsilon: Floats) -> Floats:
        """Return delta by epsilon >= 0: never below the least for which the mechanism is (epsilon, delta)-private."""
        return self.law.delta(epsilon)

    @cached_property
    def gaussian_level(self) -> float:
        """The mu for which it is mu-GDP, infinite losses apart: no easier to see than N(0, 1) moved by mu."""
        return self.law.gaussian_level

    def renyi(self, order: float) -> float:
        """Return the Renyi divergence of some order, infinite losses apart."""
        return self.law.renyi(order)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able description."""


def upwards(number: Fraction) -> float:
    """Return the least double that is not below a number.

    Examples
    --------
    >>> upwards(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)
