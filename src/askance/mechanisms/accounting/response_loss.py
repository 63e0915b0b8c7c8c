"""Local reports through a finite channel."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.finite import FiniteLaw
from askance.errors import InvalidInput
from askance.mechanisms.accounting.level_loss import LevelLoss
from askance.mechanisms.accounting.loss_law import LossLaw
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.accounting.worst_loss import WorstLoss

_POINTS = 1000  # of the profile up to epsilon
_MOST_ANSWERS = 40  # whose 1,560 ordered pairs take a second
_ROUNDING = 4 * 2.0**-52  # relative: of probabilities and their sums


@dataclass(frozen=True)
class ChannelLoss(PrivacyLoss):
    """One report of one person through a finite channel, whatever the answers are.

    Examples
    --------
    >>> from askance import RandomizedResponse
    >>> loss = ChannelLoss(RandomizedResponse(["a", "b", "c", "d"], epsilon=1.0))
    >>> loss.delta(np.array([0.0, 1.0])).round(4)
    array([0.3005, 0.    ])
    """

    channel: FiniteLaw

    kind: ClassVar[str] = "channel"

    @cached_property
    def _pairs(self) -> list[tuple[Floats, Floats, Floats]]:
        """Of every two answers: their losses, largest first, and how probable larger ones are under either answer."""
        matrix = self.channel.matrix
        if treats_answers_alike(matrix):
            matrix = matrix[:, :2]
        elif matrix.shape[1] > _MOST_ANSWERS:
            return [_sorted_losses(*_worst_pair(self.channel.guarantee.epsilon))]
        return [_sorted_losses(one, other) for one, other in permutations(matrix.T, 2)]

    @cached_property
    def epsilon(self) -> float:
        if math.isfinite(level := self.channel.guarantee.epsilon):
            return level
        largest = max(float(losses[np.isfinite(losses)].max(initial=0.0)) for losses, _, _ in self._pairs)
        return largest * (1 + _ROUNDING) + _ROUNDING

    @property
    def size(self) -> float:
        return self.epsilon

    @cached_property
    def law(self) -> LossLaw:
        infinite = max(float(mine[np.count_nonzero(losses == np.inf)]) for losses, mine, _ in self._pairs)
        levels = np.unique(np.linspace(0.0, self.epsilon, _POINTS + 1))  # one, if reports tell nothing at all
        return LossLaw.from_profile(self.delta, levels, infinite)

    def delta(self, epsilon: Floats) -> Floats:
        found = np.zeros(len(epsilon))
        for losses, mine, others in self._pairs:
            larger = np.searchsorted(-losses, -epsilon)
            found = np.maximum(found, mine[larger] * (1 + _ROUNDING) - np.exp(epsilon) * others[larger])
        return found

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.kind, "channel": self.channel.to_spec()}


def treats_answers_alike(matrix: Floats) -> bool:
    """Whether every answer has a report of its own of one probability, and all others of another one."""
    low, high = matrix.min(), matrix.max()
    own = matrix == high
    return bool((own | (matrix == low)).all() and (own.sum(axis=0) == 1).all() and (own.sum(axis=1) <= 1).all())


def _worst_pair(epsilon: float) -> tuple[Floats, Floats]:
    """Randomised response between two answers: no easier to see through than any channel of the same level."""
    truth = 1 / (1 + math.exp(-epsilon))
    one = np.array([truth, truth * math.exp(-epsilon)])
    return one, one[::-1]


def _sorted_losses(one: Floats, other: Floats) -> tuple[Floats, Floats, Floats]:
    possible = one > 0
    one, other = one[possible], other[possible]
    with np.errstate(divide="ignore"):
        losses = np.log1p((one - other) / other)
    order = np.argsort(-losses)
    return losses[order], np.append(0.0, np.cumsum(one[order])), np.append(0.0, np.cumsum(other[order]))


def channel_loss(channel: Any) -> PrivacyLoss:
    """Return what one report through a channel costs the person it is about.

    Examples
    --------
    >>> from askance import PrivateNumber, Warner
    >>> channel_loss(Warner(0.75)).kind, channel_loss(PrivateNumber(0, 10, epsilon=1.0)).kind
    ('channel', 'level')
    """
    if (
        isinstance(channel, FiniteLaw) and not channel.unknowns
    ):  # not a method of the channel: losses are worked out above channels
        return ChannelLoss(channel)
    if getattr(channel, "hides", "") == "sequences":
        raise InvalidInput(
            "a channel of sequences, which costs more the longer they are",
            "the level of the longest of them: LevelLoss.of(channel.guarantee_of(tokens).epsilon)",
        )
    designs = getattr(channel, "designs", None)
    if designs is not None and not isinstance(channel, FiniteLaw):  # everybody is asked under one of them
        return WorstLoss(tuple(map(channel_loss, designs.values())))
    guarantee = channel.guarantee
    if not math.isfinite(guarantee.epsilon):
        raise InvalidInput("a channel without a privacy guarantee", "one of a finite level", guarantee.in_words())
    return LevelLoss.of(guarantee.epsilon, guarantee.delta)
