"""Inverse calibration (Rüping 2010), the other classifier from proportions that [CR] names, to set beside MMD.

A bag stands for its mean row, and a support vector regression makes the score there -log(1 / share - 1): what a
calibrated classifier would say about a row that is positive with that probability. Rows are then classified by the sign
of their score, and counted.
"""

from dataclasses import dataclass

import numpy as np

from askance.arrays import Floats, Integers

_LEAST = 0.01  # shares nearer to 0 or 1 have scores without end; Rüping cuts them off, too
_TUBE = 0.1  # how far a score may be off at no cost: a quarter of the noise of a share of .1 in a hundred rows


@dataclass(frozen=True, eq=False)
class InverseCalibration:
    """A fitted machine: its kernel, the training rows by bag, and the weight of each bag."""

    gamma: float
    rows: Floats
    weights: Floats
    offset: float

    def share(self, X: Floats) -> float:
        """Count the rows that are classified as positive."""
        from sklearn.metrics.pairwise import rbf_kernel

        return float(np.mean(rbf_kernel(X, self.rows, gamma=self.gamma) @ self.weights + self.offset > 0))


def fit_inverse_calibration(
    X: Floats, bags: Integers, shares: Floats, *, gamma: float, cost: float = 10.0
) -> InverseCalibration:
    """Fit an RBF machine to the means of bags of which the share of positive rows is known.

    Rows, bags, shares and gamma are as of :func:`~askance.papers.class_ratio.proportion_svm.fit_proportion_svm`;
    ``cost`` is C_p, of a bag whose score is off.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 0, 1], [45, 5, 5, 45])
    >>> X = rng.normal(size=(100, 2)) + 4 * y[:, None]
    >>> fitted = fit_inverse_calibration(X, np.repeat([0, 1], 50), np.array([0.1, 0.9]), gamma=0.1)
    >>> round(fitted.share(X), 1)
    0.5
    """
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.svm import SVR

    member = np.eye(len(shares))[bags] / np.bincount(bags, minlength=len(shares))  # rows x bags: averages over a bag
    inside = np.clip(shares, _LEAST, 1 - _LEAST)
    kernel = member.T @ rbf_kernel(X, gamma=gamma) @ member
    machine = SVR(kernel="precomputed", C=cost, epsilon=_TUBE).fit(kernel, np.log(inside / (1 - inside)))
    weights = np.zeros(len(shares))
    weights[machine.support_] = machine.dual_coef_.ravel()
    return InverseCalibration(gamma, X, member @ weights, float(machine.intercept_[0]))
