"""What every estimator of class ratios gives: the ratios of a group, and the covariance of their error by source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from askance.arrays import Floats, Integers

ALIKE = (
    "Some classes look alike in these features and bags: their ratios can hardly be told. More rows, or bags of more "
    "different proportions, are needed."
)


@dataclass(frozen=True, eq=False)
class RatioEstimate:
    """The ratios of one group and what is known of their error.

    Parameters
    ----------
    ratios : array, K
        Not negative; they sum to one.
    free : array, K
        The estimate before it was brought to the simplex: it sums to one, may have negative parts, and is nearly
        normal about the truth. Intervals start from it. The ratios themselves where a method knows no such thing.
    covariance : array, K x K
        Of ``free`` about the shares that the group's own rows really have: the sum of ``parts``.
    parts : mapping of str to array, K x K
        The covariance by its sources: "group" (which points of their classes the new rows happen to be), "training"
        (the same of the training rows), "proportions" (the known noise of the training proportions), "bags" (these
        differ in more than their proportions, and so may the group; only where they do).
    rows : int
        Of the group.
    misfit, misfit_p : float
        How far the group is from every mixture of the classes, and the probability of being so far by chance: small
        if P(x | y) has shifted. NaN where it was not asked for, or is not known.
    """

    ratios: Floats
    free: Floats
    covariance: Floats
    parts: Mapping[str, Floats] = field(default_factory=dict)
    rows: int = 0
    misfit: float = float("nan")
    misfit_p: float = float("nan")

    @property
    def draw(self) -> Floats:
        """The covariance of a group's shares about those of the population it was drawn from, row by row."""
        spread: Floats = (np.diag(self.ratios) - np.outer(self.ratios, self.ratios)) / max(self.rows, 1)
        return spread


class RatioModel(Protocol):
    """A fitted estimator of class ratios: it keeps no training rows."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the fit has to say."""

    def ratios(self, X: Floats) -> Floats:
        """The ratios of the group X, K numbers that sum to one; as fast as may be."""

    def estimate(self, X: Floats) -> RatioEstimate:
        """The ratios with their covariance, and the test of a shift."""

    def overstatement(self, X: Floats, codes: Integers, shares: Floats) -> float:
        """By how much the bags of the training rows X overstate the difference of classes, at least."""

    def to_dict(self) -> dict[str, Any]:
        """Arrays and plain values that ``from_dict`` turns into the model again.

        Raises InvalidInput where something of the user's own is inside, a kernel or a classifier.
        """

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The model that ``to_dict`` described."""
