"""Class posteriors from bags, and ratios of groups under prior shift."""

import json

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from askance.errors import InvalidInput, Unidentifiable
from askance.learning.face.saving import _decode, _encode
from askance.learning.ratios.bag_posterior import BagPosteriorModel, fit_bag_posterior
from askance.learning.ratios.bag_softmax import fit_bag_softmax, fit_stack, linear_logits, log_posterior, score_bags
from askance.learning.ratios.forest import grow_forest
from askance.learning.ratios.intervals import bounded_interval
from askance.learning.ratios.posterior_table import PosteriorTable
from askance.learning.ratios.prior_shift import estimate_shifted_ratios
from askance.solvers.simplex import mixture_proportions

APART = np.array([[0.0, 0.0], [1.6, 0.0], [0.0, 1.8]])  # class means in the plane, of unit normals
ROTATED = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]] * 2)


def rows_of(counts, rng):
    labels = np.repeat(np.arange(len(counts)), counts)
    return APART[labels] + rng.normal(size=(len(labels), 2)), labels


def bags_of(shares, size, rng):
    counts = np.rint(shares * size).astype(int)
    X = np.concatenate([rows_of(row, rng)[0] for row in counts])
    return X, np.repeat(np.arange(len(shares)), counts.sum(axis=1))


def true_logs(X, ratios, wrong=1.0):
    """Log-posteriors of the planar normals under prior ``ratios``; a slope other than 1 makes them wrong."""
    means = APART[: len(ratios)]
    return log_posterior(wrong * (X @ means.T - 0.5 * (means**2).sum(axis=1)) + np.log(ratios))


# -- the likelihood of the bags ------------------------------------------------------------------------------


def test_gradient_of_the_bag_likelihood():
    rng = np.random.default_rng(0)
    likelihood = rng.random((20, 3))
    logits = rng.normal(size=(20, 3))

    def value(flat):
        return score_bags(flat.reshape(20, 3), likelihood).log_likelihood

    def slope(flat):
        return score_bags(flat.reshape(20, 3), likelihood).by_logits.ravel()

    assert check_grad(value, slope, logits.ravel()) < 1e-5


def test_softmax_of_bags_agrees_with_a_derivative_free_maximum():
    rng = np.random.default_rng(1)
    shares = np.array([[0.9, 0.1], [0.2, 0.8]])
    X, codes = bags_of(shares, 200, rng)
    X, likelihood, ridge = X[:, :1], (shares / shares.mean(axis=0))[codes], 2.0

    def loss(theta):
        second = 1 / (1 + np.exp(-(theta[0] + X[:, 0] * theta[1])))
        told = np.log((1 - second) * likelihood[:, 0] + second * likelihood[:, 1]).sum()
        return 0.5 * ridge * 2 * (theta[1] / 2) ** 2 - told  # two rows that sum to zero: each is half

    options = {"xatol": 1e-7, "fatol": 1e-9}
    oracle = minimize(loss, np.zeros(2), method="Nelder-Mead", options=options).x
    np.testing.assert_allclose(fit_bag_softmax(X, likelihood, ridge)[0], oracle, atol=2e-3)


def test_pure_bags_are_labels():
    rng = np.random.default_rng(2)
    X, labels = rows_of([150, 150, 150], rng)
    plain = LogisticRegression(C=1 / 5.0, tol=1e-8).fit(X, labels)
    theta = fit_bag_softmax(X, np.eye(3)[labels], 5.0)
    np.testing.assert_allclose(log_posterior(linear_logits(X, theta)), plain.predict_log_proba(X), atol=2e-3)


def test_a_stack_undoes_a_wrong_slope_and_ignores_noise():
    rng = np.random.default_rng(3)
    X, codes = bags_of(ROTATED, 4000, rng)
    members = np.array([true_logs(X, ROTATED.mean(axis=0), wrong=0.5), np.log(rng.dirichlet(np.ones(3), len(X)))])
    stack = fit_stack(members, (ROTATED / ROTATED.mean(axis=0))[codes])
    # The truth has slopes 2 and 0; standard errors over draws are about .03 and .02.
    assert abs(stack.slopes[0] - 2) < 0.12
    assert 0 <= stack.slopes[1] < 0.08


# -- the forest ----------------------------------------------------------------------------------------------


def test_a_forest_predicts_what_scikit_learn_does():
    rng = np.random.default_rng(4)
    X, codes = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    ours = grow_forest(X, codes, 4, trees=20, rows_per_tree=200, seed=5)
    theirs = RandomForestClassifier(20, min_samples_leaf=5, max_samples=200, random_state=5).fit(X, codes)
    new = rng.normal(size=(5000, 4))
    np.testing.assert_allclose(ours.predict_proba(new)[:, :3], theirs.predict_proba(new), atol=2e-5)
    assert (ours.predict_proba(new)[:, 3] == 0).all()  # a class that was not seen


# -- ratios under prior shift --------------------------------------------------------------------------------


def table_of(size, rng, wrong=1.0, shares=ROTATED, told=None, noise=None):
    X, codes = bags_of(shares, size, rng)
    return PosteriorTable.of(true_logs(X, shares.mean(axis=0), wrong), codes, shares if told is None else told, noise)


def test_labels_are_raked_to_the_counts_of_every_bag():
    table = table_of(100, np.random.default_rng(6), wrong=0.3)
    sums = np.array([np.bincount(table.bags, column) for column in table._labels.T]).T
    np.testing.assert_allclose(sums, ROTATED * 100, atol=0.5)
    np.testing.assert_allclose(table._labels.sum(axis=1), table.counts)


def test_class_means_of_the_bags_are_exact_for_exact_means():
    """Where h is a function of the class only, both ways give the class's value."""
    logs = np.log(np.eye(3) * 0.998 + 0.001)[np.tile(np.repeat(np.arange(3), [80, 10, 10]), 2)]
    codes, shares = np.repeat([0, 1], 100), np.array([[0.8, 0.1, 0.1]] * 2)
    with pytest.raises(np.linalg.LinAlgError):
        PosteriorTable.of(logs, codes, shares, None).bag_weights(np.ones(3) / 3)
    codes = np.concatenate([np.repeat(j, 100) for j in range(6)])
    logs = np.log(np.eye(3) * 0.998 + 0.001)[
        np.concatenate([np.repeat(np.arange(3), row) for row in np.rint(ROTATED * 100).astype(int)])
    ]
    table = PosteriorTable.of(logs, codes, ROTATED, None)
    functions = table.cell_likelihoods
    np.testing.assert_allclose(table.by_bags(functions), table.by_labels(functions).means, rtol=0.02, atol=0.02)


def test_wrong_posteriors_are_forgiven():
    """60 draws of training and group: mean errors are within four standard errors and a hundredth of zero (p < 1e-3).

    Posteriors with logits of half their length: the likelihood's own answer is far off.
    """
    rng = np.random.default_rng(7)
    truth = np.array([0.6, 0.3, 0.1])
    errors, likeliest = [], []
    for _ in range(60):
        table = table_of(600, rng, wrong=0.5)
        X, _ = rows_of([1200, 600, 200], rng)
        logs = true_logs(X, ROTATED.mean(axis=0), 0.5)
        errors.append(estimate_shifted_ratios(table, logs[None]).free - truth)
        likeliest.append(mixture_proportions(np.exp(logs), np.ones(len(logs)), 50) - truth)
    mean, error = np.mean(errors, axis=0), np.std(errors, axis=0) / np.sqrt(60)
    assert (np.abs(mean) < 4 * error + 0.01).all()
    assert np.abs(np.mean(likeliest, axis=0)).max() > 0.05


@pytest.mark.parametrize("wrong", [1.0, 0.6])
def test_intervals_cover(wrong):
    """240 draws x 2 free classes at level .95: a coverage of .95 falls outside (.915, .985) with p < 1e-3."""
    rng = np.random.default_rng(8)
    covered, squares = [], []
    for number in range(240):
        counts = [(150, 40, 10), (70, 70, 60), (10, 30, 160)][number % 3]
        table = table_of(100, rng, wrong)
        X, _ = rows_of(counts, rng)
        found = estimate_shifted_ratios(table, true_logs(X, ROTATED.mean(axis=0), wrong)[None])
        truth = np.array(counts) / 200
        error = np.sqrt(np.diag(found.covariance))
        low, high = bounded_interval(found.free, error, 0.95)
        covered += list((low <= truth) & (truth <= high))[:2]
        squares += list(((found.free - truth) / error)[:2] ** 2)
    assert 0.915 < np.mean(covered) < 0.985
    # The errors are those of least squares on the bags; the labels do a little better where the posteriors are right.
    assert 0.6 < np.mean(squares) < 1.25


def test_noise_of_the_proportions_is_used():
    """Errors in variables: no bias, and intervals that know; 300 draws, coverage outside (.905, .985): p < 1e-3."""
    rng = np.random.default_rng(9)
    shares = np.column_stack([np.linspace(0.85, 0.15, 12), np.linspace(0.15, 0.85, 12)])
    noise = np.broadcast_to(0.1**2 * np.array([[1.0, -1.0], [-1.0, 1.0]]), (12, 2, 2)).copy()
    covered, errors, plain = [], [], []
    for _ in range(300):
        told = shares + 0.1 * rng.normal(size=12)[:, None] * [1, -1]
        table = table_of(100, rng, shares=shares, told=told, noise=noise)
        X, _ = rows_of([180, 20], rng)
        logs = true_logs(X, shares.mean(axis=0))[None]
        found = estimate_shifted_ratios(table, logs)
        low, high = bounded_interval(found.free, np.sqrt(np.diag(found.covariance)), 0.95)
        covered.append(bool(low[0] <= 0.9 <= high[0]))
        errors.append(found.free[0] - 0.9)
        plain.append(np.diag(found.covariance - found.parts["proportions"])[0])
    assert 0.905 < np.mean(covered) < 0.985
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(300) + 0.005
    assert np.var(errors) > 1.2 * np.mean(plain)  # there is something that the noise's own part explains


def test_noise_as_large_as_the_spread_is_refused():
    rng = np.random.default_rng(10)
    shares = np.array([[0.55, 0.45], [0.45, 0.55]] * 3)
    X, codes = bags_of(shares, 100, rng)
    noise = np.broadcast_to(0.2**2 * np.array([[1.0, -1.0], [-1.0, 1.0]]), (6, 2, 2)).copy()
    with pytest.raises(Unidentifiable):
        fit_bag_posterior(X, codes, shares, noise, LogisticRegression(), 0)


def test_with_true_posteriors_the_estimate_is_near_the_likelihood():
    rng = np.random.default_rng(11)
    table = table_of(3000, rng)
    X, _ = rows_of([500, 300, 200], rng)
    logs = true_logs(X, ROTATED.mean(axis=0))
    weights = np.exp(logs) / ROTATED.mean(axis=0)
    ratios = np.ones(3) / 3
    for _ in range(3000):  # plain expectation-maximisation
        ratios = ratios * (weights / (weights @ ratios)[:, None]).mean(axis=0)
    np.testing.assert_allclose(estimate_shifted_ratios(table, logs[None]).ratios, ratios, atol=0.02)


# -- the whole -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(12)
    X, codes = bags_of(ROTATED, 200, rng)
    return fit_bag_posterior(X, codes, ROTATED, None, None, 0)


def test_fit_finds_the_ratios_of_new_groups(fitted):
    """Six shares in two groups, each within four standard errors: p < 1e-3."""
    rng = np.random.default_rng(13)
    for counts in ((400, 50, 50), (100, 100, 300)):
        X, _ = rows_of(counts, rng)
        found = fitted.estimate(X)
        truth = np.array(counts) / 500
        assert (np.abs(found.free - truth) < 4 * np.sqrt(np.diag(found.covariance))).all()
        assert np.sqrt(np.diag(found.covariance)).max() < 0.06
        np.testing.assert_allclose(found.ratios.sum(), 1)
        np.testing.assert_allclose(found.covariance, found.parts["group"] + found.parts["training"])
        np.testing.assert_allclose(found.covariance.sum(axis=0), 0, atol=1e-12)  # ratios sum to one
        np.testing.assert_allclose(fitted.ratios(X), found.ratios)


def test_the_same_seed_gives_the_same_model(fitted):
    X, codes = bags_of(ROTATED, 200, np.random.default_rng(12))
    again = fit_bag_posterior(X, codes, ROTATED, None, None, 0)
    new, _ = rows_of([50, 60, 70], np.random.default_rng(14))
    np.testing.assert_array_equal(again.ratios(new), fitted.ratios(new))


def test_a_model_survives_json(fitted):
    text = json.dumps(_encode(fitted.to_dict()))
    again = BagPosteriorModel.from_dict(_decode(json.loads(text)))
    X, _ = rows_of([50, 60, 70], np.random.default_rng(15))
    np.testing.assert_array_equal(again.estimate(X).covariance, fitted.estimate(X).covariance)


def test_any_classifier_of_many_different_bags():
    rng = np.random.default_rng(16)
    second = np.linspace(0.1, 0.9, 17)
    shares = np.column_stack([1 - second, second])
    X, codes = bags_of(shares, 100, rng)
    model = fit_bag_posterior(X, codes, shares, None, LogisticRegression(), 0)
    new, _ = rows_of([60, 240], rng)
    found = model.estimate(new)
    # One share, within four standard errors: p < 1e-4.
    assert abs(found.free[1] - 0.8) < 4 * np.sqrt(found.covariance[1, 1]) < 0.25
    with pytest.raises(InvalidInput, match="base_estimator"):
        model.to_dict()


def test_noise_of_zero_is_none(fitted):
    X, codes = bags_of(ROTATED, 200, np.random.default_rng(12))
    same = fit_bag_posterior(X, codes, ROTATED, np.zeros((len(ROTATED), 3, 3)), None, 0)
    new, _ = rows_of([50, 60, 70], np.random.default_rng(14))
    np.testing.assert_array_equal(same.estimate(new).covariance, fitted.estimate(new).covariance)


def test_a_class_of_which_noise_leaves_nobody_is_refused():
    X, codes = bags_of(ROTATED, 20, np.random.default_rng(18))
    told = ROTATED.copy()
    told[:, 2] = -0.01 * np.arange(1, len(told) + 1)
    told[:, 0] += 1 - told.sum(axis=1)
    with pytest.raises(Unidentifiable, match="nobody of 1 of 3 classes"):
        fit_bag_posterior(X, codes, told, np.full((len(told), 3, 3), 1e-6), None, 0)


def test_a_column_that_was_constant_in_training_has_no_say():
    rng = np.random.default_rng(19)
    X, codes = bags_of(ROTATED, 100, rng)
    model = fit_bag_posterior(np.column_stack([X, np.full(len(X), 0.1)]), codes, ROTATED, None, None, 0)
    new, _ = rows_of([50, 60, 70], rng)
    seen = [model.ratios(np.column_stack([new, np.full(len(new), value)])) for value in (0.1, 0.3)]
    np.testing.assert_allclose(*seen, atol=0.02)  # the mean of the column is .1 up to rounding, and so are its effects


def test_constant_features_and_bags_of_one_row():
    rng = np.random.default_rng(17)
    X, labels = rows_of([60, 60], rng)
    X = np.column_stack([X, np.ones(len(X))])
    model = fit_bag_posterior(X, np.arange(len(X)), np.eye(2)[labels], None, None, 0)
    new, _ = rows_of([30, 90], rng)
    found = model.estimate(np.column_stack([new, np.ones(len(new))]))
    assert abs(found.free[1] - 0.75) < 4 * np.sqrt(found.covariance[1, 1]) < 0.4  # p < 1e-4
