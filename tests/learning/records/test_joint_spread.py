"""Correlated logits of three and more classes: the integral, its derivatives, and what a fit makes of them."""

import numpy as np
import pytest
from scipy.special import ndtri, softmax
from scipy.stats.qmc import Sobol

import askance as ask
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood
from askance.learning.records.joint_likelihood import joint_logits
from askance.learning.records.posterior import Moments
from askance.learning.records.softmax_normal import expected_probabilities, label_slopes, normal_points


def logits(size, variance, rng, rows=5):
    """Means, covariances and their packed lower triangles."""
    factors = rng.normal(size=(rows, size, 8)) * np.sqrt(variance / 8)
    covariance = factors @ factors.transpose(0, 2, 1)
    return rng.normal(size=(rows, size)), covariance, covariance[:, *np.tril_indices(size)]


def exact(mean, covariance):
    """E[softmax] by a product of fine Gauss-Hermite rules, or by a long Sobol sequence where that is too long."""
    size = len(mean)
    nodes = {2: 80, 3: 40}.get(size)
    if nodes:
        at, weight = np.polynomial.hermite_e.hermegauss(nodes)
        points = np.stack(np.meshgrid(*[at] * size), axis=-1).reshape(-1, size)
        shares = np.stack(np.meshgrid(*[weight / weight.sum()] * size), axis=-1).reshape(-1, size).prod(axis=1)
    else:
        points = ndtri(Sobol(size, seed=1).random(1 << 16))
        shares = np.full(len(points), 1 / len(points))
    drawn = mean + points @ np.linalg.cholesky(covariance).T
    return shares @ softmax(np.column_stack([np.zeros(len(drawn)), drawn]), axis=1)


@pytest.mark.parametrize(("size", "variance", "off"), [(2, 1.0, 2e-4), (2, 4.0, 4e-3), (3, 1.0, 1e-3), (6, 1.0, 8e-3)])
def test_probabilities_are_those_of_a_much_finer_rule(size, variance, off):
    mean, covariance, packed = logits(size, variance, np.random.default_rng(0))
    found = expected_probabilities(mean, packed)
    for row, law in enumerate(covariance):
        assert found[row] == pytest.approx(exact(mean[row], law), abs=off)
    assert found.sum(axis=1) == pytest.approx(np.ones(len(mean)))


@pytest.mark.parametrize("size", [2, 3, 4, 9])
def test_points_have_the_moments_of_normal_numbers(size):
    points, shares = normal_points(size)
    assert shares.sum() == pytest.approx(1)
    assert shares @ points == pytest.approx(np.zeros(size), abs=1e-12)
    assert (points * shares[:, None]).T @ points == pytest.approx(np.eye(size), abs=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_slopes_are_derivatives(size):
    rng = np.random.default_rng(1)
    mean, _, packed = logits(size, 1.5, rng)
    told = rng.random((len(mean), size + 1))
    slopes, step = label_slopes(mean, packed, told), 1e-5
    for moved, slope in ((0, slopes.by_mean), (1, slopes.by_covariance)):
        for place in range(slope.shape[1]):
            up, down = [mean.copy(), packed.copy()], [mean.copy(), packed.copy()]
            up[moved][:, place] += step
            down[moved][:, place] -= step
            difference = (label_slopes(*up, told).value - label_slopes(*down, told).value) / (2 * step)
            assert slope[:, place] == pytest.approx(difference, abs=1e-8)


def test_no_variance_is_the_plain_softmax():
    rng = np.random.default_rng(2)
    mean = rng.normal(size=(4, 3))
    plain = softmax(np.column_stack([np.zeros(4), mean]), axis=1)
    assert expected_probabilities(mean, np.zeros((4, 6))) == pytest.approx(plain, abs=1e-6)
    assert expected_probabilities(mean, np.zeros((1, 6))) == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("one_variance", [True, False])
def test_gradients(intercept, one_variance):
    rng = np.random.default_rng(3)
    features = Moments(rng.normal(1.0, 1.0, size=(40, 3)), rng.random((1 if one_variance else 40, 3)))
    collapsed = CollapsedLikelihood(features, rng.random((40, 3)), np.array([1.0, 2.0, 0.5]), intercept)
    joint, weights = collapsed.joint(), rng.random((40, 2))
    theta = rng.normal(size=(2, 3, 4))
    theta -= theta.mean(axis=1, keepdims=True)
    if not intercept:
        theta[..., 0] = 0.0
    value, gradient = joint.loss(theta, weights, 0.3)
    penalised = theta if intercept else theta[..., 1:]
    penalty = 0.15 * float((collapsed.penalties * penalised**2).sum())
    assert value == pytest.approx(penalty - float((weights * joint.log_likelihood(theta)).sum()))
    for _ in range(5):
        direction = rng.normal(size=theta.shape)
        direction -= direction.mean(axis=1, keepdims=True)
        if not intercept:
            direction[..., 0] = 0.0
        ends = [joint.loss(theta + sign * 1e-5 * direction, weights, 0.3)[0] for sign in (1, -1)]
        assert (gradient * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


def test_logits_beyond_doubles_are_told_apart():
    mean, packed = np.array([[900.0, -900.0], [-2000.0, 2000.0]]), np.array([[1e5, 9e4, 1e5]])
    far = label_slopes(mean, packed, np.array([[0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]))
    points, shares = normal_points(2)
    lower = np.linalg.cholesky(np.array([[1e5, 9e4], [9e4, 1e5]]))
    for row, told in enumerate(([0.0, 1.0, 0.0], [0.2, 0.3, 0.5])):
        drawn = mean[row] + points @ lower.T
        chance = softmax(np.column_stack([np.zeros(len(drawn)), drawn]), axis=1)
        assert np.exp(far.value[row]) == pytest.approx(float(shares @ chance @ told))
    assert all(np.isfinite(part).all() for part in far)


def test_logits_are_correlated_through_the_features():
    rng = np.random.default_rng(4)
    theta, variance = rng.normal(size=(3, 5)), rng.random((1, 4))
    mean, packed = joint_logits(np.zeros((1, 4)), variance, theta)
    against = theta[1:] - theta[0]
    assert mean[0] == pytest.approx(against[:, 0])
    assert packed[0] == pytest.approx((against[:, 1:] * variance @ against[:, 1:].T)[np.tril_indices(2)])


def test_coefficients_of_three_classes_have_the_right_length_and_errors():
    rng = np.random.default_rng(5)
    truth = 0.3 * rng.normal(size=(3, 10))
    truth -= truth[0]
    channel = ask.RowChannel(ask.StateFlip(4, 0.2), ask.RandomizedResponse(list("abc"), truth_probability=0.8))
    lengths, errors = [], []
    for _ in range(3):
        X = rng.integers(0, 4, size=(5_000, 10))
        y = np.argmax((X - 1.5) @ truth.T + rng.gumbel(size=(5_000, 3)), axis=1)
        model = ask.SpreadClassifier(channel, ridge=0.0).fit(*channel.simulate((X, np.array(list("abc"))[y]), rng))
        found = model.parameters_.reshape(2, 11)[:, 1:]
        lengths.append((found * truth[1:]).sum() / (truth[1:] ** 2).sum())
        errors.append((found - truth[1:]) / model.standard_errors_.reshape(2, 11)[:, 1:])
    # The average of three lengths is known to 0.04.
    assert np.mean(lengths) == pytest.approx(1.0, abs=0.12)
    # 60 standardised errors: their mean square is 1, with an error of 0.18.
    assert 0.4 < np.mean(np.square(errors)) < 1.7
