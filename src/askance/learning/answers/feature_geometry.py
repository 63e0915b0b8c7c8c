"""Scale, centre and collinearity of the features, from their moments."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.statistics.features import FeatureMoments

# Relative eigenvalue of a scaled moment matrix below which columns repeat each other: rounding leaves about 1e-15 times
# their number, and what is as nearly collinear as that cannot be told apart by a Newton step.
COLLINEAR = 1e-11
_CONSTANT = 1e-12  # variance, against the mean square, that is rounding alone
_TAKES_PART = 0.01  # a column belongs to a collinearity if it has such a share of its largest part
_NO_PART = 1e-3  # stands in for the largest part where nothing is collinear, and all parts are zero


@dataclass(frozen=True, eq=False)
class Geometry:
    """How the features lie.

    Parameters
    ----------
    second : array, p x p
        E[z z'] with z = (1, x - centre), or x without an intercept.
    centre : array, d
        What is subtracted from the features: about their mean, or zero without an intercept.
    intercept : bool
    """

    second: Floats
    centre: Floats
    intercept: bool

    @classmethod
    def of(cls, source: RecordSource, engine: Engine, columns: int, intercept: bool) -> "Geometry":
        """Measure a source: its mean first, then moments about the mean, which keep their digits."""
        centre = np.zeros(columns)
        if intercept:
            raw = engine.reduce(FeatureMoments(columns, True), source)
            centre = raw.second[0, 1:] / max(raw.weight, np.finfo(float).tiny)
        sums = engine.reduce(FeatureMoments(columns, intercept, centre), source)
        return cls(sums.second / max(sums.weight, np.finfo(float).tiny), centre, intercept)

    @property
    def mean(self) -> Floats:
        """E[z]; zeros where there is no intercept to shift."""
        return self.second[0] if self.intercept else np.zeros(self.second.shape[0])

    @property
    def variance(self) -> Floats:
        """The variance of each column of z: zero for the intercept."""
        raw = np.diag(self.second) - self.mean**2
        return np.where(raw > _CONSTANT * np.diag(self.second), raw, 0.0)

    @property
    def uncentring(self) -> Floats:
        """The matrix that turns parameters of z = (1, x - centre) into those of (1, x)."""
        back = np.eye(self.second.shape[0])
        if self.intercept:
            back[0, 1:] = -self.centre
        return back

    def root_mean_square_logit(self, theta: Floats) -> float:
        return float(np.sqrt(max(np.einsum("ij,jk,ik->i", theta, self.second, theta).max(), 0.0)))

    def whitening(self) -> tuple[Floats, Floats]:
        """Return W and V with W' E[z z'] W = I and V W' z = z, on the directions in which the features vary."""
        scale = np.sqrt(np.maximum(np.diag(self.second), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(self.second / np.outer(scale, scale))
        seen = values > COLLINEAR * values[-1]
        axes, spread = vectors[:, seen], np.sqrt(values[seen])
        return axes / spread / scale[:, None], axes * spread * scale[:, None]

    def undetermined(self) -> NDArray[np.bool_]:
        """Which columns of z take part in a collinearity."""
        scale = np.sqrt(np.diag(self.second))
        empty = scale == 0
        scale[empty] = 1.0
        values, vectors = np.linalg.eigh(self.second / np.outer(scale, scale))
        unseen = values <= COLLINEAR * max(float(values[-1]), np.finfo(float).tiny)
        loading = np.abs(vectors[:, unseen]).max(axis=1, initial=0.0)
        taking_part: NDArray[np.bool_] = loading > _TAKES_PART * max(float(loading.max(initial=0.0)), _NO_PART)
        return taking_part

    def collinear(self, names: Sequence[str]) -> list[str]:
        """Say which columns say the same thing."""
        columns = [*(["the intercept"] if self.intercept else []), *names]
        involved = [name for name, part in zip(columns, self.undetermined(), strict=True) if part]
        if not involved:
            return []
        return [
            f"These columns are collinear (or constant), so their coefficients are not determined one by one and have "
            f"no standard error: {', '.join(involved[:6])}. Drop one of them, or add ridge."
        ]
