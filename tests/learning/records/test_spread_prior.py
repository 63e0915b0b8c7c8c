"""What the truth is likely to be before and after its report: exact solutions, checked against independent ones."""

import numpy as np
import pytest
from scipy import integrate
from scipy.optimize import minimize

import askance as ask
from askance.channels.attributes.per_coordinate import PerCoordinate
from askance.errors import InvalidInput
from askance.learning.records.posterior import FeaturePosterior
from askance.learning.records.prior import NormalPrior, learned_states, state_counts, water_filling


def expectation_maximisation(share, matrix, rounds=20_000):
    """Update (65) of the paper, with the expectation exact instead of sampled."""
    prior = np.full(len(share), 1 / len(share))
    for _ in range(rounds):
        prior = prior * (matrix.T @ (share / (matrix @ prior)))
    return prior


@pytest.mark.parametrize(("states", "flip"), [(2, 0.3), (4, 0.2), (9, 0.6)])
def test_water_filling_is_where_em_and_scipy_end(states, flip):
    rng = np.random.default_rng(states)
    share = rng.dirichlet(np.full(states, 0.4))
    b = flip / (states - 1)
    a = 1 - flip - b
    matrix = a * np.eye(states) + b
    filled = water_filling(share[None], a, b)[0]
    assert filled.sum() == pytest.approx(1)
    assert filled == pytest.approx(expectation_maximisation(share, matrix), abs=2e-4)
    best = minimize(
        lambda p: -share @ np.log(matrix @ p),
        np.full(states, 1 / states),
        bounds=[(0, 1)] * states,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        tol=1e-12,
    )
    assert -share @ np.log(matrix @ filled) <= best.fun + 1e-9


def test_water_filling_inverts_shares_that_a_prior_could_have_made():
    prior = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]])
    assert water_filling(0.7 * prior + 0.1, 0.7, 0.1) == pytest.approx(prior)
    assert water_filling(prior, 1.0, 0.0) == pytest.approx(prior)


def test_any_finite_law_is_learned_too():
    law = PerCoordinate([ask.FiniteChannel([[0.7, 0.1, 0.3], [0.2, 0.8, 0.3], [0.1, 0.1, 0.4]], [0, 1, 2])]).laws[0]
    prior = np.array([[0.2, 0.5, 0.3]])
    assert learned_states(prior @ law.matrix.T, law) == pytest.approx(prior, abs=1e-6)


def test_counts_count_every_column_by_itself():
    assert state_counts(np.array([[0, 2], [0, 1]]), 3).tolist() == [[2, 0, 0], [0, 1, 1]]


def test_posterior_of_flips_is_bayes_rule():
    channel = ask.StateFlip([-1, 0, 5], 0.3, dim=2)
    prior = np.array([[0.2, 0.5, 0.3], [0.6, 0.4, 0.0]])
    posterior = FeaturePosterior.fitted(channel, np.zeros((1, 2), int), prior)
    found = posterior.moments(np.array([[0, 0], [1, 1], [2, 2]]))
    values = np.array([-1.0, 0.0, 5.0])
    for j, law in enumerate(channel.laws):
        for report in range(3):
            weight = law.matrix[report] * prior[j]
            weight /= weight.sum()
            assert found.mean[report, j] == pytest.approx(weight @ values)
            assert found.variance[report, j] == pytest.approx(weight @ values**2 - (weight @ values) ** 2)


def test_posteriors_are_consistent_with_their_prior():
    # The mean of posterior means is the prior's, and variances add up; also for a table that is no flip.
    table = ask.FiniteChannel([[0.6, 0.1, 0.1], [0.3, 0.8, 0.3], [0.1, 0.1, 0.6]], [0, 1, 4])
    channel = PerCoordinate(table, dim=1)
    weights = np.array([0.5, 0.2, 0.3])
    posterior = FeaturePosterior.fitted(channel, np.zeros((1, 1), int), [weights])
    found, (mean, variance, share) = posterior.moments(np.arange(3)[:, None]), posterior.reliability()
    law = channel.laws[0].matrix @ weights
    assert law @ found.mean[:, 0] == pytest.approx(mean[0])
    assert law @ (found.mean[:, 0] - mean[0]) ** 2 == pytest.approx(share[0] * variance[0])
    assert law @ found.variance[:, 0] == pytest.approx((1 - share[0]) * variance[0])


@pytest.mark.parametrize("channel", [ask.GaussianNoise(0.7, dim=1), ask.LaplaceNoise(0.7, dim=1)])
@pytest.mark.parametrize("report", [-6.0, 0.4, 2.5, 30.0])
def test_posterior_under_noise_is_the_integral(channel, report):
    law = channel.laws[0]
    found = FeaturePosterior.fitted(channel, np.zeros((1, 1)), {"mean": 0.5, "variance": 1.3}).moments(
        np.array([[report]])
    )
    grid = np.linspace(-12, 40, 400_001)
    log = -0.5 * (grid - 0.5) ** 2 / 1.3 + law.log_density(report - grid)
    density = np.exp(log - log.max())
    density /= integrate.trapezoid(density, grid)
    mean = integrate.trapezoid(density * grid, grid)
    variance = integrate.trapezoid(density * (grid - mean) ** 2, grid)
    assert found.mean[0, 0] == pytest.approx(mean, abs=1e-4)
    assert found.variance[0, 0] == pytest.approx(variance, abs=1e-4)


def test_normal_prior_has_the_moments_of_the_truth():
    rng = np.random.default_rng(0)
    reports = rng.normal(3, 2, (100_000, 1)) + rng.normal(0, 1.5, (100_000, 1))
    prior = NormalPrior.learned(reports.mean(axis=0), reports.var(axis=0), 1.5**2)
    assert prior.mean[0] == pytest.approx(3, abs=0.04)  # five standard errors
    assert prior.variance[0] == pytest.approx(4, abs=0.15)


def test_mixed_attributes_and_restoring():
    channel = PerCoordinate([ask.StateFlip(3, 0.2), ask.GaussianNoise(0.5), ask.StateFlip(3, 0.2)])
    rng = np.random.default_rng(1)
    reports = np.column_stack([rng.integers(0, 3, 200), rng.normal(size=200), rng.integers(0, 3, 200)])
    posterior = FeaturePosterior.fitted(channel, reports, "learned")
    again = FeaturePosterior.restored(channel, posterior.priors())
    for one, other in zip(posterior.moments(reports), again.moments(reports), strict=True):
        assert one == pytest.approx(other)
    flat = FeaturePosterior.fitted(channel, reports, "flat").moments(reports)
    assert flat.mean[:, 1] == pytest.approx(reports[:, 1])
    assert flat.variance[:, 1] == pytest.approx(0.25)


@pytest.mark.parametrize(
    "prior", [[[0.5, 0.6]], [[0.2, 0.3, 0.5]], [[-0.5, 1.5]], {"mean": 0, "variance": 1}, "gaussian"]
)
def test_priors_that_do_not_fit_are_refused(prior):
    with pytest.raises(InvalidInput):
        FeaturePosterior.fitted(ask.StateFlip(2, 0.2, dim=1), np.zeros((1, 1), int), prior)


@pytest.mark.parametrize(
    "prior", [[[0.5, 0.5]], {"mean": 0}, {"mean": 0, "variance": -1}, {"mean": "x", "variance": 1}]
)
def test_priors_of_numbers_that_do_not_fit_are_refused(prior):
    with pytest.raises(InvalidInput):
        FeaturePosterior.fitted(ask.GaussianNoise(1.0, dim=1), np.zeros((1, 1)), prior)


@pytest.mark.parametrize("scale", [1e-7, 1e-4, 1e-3, 0.02, 0.5, 30.0])
def test_moments_under_laplace_noise_of_any_size(scale):
    """Against a sum over a fine grid around the report: small noise must leave the report, and not the prior's mean."""
    reports = np.array([[1.0, -2.5, 0.0]])
    given = {"mean": 0.0, "variance": 1.0}
    channel = ask.LaplaceNoise(scale, dim=3)
    found = FeaturePosterior.fitted(channel, reports, given).moments(reports)
    for j, report in enumerate(reports[0]):
        reach = min(40 * scale, 12.0 + abs(report))
        about = np.linspace(-reach, reach, 400_001)
        log = -0.5 * (report + about) ** 2 - np.abs(about) / scale
        law = np.exp(log - log.max())
        law /= law.sum()
        mean = law @ about
        assert found.mean[0, j] - report == pytest.approx(mean, abs=1e-6 * scale + 1e-15, rel=1e-6)
        assert found.variance[0, j] == pytest.approx(law @ (about - mean) ** 2, rel=1e-6)


def test_em_with_the_classifier_as_printed_learns_another_prior():
    """[RR] (65) weighs by the label: in a sample its prior is that of the joint maximum, near water-filling's."""
    rng = np.random.default_rng(65)
    truth = rng.choice(3, 400, p=[0.6, 0.3, 0.1])
    label = rng.random(400) < np.array([0.1, 0.5, 0.9])[truth]
    stay, spread, flip = 0.7, 0.1, 0.2
    reports = np.where(rng.random(400) < stay, truth, rng.integers(0, 3, 400))
    labels = label ^ (rng.random(400) < flip)
    counts = np.zeros((3, 2))
    np.add.at(counts, (reports, labels.astype(int)), 1)
    states = stay * np.eye(3) + spread  # report x state
    prior, yes = np.full(3, 1 / 3), np.full(3, 0.5)  # a classifier with a parameter for each state: EM needs no solver
    for _ in range(20_000):
        noisy = np.array([(1 - flip) * (1 - yes) + flip * yes, flip * (1 - yes) + (1 - flip) * yes])
        joint = states[:, None, :] * noisy[None] * prior  # report x label x state
        posterior = counts[:, :, None] * joint / joint.sum(axis=2, keepdims=True)
        chance = np.array([flip * yes, (1 - flip) * yes]) / noisy  # of a true "yes", given state and reported label
        prior = posterior.sum(axis=(0, 1)) / 400
        yes = np.einsum("rls,ls->s", posterior, chance) / posterior.sum(axis=(0, 1))
    own = water_filling(counts.sum(axis=1)[None] / 400, stay, spread)[0]
    assert np.abs(prior - own).max() == pytest.approx(0.01, abs=0.009)  # another prior, and not far
