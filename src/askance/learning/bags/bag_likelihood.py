"""The likelihood of the bags' counts under a softmax model.

    sum_j log P(counts_j | x of bag j, theta) - theta' P theta / 2

Its gradient is that of a softmax regression on labels that are their own conditional probabilities given the counts, so
each evaluation is an E-step, and L-BFGS takes the place of the M-steps. It is not concave: it starts from a mean map.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats, Integers
from askance.learning.bags.label_counts import LARGEST_TABLE, labels_given_counts
from askance.solvers.softmax import posterior, symmetric


class CountFit(NamedTuple):
    """Where the penalised likelihood of the counts is largest, as far as found."""

    theta: Floats  # K-1 x p
    log_likelihood: float  # without the penalty
    evidence: float  # log of the integral over theta of likelihood times prior, by Laplace's method
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class BagCounts:
    """Rows and counts of bags.

    Parameters
    ----------
    rows : array, n x p
        (1, x - mean), or x without an intercept; rows of a bag are neighbours.
    starts : array, bags + 1
    counts : array, bags x K
    intercept : bool
    largest_table : int
        See :func:`askance.learning.bags.label_counts.labels_given_counts`.
    """

    rows: Floats
    starts: Integers
    counts: Integers
    intercept: bool
    largest_table: int = LARGEST_TABLE

    def penalty(self, ridge: float) -> Floats:
        """P for ridge / 2 |coefficients|^2: of two classes by their one row, of more by rows that sum to zero."""
        free, width = self.counts.shape[1] - 1, self.rows.shape[1]
        each = np.full(width, ridge)
        if self.intercept:
            each[0] = 0.0
        centred = symmetric(np.eye(free))
        coupling = np.ones((1, 1)) if free == 1 else centred.T @ centred
        return np.asarray(np.kron(coupling, np.diag(each)), dtype=float)

    def score(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return log P(counts) of each bag, and its derivative by the logits of each row, n x K-1."""
        logits = self.rows @ theta.T
        model = posterior(logits).probabilities
        given = labels_given_counts(
            np.column_stack([np.zeros(len(logits)), logits]), self.starts, self.counts, self.largest_table
        )
        return given.log_likelihood, given.probabilities[:, 1:] - model[:, 1:]

    def bag_scores(self, theta: Floats) -> Floats:
        """Return the derivative of each bag's log-likelihood by the parameters, bags x (K-1) p."""
        _, score = self.score(theta)
        sums = [np.add.reduceat(column[:, None] * self.rows, self.starts[:-1]) for column in score.T]
        stacked: Floats = np.hstack(sums)
        return stacked

    def maximise(self, start: Floats, ridge: float, max_iterations: int) -> CountFit:
        """Maximise the penalised likelihood by L-BFGS from ``start``, K-1 x p."""
        from scipy.optimize import minimize

        penalty = self.penalty(ridge)

        def loss(flat: Floats) -> tuple[float, Floats]:
            bags, score = self.score(flat.reshape(start.shape))
            shrink = penalty @ flat
            gradient = (score.T @ self.rows).ravel()
            return -float(bags.sum()) + 0.5 * float(flat @ shrink), shrink - gradient

        options = {"maxiter": max_iterations, "maxfun": 5 * max_iterations, "ftol": 1e-9, "gtol": 1e-5, "maxcor": 20}
        found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        theta = found.x.reshape(start.shape)
        shrunk = 0.5 * float(found.x @ penalty @ found.x)
        log_likelihood = shrunk - float(found.fun)
        return CountFit(
            theta, log_likelihood, self._evidence(theta, log_likelihood - shrunk, ridge), int(found.nit), found.success
        )

    def expected_information(self, theta: Floats) -> Floats:
        """Return the information of the counts, as if each bag's score were linear in them: exact for single rows.

        C_j V_j^-1 C_j', where V_j is the covariance of the counts and C_j that of the statistics with the counts.
        """
        shares = posterior(self.rows @ theta.T).probabilities[:, 1:]
        free, width = theta.shape
        first = self.starts[:-1]
        spread = np.empty((len(first), free, free))
        together = np.empty((len(first), free, width, free))
        for j in range(free):
            for k in range(free):
                curvature = shares[:, j] * ((j == k) - shares[:, k])
                spread[:, j, k] = np.add.reduceat(curvature, first)
                together[:, j, :, k] = np.add.reduceat(curvature[:, None] * self.rows, first)
        inverse = np.linalg.pinv(spread, hermitian=True)
        flat = together.reshape(len(first), free * width, free)
        information: Floats = np.einsum("bik,bkl,bjl->ij", flat, inverse, flat, optimize=True)
        return information

    def observed_information(self, theta: Floats) -> Floats:
        """Return minus the second derivative of the log-likelihood, by central differences of the gradient."""
        scale = 1e-5 / np.sqrt(np.maximum((self.rows**2).mean(axis=0), 1e-300))
        columns = []
        for j in range(theta.shape[0]):
            for k in range(theta.shape[1]):
                step = np.zeros_like(theta)
                step[j, k] = scale[k]
                up, down = ((self.score(theta + sign * step)[1].T @ self.rows).ravel() for sign in (1, -1))
                columns.append((down - up) / (2 * scale[k]))
        table = np.array(columns)
        information: Floats = 0.5 * (table + table.T)
        return information

    def _evidence(self, theta: Floats, value: float, ridge: float) -> float:
        if ridge == 0:
            return -np.inf
        penalty = self.penalty(ridge)
        prior = np.diag(penalty).copy()
        free = prior == 0  # an intercept's flat prior is the same for every ridge
        _, posterior_volume = np.linalg.slogdet(self.expected_information(theta) + penalty + np.diag(1e-6 * free))
        return value + 0.5 * float(int((~free).sum()) * np.log(ridge) - posterior_volume)
