"""A *report set* holds reports that were hidden by one channel: each tells second moments of the same columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askance.arrays import Floats
from askance.channels.guarantee import Guarantee
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput, Unidentifiable
from askance.learning.face.hidden_truth import Estimate, RatioSpread
from askance.learning.numbers.moment_readers import HiddenRows, MomentReader, as_weights, symmetric_matrix
from askance.learning.numbers.second_moments import FormProducts, SecondMoments

_NOT_HIDDEN = Guarantee(
    math.inf, protects="one outcome, which was not hidden", neighbours="any two outcomes of one person"
)


@dataclass(frozen=True, eq=False)
class ReportSet:
    """Reports of one channel: how to read them, where they are, and which of their columns the model uses.

    ``names`` are the features and, last, the outcome; ``chosen`` selects (1, names) out of the reader's own columns;
    ``named`` is whether the names are the data's own, or made up for an array without any.
    """

    channel: PrivateRow | PrivateNumber | None
    reader: MomentReader
    source: RecordSource
    names: tuple[str, ...]
    chosen: Floats
    named: bool = True

    @property
    def rows(self) -> PrivateRow | None:
        """The channel, if it hides the features too."""
        return self.reader.channel if isinstance(self.reader, HiddenRows) else None

    @property
    def to_units(self) -> Floats:
        """L with (1, features, outcome) in the units of the data = L a, on the reader's own scale."""
        matrix: Floats = self.chosen @ self.reader.to_units
        return matrix

    def in_order(self, names: tuple[str, ...]) -> "ReportSet":
        """Return the set with its features in another order."""
        if self.names == names:
            return self
        if self.names[-1] != names[-1] or sorted(self.names) != sorted(names):
            raise InvalidInput(
                f"reports about {', '.join(names)} together with reports about {', '.join(self.names)}",
                "the same features and, last, the same outcome in all",
            )
        rows = [0, *(self.names.index(name) + 1 for name in names)]
        return replace(self, names=names, chosen=self.chosen[rows])

    def score(self, line: Floats, engine: Engine) -> Estimate:
        """Return 1 - E[(outcome - line)^2] / Var(outcome), by unbiased estimates of the moments, with its error.

        Few or noisy reports may say more than 1, which no line can reach.

        Parameters
        ----------
        line : array, 1 + d
            Intercept and slopes, in the units of the data.
        """
        sums = engine.reduce(SecondMoments(self.reader), self.source)
        if not sums.weight > 0:
            raise InvalidInput(f"{sums.rows} reports of total weight 0", "at least one report")
        second = symmetric_matrix(sums.mean)
        missed, outcome = self.to_units.T @ np.append(line, -1.0), self.to_units[-1].copy()
        outcome[0] = 0.0  # where the outcome is counted from does not matter to its variance
        mean = second[0] @ outcome
        variance = outcome @ second @ outcome - mean**2
        if not variance > 0:
            raise Unidentifiable(
                f"the score of {sums.rows} reports that do not tell how much the outcome varies",
                "more reports, or a mechanism that tells squares",
                "Where outcomes are known use score(X, outcomes, of='truth').",
            )
        ratio = missed @ second @ missed / variance
        about = outcome.copy()
        about[0] = -mean
        # Two forms whose means are zero, and how they spread: of the ratio, and of the variance that it is a share of.
        around = np.outer(about, about)
        of_ratio, of_variance = np.outer(missed, missed) - ratio * around, around.copy()
        of_variance[0, 0] -= variance
        forms = as_weights(np.stack([-of_ratio, of_variance]))
        products = engine.reduce(FormProducts(self.reader, forms), self.source) / sums.weight**2
        r_squared, error = float(1 - ratio), math.sqrt(products[0, 0]) / float(variance)
        mixed = np.array([[1.0, r_squared], [0.0, 1.0]])  # what is explained: the first, and R squared of the second
        (above, both), (_, below) = mixed @ products @ mixed.T
        spread = RatioSpread(r_squared * float(variance), float(variance), float(above), float(below), float(both))
        return Estimate(r_squared, error, sums.rows, "consistent", spread)


def worst_guarantee(channels: Sequence[PrivateRow | PrivateNumber | None]) -> Guarantee:
    """Return the privacy of what a line was learned from: that of its channel, or of the weakest of several."""
    each = [_NOT_HIDDEN if channel is None else channel.guarantee for channel in channels]
    worst = max(each, key=lambda guarantee: guarantee.epsilon)
    if len(each) == 1:
        return worst
    return replace(
        worst,
        protects=f"{worst.protects}, in the weakest of {len(each)} report sets",
        neighbours=f"{worst.neighbours}; whoever is in several gives away the sum",
    )
