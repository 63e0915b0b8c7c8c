"""Importance-sampling EM: its draws have the right law, its step the right fixed point, and its bias is what we say."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import askance as ask
from askance.learning.records.enumerated_likelihood import distinct_reports
from askance.learning.records.enumerated_likelihood import fit_enumerated as fit_distinct
from askance.learning.records.posterior import FeaturePosterior
from askance.learning.records.posterior_draws import FlipDraw, NormalDraw, TableDraw, posterior_draw
from askance.learning.records.sampling_fit import normalised_over_samples, sampling_em, sampling_em_with
from askance.solvers.softmax import posterior
from spread_cases import draw_reports, flip


def fit_enumerated(values, matrices, codes, label_matrix, label_codes, **options):
    return fit_distinct(values, matrices, distinct_reports(codes, label_codes), label_matrix, **options)


# -- draws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FlipDraw, TableDraw])
def test_draws_have_the_posterior_in_every_cell(kind):
    """24 cells within 5 standard errors: a correct program fails for one seed in 70,000."""
    prior = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.0, 0.1, 0.2]])
    values = np.array([[0.0, 1, 2, 3], [-1, 0, 5, 9]])
    chances, each = (0.3, 0.45), 40_000
    codes = np.repeat(np.tile(np.arange(4)[:, None], (1, 2)), each, axis=0)
    if kind is FlipDraw:
        stay, spread = np.array([[1 - c - c / 3, c / 3] for c in chances]).T
        draw = FlipDraw(codes, values, prior, stay, spread)
    else:
        draw = TableDraw.under_prior(codes, values, np.array([flip(4, c) for c in chances]), prior)
    drawn = draw(np.random.default_rng(1))
    for j, chance in enumerate(chances):
        joint = flip(4, chance) * prior[j]
        expected = joint / joint.sum(axis=1, keepdims=True)
        for report in range(4):
            seen = drawn[report * each : (report + 1) * each, j]
            shares = np.array([(seen == value).mean() for value in values[j]])
            error = np.sqrt(expected[report] * (1 - expected[report]) / each)
            assert np.all(np.abs(shares - expected[report]) <= 5 * error), (j, report)


def test_a_report_that_the_prior_excludes_is_drawn_from_the_prior():
    draw = TableDraw.under_prior(
        np.zeros((50, 1), int), np.array([[3.0, 8.0]]), np.eye(2)[None], np.array([[0.0, 1.0]])
    )
    assert set(draw(np.random.default_rng(0)).ravel()) == {8.0}


def test_normal_draws_follow_equations_68_and_69():
    """Mean and variance within 5 standard errors: fails for one seed in 800,000."""
    reports = np.tile([[1.0, -2.0]], (100_000, 1))
    draw = NormalDraw.under_prior(reports, np.array([0.1, 0.5]), np.array([0.0, 1.0]), np.array([10.0, 0.25]))
    drawn = draw(np.random.default_rng(2))
    precision = np.array([1 / 0.1 + 1 / 10, 1 / 0.5 + 1 / 0.25])
    mean = np.array([1 / 0.1, -2 / 0.5 + 1 / 0.25]) / precision
    error = np.sqrt(1 / precision / len(drawn))
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5 * error)
    assert np.all(np.abs(drawn.var(axis=0) * precision - 1) < 5 * np.sqrt(2 / len(drawn)))


@pytest.mark.parametrize(
    ("channel", "prior"),
    [
        (ask.StateFlip([[0, 1, 5], [0, 2]], [0.3, 0.1]), "learned"),
        (ask.StateFlip(3, 0.2, dim=2), "flat"),
        (ask.FiniteChannel([[0.7, 0.1, 0.2], [0.2, 0.6, 0.3], [0.1, 0.3, 0.5]], classes=[0, 1, 4]), "learned"),
        (ask.GaussianNoise(0.7, dim=2), "learned"),
        (ask.GaussianNoise([0.7, 2.0]), "flat"),
        (ask.LaplaceNoise([0.5, 3.0]), "learned"),
        (ask.LaplaceNoise(0.5, dim=2), "flat"),
        (ask.LaplaceNoise(0.0, dim=2), "learned"),
    ],
)
def test_draws_have_the_moments_of_the_posterior(channel, prior):
    """Closed forms against draws: 12 means and variances of 8 channels within 5 standard errors, of which those of the
    variances are estimated: a correct program fails for fewer than one seed in 1,000."""
    rng = np.random.default_rng(10)
    features = ask.RowChannel(channel).features.for_width(2)
    reports = features.simulate(np.zeros((6, 2)), rng)
    reports = features.encode(reports) if features.is_finite else reports
    posterior = FeaturePosterior.fitted(features, reports, prior)
    expected = posterior.moments(reports)
    many = posterior_draw(posterior, np.repeat(reports, 20_000, axis=0))(rng).reshape(6, 20_000, 2)
    spread = np.broadcast_to(expected.variance, (6, 2))
    gaps = many - expected.mean[:, None]
    assert np.all(np.abs(gaps.mean(axis=1)) <= 5 * np.sqrt(spread / 20_000) + 1e-9)
    error = (gaps**2).std(axis=1) / np.sqrt(20_000)
    assert np.all(np.abs((gaps**2).mean(axis=1) - spread) <= 5 * error + 1e-9)


def test_weights_are_normalised_over_the_samples_of_a_record():
    weights = normalised_over_samples(np.array([0.2, 0.0, 0.6, 0.0, 0.2, 0.0]), samples=3)
    np.testing.assert_allclose(weights, [0.2, 1 / 3, 0.6, 1 / 3, 0.2, 1 / 3])  # all impossible: no preference


# -- the step ----------------------------------------------------------------------------------------------


def test_without_noise_it_is_logistic_regression():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3)) * [1, 5, 0.2]
    y = (rng.random(400) < 1 / (1 + np.exp(-0.5 - X @ [1.0, -0.3, 2.0]))).astype(int)
    found = sampling_em(lambda _: X, np.eye(2)[y], rng=rng, penalty=2.0, rounds=200, samples=1)
    clean = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(found.theta[0], [*clean.intercept_, *clean.coef_[0]], atol=1e-6)
    assert found.drift < 1e-6


def test_without_noise_it_is_softmax_regression_with_three_classes():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = rng.integers(0, 3, 300)
    y[X[:, 0] > 0.5] = 2
    pull, centre = np.array([0.5, 3.0, 3.0]), np.array([0.2, -1.0])
    Z = np.column_stack([np.ones(300), X - centre])

    def below(flat):
        theta = flat.reshape(2, 3)
        log = np.log(posterior(Z @ theta.T).probabilities[np.arange(300), y]).sum()
        each = np.vstack([np.zeros(3), theta])
        return -log + 0.5 * (pull * (each - each.mean(axis=0)) ** 2).sum()  # no class is special

    best = minimize(below, np.zeros(6), tol=1e-12).x.reshape(2, 3)
    found = sampling_em(lambda _: X, np.eye(3)[y], rng=rng, penalty=pull, rounds=300, samples=1, centre=centre)
    np.testing.assert_allclose(found.theta, best, atol=1e-5)


# -- bias --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_case():
    """Two binary features and a label, all flipped; the exact answer by enumeration, with the same prior."""
    rng = np.random.default_rng(5)
    clean = rng.integers(0, 2, (2_500, 2))
    y = (rng.random(2_500) < 1 / (1 + np.exp(1.0 - clean @ [2.5, -1.0]))).astype(int)
    law = flip(2, 0.1)
    codes = np.column_stack([draw_reports(law, clean[:, j], rng) for j in range(2)])
    reports = draw_reports(law, y, rng)
    prior = np.full((2, 2), 0.5)
    values = np.tile([0.0, 1.0], (2, 1))
    exact = fit_enumerated(values, [law, law], codes, law, reports, prior=list(prior))
    draw = FlipDraw(codes, values, prior, np.full(2, 0.8), np.full(2, 0.1))
    return draw, law[reports], exact.theta


def test_many_samples_approach_the_exact_likelihood_and_two_are_biased(small_case):
    """On six other seeds the first was .04 to .06, the second .51 to .54: neither is an accident of this one."""
    draw, likelihood, exact = small_case
    many = sampling_em(draw, likelihood, rng=np.random.default_rng(6), samples=60, rounds=40).theta
    two = sampling_em(draw, likelihood, rng=np.random.default_rng(6), samples=2, rounds=40).theta
    assert np.abs(many - exact).max() < 0.1 * np.abs(exact).max()
    slope, true_slope = two[0, 1], exact[0, 1]
    assert 0 < slope < 0.6 * true_slope


def test_a_classifier_of_scikit_learn_finds_the_same(small_case):
    draw, likelihood, exact = small_case
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e6))
    fitted = sampling_em_with(model, draw, likelihood, rng=np.random.default_rng(7), samples=30, rounds=8)
    states = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    expected = posterior(np.column_stack([np.ones(4), states]) @ exact.T).probabilities
    np.testing.assert_allclose(fitted.predict_proba(states), expected, atol=0.08)


def test_a_forest_learns_from_samples(small_case):
    draw, likelihood, _ = small_case
    forest = RandomForestClassifier(20, max_depth=2, random_state=0)
    fitted = sampling_em_with(forest, draw, likelihood, rng=np.random.default_rng(8), rounds=3)
    assert fitted.predict(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist() == [1, 0]


def test_the_same_generator_gives_the_same_fit(small_case):
    draw, likelihood, _ = small_case
    first, second = (sampling_em(draw, likelihood, rng=np.random.default_rng(9), rounds=3).theta for _ in range(2))
    np.testing.assert_array_equal(first, second)
