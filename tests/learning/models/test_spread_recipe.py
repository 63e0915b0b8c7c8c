"""Any model, any finite corruption: the recipe finds known solutions, and says no where there is none."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import askance as ask
from askance.errors import AskanceWarning, InvalidInput, Unidentifiable
from askance.learning.models.fitted import differenced
from askance.learning.models.joint_states import HiddenStates, read_columns
from askance.learning.models.spread_likelihood import SpreadLikelihood

SPINS = np.array(list(itertools.product([-1, 1], repeat=4)))
FEATURES = np.column_stack([SPINS.sum(axis=1), (SPINS[:, :-1] * SPINS[:, 1:]).sum(axis=1)])


def ising(theta):
    energy = FEATURES @ theta
    return energy - np.logaddexp.reduce(energy)


def ising_gradient(theta):
    return FEATURES - np.exp(ising(theta)) @ FEATURES


def softmax(theta):
    return np.concatenate([[0.0], theta]) - np.logaddexp.reduce([0.0, *theta])


@pytest.fixture(scope="module")
def magnets():
    """Chains of four spins with a field and a coupling, each spin flipped with probability .15."""
    rng = np.random.default_rng(0)
    states = SPINS[rng.choice(16, 8_000, p=np.exp(ising(np.array([0.3, 0.5]))))]
    channel = ask.StateFlip([-1, 1], 0.15, dim=4)
    return channel, channel.simulate(states, rng)


# -- known solutions ---------------------------------------------------------------------------------------


def test_proportions_are_those_of_prevalence():
    rng = np.random.default_rng(1)
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0)
    reports = channel.simulate(rng.choice(["a", "b", "c"], 3_000, p=[0.5, 0.3, 0.2]), rng)
    known = ask.Prevalence(channel, method="marginal").fit(reports)
    found = ask.fit_spread(softmax, channel, reports, [0.0, 0.0], names=["b", "c"])
    shares = np.exp(softmax(found.parameters))
    np.testing.assert_allclose(shares, known.proportions_, atol=1e-6)
    # Standard errors of the shares by the delta method.
    slopes = np.diag(shares)[:, 1:] - np.outer(shares, shares[1:])
    np.testing.assert_allclose(slopes @ found.covariance @ slopes.T, known.covariance_, rtol=1e-3)
    assert "b" in str(found.summary())


def test_expectation_maximisation_with_the_models_own_fit_finds_the_same():
    rng = np.random.default_rng(2)
    channel = ask.Warner(0.8)
    reports = channel.simulate(rng.choice(["no", "yes"], 2_000, p=[0.7, 0.3]), rng)

    def bernoulli(theta):
        return np.log([1 - theta[0], theta[0]])

    em = ask.fit_spread(bernoulli, channel, reports, [0.5], fit_weighted=lambda counts: counts[1:] / counts.sum())
    known = ask.Prevalence(channel).fit(reports)
    assert em.parameters[0] == pytest.approx(known.proportions_[1], abs=1e-4)
    assert em.standard_errors[0] == pytest.approx(known.standard_errors_[1], rel=1e-2)
    assert em.iterations > 5


def test_ising_model_against_enumeration(magnets):
    """The same likelihood written out by hand; the truth within 4 standard errors (one seed in 8,000 fails)."""
    channel, reports = magnets
    found = ask.fit_spread(ising, channel, reports, [0.0, 0.0], gradient=ising_gradient)
    laws = np.where(reports[:, None, :] == SPINS[None], 0.85, 0.15).prod(axis=2)

    def below(theta):
        return -np.log(laws @ np.exp(ising(theta))).sum()

    best = minimize(below, [0.1, 0.1], tol=1e-10)
    np.testing.assert_allclose(found.parameters, best.x, atol=1e-5)
    assert found.log_likelihood == pytest.approx(-best.fun)
    assert np.all(np.abs(found.parameters - [0.3, 0.5]) < 4 * found.standard_errors)


def test_differences_stand_in_for_a_gradient(magnets):
    channel, reports = magnets
    given = ask.fit_spread(ising, channel, reports, [0.0, 0.0], gradient=ising_gradient)
    made = ask.fit_spread(ising, channel, reports, [0.0, 0.0])
    np.testing.assert_allclose(made.parameters, given.parameters, atol=1e-7)
    np.testing.assert_allclose(made.covariance, given.covariance, rtol=1e-4)
    np.testing.assert_allclose(made.covariance_sandwich, given.covariance_sandwich, rtol=1e-4)


def test_scores_and_information_are_derivatives(magnets):
    channel, reports = magnets
    table, counts = HiddenStates.of(read_columns(channel, reports)).table(None, shared=True)
    likelihood = SpreadLikelihood(ising, table, counts, gradient=ising_gradient)
    theta, step = np.array([0.2, -0.1]), 1e-5
    values = [[likelihood.posterior(theta + sign * step * e)[1] for sign in (1, -1)] for e in np.eye(2)]
    scores, _ = likelihood.scores(theta)
    np.testing.assert_allclose(counts @ scores, [(a - b) / (2 * step) for a, b in values], rtol=1e-6)
    gradients = [[counts @ likelihood.scores(theta + sign * step * e)[0] for sign in (1, -1)] for e in np.eye(2)]
    expected = [(b - a) / (2 * step) for a, b in gradients]
    np.testing.assert_allclose(differenced(likelihood.gradients, theta), expected, rtol=1e-5)


def test_covariates_give_each_row_its_own_law():
    """A logistic regression written as a user's own model is IndirectClassifier's."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=600)
    channel = ask.Warner(0.85)
    reports = channel.simulate(np.where(rng.random(600) < 1 / (1 + np.exp(-x)), "yes", "no"), rng)

    def logistic(theta):
        logit = theta[0] + theta[1] * x
        return -np.logaddexp(0, np.column_stack([logit, -logit]))

    found = ask.fit_spread(logistic, channel, reports, [0.0, 0.0])
    known = ask.IndirectClassifier(channel).fit(x[:, None], reports)
    np.testing.assert_allclose(found.parameters, known.parameters_, atol=1e-5)
    np.testing.assert_allclose(found.covariance, known.covariance_information_, rtol=1e-3)
    np.testing.assert_allclose(found.covariance_sandwich, known.covariance_sandwich_, rtol=1e-3)


def test_a_row_channel_and_a_sequence_of_channels_are_the_same(magnets):
    _, reports = magnets
    flip = ask.FiniteChannel([[0.85, 0.15], [0.15, 0.85]], classes=[-1, 1])
    whole = ask.fit_spread(ising, ask.StateFlip([-1, 1], 0.15), reports, [0.0, 0.0])
    parts = ask.fit_spread(ising, [flip] * 4, reports, [0.0, 0.0])
    row = ask.RowChannel(features=ask.StateFlip([-1, 1], 0.15, dim=3), label=flip)
    split = ask.fit_spread(lambda t: ising(t).reshape(2, 2, 2, 2), row, (reports[:, :3], reports[:, 3]), [0.0, 0.0])
    np.testing.assert_allclose(parts.parameters, whole.parameters, atol=1e-8)
    np.testing.assert_allclose(split.parameters, whole.parameters, atol=1e-8)
    assert "epsilon 6.9" in parts.privacy
    assert "epsilon 6.9" in whole.privacy
    assert "epsilon 6.9" in split.privacy


def test_the_best_of_several_starts_is_kept():
    """p = (0.2, 0.8)(t) folded: two values of theta give the same law but for a bump, so starts end in two places."""
    channel = ask.Identity(["a", "b", "c"])
    reports = np.repeat(["a", "b", "c"], [2, 5, 3])

    def folded(theta):
        t = theta[0]
        logits = np.array([0.0, (t * t - 1) ** 2 * -2 + 0.3 * t, 0.5])
        return logits - np.logaddexp.reduce(logits)

    with pytest.warns(AskanceWarning, match="several maxima"):
        both = ask.fit_spread(folded, channel, reports, [[-1.2], [1.2]])
    assert both.parameters[0] > 0
    assert ask.fit_spread(folded, channel, reports, [-1.2]).log_likelihood < both.log_likelihood


# -- refusals ----------------------------------------------------------------------------------------------


def test_noise_that_loses_the_truth_is_refused_unless_the_model_is_known_to_bear_it():
    blurred = ask.FiniteChannel([[0.8, 0.5, 0.2], [0.2, 0.5, 0.8]], classes=[0, 1, 2], reports=["low", "high"])
    reports = np.repeat(["low", "high"], [60, 40])
    with pytest.raises(Unidentifiable, match="rank 2 for 3 true states"):
        ask.fit_spread(softmax, blurred, reports, [0.0, 0.0])

    def binomial(theta):
        p = 1 / (1 + np.exp(-theta[0]))
        return np.log([(1 - p) ** 2, 2 * p * (1 - p), p**2])

    found = ask.fit_spread(binomial, blurred, reports, [0.0], require_valid=False)
    p = 1 / (1 + np.exp(-found.parameters[0]))
    assert 0.2 + 0.6 * p == pytest.approx(0.4, abs=1e-6)  # P(high) of that binomial
    with pytest.warns(AskanceWarning, match="do not determine all parameters"):
        lost = ask.fit_spread(softmax, blurred, reports, [0.0, 0.0], require_valid=False)
    assert np.isnan(lost.covariance).all()


def test_a_search_that_is_cut_short_says_so(magnets):
    channel, reports = magnets
    with pytest.warns(AskanceWarning, match="before it reached a maximum"):
        assert not ask.fit_spread(ising, channel, reports, [2.0, -2.0], max_iter=1).converged


WARNER = ask.Warner(0.8)
YES_NO = ["yes", "no", "no"]


@pytest.mark.parametrize(
    ("log_probability", "start", "message"),
    [
        (lambda t: np.log([0.5, 0.6]), [0.0], "sum to 1.1"),
        (lambda t: np.log([0.2, 0.3, 0.5]), [0.0], r"shape \(3,\)"),
        (lambda t: np.array([np.nan, 0.0]), [0.0], "no number"),
        (softmax, "zero", "start="),
        (softmax, [np.inf], "start="),
        (softmax, [], "start="),
    ],
)
def test_models_and_starts_that_are_none_are_refused(log_probability, start, message):
    with pytest.raises(InvalidInput, match=message):
        ask.fit_spread(log_probability, WARNER, YES_NO, start)


@pytest.mark.parametrize(
    ("channel", "reports", "message"),
    [
        (WARNER, ["perhaps"], "perhaps"),
        (WARNER, [], "no reports"),
        ("Warner", YES_NO, "a str as channel"),
        ([WARNER, WARNER], YES_NO, "with 2 columns"),
        (ask.RowChannel(ask.StateFlip(2, 0.1), label=WARNER), YES_NO, "the pair"),
        (ask.RowChannel(ask.StateFlip(2, 0.1), label=WARNER), (np.zeros((2, 1)), YES_NO), "one label for each row"),
        (ask.RowChannel(ask.GaussianNoise(0.0), label=WARNER), (np.zeros((3, 1)), YES_NO), "noise of size 0"),
        (ask.StateFlip(4, 0.1), np.zeros((5_000, 14), int) + np.arange(14) % 4, "268,435,456 combinations"),
    ],
)
def test_reports_that_do_not_fit_are_refused(channel, reports, message):
    with pytest.raises(InvalidInput, match=message):
        ask.fit_spread(softmax, channel, reports, [0.0])


def test_gradients_and_fits_of_the_wrong_shape_are_refused():
    with pytest.raises(InvalidInput, match="a gradient of shape"):
        ask.fit_spread(softmax, WARNER, YES_NO, [0.0], gradient=lambda t: np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match="fit_weighted returned"):
        ask.fit_spread(softmax, WARNER, YES_NO, [0.0], fit_weighted=lambda counts: np.zeros(2))
    with pytest.raises(InvalidInput, match="2 names"):
        ask.fit_spread(softmax, WARNER, YES_NO, [0.0], names=["a", "b"])


def test_a_law_under_which_reports_cannot_be_is_refused():
    with pytest.raises(InvalidInput, match="cannot be under the law"):
        ask.fit_spread(lambda theta: [0.0, -np.inf], ask.Identity(["a", "b"]), ["a", "b"], [0.0])
