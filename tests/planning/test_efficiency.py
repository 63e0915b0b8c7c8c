"""Population variances: closed forms, identities of the theory, and simulated studies agree."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import DesignPerRow, FiniteChannel, Identity, InvalidInput, RandomizedResponse, Unidentifiable, Warner
from askance.papers.finite_family import draw_report_counts, fit_marginal, fit_moments
from askance.planning.theory.efficiency import (
    asymptotic_variance,
    classic_response_variance,
    family_law,
    relative_efficiency,
)

TWO_BITS = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
THETAS = [(2.0, -0.1), (5.0, -1.0), (-0.7, 0.4)]
TALL = np.array([[0.6, 0.1, 0.2], [0.2, 0.5, 0.1], [0.1, 0.2, 0.3], [0.1, 0.2, 0.4]])  # more reports than truths


def covariance(values, law):
    centred = values - (values @ law)[:, None]
    return (centred * law) @ centred.T


def channel(truth_probability, base=None):
    return RandomizedResponse(range(4), truth_probability=truth_probability, base=base)


@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize("truth", [0.05, 0.4, 0.95, 1.0])
@pytest.mark.parametrize("base", [None, (0.1, 0.2, 0.3, 0.4)])
def test_closed_form_of_classic_response_equals_general_formula(theta, truth, base):
    general = asymptotic_variance(TWO_BITS, theta, channel(truth, base), "moments")
    np.testing.assert_allclose(classic_response_variance(TWO_BITS, theta, truth, base), general, rtol=1e-9)


@pytest.mark.parametrize("theta", THETAS)
def test_formulas_as_the_paper_writes_them(theta):
    law, matrix = family_law(TWO_BITS, theta), channel(0.3).matrix
    information = covariance(TWO_BITS, law)
    np.testing.assert_allclose(
        asymptotic_variance(TWO_BITS, theta, method="full"), np.linalg.inv(information), rtol=1e-10
    )
    left = information.copy()
    for o, q in enumerate(matrix @ law):  # (13): I - E Cov[phi | o]
        left -= q * covariance(TWO_BITS, matrix[o] * law / q)
    np.testing.assert_allclose(asymptotic_variance(TWO_BITS, theta, matrix), np.linalg.inv(left), rtol=1e-7)
    beta = TWO_BITS @ np.linalg.inv(matrix)
    loss = sum(p * covariance(beta, matrix[:, y]) for y, p in enumerate(law))  # (14): E Cov[beta | y]
    inverse = np.linalg.inv(information)
    np.testing.assert_allclose(
        asymptotic_variance(TWO_BITS, theta, matrix, "moments"), inverse + inverse @ loss @ inverse, rtol=1e-8
    )


@pytest.mark.parametrize("truth", [0.05, 0.3, 0.9])
def test_without_signal_moments_waste_nothing(truth):
    uniform = asymptotic_variance(TWO_BITS, (0.0, 0.0), channel(truth))
    np.testing.assert_allclose(asymptotic_variance(TWO_BITS, (0.0, 0.0), channel(truth), "moments"), uniform, atol=1e-8)
    assert relative_efficiency(TWO_BITS, (0.0, 0.0), channel(truth)) == pytest.approx(1, abs=1e-10)
    assert relative_efficiency(TWO_BITS, (0.0, 0.0), channel(truth, (0.1, 0.2, 0.3, 0.4))) < 0.9999


@pytest.mark.parametrize("theta", THETAS)
def test_noise_of_the_same_law_as_the_truth_costs_one_over_truth_probability_squared(theta):
    law = family_law(TWO_BITS, theta)
    full = asymptotic_variance(TWO_BITS, theta, method="full")
    np.testing.assert_allclose(classic_response_variance(TWO_BITS, theta, 0.2, law), full / 0.04, rtol=1e-9, atol=1e-9)


@given(
    theta=st.lists(st.floats(-3, 3), min_size=2, max_size=2),
    columns=st.lists(st.lists(st.floats(0.05, 1), min_size=5, max_size=5), min_size=4, max_size=4),
)
@settings(max_examples=60, deadline=None)
def test_the_order_of_the_estimators(theta, columns):
    """full <= marginal <= least-variance moments <= pseudo-inverse moments, as matrices, for any channel."""
    matrix = np.array(columns).T / np.sum(columns, axis=1)
    if np.linalg.cond(matrix) > 1e4:
        return
    ordered = [
        asymptotic_variance(TWO_BITS, theta, matrix, "full"),
        asymptotic_variance(TWO_BITS, theta, matrix, "marginal"),
        asymptotic_variance(TWO_BITS, theta, matrix, "moments", "least-variance"),
        asymptotic_variance(TWO_BITS, theta, matrix, "moments"),
    ]
    for better, worse in pairwise(ordered):
        assert np.linalg.eigvalsh(worse - better)[0] >= -1e-7 * np.abs(worse).max()
    assert 0 < relative_efficiency(TWO_BITS, theta, matrix) <= 1 + 1e-7


def test_least_variance_unbiasing_is_better_where_there_is_a_choice():
    features, theta = [[0.0, 1.0, 2.0]], [0.8]
    plain = asymptotic_variance(features, theta, TALL, "moments")[0, 0]
    least = asymptotic_variance(features, theta, TALL, "moments", "least-variance")[0, 0]
    assert least < 0.995 * plain
    assert relative_efficiency(features, theta, TALL, "least-variance") > relative_efficiency(features, theta, TALL)


def test_reports_that_cannot_happen_change_nothing():
    padded = np.vstack([TALL, np.zeros(3)])
    for method in ("marginal", "moments"):
        np.testing.assert_allclose(
            asymptotic_variance([[0, 1, 2]], [0.8], padded, method, "least-variance"),
            asymptotic_variance([[0, 1, 2]], [0.8], TALL, method, "least-variance"),
        )


def test_a_channel_that_hides_the_truth_but_not_the_features():
    """Truths 0 and 1 share their feature and their reports: nothing is lost by that ([LM] section 6)."""
    features = [[0.0, 0.0, 1.0]]
    merged = np.array([[0.8, 0.8, 0.3], [0.2, 0.2, 0.7]])
    for method in ("marginal", "moments"):
        assert np.isfinite(asymptotic_variance(features, [0.5], merged, method)).all()
    with pytest.raises(Unidentifiable):
        asymptotic_variance([[0.0, 1.0, 2.0]], [0.5], merged, "moments")


@pytest.mark.parametrize(
    ("theta", "matrix"),
    [(THETAS[0], channel(0.3).matrix), (THETAS[1], channel(0.6).matrix), (THETAS[2], channel(0.2).matrix)],
)
def test_simulated_studies_scatter_as_the_formulas_say(theta, matrix):
    # 400 studies, both methods, 3 settings: 18 entries of covariance matrices, each within 4.5 standard errors.
    # A correct program fails for less than one seed in 5,000.
    replicates, truth = 400, np.array(theta)
    expected = {m: asymptotic_variance(TWO_BITS, theta, matrix, m) for m in ("moments", "marginal")}
    people = int(np.diag(expected["moments"]).max() / 0.01**2)
    rng = np.random.default_rng(20)
    counts = draw_report_counts(family_law(TWO_BITS, truth), matrix, people, replicates, rng)
    moments = fit_moments(TWO_BITS, matrix, counts, truth)
    fits = {"moments": moments, "marginal": fit_marginal(TWO_BITS, matrix, counts, moments)}
    for method, fit in fits.items():
        products = people * np.einsum("ri,rj->rij", fit - truth, fit - truth)
        error = products.std(axis=0, ddof=1) / np.sqrt(replicates)
        assert np.all(np.abs(products.mean(axis=0) - expected[method]) < 4.5 * error), method


def test_fits_from_counts_solve_their_equations():
    """The batch fits against a general-purpose optimiser, study by study."""
    from scipy.optimize import minimize

    matrix, truth = channel(0.5).matrix, np.array([1.0, -0.5])
    counts = draw_report_counts(family_law(TWO_BITS, truth), matrix, 5_000, 5, np.random.default_rng(1))
    moments = fit_moments(TWO_BITS, matrix, counts, np.zeros(2))
    marginal = fit_marginal(TWO_BITS, matrix, counts, np.zeros(2))
    beta = TWO_BITS @ np.linalg.inv(matrix)
    np.testing.assert_allclose(family_law(TWO_BITS, moments) @ TWO_BITS.T, counts / 5_000 @ beta.T, atol=1e-9)
    for study, found in zip(counts, marginal, strict=True):
        best = minimize(lambda t, c=study: -c @ np.log(matrix @ family_law(TWO_BITS, t)), np.zeros(2), tol=1e-10)
        np.testing.assert_allclose(found, best.x, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([[0, 1]], [0.0, 1.0], Warner(0.8)), InvalidInput, "theta"),
        (([[0, 1]], [np.nan], Warner(0.8)), InvalidInput, "theta"),
        (([[0, np.inf]], [0.0], Warner(0.8)), InvalidInput, "features"),
        (([[0, 1]], [0.0], None), InvalidInput, "no channel"),
        (([[0, 1]], [0.0], Warner(0.8), "bayes"), InvalidInput, "bayes"),
        (([[0, 1]], [0.0], Warner(0.8), "moments", "best"), InvalidInput, "best"),
        (([[0, 1]], [0.0], [[0.5, 0.5], [0.5, 0.4]]), InvalidInput, "column 1"),
        (([[0, 1]], [0.0], DesignPerRow({"a": Warner(0.8), "b": Identity()})), InvalidInput, "sums to 2"),
        (([[0, 1, 2]], [0.0], Warner(0.8)), InvalidInput, "shape"),
        (([[1, 1]], [0.0], Warner(0.8)), Unidentifiable, "features"),
        (([[0, 1, 2], [0, 2, 4]], [0.0, 0.0], TALL), Unidentifiable, "features"),
        (([[0, 1]], [0.0], [[0.5, 0.5], [0.5, 0.5]]), Unidentifiable, "reports"),
    ],
)
def test_refusals_teach(arguments, error, words):
    with pytest.raises(error, match=words):
        asymptotic_variance(*arguments)


@pytest.mark.parametrize("arguments", [(0.0,), (1.2,), (0.5, (0.5, 0.6)), (0.5, (1.0,))])
def test_closed_form_refuses_what_is_no_response(arguments):
    with pytest.raises(InvalidInput):
        classic_response_variance([[0, 1]], [0.0], *arguments)


def test_extreme_scales_of_features_do_no_harm():
    mild = asymptotic_variance(TWO_BITS, (0.5, 0.2), channel(0.3))
    scale = np.array([1e-8, 1e8])
    wild = asymptotic_variance(TWO_BITS * scale[:, None], np.array([0.5, 0.2]) / scale, channel(0.3))
    np.testing.assert_allclose(wild * np.outer(scale, scale), mild, rtol=1e-6)


def test_a_finite_channel_and_its_matrix_are_the_same():
    matrix = FiniteChannel(TALL, classes=list("abc"), reports=range(4))
    assert relative_efficiency([[0, 1, 2]], [0.8], matrix) == pytest.approx(
        relative_efficiency([[0, 1, 2]], [0.8], TALL), rel=1e-12
    )
