"""Scale, centre and collinearity of the features, from their moments."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from askance.arrays import Flags, Floats
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.statistics.features import FeatureMoments, FeatureTotals
from askance.statistics.softmax_score import NARROW

# Relative eigenvalue of a scaled moment matrix below which columns repeat each other: rounding leaves about 1e-15 times
# their number, and what is as nearly collinear as that cannot be told apart by a Newton step.
COLLINEAR = 1e-11
_CONSTANT = 1e-12  # variance, against the mean square, that is rounding alone
_SAME_NUMBER = 1e-13  # standard deviation, against the value, of one number written with different rounding
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
    constant : array of bool, p
        Columns that say nothing, because they are the same for everybody; with zeros in ``second``.
    """

    second: Floats
    centre: Floats
    intercept: bool
    constant: Flags

    @classmethod
    def of(cls, source: RecordSource, engine: Engine, columns: int, intercept: bool) -> "Geometry":
        """Measure a source: its mean first, then moments about the mean, which keep their digits."""
        centre = np.zeros(columns)
        if intercept:
            raw = engine.reduce(FeatureTotals(columns), source)
            centre = raw.total / max(raw.weight, np.finfo(float).tiny)
        sums = engine.reduce(FeatureMoments(columns, intercept, centre), source)
        second = sums.second / max(sums.weight, np.finfo(float).tiny)
        constant = _constant(second, centre, intercept)
        second[constant], second[:, constant] = 0.0, 0.0
        return cls(second, centre, intercept, constant)

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
        """The matrix that turns parameters of z = (1, x - centre) into those of (1, x).

        Constant columns are left out: the intercept has no part of their coefficients.
        """
        back = np.eye(self.second.shape[0])
        if self.intercept:
            back[0, 1:] = np.where(self.constant[1:], 0.0, -self.centre)
        return back

    def uncentred(self, matrix: Floats) -> Floats:
        """``uncentring`` times the rows of a matrix, for each class; without as many products as the whole has."""
        moved: Floats = matrix.copy()
        if self.intercept:
            by_class = matrix.reshape(-1, len(self.second), matrix.shape[1])
            moved.reshape(by_class.shape)[:, 0] += np.tensordot(self.uncentring[0, 1:], by_class[:, 1:], (0, 1))
        return moved

    def root_mean_square_logit(self, theta: Floats) -> float:
        return float(np.sqrt(max(((theta @ self.second) * theta).sum(axis=1).max(), 0.0)))

    @cached_property
    def _scaled(self) -> tuple[Floats, Floats]:
        """The columns' scale, and their moments in it; empty columns have scale one."""
        scale = np.sqrt(np.diag(self.second))
        scale[scale == 0] = 1.0
        return scale, self.second / np.outer(scale, scale)

    @cached_property
    def _axes(self) -> tuple[Floats, Floats]:
        """Eigenvalues and vectors of the scaled moments."""
        values, vectors = np.linalg.eigh(self._scaled[1])
        return values, vectors

    @cached_property
    def _plain(self) -> bool:
        """Whether nothing is collinear: of many columns far sooner told than by eigenvalues."""
        return len(self.second) > NARROW and surely_above(COLLINEAR, self._scaled[1])

    @cached_property
    def whitening(self) -> tuple[Floats, Floats]:
        """W and V with W' E[z z'] W = I and V W' z = z, on the directions in which the features vary."""
        scale, moments = self._scaled
        if self._plain:
            root = cholesky(moments, lower=True)
            return solve_triangular(root, np.diag(1 / scale), lower=True).T, root * scale[:, None]
        values, vectors = self._axes
        seen = values > COLLINEAR * values[-1]
        axes, spread = vectors[:, seen], np.sqrt(values[seen])
        return axes / spread / scale[:, None], axes * spread * scale[:, None]

    @cached_property
    def undetermined(self) -> Flags:
        """Which columns of z have no estimate of their own: constant ones, and those of a collinearity."""
        if self._plain:
            return self.constant
        values, vectors = self._axes
        empty = np.diag(self.second) == 0
        unseen = values <= COLLINEAR * max(float(values[-1]), np.finfo(float).tiny)
        loading = np.where(empty, 0.0, np.abs(vectors[:, unseen]).max(axis=1, initial=0.0))
        taking_part: Flags = loading > _TAKES_PART * max(float(loading.max(initial=0.0)), _NO_PART)
        return taking_part | self.constant

    def collinear(self, names: Sequence[str]) -> list[str]:
        """Say which columns say the same thing."""
        columns = [*(["the intercept"] if self.intercept else []), *names]
        parts = self.undetermined & ~self.constant
        involved = [name for name, part in zip(columns, parts, strict=True) if part]
        if not involved:
            return []
        return [
            f"These columns are collinear, so their coefficients are not determined one by one and have no standard "
            f"error: {_first(involved)}. Drop one of them, or add ridge."
        ]

    def dropped(self, names: Sequence[str]) -> list[str]:
        """Say which columns were left out, because they are the same for everybody."""
        left_out = [name for name, same in zip(names, self.constant[int(self.intercept) :], strict=True) if same]
        if not left_out:
            return []
        return [
            f"Left out, because the column is constant and says nothing of its own: {_first(left_out)}. "
            "Its coefficient is 0, without a standard error."
        ]


def _first(names: Sequence[str], most: int = 6) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def surely_above(share: float, matrix: Floats) -> bool:
    """Whether all eigenvalues are above a share of the largest: Cholesky's factors take a tenth of the time to tell."""
    most = float(np.abs(matrix).sum(axis=0).max())  # no eigenvalue is larger
    try:
        cholesky(matrix - share * most * np.eye(len(matrix)))
    except (LinAlgError, ValueError):
        return False
    return True


def _constant(second: Floats, centre: Floats, intercept: bool) -> Flags:
    """Which columns do not vary, or only by the rounding of their values."""
    mean = second[0] if intercept else np.zeros(len(second))
    square = np.diag(second)
    offset = np.concatenate([[0.0], centre]) if intercept else centre
    still = (square - mean**2 <= _CONSTANT * square) | (square <= (_SAME_NUMBER * offset) ** 2)
    if intercept:
        still[0] = False
    constant: Flags = still
    return constant
