"""The exact spread likelihood: equal to brute force, to its own differences, and to what is known in special cases."""

import itertools

import numpy as np
import pytest

import askance as ask
from askance.errors import InvalidInput
from askance.learning.records.enumerated_likelihood import _Likelihood, distinct_reports
from askance.learning.records.enumerated_likelihood import fit_enumerated as fit_distinct
from spread_cases import draw_reports, flip


def fit_enumerated(values, matrices, codes, label_matrix, label_codes, **options):
    return fit_distinct(values, matrices, distinct_reports(codes, label_codes), label_matrix, **options)


VALUES = [np.array([0.0, 1.0])] * 2
LAW = flip(2, 0.15)


def records(rows, rng, theta=(-0.5, 1.5, -1.0)):
    """Two binary features that go together, and a label; reports of all three."""
    first = (rng.random(rows) < 0.5).astype(int)
    second = (rng.random(rows) < np.where(first == 1, 0.75, 0.25)).astype(int)
    clean = np.column_stack([first, second])
    y = (rng.random(rows) < 1 / (1 + np.exp(-theta[0] - clean @ theta[1:]))).astype(int)
    codes = np.column_stack([draw_reports(LAW, clean[:, j], rng) for j in range(2)])
    return clean, codes, draw_reports(LAW, y, rng)


# -- the likelihood ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def likelihood():
    """Three classes, a binary and a three-state feature, random laws and counts, and a joint prior."""
    rng = np.random.default_rng(0)
    states = np.array(list(itertools.product([0.0, 1.0], [-1.0, 0.0, 2.0])))
    table = rng.random((11, 6))
    label = rng.random((11, 3))
    basis = np.eye(6)[:, 1:]
    Z = np.column_stack([np.ones(6), states])
    counts = rng.integers(1, 50, 11).astype(float)
    return _Likelihood(table, label, counts, Z, basis, np.zeros(6), np.array([0.0, 0.7, 0.7]))


POINT = np.random.default_rng(1).normal(size=2 * 3 + 5)


def brute_force(likelihood, point):
    theta, gamma = point[:6].reshape(2, 3), np.concatenate([[0.0], point[6:]])
    prior = np.exp(gamma) / np.exp(gamma).sum()
    total = 0.0
    for r, count in enumerate(likelihood.counts):
        evidence = 0.0
        for m, z in enumerate(likelihood.Z):
            powers = np.exp([0.0, *(theta @ z)])
            for c in range(3):
                chance = powers[c] / powers.sum()
                evidence += prior[m] * likelihood.table[r, m] * likelihood.label[r, c] * chance
        total += count * np.log(evidence)
    return total


def test_likelihood_is_brute_force(likelihood):
    assert likelihood.sums(POINT).value == pytest.approx(brute_force(likelihood, POINT), rel=1e-12)


def test_gradient_and_information_are_the_derivatives(likelihood):
    here = likelihood.local(POINT)
    step = 1e-5
    sides = [[likelihood.local(POINT + sign * step * e) for sign in (1, -1)] for e in np.eye(len(POINT))]
    gradient = [(above.value - below.value) / (2 * step) for above, below in sides]
    np.testing.assert_allclose(here.gradient, gradient, rtol=1e-6, atol=1e-6)
    curvature = [(below.gradient - above.gradient) / (2 * step) for above, below in sides]
    np.testing.assert_allclose(here.information, curvature, rtol=1e-5, atol=1e-5)


# -- known solutions ---------------------------------------------------------------------------------------


def test_clean_features_give_the_marginal_likelihood():
    rng = np.random.default_rng(2)
    clean, _, reports = records(4_000, rng)
    found = fit_enumerated(VALUES, [np.eye(2)] * 2, clean, LAW, reports)
    channel = ask.FiniteChannel(LAW, classes=[0, 1])
    known = ask.IndirectClassifier(channel).fit(clean, reports)
    np.testing.assert_allclose(found.theta.ravel(), known.parameters_, atol=1e-7)
    np.testing.assert_allclose(found.information_covariance, known.covariance_information_, rtol=1e-6)
    np.testing.assert_allclose(found.sandwich_covariance, known.covariance_sandwich_, rtol=1e-6)


def test_ridge_and_no_intercept_are_those_of_the_marginal_likelihood():
    rng = np.random.default_rng(3)
    clean, _, reports = records(1_000, rng)
    found = fit_enumerated(VALUES, [np.eye(2)] * 2, clean, LAW, reports, penalty=20.0, intercept=False)
    channel = ask.FiniteChannel(LAW, classes=[0, 1])
    known = ask.IndirectClassifier(channel, ridge=20.0, fit_intercept=False).fit(clean, reports)
    np.testing.assert_allclose(found.theta.ravel(), known.parameters_, atol=1e-7)
    assert found.log_likelihood < fit_enumerated(VALUES, [np.eye(2)] * 2, clean, LAW, reports).log_likelihood


def test_without_labels_to_learn_from_the_prior_is_the_proportions():
    """Labels that follow no feature leave the prior of one coordinate: what Prevalence finds."""
    rng = np.random.default_rng(4)
    law = flip(3, 0.3)
    codes = draw_reports(law, rng.choice(3, 3_000, p=[0.5, 0.3, 0.2]), rng)
    labels = np.zeros(len(codes), dtype=int)
    found = fit_enumerated([np.arange(3.0)], [law], codes[:, None], np.full((1, 2), 1.0), labels, penalty=np.ones(2))
    known = ask.Prevalence(ask.FiniteChannel(law, classes=[0, 1, 2])).fit(codes)
    np.testing.assert_allclose(found.prior, known.proportions_, atol=1e-6)
    np.testing.assert_allclose(found.theta, 0.0, atol=1e-9)


def test_a_state_that_nobody_has_ends_at_the_border():
    rng = np.random.default_rng(5)
    law = flip(3, 0.3)
    truth = rng.integers(0, 2, 5_000)
    codes = draw_reports(law, truth, rng)
    if np.mean(codes == 2) > 0.15:  # the estimate is at the border only if fewer than expected are reported
        codes[np.flatnonzero(codes == 2)[: int(0.02 * len(codes))]] = 0
    labels = draw_reports(LAW, np.where(rng.random(len(truth)) < 0.8, truth, 1 - truth), rng)
    found = fit_enumerated([np.arange(3.0)], [law], codes[:, None], LAW, labels)
    assert found.prior[2] < 1e-6
    assert found.information_covariance is not None
    assert np.isfinite(found.information_covariance).all()


def test_a_maximum_on_a_plateau_has_no_standard_errors():
    """All who have a rare bit may as well be of one class: a coefficient of 20 or 200 is as likely.

    Scores are rounding there: such coefficients had sandwich errors of 1 to 3, and z of 10 to 30.
    """
    rng = np.random.default_rng((7, 8))
    codes = (rng.random((2_000, 1)) < 0.02).astype(int)
    labels = (rng.random(2_000) < np.where(codes[:, 0] == 1, 0.95, 0.4)).astype(int)
    reports = draw_reports(flip(2, 0.2), codes[:, 0], rng)[:, None]
    found = fit_enumerated([np.arange(2.0)], [flip(2, 0.2)], reports, np.eye(2), labels)
    assert found.theta[0, 1] > 15
    assert found.information_covariance is None
    assert found.sandwich_covariance is None
    channel = ask.RowChannel(ask.StateFlip(2, 0.2, dim=1), label=ask.Identity((0, 1)))
    model = ask.SpreadClassifier(channel, random_state=0)
    model.fit(reports, labels)
    assert model.covariance_ is None
    assert "No standard errors" in model.notes_[-1]
    assert abs(model.coef_[0, 0]) < 15


# -- statistics --------------------------------------------------------------------------------------------


def test_intervals_cover_and_estimates_are_unbiased():
    """120 studies: 95% intervals miss 1 to 14 times (a correct program fails for one seed in 300 for each of three
    parameters); means within 4 standard errors (one in 5,000)."""
    rng = np.random.default_rng(6)
    true, studies = np.array([-0.5, 1.5, -1.0]), 120
    estimates, errors = [], []
    for _ in range(studies):
        _, codes, reports = records(4_000, rng, true)
        found = fit_enumerated(VALUES, [LAW] * 2, codes, LAW, reports, prior="joint")
        estimates.append(found.theta[0])
        errors.append(np.sqrt(np.diag(found.information_covariance)))
    estimates, errors = np.array(estimates), np.array(errors)
    missed = (np.abs(estimates - true) > 1.96 * errors).sum(axis=0)
    assert np.all((missed >= 1) & (missed <= 14)), missed
    bias = estimates.mean(axis=0) - true
    # The small-sample bias of a maximum likelihood estimate is a tenth of its standard error here.
    assert np.all(np.abs(bias) < 4 * estimates.std(axis=0, ddof=1) / np.sqrt(studies) + 0.1 * errors.mean(axis=0))


def test_a_factorised_prior_is_biased_when_features_go_together():
    """50,000 records: the joint prior is within 4 standard errors of the truth, the factorised one 5 away."""
    rng = np.random.default_rng(7)
    _, codes, reports = records(50_000, rng)
    joint = fit_enumerated(VALUES, [LAW] * 2, codes, LAW, reports)
    assert joint.prior_kind == "joint"
    error = np.sqrt(np.diag(joint.information_covariance))
    assert np.all(np.abs(joint.theta[0] - [-0.5, 1.5, -1.0]) < 4 * error)
    apart = fit_enumerated(VALUES, [LAW] * 2, codes, LAW, reports, prior="factorised")
    assert apart.prior.reshape(2, 2)[0, 0] == pytest.approx(apart.prior.reshape(2, 2)[0].sum() * 0.5, abs=0.02)
    assert abs(apart.theta[0, 2] + 1.0) > 5 * error[2]
    assert apart.log_likelihood < joint.log_likelihood - 100


def test_a_given_prior_is_taken_as_it_is():
    rng = np.random.default_rng(8)
    _, codes, reports = records(3_000, rng)
    law = np.array([0.375, 0.125, 0.125, 0.375])
    found = fit_enumerated(VALUES, [LAW] * 2, codes, LAW, reports, prior=law)
    np.testing.assert_allclose(found.prior, law)
    assert found.prior_kind == "given"
    halves = [np.array([0.5, 0.5])] * 2
    marginals = fit_enumerated(VALUES, [LAW] * 2, codes, LAW, reports, prior=halves)
    np.testing.assert_allclose(marginals.prior, 0.25)


def test_a_large_enumeration_gets_a_factorised_prior():
    rng = np.random.default_rng(9)
    codes = rng.integers(0, 2, (500, 6))
    found = fit_enumerated([np.arange(2.0)] * 6, [LAW] * 6, codes, LAW, rng.integers(0, 2, 500), penalty=1.0)
    assert found.prior_kind == "factorised"
    assert found.states.shape == (64, 6)


# -- refusals ----------------------------------------------------------------------------------------------


def test_what_reports_do_not_determine_has_no_standard_errors():
    rng = np.random.default_rng(10)
    codes = np.zeros((200, 1), dtype=int)  # a feature that never varies cannot be told from the intercept
    found = fit_enumerated([np.arange(2.0)], [np.eye(2)], codes, LAW, rng.integers(0, 2, 200))
    assert found.information_covariance is None
    assert found.sandwich_covariance is None


def test_too_many_states_are_refused():
    codes = np.random.default_rng(11).integers(0, 4, (5_000, 12))
    with pytest.raises(InvalidInput, match=r"16,777,216 possible feature vectors.*collapsed"):
        fit_enumerated([np.arange(4.0)] * 12, [flip(4, 0.2)] * 12, codes, LAW, np.zeros(5_000, dtype=int))


@pytest.mark.parametrize("prior", ["flat", np.array([0.5, 0.5]), np.array([0.5, 0.6, -0.1, 0.0])])
def test_priors_that_are_none_are_refused(prior):
    rng = np.random.default_rng(12)
    _, codes, reports = records(100, rng)
    with pytest.raises(InvalidInput, match="prior"):
        fit_enumerated(VALUES, [LAW] * 2, codes, LAW, reports, prior=prior)
