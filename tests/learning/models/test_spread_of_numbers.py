"""Hidden numbers are integrated out as the closed form says, and several reports of one person count together."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

import askance as ask
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.learning.models.joint_states import read_columns
from askance.learning.models.spread_recipe import SpreadRecipe


def normal(theta, truths):
    return norm.logpdf(truths[:, 0], theta[0], np.exp(theta[1]))


def share(theta):
    return -np.logaddexp(0, [theta[0], -theta[0]])


def normal_gradient(theta, truths):
    z = (truths[:, 0] - theta[0]) / np.exp(theta[1])
    return np.column_stack([z / np.exp(theta[1]), z**2 - 1])


@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0])
def test_normal_numbers_under_normal_noise_are_the_closed_form(spread):
    """Reports are normal with variance tau^2 + 1, whose maximum is known; laws narrower and wider than the noise."""
    rng = np.random.default_rng(1)
    channel = ask.GaussianNoise(1.0)
    reports = channel.simulate(rng.normal(2.0, spread, (2_000, 1)), rng)
    found = ask.fit_spread(normal, channel, reports, [0.0, 0.0], gradient=normal_gradient, names=["mean", "log sd"])
    mean, variance = reports.mean(), reports.var()
    error = found.standard_errors
    assert abs(found.parameters[0] - mean) < 1e-2 * error[0]
    assert abs(found.parameters[1] - 0.5 * np.log(variance - 1)) < 1e-2 * error[1]
    assert found.log_likelihood == pytest.approx(norm.logpdf(reports, mean, np.sqrt(variance)).sum(), abs=1e-3)
    assert error[0] == pytest.approx(np.sqrt(variance / len(reports)), rel=1e-3)
    made = ask.fit_spread(normal, channel, reports, [0.0, 0.0])
    np.testing.assert_allclose(made.parameters, found.parameters, atol=1e-5)


def test_a_regression_between_two_hidden_numbers_is_the_closed_form():
    """x and y = a + b x + e, both with noise: the pair is normal, and its likelihood can be written down."""
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, 800)
    truth = np.column_stack([x, 0.5 + 0.8 * x + rng.normal(0, 0.7, 800)])
    channel = ask.GaussianNoise(1.0)
    reports = channel.simulate(truth, rng)

    def line(theta, truths):
        first = norm.logpdf(truths[:, 0], theta[2], np.exp(theta[3]))
        return first + norm.logpdf(truths[:, 1], theta[0] + theta[1] * truths[:, 0], np.exp(theta[4]))

    def below(theta):
        b, v, w = theta[1], np.exp(2 * theta[3]), np.exp(2 * theta[4])
        covariance = [[v + 1, b * v], [b * v, b * b * v + w + 1]]
        return -multivariate_normal([theta[2], theta[0] + b * theta[2]], covariance).logpdf(reports).sum()

    found = ask.fit_spread(line, channel, reports, np.zeros(5))
    exact = minimize(below, np.zeros(5), tol=1e-9)
    assert np.all(np.abs(found.parameters - exact.x) < 0.02 * found.standard_errors)
    assert found.log_likelihood == pytest.approx(-exact.fun, abs=1e-2)
    assert np.all(np.abs(found.parameters - [0.5, 0.8, 0, 0, np.log(0.7)]) < 4 * found.standard_errors)


def test_laplace_noise_within_public_bounds_and_a_hidden_label():
    """A logistic model of a hidden label on a hidden number between bounds, 4 standard errors: one seed in 5,000."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (4_000, 1))
    label = np.where(rng.random(4_000) < 1 / (1 + np.exp(2 - 4 * x[:, 0])), "yes", "no")
    channel = ask.RowChannel(ask.LaplaceNoise(0.3, bounds=(0, 1)), label=ask.Warner(0.85))
    reports = channel.simulate((x, label), rng)

    def logistic(theta, truths):  # of a number that is uniform between its bounds
        logit = theta[0] + theta[1] * truths[:, 0]
        return -np.logaddexp(0, np.where(truths[:, 1] == 1, -logit, logit))

    found = ask.fit_spread(logistic, channel, reports, [0.0, 0.0])
    assert np.all(np.abs(found.parameters - [-2, 4]) < 4 * found.standard_errors)
    assert np.all(found.standard_errors < 0.5)
    naive = ask.IndirectClassifier(ask.Warner(0.85)).fit(reports[0], reports[1]).parameters_[1]
    assert naive < found.parameters[1] - 4 * found.standard_errors[1]  # noise on x shortens what is not told about it


def test_the_law_that_was_learned_is_the_law_in_prediction():
    rng = np.random.default_rng(4)
    channel = ask.GaussianNoise(1.0)
    found = ask.fit_spread(normal, channel, channel.simulate(rng.normal(3, 0.8, (2_000, 1)), rng), [0.0, 0.0])
    new = np.array([[-2.0], [3.0], [40.0]])  # the last lies outside all that was seen
    truths, chances = found.posterior(new)
    mean, variance = found.parameters[0], np.exp(2 * found.parameters[1])
    gain = variance / (variance + 1)
    np.testing.assert_allclose(chances @ truths, mean + gain * (new - mean), atol=1e-4)
    np.testing.assert_allclose(chances.sum(axis=1), 1)


@pytest.mark.parametrize("far", [60.0, 300.0])
def test_the_posterior_of_a_report_that_is_nearly_impossible_is_a_law(far):
    """No double holds its probability: it is told from that of other truths by logarithms."""
    rng = np.random.default_rng(4)
    channel = ask.GaussianNoise(1.0)
    found = ask.fit_spread(normal, channel, channel.simulate(rng.normal(3, 0.8, (2_000, 1)), rng), [0.0, 0.0])
    truths, chances = found.posterior([[far]])
    mean, variance = found.parameters[0], np.exp(2 * found.parameters[1])
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_allclose(chances @ truths, mean + variance / (variance + 1) * (far - mean), atol=1e-3)


def test_an_outlier_is_not_left_out():
    """Where its probability is no double, likelihood and slope are those of the closed form."""
    rng = np.random.default_rng(9)
    channel = ask.GaussianNoise(1.0)
    reports = np.vstack([channel.simulate(rng.normal(2, 1, (100, 1)), rng), [[90.0]]])
    columns, theta = read_columns(channel, reports), np.array([2.0, 0.0])
    value, slope = (
        SpreadRecipe(normal).on_grids(columns, None).likelihood(columns, None, theta).value_and_gradient(theta)
    )
    assert value == pytest.approx(norm.logpdf(reports, 2, np.sqrt(2)).sum(), rel=1e-6)
    assert slope[0] == pytest.approx(((reports - 2) / 2).sum(), rel=1e-5)


def test_an_outlier_beyond_every_grid_is_refused():
    rng = np.random.default_rng(9)
    reports = np.vstack([rng.normal(2, 1.4, (100, 1)), [[1e6]]])
    with pytest.raises(InvalidInput, match="an outlier"):
        ask.fit_spread(normal, ask.GaussianNoise(1.0), reports, [2.0, 0.0])


@pytest.mark.parametrize("times", [2, 5])
def test_several_reports_about_one_number_are_their_mean(times):
    """Under normal noise the mean of M reports tells all, with a variance of 1 / M."""
    rng = np.random.default_rng(5)
    channel = ask.GaussianNoise(1.0, bounds=(-50, 50))
    truth = np.repeat(rng.normal(0, 1, 500), times)
    person = np.repeat(rng.permutation(500), times)
    mixed = rng.permutation(len(truth))
    reports = channel.simulate(truth[mixed, None], rng)
    found = ask.fit_spread(
        normal, channel, reports, [0.0, 0.0], person=person[mixed], support=(-9, 9), gradient=normal_gradient
    )
    means = np.bincount(person[mixed], reports[:, 0]) / times
    assert abs(found.parameters[0] - means.mean()) < 1e-2 * found.standard_errors[0]
    assert found.parameters[1] == pytest.approx(0.5 * np.log(means.var() - 1 / times), abs=1e-3)
    assert f"reported {times} times" in found.privacy
    within = ((reports[:, 0] - means[person[mixed]]) ** 2).sum()
    left = norm.logpdf(means, means.mean(), means.std()).sum() - 0.5 * within
    left += 500 * (-0.5 * (times - 1) * np.log(2 * np.pi) - 0.5 * np.log(times))
    assert found.log_likelihood == pytest.approx(left, abs=1e-2)
    truths, chances = found.posterior(reports[:times], person=np.zeros(times))
    variance = np.exp(2 * found.parameters[1])
    gain = variance / (variance + 1 / times)
    expected = found.parameters[0] + gain * (reports[:times].mean() - found.parameters[0])
    np.testing.assert_allclose(chances @ truths, [[expected]], atol=1e-4)


def test_reports_by_person_are_those_of_a_repeated_channel():
    rng = np.random.default_rng(6)
    device = ask.Warner(0.7)
    truth = rng.choice(["no", "yes"], 400, p=[0.6, 0.4])
    table = np.column_stack([device.simulate(truth, rng) for _ in range(3)])

    whole = ask.fit_spread(share, ask.Repeated(device, 3), table, [0.0])
    rows = ask.fit_spread(share, device, table.ravel(), [0.0], person=np.repeat(np.arange(400), 3))
    np.testing.assert_allclose(rows.parameters, whole.parameters, atol=1e-7)
    np.testing.assert_allclose(rows.covariance, whole.covariance, rtol=1e-5)
    assert rows.log_likelihood == pytest.approx(whole.log_likelihood)
    assert (
        rows.privacy
        == whole.privacy
        == "epsilon 2.542, protects one answer, reported 3 times " + ("(any two answers of one person)")
    )
    one = ask.fit_spread(share, device, table[:, 0], [0.0])
    assert rows.standard_errors[0] < 0.8 * one.standard_errors[0]
    _, chances = rows.posterior(["yes", "yes", "no"], person=["a", "a", "b"])
    p = np.exp(share(rows.parameters))
    joint = p * np.array([[0.3**2, 0.7**2], [0.7, 0.3]])
    np.testing.assert_allclose(chances, joint / joint.sum(axis=1, keepdims=True))


def test_covariates_of_people_give_each_its_own_law():
    rng = np.random.default_rng(7)
    z = rng.normal(size=300)
    channel = ask.GaussianNoise(0.5)
    reports = channel.simulate((1 + 2 * z + rng.normal(0, 1, 300))[:, None], rng)

    def line(at):
        return lambda theta, truths: norm.logpdf(truths[:, 0], theta[0] + theta[1] * at[:, None], np.exp(theta[2]))

    found = ask.fit_spread(line(z), channel, reports, np.zeros(3))
    known = np.linalg.lstsq(np.column_stack([np.ones(300), z]), reports[:, 0], rcond=None)[0]
    assert np.all(np.abs(found.parameters[:2] - known) < 0.02 * found.standard_errors[:2])
    truths, chances = found.posterior([[0.0]], log_probability=line(np.array([1.0])))
    variance = np.exp(2 * found.parameters[2])
    centre = found.parameters[:2].sum()
    assert (chances @ truths)[0, 0] == pytest.approx(centre * 0.25 / (variance + 0.25), abs=1e-4)


# -- reports that are not what they claim ------------------------------------------------------------------


def middle(theta, truths):
    return norm.logpdf(truths[:, 0], theta[0])


def test_a_saddle_has_no_standard_errors():
    """Two groups, sought from where they are one: no warning but our own."""
    rng = np.random.default_rng(13)
    channel = ask.GaussianNoise(1.0)
    reports = channel.simulate(rng.choice([-2.0, 2.0], (200, 1)), rng)

    def groups(theta, truths):
        return np.logaddexp(*(norm.logpdf(truths[:, 0], middle, 0.5) for middle in theta)) - np.log(2)

    with pytest.warns(AskanceWarning, match="do not determine all parameters") as said:
        found = ask.fit_spread(groups, channel, reports, [0.0, 0.0])
    assert np.isnan(found.standard_errors).all()
    assert all(issubclass(one.category, AskanceWarning) for one in said)


@pytest.mark.parametrize("channel", [ask.GaussianNoise(1.0), ask.LaplaceNoise(1.0)])
def test_reports_of_the_channel_are_not_remarked_upon(channel):
    """Warnings are errors, and five standard errors are one sample in three million."""
    rng = np.random.default_rng(10)
    person = np.repeat(np.arange(60), rng.integers(1, 5, 60))
    reports = channel.simulate(rng.normal(size=60)[person][:, None], rng)
    assert ask.fit_spread(middle, channel, reports, [0.0], person=person).notes == ()
    assert ask.fit_spread(middle, channel, channel.simulate(np.zeros((200, 1)), rng), [0.0]).notes == ()


@pytest.mark.parametrize(
    ("stated", "again", "said"),
    [
        (0.5, True, r"[2-6]\.\d times the variance"),  # of noise that was twice as large: 4, within 0.6
        (1.0, False, "0 times the variance"),  # of one report, sent twice
    ],
)
def test_several_reports_of_one_person_tell_of_other_noise(stated, again, said):
    rng = np.random.default_rng(11)
    channel = ask.GaussianNoise(1.0)
    truth = rng.normal(size=(100, 1))
    first = channel.simulate(truth, rng)
    reports = np.vstack([first, channel.simulate(truth, rng) if again else first])
    with pytest.warns(AskanceWarning, match=f"Reports of one person about attribute 1 have {said}"):
        ask.fit_spread(middle, ask.GaussianNoise(stated), reports, [0.0], person=np.tile(np.arange(100), 2))


def test_truths_in_the_place_of_reports_are_remarked_upon():
    truth = np.random.default_rng(12).normal(0, 0.5, (200, 1))
    with pytest.warns(AskanceWarning, match="attribute 1 have 0.2. times the variance of the noise"):
        ask.fit_spread(middle, ask.GaussianNoise(1.0), truth, [0.0])


# -- refusals ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(8)
    channel = ask.GaussianNoise(1.0, bounds=(0, 4))
    return channel, channel.simulate(rng.uniform(0, 4, (300, 1)), rng)


def test_a_density_that_does_not_end_at_the_public_bounds_is_refused(numbers):
    with pytest.raises(InvalidInput, match=r"integrates to 0\.\d+ over \(0, 4\)"):
        ask.fit_spread(normal, *numbers, [2.0, 0.0])


def test_reports_that_scatter_no_more_than_the_noise_are_refused():
    """The maximum has no width: no grid is fine enough."""
    reports = norm.ppf((np.arange(200) + 0.5) / 200)[:, None] * 0.9
    with pytest.raises(InvalidInput, match="no more than the noise alone"):
        ask.fit_spread(normal, ask.GaussianNoise(1.0), reports, [0.0, 0.0])


def test_four_numbers_are_refused():
    reports = np.random.default_rng(0).normal(size=(400, 4))
    with pytest.raises(InvalidInput, match="one or two numbers"):
        ask.fit_spread(lambda t, x: norm.logpdf(x, t[0]).sum(axis=1), ask.GaussianNoise(0.5), reports, [0.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"support": (1, 0)}, "support="),
        ({"support": "all"}, "support="),
        ({"support": [(0, 1), (0, 1)]}, "one for each hidden number"),
        ({"person": [1, 2]}, "person of shape"),
        ({"person": [None, 2] * 150}, "150 of 300 reports of nobody"),
        ({"person": [1.0, np.nan] * 150}, "150 of 300 reports of nobody"),
        ({"names": 3}, "names=3"),
        ({"names": "ab"}, "names='ab'"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"gradient": lambda theta, truths: 2 * normal_gradient(theta, truths)}, "a gradient that differs"),
        ({"gradient": lambda theta, truths: normal_gradient(theta, truths)[:, ::-1]}, "a gradient that differs"),
    ],
)
def test_supports_and_people_that_do_not_fit_are_refused(numbers, options, message):
    with pytest.raises(InvalidInput, match=message):
        ask.fit_spread(normal, *numbers, [2.0, 0.0], **options)


def test_people_of_any_kind_are_counted_in_their_order():
    reports = ["yes", "no", "yes", "yes"]
    known = ask.fit_spread(share, ask.Warner(0.8), reports, [0.0], person=[0, 1, 1, 2])
    mixed = ask.fit_spread(share, ask.Warner(0.8), reports, [0.0], person=np.array(["b", 1, 1, ("c",)], dtype=object))
    np.testing.assert_array_equal(mixed.parameters, known.parameters)


def test_people_of_other_rows_are_refused():
    reports, person = pd.Series(["yes", "no"], index=["a", "b"]), pd.Series([1, 2], index=["b", "a"])
    with pytest.raises(InvalidInput, match="in another order"):
        ask.fit_spread(share, ask.Warner(0.8), reports, [0.0], person=person)


def test_models_that_are_none_are_refused():
    with pytest.raises(InvalidInput, match="log_probability='normal'"):
        ask.fit_spread("normal", ask.Warner(0.8), ["yes"], [0.0])
    with pytest.raises(InvalidInput, match="a str from log_probability"):
        ask.fit_spread(lambda theta: "a", ask.Warner(0.8), ["yes"], [0.0])


def test_posteriors_of_another_number_of_attributes_are_refused():
    found = ask.fit_spread(lambda t, x: norm.logpdf(x[:, 0], t[0]), ask.GaussianNoise(1.0), [[0.0], [2.0]], [0.0])
    with pytest.raises(InvalidInput, match="reports about 2 attributes; expected 1"):
        found.posterior([[1.0, 2.0]])


def test_what_is_about_states_or_numbers_only_is_refused(numbers):
    with pytest.raises(InvalidInput, match="no number is hidden"):
        ask.fit_spread(lambda t: np.log([0.5, 0.5]), ask.Warner(0.8), ["yes"], [0.0], support=(0, 1))
    with pytest.raises(NotAvailable, match="fit_weighted for hidden numbers"):
        ask.fit_spread(normal, *numbers, [2.0, 0.0], fit_weighted=lambda counts: counts[:2])
    with pytest.raises(InvalidInput, match="nan in row 2"):
        ask.fit_spread(normal, ask.GaussianNoise(1.0), [[0.0], [np.nan]], [0.0, 0.0])


def test_reports_that_no_truth_explains_together_are_refused():
    with pytest.raises(InvalidInput, match="person 2 that no truth explains"):
        ask.fit_spread(share, ask.Identity(["a", "b"]), ["a", "a", "b"], [0.0], person=[7, 3, 3])
