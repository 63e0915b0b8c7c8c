"""Newton on the absolute curvature: saddles, slopes that never end but for a penalty, units."""

import numpy as np
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from askance.solvers import Local, climb


def test_it_climbs_rosenbrock_from_where_it_is_not_concave():
    def rosenbrock(t):
        return Local(-optimize.rosen(t), -optimize.rosen_der(t), optimize.rosen_hess(t))

    for start in ([-1.2, 1.0], [0.0, 5.0], [3.0, -4.0, 2.0]):
        found = climb(rosenbrock, np.array(start))
        assert found.converged
        np.testing.assert_allclose(found.theta, 1, atol=1e-6)


def test_many_parameters_need_eigenvalues_only_where_it_curves_upwards(monkeypatch):
    """Where the information is positive definite, Newton's own step is taken by Cholesky's factors."""
    rng = np.random.default_rng(11)
    X, units = rng.normal(size=(900, 80)), 10.0 ** rng.uniform(-1, 2, 80)
    y = rng.random(900) < 1 / (1 + np.exp(-X[:, 0]))

    def ridged(t):
        u = units * t
        p = 1 / (1 + np.exp(-X @ u))
        value = float(np.log(np.where(y, p, 1 - p)).sum() - u @ u / 2)
        information = X.T * (p * (1 - p)) @ X + np.eye(80)
        return Local(value, units * (X.T @ (y - p) - u), units[:, None] * information * units)

    def no_eigenvalues(matrix):
        raise AssertionError("eigenvalues of a concave function")

    with monkeypatch.context() as patched:
        patched.setattr(np.linalg, "eigh", no_eigenvalues)
        found = climb(ridged, np.zeros(80))
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y)
    assert found.converged
    np.testing.assert_allclose(units * found.theta, model.coef_[0], atol=1e-5)
    bent = climb(lambda t: Local(-optimize.rosen(t), -optimize.rosen_der(t), optimize.rosen_hess(t)), np.full(80, 3.0))
    assert bent.converged
    np.testing.assert_allclose(bent.theta, 1, atol=1e-6)


def test_it_leaves_a_saddle_on_which_it_starts():
    def two_hills(t):
        x, y = t
        value = -((x**2 - 1) ** 2) - y**2
        return Local(value, np.array([-4 * x * (x**2 - 1), -2 * y]), np.diag([12 * x**2 - 4, 2.0]))

    found = climb(two_hills, np.zeros(2))
    assert found.converged
    np.testing.assert_allclose(np.abs(found.theta), [1, 0], atol=1e-8)


def test_no_step_is_longer_than_allowed():
    seen = []

    def far_away(t):
        seen.append(t.copy())
        return Local(-float((t[0] - 100) ** 2), -2 * (t - 100), 2 * np.eye(1))

    found = climb(far_away, np.zeros(1), longest=7.0)
    assert found.converged
    assert np.abs(np.diff(np.ravel(seen))).max() <= 7.0 + 1e-9


def test_next_to_no_curvature_is_no_overflow():
    found = climb(lambda t: Local(-1e-300 * float(t @ t), -2e-300 * t, 2e-300 * np.eye(1)), np.ones(1))
    assert np.isfinite(found.theta).all()
    steep = climb(lambda t: Local(float(t[0]), np.ones(1), np.zeros((1, 1))), np.zeros(1), max_iterations=3)
    assert np.isfinite(steep.theta).all()


def test_a_direction_that_does_not_matter_stays_where_it_is():
    def flat(t):
        return Local(-float((t[0] + t[1] - 1) ** 2), -2 * (t[0] + t[1] - 1) * np.ones(2), 2 * np.ones((2, 2)))

    found = climb(flat, np.array([3.0, 0.0]))
    assert found.converged
    np.testing.assert_allclose([found.theta.sum(), found.theta[0] - found.theta[1]], [1, 3])


def test_it_says_when_it_did_not_arrive():
    def slow(t):
        return Local(float(-np.exp(-t[0])), np.exp(-t), np.diag(np.exp(-t)))

    assert not climb(slow, np.zeros(1), max_iterations=5).converged
