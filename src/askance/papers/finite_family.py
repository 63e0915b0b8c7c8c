"""Simulated studies of a finite exponential family: reports drawn, both estimators fitted, thousands at once.

With finitely many truths and no covariates the data are the counts of the reports, so a study of a billion
people is one multinomial draw, and all replicates are fitted by the same few array operations. These fits
are written apart from the library's estimators and serve as a second opinion on the formulas.
"""

from collections.abc import Callable

import numpy as np

from askance.arrays import Floats
from askance.channels.labels.channel_matrix import unbiasing_matrix
from askance.errors import AskanceError
from askance.planning.theory.efficiency import family_law

_STEPS = 500  # far more than Newton's method takes where there is a finite estimate
_SETTLED = 1e-10  # length of a step, relative to theta: far below any standard error
_LONGEST_STEP = 1.0  # of theta, in log-odds: longer ones overshoot where laws are nearly certain


def draw_report_counts(law: Floats, matrix: Floats, n: int, replicates: int, rng: np.random.Generator) -> Floats:
    """Draw the truths of n people, then a report for each; return the counts, replicates x reports."""
    truths = rng.multinomial(n, law, size=replicates)
    reports: Floats = np.zeros((replicates, len(matrix)))
    for people, report_law in zip(truths.T, matrix.T, strict=True):
        reports = reports + rng.multinomial(people, report_law)
    return reports


def fit_moments(features: Floats, matrix: Floats, counts: Floats, start: Floats) -> Floats:
    """Estimate theta from unbiased moments: solve E_theta[phi] = mean beta(o), by Newton.

    Parameters
    ----------
    features : array, d x K
    matrix : array, reports x K
    counts : array, replicates x reports
    start : array, (d,) or replicates x d

    Returns
    -------
    array, replicates x d
    """
    beta = unbiasing_matrix(matrix, tuple(range(matrix.shape[1])), features=features)
    return match_moments(features, counts @ beta.T / counts.sum(axis=1, keepdims=True), start)


def match_moments(features: Floats, wanted: Floats, start: Floats) -> Floats:
    """Solve E_theta[phi] = wanted by Newton, for each row of ``wanted``, replicates x d."""

    def step(theta: Floats) -> Floats:
        law = family_law(features, theta)
        mean = law @ features.T
        information = np.einsum("rk,dk,ek->rde", law, features, features) - mean[:, :, None] * mean[:, None, :]
        return _solved(information, wanted - mean)

    return _iterated(step, start, len(wanted))


def fit_marginal(features: Floats, matrix: Floats, counts: Floats, start: Floats) -> Floats:
    """Maximise the marginal likelihood sum_o count_o log sum_y S(o|y) p_theta(y), by Fisher scoring.

    Parameters and result are those of :func:`fit_moments`, whose answer is a good start.
    """
    observed = counts / counts.sum(axis=1, keepdims=True)

    def step(theta: Floats) -> Floats:
        law = family_law(features, theta)
        reports = law @ matrix.T
        # score_o = E[phi | o] - E[phi]; the information is its covariance.
        score = np.einsum("dk,ok,rk->rod", features, matrix, law) / reports[:, :, None]
        score -= (law @ features.T)[:, None, :]
        information = np.einsum("ro,rod,roe->rde", reports, score, score)
        # The expected score is zero: taking it off leaves the sum unchanged, and its rounding errors out.
        return _solved(information, np.einsum("ro,rod->rd", observed - reports, score))

    return _iterated(step, start, len(counts))


def _solved(information: Floats, gradient: Floats) -> Floats:
    return np.asarray(np.linalg.solve(information, gradient[:, :, None])[:, :, 0], dtype=np.float64)


def _iterated(step: Callable[[Floats], Floats], start: Floats, replicates: int) -> Floats:
    theta: Floats = np.array(np.broadcast_to(start, (replicates, np.shape(start)[-1])), dtype=float)
    for _ in range(_STEPS):
        try:
            move = step(theta)
        except np.linalg.LinAlgError:  # theta ran away until one truth was left
            break
        length = np.linalg.norm(move, axis=1, keepdims=True)
        theta += move / np.maximum(1.0, length / _LONGEST_STEP)
        if length.max() < _SETTLED * (1 + np.abs(theta).max()):
            return theta
    raise AskanceError(
        "a simulated study has no finite estimate",
        "studies large enough for the estimate to exist",
        "Simulate more people.",
    )
