"""A mechanism of which nothing is known but a level: the worst that is (epsilon, delta)-private."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.mechanisms.accounting.loss_law import LossLaw
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss, upwards
from askance.mechanisms.budget import Budget, Number, written


@dataclass(frozen=True)
class LevelLoss(PrivacyLoss):
    """Any mechanism of level (epsilon, delta).

    All of them are no easier to see through than one: with probability delta it tells everything, else it is randomised
    response between two answers (Kairouz, Oh & Viswanath, 2015, theorem 3.1).

    Examples
    --------
    >>> LevelLoss.of(0.1, 1e-6).law.probabilities.round(4)
    array([0.525, 0.475])
    """

    level: Budget

    kind: ClassVar[str] = "level"

    @classmethod
    def of(cls, epsilon: Number, delta: Number = 0) -> "LevelLoss":
        """Return the loss of a level."""
        return cls(Budget.of(epsilon, delta))

    @property
    def epsilon(self) -> float:
        return upwards(self.level.epsilon)

    @property
    def size(self) -> float:
        return self.epsilon

    @cached_property
    def law(self) -> LossLaw:
        failure = upwards(self.level.delta)
        truth = 1 / (1 + math.exp(-self.epsilon))
        kept = (1 - failure) * np.array([truth, truth * math.exp(-self.epsilon)])
        return LossLaw(np.array([1.0, -1.0]) * self.epsilon, kept, failure)

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "epsilon": written(self.level.epsilon), "delta": written(self.level.delta)}
