"""Features that everybody may see, and the label-free sums over them that a linear-odd risk is made of."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource, RecordSource
from askance.learning.totals.even_risk import EvenRisk, EvenSums
from askance.learning.totals.losses import Loss
from askance.statistics.base import Records
from askance.statistics.features import FeatureMoments
from askance.statistics.softmax_score import ScoreSums, SoftmaxScore

_SAMPLE_ROWS = 32_768  # a first fit to these starts the full one so near that it needs few passes
_PART_ROWS = 8_192  # so small that a few ten thousand rows keep all cores busy


@dataclass(frozen=True, eq=False)
class PublicFeatures:
    """Where the features are, and how a score is made of them: theta.z with z = (1, x - centre), or x.

    Parameters
    ----------
    source : source of records
        Their codes are not looked at.
    engine : engine
    mean : array, d
        Of the features. It is their centre where there is an intercept.
    intercept : bool
    """

    source: RecordSource
    engine: Engine
    mean: Floats
    intercept: bool

    @classmethod
    def of(cls, X: Floats, intercept: bool, engine: Engine | None = None) -> "PublicFeatures":
        """Features in memory, summed by an engine: by threads of this process if none is given.

        Examples
        --------
        >>> PublicFeatures.of(np.array([[1.0, 2.0], [3.0, 4.0]]), intercept=True).centred(np.array([0.5, 1.0, 1.0]))
        array([ 0.5,  0. , -0.5])
        """
        rows = np.ascontiguousarray(X, dtype=float)
        records = Records(rows, np.zeros(len(rows), dtype=np.uint8))
        return cls(ArraySource(records, _PART_ROWS), engine or LocalEngine(), rows.mean(axis=0), intercept)

    @property
    def rows(self) -> int:
        """How many people there are."""
        return self.source.num_rows

    @property
    def width(self) -> int:
        """The length of z."""
        return len(self.mean) + self.intercept

    @property
    def centre(self) -> Floats:
        """What is subtracted from the features: numbers far from zero would cost digits."""
        return self.mean if self.intercept else np.zeros(len(self.mean))

    @property
    def mean_row(self) -> Floats:
        """The mean of z."""
        return np.eye(self.width)[0] if self.intercept else self.mean

    def centred(self, mu: Floats) -> Floats:
        """Turn a mean operator of (1, x), or several, into that of z."""
        moved = np.array(mu, dtype=float)
        if self.intercept:
            moved[..., 1:] -= moved[..., :1] * self.centre
        return moved

    @cached_property
    def uncentring(self) -> Floats:
        """The matrix that turns parameters of z into those of (1, x)."""
        back = np.eye(self.width)
        if self.intercept:
            back[0, 1:] = -self.centre
        return back

    @cached_property
    def moments(self) -> Floats:
        """E[z z']; of large data, from a part that is spread evenly over them."""
        statistic = FeatureMoments(len(self.mean), self.intercept, self.centre)
        sums = self.engine.reduce(statistic, self.sample.source)
        return sums.second / max(sums.weight, 1.0)

    @cached_property
    def sample(self) -> "PublicFeatures":
        """A part of large data, spread evenly; small data as they are."""
        if self.rows <= 2 * _SAMPLE_ROWS:
            return self
        return PublicFeatures(self.engine.sample(self.source, _SAMPLE_ROWS), self.engine, self.mean, self.intercept)

    def root_mean_square(self, theta: Floats) -> float:
        """Of the score, at the parameters of which it is largest."""
        rows = theta.reshape(-1, self.width)
        return float(np.sqrt(max(np.einsum("ij,jk,ik->i", rows, self.moments, rows).max(), 0.0)))

    def even(self, loss: Loss, theta: Floats, with_curvature: bool = True) -> EvenSums:
        """Sum the even part of a loss and its derivatives."""
        return self.engine.reduce(EvenRisk(loss, theta, self.intercept, self.centre, with_curvature), self.source)

    def log_partition(self, theta: Floats) -> ScoreSums:
        """Sum minus the log-partition of the softmax model, and its derivatives; theta is K-1 x p."""
        # What the moment objective leaves when no report is worth anything.
        nothing = np.zeros((1, theta.shape[0] + 1))
        statistic = SoftmaxScore(theta, nothing, "moments", self.intercept, centre=self.centre)
        return self.engine.reduce(statistic, self.source)
