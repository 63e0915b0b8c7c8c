"""Solvers on problems whose solution is known."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from askance.solvers.em import expectation_maximisation
from askance.solvers.newton import Local, maximise
from askance.solvers.simplex import mixture_proportions, project_to_simplex


def test_newton_climbs_rosenbrock_from_where_it_is_not_concave():
    def rosenbrock(t):
        return Local(-optimize.rosen(t), -optimize.rosen_der(t), optimize.rosen_hess(t))

    for start in ([-1.2, 1.0], [0.0, 5.0], [3.0, -4.0, 2.0]):
        found = maximise(rosenbrock, np.array(start))
        assert found.converged
        np.testing.assert_allclose(found.theta, 1, atol=1e-8)


def test_newton_does_not_care_about_units():
    scales = np.array([1e-6, 1.0, 1e6])

    def quartic(t):
        u = t / scales - 2
        return Local(-float((u**2 + u**4).sum()), -(2 * u + 4 * u**3) / scales, np.diag((2 + 12 * u**2) / scales**2))

    found = maximise(quartic, np.zeros(3))
    assert found.converged
    np.testing.assert_allclose(found.theta / scales, 2, rtol=1e-9)


def test_newton_says_when_there_is_no_maximum():
    def linear(t):
        return Local(float(t.sum()), np.ones(2), np.zeros((2, 2)))

    found = maximise(linear, np.zeros(2), diverges=lambda t, here: bool(np.abs(t).max() > 1e3))
    assert found.diverged
    assert not found.converged


def test_newton_stops_at_its_limit():
    def slow(t):
        return Local(float(-np.exp(-t[0])), np.exp(-t), np.diag(np.exp(-t)))

    found = maximise(slow, np.zeros(1), max_iterations=5)
    assert not found.converged
    assert found.iterations == 5


def test_newton_ignores_a_direction_that_does_not_matter():
    def flat(t):
        return Local(-float((t[0] + t[1] - 1) ** 2), -2 * (t[0] + t[1] - 1) * np.ones(2), 2 * np.ones((2, 2)))

    found = maximise(flat, np.array([3.0, 0.0]))
    assert found.converged
    np.testing.assert_allclose(found.theta.sum(), 1)
    np.testing.assert_allclose(found.theta[0] - found.theta[1], 3)


def test_projection_to_the_simplex_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for _ in range(50):
        point = rng.normal(size=4)
        nearest = project_to_simplex(point)
        found = optimize.minimize(
            lambda p, point=point: ((p - point) ** 2).sum(),
            np.full(4, 0.25),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(nearest.sum(), 1)
        assert nearest.min() >= 0
        np.testing.assert_allclose(nearest, found.x, atol=1e-6)


# Where there are many classes, one at the border once stopped all others: nine of the last thirty ended elsewhere.
@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (4, 4), (6, 3), (14, 12), (42, 34)])
def test_mixture_proportions_maximise_the_likelihood(shape):
    rng = np.random.default_rng(1)
    for _ in range(30):
        matrix = rng.dirichlet(np.ones(shape[0]), size=shape[1]).T
        counts = rng.multinomial(60, rng.dirichlet(np.full(shape[0], 0.7))).astype(float)
        p = mixture_proportions(matrix, counts)
        assert p.min() >= 0
        np.testing.assert_allclose(p.sum(), 1)
        # The conditions for the maximum of a concave function on the simplex.
        seen = counts > 0
        gradient = matrix[seen].T @ (counts[seen] / counts.sum() / (matrix[seen] @ p))
        assert gradient.max() < 1 + 1e-7
        np.testing.assert_allclose(gradient[p > 1e-6], 1, atol=1e-6)


def test_em_never_lowers_the_likelihood():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    labels = (rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    noisy = np.where(rng.random(400) < 0.25, 1 - labels, labels)
    likelihood = np.array([[0.75, 0.25], [0.25, 0.75]])[noisy]
    result = expectation_maximisation(
        LogisticRegression(C=1e6), X, likelihood, None, max_iterations=300, tolerance=1e-9
    )
    assert result.converged
    assert np.diff(result.log_likelihood).min() > -1e-7
