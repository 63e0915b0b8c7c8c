"""What a softmax regression says in the words that people use: probabilities and effects.

Errors are those of the parameters, by the delta method; the rows that are asked about are taken as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.learning.face.delta_law import is_indicator, reach, share_limits
from askance.solvers.softmax import posterior


@dataclass(frozen=True, eq=False)
class SoftmaxLaw:
    """Log-odds against the first class that are linear in features, as they were estimated.

    Parameters
    ----------
    features : sequence of str
        Their names.
    theta : array, (K - 1) x columns
        Intercept first if there is one, then features; class by class from the second on.
    covariance : array, of the raveled theta
        NaN where there is no error.
    intercept : bool
    degrees : float
        Degrees of freedom of the errors; infinite without clusters.
    """

    features: Sequence[str]
    theta: Floats
    covariance: Floats
    intercept: bool
    degrees: float = np.inf

    def each(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the probability of each class for each row, n x K, and their standard errors."""
        rows = self._rows(X)
        chance = posterior(rows @ self.theta.T).probabilities
        free, columns, known = len(self.theta), rows.shape[1], self._known_covariance()
        blocks = known.reshape(free, columns, free, columns)
        logits = np.stack(
            [[((rows @ blocks[j, :, k]) * rows).sum(axis=1) for k in range(free)] for j in range(free)]
        )  # the covariance of log-odds, free x free x n
        slopes = -chance[:, :, None] * chance[:, None, 1:]
        own = np.arange(free)
        slopes[:, own + 1, own] += chance[:, 1:]
        variance = np.einsum("nkj,jln,nkl->nk", slopes, logits, slopes, optimize=True)
        return chance, np.sqrt(np.maximum(variance, 0.0))

    def mean(self, X: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the weighted mean of the probabilities of all classes (K), and their standard errors."""
        shares, slopes = self._mean_probabilities(self._rows(X), weight / weight.sum())
        return shares, self._errors(slopes)

    def effects(self, X: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """Return the mean change of every class's probability with each feature, K x d, and standard errors.

        By the derivative; for a feature of zeros and ones by the change from 0 to 1.
        """
        rows, share, first = self._rows(X), weight / weight.sum(), int(self.intercept)
        found = [
            self._step(rows, share, place) if is_indicator(rows[:, place]) else self._slope(rows, share, place)
            for place in range(first, rows.shape[1])
        ]
        classes = len(self.theta) + 1
        if not found:
            return np.empty((classes, 0)), np.empty((classes, 0))
        return (
            np.column_stack([effect for effect, _ in found]),
            np.column_stack([self._errors(slopes) for _, slopes in found]),
        )

    def limits(self, share: Floats, error: Floats, level: float) -> tuple[Floats, Floats]:
        """Return the ends of intervals of probabilities: they stay between 0 and 1."""
        return share_limits(share, error, reach(level, self.degrees))

    # -- parts -----------------------------------------------------------------------------------------------

    def _rows(self, X: Floats) -> Floats:
        return np.column_stack([np.ones(len(X)), X]) if self.intercept else X

    def _mean_probabilities(self, rows: Floats, share: Floats) -> tuple[Floats, Floats]:
        """Means (K) and their slopes in the raveled theta, K x parameters."""
        chance = posterior(rows @ self.theta.T).probabilities
        free = chance[:, 1:]
        held = share[:, None] * chance
        slopes = np.stack([-(held[:, [k]] * free).T @ rows for k in range(chance.shape[1])])
        slopes[1:][_own(free)] += held[:, 1:].T @ rows
        return share @ chance, slopes.reshape(len(slopes), -1)

    def _step(self, rows: Floats, share: Floats, place: int) -> tuple[Floats, Floats]:
        """The change of mean probabilities as a column goes from 0 to 1."""
        ends = []
        for value in (0.0, 1.0):
            moved = rows.copy()
            moved[:, place] = value
            ends.append(self._mean_probabilities(moved, share))
        return ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]

    def _slope(self, rows: Floats, share: Floats, place: int) -> tuple[Floats, Floats]:
        """The mean derivative of probabilities in a column, p_k (theta_k - sum p_j theta_j), and its own slopes."""
        chance = posterior(rows @ self.theta.T).probabilities
        free = chance[:, 1:]
        coefficients = np.concatenate([[0.0], self.theta[:, place]])
        beyond = coefficients - (chance @ coefficients)[:, None]  # n x K
        # d/d theta_jq = z_q { p_k (1[k = j] - p_j) beyond_k - p_k p_j beyond_j } + 1[q = column] p_k (1[k = j] - p_j)
        held = share[:, None] * chance
        both = [held[:, [k]] * free * (beyond[:, [k]] + beyond[:, 1:]) for k in range(chance.shape[1])]
        slopes = np.stack([-each.T @ rows for each in both])
        slopes[1:][_own(free)] += (held * beyond)[:, 1:].T @ rows
        slopes[:, :, place] -= held.T @ free
        slopes[1:, :, place][_own(free)] += held[:, 1:].sum(axis=0)
        return share @ (chance * beyond), slopes.reshape(len(slopes), -1)

    def _errors(self, slopes: Floats) -> Floats:
        errors: Floats = np.sqrt(np.maximum(((slopes @ self._known_covariance()) * slopes).sum(axis=1), 0.0))
        return errors

    def _known_covariance(self) -> Floats:
        # A column that the fit left out is zero for good: it has no error, and adds none to others.
        left_out = np.isnan(np.diag(self.covariance)) & (self.theta.ravel() == 0)
        known: Floats = np.where(left_out[:, None] | left_out[None, :], 0.0, self.covariance)
        return known


def _own(free: Floats) -> Any:
    """The cells of a class beside its own parameters."""
    return np.diag_indices(free.shape[1])
