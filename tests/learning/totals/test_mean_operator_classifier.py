"""Linear classifiers from a mean operator: known solutions, weak supervision, standard errors, bad input."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog, minimize
from sklearn.linear_model import LogisticRegression

import askance as ask
from askance.engines.local.engine import LocalEngine
from askance.engines.sources import ArraySource
from askance.errors import AskanceError, AskanceWarning, InvalidInput, NotAvailable, Unidentifiable
from askance.learning.totals.even_risk import EvenRisk
from askance.learning.totals.losses import NAMED, Logistic, Matsushita, Rho
from askance.learning.totals.mean_operators import (
    mean_operator,
    mean_operator_from_proportions,
    mean_operator_from_reports,
    mean_operator_from_some_labels,
)
from askance.learning.totals.public_features import PublicFeatures
from askance.learning.totals.risk_solver import minimise_regularised, minimise_risk, minimise_softmax
from askance.learning.totals.user_losses import as_loss
from askance.releases.mean_operator_release import simulate_mean_operator_release
from askance.statistics.base import Records


def people(n=2_000, seed=0, classes=2):
    """Features on very different scales, far from zero, and labels of a softmax model."""
    rng = np.random.default_rng(seed)
    standard = rng.normal(size=(n, 3))
    slopes = np.array([[0.0, 0, 0], [1.0, -1, 0.5], [-0.5, 1.0, 1.0]])[:classes]
    scores = standard @ slopes.T + np.array([0.0, -0.5, 0.2])[:classes]
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return standard * [1, 5, 0.2] + [0, 100, 3], np.array(["a", "b", "c"])[truth]


# -- known solutions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("intercept", [True, False])
def test_logistic_on_clean_labels_is_logistic_regression(classes, ridge, intercept):
    X, y = people(classes=classes)
    X = X - [0, 100, 3]
    strength = 1 / (ridge * len(X)) if ridge else np.inf
    peer = LogisticRegression(C=strength, fit_intercept=intercept, tol=1e-11, max_iter=5_000).fit(X, y)
    ours = ask.MeanOperatorClassifier(ridge=ridge, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    assert (ours.predict(X) == peer.predict(X)).all()
    assert ours.converged_
    assert ours.notes_ == ()


def test_square_is_least_squares():
    X, y = people()
    sign = np.where(y == "b", 1.0, -1.0)
    rows = np.column_stack([np.ones(len(X)), X])
    expected, *_ = np.linalg.lstsq(rows, sign, rcond=None)
    ours = ask.MeanOperatorClassifier("square").fit(X, y)
    np.testing.assert_allclose([*ours.intercept_, *ours.coef_[0]], expected, rtol=1e-8)
    assert ours.n_iter_ == 1


def test_unhinged_is_the_mean_operator_itself():
    X, y = people()
    centred = X - X.mean(axis=0)
    mu = centred.T @ np.where(y == "b", 1.0, -1.0) / len(X)
    np.testing.assert_allclose(ask.MeanOperatorClassifier("unhinged").fit(X, y).coef_[0], mu, rtol=1e-10)
    np.testing.assert_allclose(ask.MeanOperatorClassifier("unhinged", ridge=0.1).fit(X, y).coef_[0], 10 * mu)


def test_matsushita_and_own_losses_are_where_scipy_finds_the_minimum():
    X, y = people(n=500)
    X = X - X.mean(axis=0)
    sign = np.where(y == "b", 1.0, -1.0)

    def soft(z):
        return np.log(np.cosh(z)) - z

    for loss in (Matsushita(), as_loss(soft)):
        found = minimize(
            lambda t, loss=loss: loss(sign * (t[0] + X @ t[1:])).mean() + 0.01 * t[1:] @ t[1:],
            np.zeros(4),
            method="BFGS",
            options={"gtol": 1e-9},
        ).x
        given = loss if loss.name == "matsushita" else soft
        ours = ask.MeanOperatorClassifier(given, ridge=0.02).fit(X, y)
        np.testing.assert_allclose([*ours.intercept_, *ours.coef_[0]], found, atol=2e-5)


@pytest.mark.parametrize("ridge", [1e-3, 0.5])
def test_rho_reaches_the_optimum_of_its_dual(ridge):
    rng = np.random.default_rng(1)
    X, mu, rho = rng.normal(size=(120, 4)), rng.normal(size=4), 0.7

    def dual(slopes):  # a quadratic programme on a box
        left = rho * mu - X.T @ slopes / len(X)
        return left @ left / (2 * ridge), -X @ left / (ridge * len(X))

    box = minimize(
        dual, np.zeros(len(X)), jac=True, bounds=[(-rho, rho)] * len(X), options={"ftol": 1e-16, "gtol": 1e-12}
    )
    expected = (rho * mu - X.T @ box.x / len(X)) / ridge
    found = minimise_risk(Rho(rho), mu, PublicFeatures.of(X, intercept=False), ridge * np.eye(4))
    assert found.converged
    assert found.value == pytest.approx(1 - box.fun, rel=1e-6)
    assert found.value >= 1 - box.fun - 1e-9 * abs(box.fun)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
    fitted = ask.MeanOperatorClassifier(Rho(rho), ridge=ridge, fit_intercept=False).fit(X, mu, classes=(0, 1))
    np.testing.assert_allclose(fitted.coef_[0], found.theta)


def test_rho_agrees_with_a_linear_programme_about_where_mu_may_lie():
    """Without a ridge the risk is bounded exactly if some labels, or shares of them, have this mean operator."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    edge = X.T @ np.sign(X @ rng.normal(size=3)) / len(X)  # a corner of the zonotope
    for factor in (0.9, 1.1):
        mu = factor * edge
        possible = linprog(np.zeros(60), A_eq=X.T / 60, b_eq=mu, bounds=[(-1, 1)] * 60).status == 0
        found = minimise_risk(Rho(), mu, PublicFeatures.of(X, intercept=False), np.zeros((3, 3)))
        assert found.unbounded is not possible
        assert possible is (factor < 1)
        assert possible is not minimise_risk(Logistic(), mu, PublicFeatures.of(X, False), np.zeros((3, 3))).unbounded
    with pytest.warns(AskanceWarning, match="nothing was learned"):
        learned = ask.MeanOperatorClassifier("rho", fit_intercept=False).fit(X, 0.9 * edge, classes=(0, 1))
    assert not learned.coef_.any()


def test_a_regulariser_of_ones_own():
    for classes in (2, 3):
        X, y = people(classes=classes, n=800)
        X = X - X.mean(axis=0)

        def squares(coef):
            return 0.01 * (coef**2).sum(), 0.02 * coef

        free = ask.MeanOperatorClassifier(regulariser=squares).fit(X, y)
        ridge = ask.MeanOperatorClassifier(ridge=0.02).fit(X, y)
        np.testing.assert_allclose(free.coef_, ridge.coef_, atol=1e-5)
        assert free.risk_ == pytest.approx(ridge.risk_, abs=1e-9)
        with pytest.raises(NotAvailable, match="regulariser"):
            free.standard_errors_  # noqa: B018
    smooth_one_norm = ask.MeanOperatorClassifier(
        regulariser=lambda c: (0.3 * np.sqrt(c**2 + 1e-4).sum(), 0.3 * c / np.sqrt(c**2 + 1e-4))
    ).fit(X, y)
    assert np.abs(smooth_one_norm.coef_).max() < np.abs(free.coef_).max()


def test_one_against_the_rest():
    X, y = people(classes=3)
    each = ask.MeanOperatorClassifier("matsushita").fit(X, y)
    for k, label in enumerate(each.classes_):
        alone = ask.MeanOperatorClassifier("matsushita").fit(X, y == label)
        np.testing.assert_allclose(each.coef_[k], alone.coef_[0], rtol=1e-6)
        np.testing.assert_allclose(each.standard_errors_.reshape(3, -1)[k], alone.standard_errors_, rtol=1e-6)
    np.testing.assert_allclose(each.predict_proba(X).sum(axis=1), 1)
    assert each.score(X, y, of="truth") > 0.5


# -- the statistic and the solver --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [*NAMED.values(), as_loss(lambda z: np.cos(z) - z)], ids=lambda loss: loss.name)
def test_even_risk_is_a_sum_however_rows_are_split(loss):
    rng = np.random.default_rng(0)
    X, theta = rng.normal(size=(5_000, 3)) + 2, rng.normal(size=4)
    records = Records(X, np.zeros(5_000, dtype=np.uint8))
    statistic = EvenRisk(loss, theta, intercept=True, centre=np.array([2.0, 2, 2]))
    whole = statistic.observe(records)
    parts = LocalEngine(threads=2).reduce(statistic, ArraySource(records, 700))
    none = statistic.merge(statistic.empty(), whole)
    rows = np.column_stack([np.ones(5_000), X - 2])
    z = rows @ theta
    for sums in (whole, parts, none):
        assert sums.rows == 5_000
        assert sums.value == pytest.approx(loss.even(z).sum(), rel=1e-10)
        np.testing.assert_allclose(sums.gradient, loss.even_slope(z) @ rows, rtol=1e-8, atol=1e-6)
        np.testing.assert_allclose(sums.curvature, (rows * loss.even_curvature(z)[:, None]).T @ rows, atol=1e-6)
    light = EvenRisk(loss, theta, True, np.array([2.0, 2, 2]), with_curvature=False).observe(records)
    np.testing.assert_allclose(light.gradient, whole.gradient, rtol=1e-10, atol=1e-9)
    assert light.curvature is None


def test_large_data_are_started_from_a_look_and_solved_whole(monkeypatch):
    from askance.learning.totals import public_features

    X, y = people(n=6_000, classes=3)
    whole = [ask.MeanOperatorClassifier().fit(X, labels) for labels in (y, y == "b")]
    monkeypatch.setattr(public_features, "_SAMPLE_ROWS", 500)
    monkeypatch.setattr(public_features, "_PART_ROWS", 256)
    for labels, expected in zip((y, y == "b"), whole, strict=True):
        again = ask.MeanOperatorClassifier().fit(X, labels)
        np.testing.assert_allclose(again.coef_, expected.coef_, rtol=1e-8)
        assert again.n_iter_ < expected.n_iter_


def test_noisy_rows_are_made_to_sum_to_the_mean():
    X, y = people(classes=3)
    clean = mean_operator(X, y, classes=("a", "b", "c"))
    shifted = ask.MeanOperator(clean.values + np.array([0.01, 0.01, 0.5, 0.01]), clean.classes, clean.rows)
    features = PublicFeatures.of(X, intercept=True)
    nothing = np.zeros((8, 8))
    first, second = (minimise_softmax(features.centred(mu.values), features, nothing).theta for mu in (clean, shifted))
    np.testing.assert_allclose(first, second, atol=1e-8)
    by_regulariser = minimise_regularised(
        None, features.centred(shifted.values), features, lambda c: (1e-9 * (c**2).sum(), 2e-9 * c)
    ).theta
    np.testing.assert_allclose(by_regulariser[1:] - by_regulariser[0], first, atol=1e-2)


# -- what mu may be given as -------------------------------------------------------------------------------


def test_labels_an_operator_an_array_and_a_release_are_the_same():
    X, y = people()
    operator = mean_operator(X, y, classes=("a", "b"))

    class Released:
        pass

    Released.operator, Released.guarantee = operator, "epsilon 1"
    fits = [
        ask.MeanOperatorClassifier().fit(X, y),
        ask.MeanOperatorClassifier().fit(X, operator),
        ask.MeanOperatorClassifier().fit(X, operator.values, classes=("a", "b")),
        ask.MeanOperatorClassifier().fit(X, Released()),
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coef_, fits[0].coef_, rtol=1e-9)
        assert fit.classes_.tolist() == ["a", "b"]
    assert "epsilon 1" in str(fits[-1].summary())


def test_a_private_release_is_learned_from():
    X, y = people(n=20_000)
    X = (X - [0, 100, 3]) / [1, 5, 0.2]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    clean = ask.MeanOperatorClassifier().fit(X, y).score(X, y, of="truth")
    release = ask.release_mean_operator(X, y, epsilon=1.0, classes=("a", "b"))
    private = ask.MeanOperatorClassifier().fit(X, release)
    # Noise of a standard deviation of about .0004: the loss of accuracy is well below a hundredth.
    assert private.score(X, y, of="truth") > clean - 0.01
    assert private.noise_ > 0
    assert "epsilon 1" in private.privacy_statement_
    assert private.guarantee_ == release.guarantee


@pytest.mark.parametrize("loss", ["logistic", "square", "matsushita", "unhinged"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_risk_of_a_mean_operator_is_the_mean_loss_on_its_labels(loss, classes, intercept):
    X, y = people(n=300, classes=classes)
    model = ask.MeanOperatorClassifier(loss, ridge=0.1, fit_intercept=intercept).fit(X, y)
    new, labels = people(n=200, seed=1, classes=classes)
    scores, named = model.decision_function(new), NAMED[loss]
    codes = np.searchsorted(model.classes_, labels)
    if classes == 2:
        known = named((2 * codes - 1) * scores).mean()
    elif loss == "logistic":
        known = -np.log(model.predict_proba(new)[np.arange(200), codes]).mean()
    else:
        signs = 2 * np.eye(classes)[codes] - 1
        known = named(signs * scores).sum(axis=1).mean()
    assert model.risk(new, labels) == pytest.approx(known, rel=1e-10)
    exact = mean_operator(new, labels, fit_intercept=intercept)
    assert model.risk(new, exact) == pytest.approx(known, rel=1e-10)
    assert model.risk(new, exact.values, classes=model.classes_.tolist()) == pytest.approx(known, rel=1e-10)


def test_the_risk_of_a_release_is_unbiased():
    X, y = people(n=500)
    X = (X - [0, 100, 3]) / [1, 5, 0.2]
    model = ask.MeanOperatorClassifier().fit(X, y)
    rng = np.random.default_rng(0)
    found = [
        model.risk(X, simulate_mean_operator_release(X, y, 1.0, classes=("a", "b"), rng=rng, shape="none"))
        for _ in range(400)
    ]
    # The mean of 400 independent estimates: 4 standard errors fail once in 16,000 generators.
    assert abs(np.mean(found) - model.risk(X, y)) < 4 * np.std(found) / 20


def test_the_risk_wants_the_same_people_classes_and_features():
    X, y = people(n=100)
    model = ask.MeanOperatorClassifier().fit(X, y)
    with pytest.raises(InvalidInput, match="the same people in both"):
        model.risk(X[:50], mean_operator(X, y))
    with pytest.raises(InvalidInput, match="the classes of the fit: 'a', 'b'"):
        model.risk(X, mean_operator(X, y == "b"))
    with pytest.raises(InvalidInput, match="no value for the intercept"):
        model.risk(X, mean_operator(X, y, fit_intercept=False))


def test_accuracy_is_not_told_from_totals():
    X, y = people(n=100)
    model = ask.MeanOperatorClassifier().fit(X, y)
    with pytest.raises(NotAvailable, match=r"a total of labels does not tell .* risk\(X, release\)"):
        model.score(X, y)
    assert model.score(X, y, of="truth") == np.mean(model.predict(X) == y)


def test_hidden_labels_keep_their_guarantee_and_clean_ones_have_none():
    X, y = people(n=400)
    channel = ask.RandomizedResponse(["a", "b"], epsilon=1.5)
    reports = channel.simulate(y, np.random.default_rng(0))
    model = ask.MeanOperatorClassifier().fit(X, mean_operator_from_reports(X, reports, channel))
    assert model.guarantee_ == channel.guarantee
    clean = ask.MeanOperatorClassifier().fit(X, y)
    assert clean.guarantee_.epsilon == np.inf
    assert "no privacy guarantee" in str(clean.summary())


def test_fit_release_wants_features_and_runs_where_it_is_told(tmp_path):
    X, y = people(n=300)
    release = ask.release_mean_operator(X, y, epsilon=1.0, classes=("a", "b"))
    with pytest.raises(InvalidInput, match="expected X=, the features of the same people"):
        ask.MeanOperatorClassifier().fit_release(release)
    here = ask.MeanOperatorClassifier().fit(X, release)
    there = ask.MeanOperatorClassifier().fit_release(release, LocalEngine(threads=2), X=X)
    np.testing.assert_allclose(there.parameters_, here.parameters_, rtol=1e-8)
    with pytest.raises(InvalidInput, match="engine='moon'"):
        ask.MeanOperatorClassifier().fit_release(release, "moon", X=X)


# -- noise -------------------------------------------------------------------------------------------------


def test_the_ridge_follows_the_noise_and_the_units():
    X, y = people(n=3_000)
    clean = mean_operator(X, y)
    fits = []
    for deviation in (1e-4, 1e-3, 1e-2):
        noisy = ask.MeanOperator(clean.values, clean.classes, clean.rows, np.full(4, deviation**2))
        fits.append(ask.MeanOperatorClassifier().fit(X, noisy))
    assert fits[0].ridge_ < fits[1].ridge_ < fits[2].ridge_
    lengths = [np.linalg.norm(fit.coef_ * X.std(axis=0)) for fit in fits]
    assert lengths[0] > lengths[1] > lengths[2]
    # In other units, with noise in these units, the scores are the same.
    scaled = ask.MeanOperator(
        clean.values * [1, 10, 10, 10], clean.classes, clean.rows, np.array([1, 100, 100, 100]) * 1e-6
    )
    np.testing.assert_allclose(ask.MeanOperatorClassifier().fit(10 * X, scaled).coef_, fits[1].coef_ / 10, rtol=1e-6)


def test_the_ridge_beats_none_and_too_much():
    rng = np.random.default_rng(3)
    n, d = 4_000, 30
    X = rng.normal(size=(n, d)) * np.geomspace(1, 0.05, d)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1])), 1, -1)
    clean = mean_operator(X, y)
    risks = {ridge: [] for ridge in ("auto", 1e-4, 1.0)}
    for _ in range(5):
        noisy = ask.MeanOperator(clean.values + rng.normal(scale=0.03, size=d + 1), (-1, 1), n, np.full(d + 1, 0.03**2))
        for ridge, found in risks.items():
            score = ask.MeanOperatorClassifier(ridge=ridge).fit(X, noisy).decision_function(X)
            found.append(Logistic()(y * score).mean())
    # The differences are about .05 and .1, with a standard error of about .005.
    assert np.mean(risks["auto"]) < np.mean(risks[1e-4])
    assert np.mean(risks["auto"]) < np.mean(risks[1.0])


def test_collinear_features_do_no_harm_where_noise_follows_the_features():
    """Indicators of all levels sum to one: response brings no noise there, and rounding must not make up a ridge."""
    rng = np.random.default_rng(2)
    X = np.hstack([np.eye(4)[rng.integers(0, 4, 4_000)] for _ in range(3)])
    y = np.where(rng.random(4_000) < 1 / (1 + np.exp(-X @ np.linspace(-2, 2, 12))), 1, -1)
    for seed in range(5):  # rounding takes either side about as often
        release = simulate_mean_operator_release(X, y, 1.0, mechanism="response", rng=np.random.default_rng(seed))
        fit = ask.MeanOperatorClassifier().fit(X, release)  # a warning is an error
        assert fit.converged_
        assert np.abs(fit.coef_).max() < 5


def test_a_mean_operator_outside_of_what_labels_can_give_is_noticed():
    X, _ = people(n=300)
    X = X - X.mean(axis=0)
    impossible = ask.MeanOperator([1.4, 3.0, 0.0, 0.0], ("a", "b"), 300)
    for ridge in (0.0, "auto"):
        with pytest.warns(AskanceWarning, match="no finite minimiser"):
            fit = ask.MeanOperatorClassifier(ridge=ridge).fit(X, impossible)
        assert np.isfinite(fit.coef_).all()
        assert fit.converged_
    # A variance of the noise makes the ridge large enough.
    told = ask.MeanOperator([1.4, 3.0, 0.0, 0.0], ("a", "b"), 300, np.full(4, 0.5))
    assert ask.MeanOperatorClassifier().fit(X, told).notes_ == ()
    with pytest.warns(AskanceWarning, match="separated"):
        ask.MeanOperatorClassifier().fit(X, X[:, 0] > 0)


@pytest.mark.filterwarnings("ignore:The total shows no relation")  # as it is, in some sets
@pytest.mark.parametrize("loss", ["logistic", "matsushita", "square"])
def test_standard_errors_cover_the_truth(loss):
    """Coverage of 95% intervals in 150 trials of 3 parameters, with labels' chance and added noise of about one size.

    The standard error of the share is .0103, or .018 if the parameters were right or wrong together, so that
    [.905, .985] fails for about one seed in 1,000. Without the noise in them, about .7 of the intervals are right.
    """
    rng = np.random.default_rng(4)
    n, noise = 1_500, 0.04
    X = rng.normal(size=(n, 2))
    rows = np.column_stack([np.ones(n), X])
    scale = {"logistic": 1.0, "matsushita": 0.5, "square": 0.25}[loss]
    theta = scale * np.array([0.3, 0.8, -0.5])
    chance = NAMED[loss].probability(rows @ theta)
    if loss == "square":  # the link is a line only where probabilities are inside of [0, 1]
        X, rows = X[np.abs(rows @ theta) < 0.9], rows[np.abs(rows @ theta) < 0.9]
        chance = NAMED[loss].probability(rows @ theta)
    covered, without = [], []
    for trial in range(150):
        sign = np.where(rng.random(len(X)) < chance, 1.0, -1.0)
        mu = rows.T @ sign / len(X) + rng.normal(scale=noise, size=3)
        operator = ask.MeanOperator(mu, (-1, 1), len(X), np.full(3, noise**2))
        fit = ask.MeanOperatorClassifier(loss, ridge=0.0).fit(X, operator)
        covered.append(np.abs(fit.parameters_ - theta) < 1.96 * fit.standard_errors_)
        if trial < 50:
            unaware = ask.MeanOperatorClassifier(loss, ridge=0.0).fit(X, mu, classes=(-1, 1))
            without.append(np.abs(unaware.parameters_ - theta) < 1.96 * unaware.standard_errors_)
    assert 0.905 < np.mean(covered) < 0.985
    assert np.mean(without) < 0.88  # the check would notice if the noise were left out


def test_softmax_standard_errors_cover_the_truth():
    """As above: 150 trials of 4 parameters."""
    rng = np.random.default_rng(5)
    n, noise = 2_000, 0.01
    X = rng.normal(size=(n, 1))
    rows = np.column_stack([np.ones(n), X])
    theta = np.array([[0.2, 0.7], [-0.3, -0.6]])
    scores = np.column_stack([np.zeros(n), rows @ theta.T])
    covered = []
    for trial in range(150):
        truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
        error = rng.normal(scale=noise, size=(3, 2))
        variance = noise**2
        if trial % 2:  # noise that sums to zero already, as releases have it
            error -= error.mean(axis=0)
            variance *= 2 / 3
        mu = np.eye(3)[truth].T @ rows / n + error
        operator = ask.MeanOperator(mu, (0, 1, 2), n, np.full((3, 2), variance))
        fit = ask.MeanOperatorClassifier(ridge=0.0).fit(X, operator)
        covered.append(np.abs(fit.parameters_ - theta.ravel()) < 1.96 * fit.standard_errors_)
    assert 0.905 < np.mean(covered) < 0.985


# -- estimates of mu ---------------------------------------------------------------------------------------


def _agree(estimates, truth):
    """Means over trials within 4.5 standard errors in every entry, and the declared noise as large as the real one."""
    values = np.array([estimate.values.ravel() for estimate in estimates])
    error = values.std(axis=0) / np.sqrt(len(values)) + 1e-12
    assert np.all(np.abs(values.mean(axis=0) - truth.values.ravel()) < 4.5 * error)
    declared = np.mean([estimate.noise_variance.ravel() for estimate in estimates], axis=0)
    return values.var(axis=0), declared


# Each has at most 12 entries, checked to 4.5 standard errors: fails for one seed in 10,000.
@pytest.mark.parametrize("classes", [2, 3])
def test_mean_operator_from_reports_is_unbiased(classes):
    X, y = people(n=400, classes=classes)
    labels = ("a", "b", "c")[:classes]
    channel = ask.RandomizedResponse(labels, epsilon=1.5)
    rng = np.random.default_rng(6)
    found = [mean_operator_from_reports(X, channel.simulate(y, rng), channel) for _ in range(400)]
    real, declared = _agree(found, mean_operator(X, y, classes=labels))
    np.testing.assert_allclose(declared, real, rtol=0.3)
    uneven = ask.FiniteChannel([[0.9, 0.3], [0.1, 0.7]], ("a", "b"))
    if classes == 2:
        found = [mean_operator_from_reports(X, uneven.simulate(y, rng), uneven) for _ in range(400)]
        real, declared = _agree(found, mean_operator(X, y, classes=labels))
        np.testing.assert_allclose(declared, real, rtol=0.3)
        each = ask.DesignPerRow({"one": channel, "other": uneven})
        design = np.where(np.arange(400) % 2, "one", "other")
        found = [mean_operator_from_reports(X, each.simulate(y, rng, design), each, design=design) for _ in range(200)]
        _agree(found, mean_operator(X, y, classes=labels))


@pytest.mark.parametrize("classes", [2, 3])
def test_mean_operator_from_some_labels_is_unbiased(classes):
    X, y = people(n=400, classes=classes)
    labels = ("a", "b", "c")[:classes]
    rng = np.random.default_rng(7)
    rate = np.where(X[:, 0] > 0, 0.3, 0.6)
    found = []
    for _ in range(400):
        there = rng.random(400) < rate
        found.append(mean_operator_from_some_labels(X, np.where(there, y, None), there, rate=rate, classes=labels))
    real, declared = _agree(found, mean_operator(X, y, classes=labels))
    np.testing.assert_allclose(declared, real, rtol=0.3)


def test_mean_operator_from_proportions_is_unbiased():
    rng = np.random.default_rng(8)
    shares = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    bags = np.repeat(np.arange(4), 100)
    y = np.concatenate([np.repeat([0, 1, 2], np.round(100 * share).astype(int)) for share in shares])
    centres = np.array([[0.0, 1], [2, 0], [-1, -1]])
    found, truths = [], []
    for _ in range(300):
        X = centres[y] + rng.normal(size=(400, 2))
        found.append(mean_operator_from_proportions(X, bags, shares, classes=(0, 1, 2)))
        truths.append(mean_operator(X, y).values.ravel())
    expected = ask.MeanOperator(np.mean(truths, axis=0).reshape(3, 3), (0, 1, 2), 400)
    real, declared = _agree(found, expected)
    assert np.all(declared >= 0.7 * real - 1e-12)
    assert np.all(declared <= 3.5 * real + 1e-12)  # too much, by how classes differ, and not more


def test_weak_supervision_all_the_way():
    """Meta-Algorithm 1: an estimate of mu, then the fit; all near the fit to the labels themselves."""
    X, y = people(n=20_000)
    clean = ask.MeanOperatorClassifier().fit(X, y)
    rng = np.random.default_rng(9)
    channel = ask.Warner(0.8, classes=("a", "b"))
    there = rng.random(len(X)) < 0.5
    weak = [
        mean_operator_from_reports(X, channel.simulate(y, rng), channel),
        mean_operator_from_some_labels(X, y, there, rate=0.5, classes=("a", "b")),
    ]
    for operator in weak:
        fit = ask.MeanOperatorClassifier(ridge=0.0).fit(X, operator)
        assert np.all(fit.standard_errors_ > clean.standard_errors_)
        # Six differences within 4.5 standard errors: fails for one seed in 20,000.
        assert np.all(np.abs(fit.parameters_ - clean.parameters_) < 4.5 * fit.standard_errors_)


# -- using, saving, bad input ------------------------------------------------------------------------------


def test_probabilities_follow_the_link():
    X, y = people()
    for loss in ("logistic", "matsushita", "square"):
        fit = ask.MeanOperatorClassifier(loss).fit(X, y)
        second = fit.predict_proba(X)[:, 1]
        assert abs(second.mean() - np.mean(y == "b")) < 0.02
        assert ((second > 0.5) == (fit.predict(X) == "b")).all()
    with pytest.raises(NotAvailable):
        ask.MeanOperatorClassifier("unhinged").fit(X, y).predict_proba(X)


@pytest.mark.parametrize("loss", ["logistic", "matsushita", "unhinged"])
@pytest.mark.parametrize("classes", [2, 3])
def test_saved_and_exported_models_predict_the_same(loss, classes, tmp_path):
    X, y = people(classes=classes, n=400)
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    fit = ask.MeanOperatorClassifier(loss).fit(frame, y)
    fit.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    assert (again.predict(frame) == fit.predict(frame)).all()
    assert str(again.summary()) == str(fit.summary())
    assert (fit.to_sklearn().predict(frame) == fit.predict(frame)).all()
    assert "records" not in json.loads(fit.to_json())["fitted"]
    table = fit.summary().table
    assert any("height" in name for name in table.index)
    assert np.isfinite(table["std_error"]).all()


def test_bad_input_is_refused():
    X, y = people(n=100)
    fit = ask.MeanOperatorClassifier().fit
    operator = mean_operator(X, y)
    for bad in (np.where(X > 100, np.nan, X), np.where(X > 100, np.inf, X)):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            fit(bad, operator)
        with pytest.raises(InvalidInput, match="missing or infinite"):
            mean_operator(bad, y)
    with pytest.raises(InvalidInput, match=r"width 3 for 3 features.*fit_intercept=False"):
        fit(X, ask.MeanOperator([1.0, 2, 3], ("a", "b"), 100))
    with pytest.raises(InvalidInput, match=r"width 4.*fit_intercept=True"):
        ask.MeanOperatorClassifier(fit_intercept=False).fit(X, operator)
    with pytest.raises(InvalidInput, match="width 7"):
        fit(X, ask.MeanOperator(np.ones(7), ("a", "b"), 100))
    with pytest.raises(InvalidInput, match="of 50 people"):
        fit(X, ask.MeanOperator(operator.values, ("a", "b"), 50))
    with pytest.raises(InvalidInput, match="say classes="):
        fit(X, operator.values)
    with pytest.raises(InvalidInput, match="shape"):
        fit(X, operator.values, classes=("a", "b", "c"))
    with pytest.raises(InvalidInput, match="not finite"):
        fit(X, [np.nan, 1, 1, 1], classes=("a", "b"))
    with pytest.raises(InvalidInput, match="one class only"):
        fit(X, np.full(100, "a"))
    with pytest.raises(InvalidInput, match="not among the labels"):
        mean_operator(X, y, classes=("a", "z"))
    with pytest.raises(InvalidInput, match="noise covariance"):
        ask.MeanOperator([1.0, 2.0], ("a", "b"), 10, noise_covariance=np.eye(3))
    for wrong in ({"ridge": -1}, {"ridge": "none"}, {"ridge": np.nan}, {"max_iter": 0}, {"regulariser": 3}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            ask.MeanOperatorClassifier(**wrong).fit(X, y)
    with pytest.raises(InvalidInput, match="not linear-odd"):
        ask.MeanOperatorClassifier(loss=lambda z: np.maximum(0, 1 - z)).fit(X, y)
    with pytest.raises(AskanceError, match="kinks"):
        ask.MeanOperatorClassifier(loss=lambda z: np.abs(z - 1) + np.abs(z + 1) - z).fit(X, y)
    with pytest.raises(InvalidInput, match="gradient of shape"):
        ask.MeanOperatorClassifier(regulariser=lambda c: (0.0, np.zeros(9))).fit(X, y)


@pytest.mark.parametrize("shape", ["auto", "none"])
def test_features_in_other_units_than_the_labels_were_added_up_with_are_refused(shape):
    """Without identifiers and names nothing else sees it: coefficients of .45 with z = 6 stood where .018 was right."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = np.where(rng.random(300) < 1 / (1 + np.exp(-2 * X[:, 0])), 1, -1)
    release = simulate_mean_operator_release(X, y, 2.0, shape=shape, rng=rng)
    again = rng.permutation(300)
    ask.MeanOperatorClassifier().fit(X[again], release)  # the same people in another order
    with pytest.raises(InvalidInput, match=r"longer or shorter .* order of columns and units on both sides"):
        ask.MeanOperatorClassifier().fit(100 * X, release)
    with pytest.raises(InvalidInput, match="longer or shorter"):
        ask.MeanOperatorClassifier().fit(X[:150].repeat(2, axis=0) + 0.1, release)
    if shape == "auto":  # rows as they are keep their length in another order
        with pytest.raises(InvalidInput, match="longer or shorter"):
            ask.MeanOperatorClassifier().fit(X[:, ::-1], release)


def test_features_in_another_order_than_released_are_refused():
    X, y = people(n=100)
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    release = ask.release_mean_operator(frame / 200, y, 1.0, classes=("a", "b"), columns=["p", "q", "r"])
    with pytest.raises(InvalidInput, match="another order"):
        ask.MeanOperatorClassifier().fit(frame[["q", "p", "r"]] / 200, release)


@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"proportions": [[0.5, 0.5], [0.5, 0.5]]}, Unidentifiable, "tell the classes apart"),
        ({"proportions": [[0.5, 0.6], [0.2, 0.8]]}, InvalidInput, "sum to 1.1"),
        ({"proportions": [[1.0, 0.0], [0.2, 0.8], [0.5, 0.5]]}, InvalidInput, "bag 2 is empty"),
        ({"proportions": [[1.0], [1.0]]}, InvalidInput, "shape"),
        ({"bags": [0, 0, 1, 2]}, InvalidInput, "no proportions"),
        ({"bags": [0, 0, 1]}, InvalidInput, "one for each row"),
    ],
)
def test_bad_bags_are_refused(changed, error, match):
    good = {"X": np.arange(8.0).reshape(4, 2), "bags": [0, 0, 1, 1], "proportions": [[1.0, 0.0], [0.2, 0.8]]}
    with pytest.raises(error, match=match):
        mean_operator_from_proportions(**(good | changed), classes=("a", "b"))


def test_bad_labelling_rates_are_refused():
    X = np.ones((3, 1))
    for rate in (0.0, 1.5, np.nan):
        with pytest.raises(InvalidInput, match="rate"):
            mean_operator_from_some_labels(X, [0, 1, 1], [True] * 3, rate=rate, classes=(0, 1))
    with pytest.raises(InvalidInput, match="True or False"):
        mean_operator_from_some_labels(X, [0, 1, 1], [1, 0, 1], rate=0.5, classes=(0, 1))
