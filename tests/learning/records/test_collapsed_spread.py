"""The collapsed likelihood: integral, gradient, maximum, folds, scores."""

import numpy as np
import pytest
from scipy.special import expit, softmax

import askance as ask
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood
from askance.learning.records.covariance import sandwich
from askance.learning.records.logistic_normal import expected_sigmoid, expected_softmax
from askance.learning.records.posterior import Moments, Reliability
from askance.learning.records.spectral_fit import PrincipalScores
from askance.learning.records.validation import choose, fold_weights


def gauss_hermite(mean, variance, nodes=200):
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    return expit(mean[..., None] + np.sqrt(variance)[..., None] * points) @ weights / weights.sum()


def test_expected_sigmoid_is_the_integral():
    mean, variance = np.meshgrid(np.linspace(-8, 8, 33), [0.0, 0.1, 1.0, 5.0, 20.0])
    link = expected_sigmoid(mean, variance)
    assert link.probability == pytest.approx(gauss_hermite(mean, variance), abs=1.5e-4)
    rough = expected_sigmoid(mean, variance, rough=True)
    assert np.abs(rough.probability - link.probability).max() < 0.02


@pytest.mark.parametrize("rough", [False, True])
def test_derivatives_of_the_integral(rough):
    mean, variance = np.meshgrid(np.linspace(-5, 5, 11), [0.5, 3.0])
    link = expected_sigmoid(mean, variance, rough=rough)

    def slope(by_mean, by_variance):
        ahead = expected_sigmoid(mean + by_mean, variance + by_variance, rough=rough).probability
        back = expected_sigmoid(mean - by_mean, variance - by_variance, rough=rough).probability
        return (ahead - back) / 2e-5

    assert link.by_mean == pytest.approx(slope(1e-5, 0), abs=1e-8)
    assert link.by_variance == pytest.approx(slope(0, 1e-5), abs=1e-8)


def test_softmax_of_two_is_the_rough_sigmoid_and_of_many_near_the_truth():
    mean, variance = np.array([[0.7, -0.7]]), np.array([[0.8, 0.8]])
    two = expected_softmax(mean, variance).probability[0, 0]
    assert two == pytest.approx(expected_sigmoid(np.array([1.4]), np.array([3.2]), rough=True).probability[0])
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(4, 30)) / np.sqrt(30)
    directions -= directions.mean(axis=0)
    centre = np.array([1.0, 0.2, -0.4, -0.8])
    drawn = softmax(centre + 1.5 * rng.normal(size=(200_000, 30)) @ directions.T, axis=1).mean(axis=0)
    found = expected_softmax(centre[None], 1.5**2 * (directions**2).sum(axis=1)[None]).probability[0]
    assert found == pytest.approx(drawn, abs=0.03)  # the approximation's error; that of the draws is below 0.001


def example(classes, constant=False, intercept=True, rows=60, width=4, seed=0):
    rng = np.random.default_rng(seed)
    variance = rng.random((1 if constant else rows, width))
    features = Moments(rng.normal(size=(rows, width)) + 3, variance)
    return CollapsedLikelihood(features, rng.random((rows, classes)), rng.random(width) + 0.5, intercept)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_gradient(classes, constant, intercept):
    likelihood = example(classes, constant, intercept)
    rng = np.random.default_rng(1)
    weights = rng.random((60, 2))
    weights /= weights.sum(axis=0)
    theta = rng.normal(size=(2, likelihood.rows, 5))
    if not intercept:
        theta[:, :, 0] = 0
    if classes > 2:
        theta -= theta.mean(axis=1, keepdims=True)
    _, gradient = likelihood.loss(theta, weights, 0.3)
    for at in np.ndindex(theta.shape):
        if not intercept and at[-1] == 0:
            continue
        step = np.zeros_like(theta)
        step[at] = 1e-5
        ahead, back = (likelihood.loss(theta + sign * step, weights, 0.3)[0] for sign in (1, -1))
        assert gradient[at] == pytest.approx((ahead - back) / 2e-5, abs=1e-7)


def test_without_noise_it_is_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    X = rng.normal(size=(2_000, 3)) * [1, 10, 0.1] + 5
    y = (rng.random(2_000) < expit((X - 5) @ [1, 0.1, 5])).astype(int)
    likelihood = CollapsedLikelihood(Moments(X, np.zeros((1, 3))), np.eye(2)[y], np.ones(3))
    theta = likelihood.fit(0.0).theta[0, 0]
    plain = LogisticRegression(C=np.inf, tol=1e-8, max_iter=5000).fit(X - X.mean(axis=0), y)
    assert theta[1:] == pytest.approx(plain.coef_[0], rel=2e-3)
    assert theta[0] == pytest.approx(plain.intercept_[0], abs=2e-3)


def test_folds_fitted_at_once_are_the_folds_fitted_one_by_one():
    likelihood = example(3)
    weights = fold_weights(60, 3)
    assert weights.sum(axis=0).tolist() == [40, 40, 40]
    assert (weights == 0).sum(axis=1).tolist() == [1] * 60
    together = likelihood.fit(0.1, weights, tolerance=1e-8).theta
    for fold in range(3):
        alone = likelihood.fit(0.1, weights[:, [fold]], tolerance=1e-8).theta[0]
        assert together[fold] == pytest.approx(alone, abs=1e-5)


def test_fits_do_not_depend_on_units():
    likelihood = example(2, constant=True)
    scale = np.array([1.0, 100.0, 0.01, 7.0])
    mean, variance = likelihood.features
    scaled = CollapsedLikelihood(
        Moments(mean * scale, variance * scale**2), likelihood.label_likelihood, likelihood.metric * scale**2
    )
    one, other = likelihood.fit(0.05, tolerance=1e-8).theta[0, 0], scaled.fit(0.05, tolerance=1e-8).theta[0, 0]
    assert other[1:] * scale == pytest.approx(one[1:], rel=1e-4)


def full(likelihood):
    return likelihood if likelihood.rows == 1 else likelihood.joint()


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_sum_to_the_gradient_and_the_sandwich_of_a_right_model_is_its_information(classes):
    likelihood = full(example(classes))
    theta = likelihood.fit(0.0, tolerance=1e-9).theta[0]
    scores = likelihood.report_scores(theta)
    assert scores.shape == (60, max(classes - 1, 1) * 5)
    assert scores.sum(axis=0) == pytest.approx(np.zeros(scores.shape[1]), abs=1e-5)
    moved = theta + 0.1 * np.random.default_rng(0).normal(size=theta.shape)
    moved = moved if classes == 2 else moved - moved.mean(axis=0)
    gradient = likelihood.loss(moved[None], np.full((60, 1), 1 / 60), 0.0)[1][0]
    free = gradient if classes == 2 else gradient[1:]
    assert -likelihood.report_scores(moved).mean(axis=0) == pytest.approx(free.ravel(), abs=1e-8)

    rng = np.random.default_rng(3)
    X = rng.normal(size=(40_000, 2))
    truth = np.array([[0.0, 0.0], [1.0, -0.5], [0.3, 0.8]])[:classes]
    chance = softmax(X @ truth.T, axis=1)
    y = (chance.cumsum(axis=1) < rng.random((40_000, 1))).sum(axis=1)
    right = full(CollapsedLikelihood(Moments(X, np.zeros((1, 2))), np.eye(classes)[y], np.ones(2)))
    covariance, shares = sandwich(right, right.fit(0.0).theta[0], 0.0)
    X1 = np.column_stack([np.ones(len(X)), X - X.mean(axis=0)])
    p = chance[:, 1:]
    information = np.einsum("ni,nkl,nj->kilj", X1, p[:, :, None] * (np.eye(classes - 1) - p[:, None, :]), X1)
    size = (classes - 1) * 3
    # Sums over 40,000 rows: relative errors of a percent or so.
    assert np.sqrt(np.diag(covariance)) == pytest.approx(
        np.sqrt(np.diag(np.linalg.inv(information.reshape(size, size)))), rel=0.04
    )
    assert shares.max() == 0


def test_labels_that_follow_reports_too_closely_have_no_standard_errors():
    """With less noise than is stated all logits grow together: no maximum, or one that a weak ridge alone holds."""
    rng = np.random.default_rng((3, 1))
    X = rng.normal(size=(2_000, 3)) @ np.linalg.cholesky(0.3 + 0.7 * np.eye(3)).T
    y = (rng.random(2_000) < 1 / (1 + np.exp(0.5 - X @ [1, -1, 0.5]))).astype(int)
    reports = X + 0.7 * rng.normal(size=X.shape)
    for sigma, told in ((0.7, True), (1.0, False)):
        channel = ask.RowChannel(ask.GaussianNoise(sigma), label=ask.Identity((0, 1)))
        model = ask.SpreadClassifier(channel, random_state=0).fit(reports, y)
        assert (model.covariance_ is not None) == told
        assert told or "No standard errors" in model.notes_[-1]
        plain = ask.SpreadClassifier(channel, ridge=0.0, random_state=0).fit(reports, y)
        assert (plain.covariance_ is not None) == told
        assert told or "do not determine" in plain.notes_[-1]


def test_principal_scores_find_the_direction_and_its_size():
    rng = np.random.default_rng(4)
    direction = np.ones(50) / np.sqrt(50)
    truth = 2 + 3 * rng.normal(size=(4_000, 1)) * direction
    reports = truth + rng.normal(size=truth.shape)  # noise of variance 1
    prior = np.full(50, 9 / 50)
    share = prior / (prior + 1)
    mean = 2 + share * (reports - 2)
    scores = PrincipalScores.fitted(mean, Reliability(np.full(50, 2.0), prior, share))
    assert len(scores.shrinkage) == 1
    cosine = abs(scores.directions[0] @ direction) / np.linalg.norm(scores.directions[0])
    assert cosine > 0.995
    assert scores.shrinkage[0] == pytest.approx(9 / 10, abs=0.01)
    assert scores.captured == pytest.approx(1.0, abs=0.1)  # all of the variance is along it
    found = scores.scores(mean)
    clean = (truth - scores.centre) @ scores.directions[0]
    assert np.var(clean - found.mean[:, 0]) == pytest.approx(found.variance[0, 0], rel=0.1)
    theta = np.array([[0.5, 2.0]])
    moved = scores.coefficients(theta)
    assert truth @ moved[0, 1:] + moved[0, 0] == pytest.approx(0.5 + 2 * clean)


def test_a_method_that_knows_less_is_left_out_and_a_ridge_is_found():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 40))
    y = (rng.random(600) < expit(2 * X[:, 0])).astype(int)
    likelihoods = {
        "good": CollapsedLikelihood(Moments(X, np.zeros((1, 40))), np.eye(2)[y] * 0.9 + 0.05, np.ones(40)),
        "blind": CollapsedLikelihood(Moments(X[:, 1:], np.zeros((1, 39))), np.eye(2)[y] * 0.9 + 0.05, np.ones(39)),
    }
    choice = choose(likelihoods, fold_weights(600, 5, rng))
    assert [trial.method for trial in choice.taken] == ["good"]
    assert 1e-3 < choice.taken[0].ridge < 3
    table = choice.table
    assert min(table["behind"]) == 0
    assert set(table["method"]) == {"good", "blind"}


def test_without_intercept_standard_errors_are_those_of_the_weights_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(1.5, 1.0, size=(3_000, 2))
    y = (rng.random(3_000) < expit(X @ [1.0, -0.8])).astype(int)
    likelihood = CollapsedLikelihood(Moments(X, np.zeros((1, 2))), np.eye(2)[y], np.ones(2), intercept=False)
    theta = likelihood.fit(0.0).theta[0]
    chance = expit(X @ theta[0, 1:])
    bread = np.linalg.inv((X * (chance * (1 - chance))[:, None]).T @ X)
    meat = (X * ((y - chance) ** 2)[:, None]).T @ X
    covariance, _ = sandwich(likelihood, theta, 0.0)
    np.testing.assert_allclose(covariance[1:, 1:], bread @ meat @ bread, rtol=0.02)
    np.testing.assert_array_equal(covariance[0], 0.0)
