"""Errors of predictions by the delta method, from their slopes in the parameters, and the ends of intervals of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from askance.arrays import Floats
from askance.reports.summary import checked_confidence

# Of a feature's own scale, to either side of each row: the difference of means is then off by some 1e-9 of itself, for
# the law's own curvature, and by 1e-12 for rounding.
_SMALL_STEP = 1e-4
_AT_ONCE = 20_000  # rows whose slopes are held together: some tens of megabytes

Slopes = Callable[[Floats], tuple[Floats, Floats]]


def reach(level: float, degrees: float = np.inf) -> float:
    """Return how many standard errors an interval reaches to either side."""
    middle = 0.5 + checked_confidence(level) / 2
    return float(ndtri(middle) if np.isinf(degrees) else stdtrit(degrees, middle))


def share_limits(share: Floats, error: Floats, far: float) -> tuple[Floats, Floats]:
    """Return the ends of intervals of probabilities, made on the scale of log-odds: they stay between 0 and 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logit, away = np.log(share) - np.log1p(-share), far * error / (share * (1 - share))
        low, high = (1 / (1 + np.exp(-(logit + side * away))) for side in (-1, 1))
    return np.asarray(low), np.asarray(high)


def effect_table(estimates: Floats, errors: Floats, level: float, degrees: float = np.inf) -> Floats:
    """Return estimates, errors, z, p and the ends of intervals, a column each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = estimates / errors
    tail = ndtr(-np.abs(z)) if np.isinf(degrees) else stdtr(degrees, -np.abs(z))
    far = reach(level, degrees) * errors
    return np.column_stack([estimates, errors, z, 2 * tail, estimates - far, estimates + far])


def is_indicator(column: Floats) -> bool:
    """Whether a column holds zeros and ones, and both."""
    return bool(np.isin(column, (0.0, 1.0)).all()) and bool(column.any()) and not bool(column.all())


@dataclass(frozen=True, eq=False)
class DeltaLaw:
    """Predictions that are smooth functions of estimates.

    Parameters
    ----------
    slopes : function of n x d features
        What is predicted, n x K, and its derivatives in the estimates, n x K x parameters.
    covariance : array
    degrees : float
        Degrees of freedom of the errors; infinite without clusters.
    shares : bool
        Whether predictions are probabilities.
    features : sequence of str
        The names of the columns.

    Examples
    --------
    >>> line = DeltaLaw(lambda X: (X @ np.array([[2.0]]), X[:, None, :]), np.array([[0.25]]), shares=False)
    >>> line.each(np.array([[1.0], [3.0]]))
    (array([[2.],
           [6.]]), array([[0.5],
           [1.5]]))
    >>> line.mean(np.array([[1.0], [3.0]]), np.ones(2))
    (array([4.]), array([1.]))
    """

    slopes: Slopes
    covariance: Floats
    degrees: float = np.inf
    shares: bool = True
    features: Sequence[str] = ()

    def each(self, X: Floats) -> tuple[Floats, Floats]:
        """Return predictions for each row, n x K, and their standard errors."""
        parts = [self.slopes(part) for part in _parts(X)]
        errors = [self._errors(slopes) for _, slopes in parts]
        return np.concatenate([values for values, _ in parts]), np.concatenate(errors)

    def mean(self, X: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the weighted mean of predictions over rows (K), and their standard errors."""
        values, slopes = self._mean(X, weight)
        return values, self._errors(slopes)

    def effects(self, X: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the mean change of predictions with each feature, K x d, and standard errors.

        By the derivative; for a feature of zeros and ones by the change from 0 to 1.
        """
        found = [self._effect(X, weight, place) for place in range(X.shape[1])]
        if not found:
            return np.empty((self._mean(X, weight)[0].size, 0)), np.empty((self._mean(X, weight)[0].size, 0))
        return np.column_stack([value for value, _ in found]), np.column_stack([error for _, error in found])

    def limits(self, values: Floats, errors: Floats, level: float) -> tuple[Floats, Floats]:
        """Return the ends of intervals; of probabilities they stay between 0 and 1."""
        far = reach(level, self.degrees)
        return share_limits(values, errors, far) if self.shares else (values - far * errors, values + far * errors)

    def _mean(self, X: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Means (K), and their slopes in the estimates."""
        shares = np.split(weight / weight.sum(), np.arange(_AT_ONCE, len(X), _AT_ONCE))
        parts = [(share, *self.slopes(part)) for share, part in zip(shares, _parts(X), strict=True)]
        values = sum((share @ value for share, value, _ in parts), np.zeros(1))
        slopes = sum((np.tensordot(share, slope, 1) for share, _, slope in parts), np.zeros(1))
        return np.asarray(values), np.asarray(slopes)

    def _effect(self, X: Floats, weight: Floats, place: int) -> tuple[Floats, Floats]:
        column, ends = X[:, place], X.copy()
        if is_indicator(column):
            low, high = np.zeros(len(X)), np.ones(len(X))
        else:
            step = _SMALL_STEP * (column.std() or np.abs(column).max() or 1.0)
            low, high = column - step, column + step
        width = (high - low).mean()
        ends[:, place] = high
        above = self._mean(ends, weight)
        ends[:, place] = low
        below = self._mean(ends, weight)
        return (above[0] - below[0]) / width, self._errors((above[1] - below[1]) / width)

    def _errors(self, slopes: Floats) -> Floats:
        return np.asarray(np.sqrt(np.maximum(((slopes @ self.covariance) * slopes).sum(axis=-1), 0.0)))


def _parts(X: Floats) -> list[Floats]:
    return np.split(X, np.arange(_AT_ONCE, len(X), _AT_ONCE))
