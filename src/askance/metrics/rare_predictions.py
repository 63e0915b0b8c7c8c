"""What is not known of a kind of prediction that hardly came: rows would have told, and there were none."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.learning.face.hidden_truth import Estimate, HiddenTruth, RatioSpread

# Of what came in none of n rows, a share of 3.7 / n is still possible (two-sided, 95%): 1.96 errors of two rows. Ten
# rows of a kind tell about it themselves, and nothing is added.
_UNSEEN, _ENOUGH = 4.0, 10.0


class RarePrediction(NamedTuple):
    """Rows that may be missing: their number squared, as a share of all rows squared, and what they would count.

    Parameters
    ----------
    weight : float
        Zero where all kinds of prediction came often enough.
    predicted, true : int
        The kind, and the true class that would move the estimate most.
    """

    weight: float
    predicted: int
    true: int

    @classmethod
    def of(cls, truth: HiddenTruth, chosen: NDArray[np.int64], costs: Floats) -> "RarePrediction":
        """Look for the kind that may be missed most.

        Parameters
        ----------
        truth : HiddenTruth
        chosen : n codes
            The predicted classes.
        costs : K x K, predicted by true
            How a row moves the estimate, times the number of rows. Predictions that count alike are of one kind.
        """
        kind = np.unique(costs, axis=0, return_inverse=True)[1].reshape(-1)
        alone = float(truth.shares @ truth.shares)  # the share of one row among those that weigh as much
        rows = np.bincount(kind[chosen], truth.shares, len(costs))[kind] / alone
        weights = _UNSEEN * np.maximum(1 - rows / _ENOUGH, 0) * alone**2
        predicted = int(np.argmax(weights * (costs**2).max(axis=1)))
        return cls(float(weights[predicted]), predicted, int(np.argmax(np.abs(costs[predicted]))))

    def error(self, std_error: float, costs: Floats) -> float:
        """Return a standard error that knows of the missing rows."""
        return math.sqrt(std_error**2 + self.weight * float(costs[self.predicted, self.true]) ** 2)


def ratio_of_predictions(
    truth: HiddenTruth, chosen: NDArray[np.int64], above: Floats, below: Floats, whom: str
) -> Estimate:
    """Return the mean of one number over that of another, both K x K by predicted and true class.

    Refused where reports do not show that there is anything below: ``whom`` it is a share of.
    """
    found = truth.ratio(above[chosen], below[chosen], whom)
    if found.spread is None:
        return found
    costs = (above - found.value * below) / found.spread.below
    rare = RarePrediction.of(truth, chosen, costs)
    one, other = float(above[rare.predicted, rare.true]), float(below[rare.predicted, rare.true])
    spread = RatioSpread(
        found.spread.above,
        found.spread.below,
        found.spread.above_variance + rare.weight * one**2,
        found.spread.below_variance + rare.weight * other**2,
        found.spread.covariance + rare.weight * one * other,
    )
    return replace(found, std_error=rare.error(found.std_error, costs), spread=spread)
