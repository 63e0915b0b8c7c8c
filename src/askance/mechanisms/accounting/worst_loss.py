"""Several mechanisms of which one person is in one only: the worst at every level."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.mechanisms.accounting.loss_law import LossLaw
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss

_PER_SIZE = 100  # points of the profile within a typical loss


@dataclass(frozen=True)
class WorstLoss(PrivacyLoss):
    """Any one of several losses: bags in which nobody is twice, designs of which everybody has one.

    Examples
    --------
    >>> from askance.mechanisms.accounting import GaussianLoss, LevelLoss
    >>> both = WorstLoss((LevelLoss.of(0.1), GaussianLoss.of(0.1, 1e-6)))
    >>> both.delta(np.array([0.0, 0.05])).round(4)
    array([0.05  , 0.0256])
    """

    losses: tuple[PrivacyLoss, ...]

    kind: ClassVar[str] = "worst"

    @property
    def epsilon(self) -> float:
        return max(loss.epsilon for loss in self.losses)

    @property
    def size(self) -> float:
        return max(loss.size for loss in self.losses)

    @cached_property
    def law(self) -> LossLaw:
        # Wherever a loss of some law lies is a corner of its delta; where two deltas cross there may be more.
        corners = np.concatenate([np.abs(loss.law.losses) for loss in self.losses])
        levels = np.unique(np.append(corners, np.arange(0.0, corners.max(), self.size / _PER_SIZE)))
        apart = np.append(True, np.diff(levels) > 1e-9 * self.size)
        infinite = max(loss.infinite for loss in self.losses)
        return LossLaw.from_profile(self.delta, np.append(levels[apart][:-1], levels[-1]), infinite)

    def delta(self, epsilon: Floats) -> Floats:
        return np.asarray(np.max([loss.delta(epsilon) for loss in self.losses], axis=0))

    @cached_property
    def gaussian_level(self) -> float:
        return max(loss.gaussian_level for loss in self.losses)

    def renyi(self, order: float) -> float:
        return max(loss.renyi(order) for loss in self.losses)

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "losses": [loss.to_dict() for loss in self.losses]}
