"""What random intercepts take for granted is looked at: intercepts that go with covariates, slopes that differ.

Error rates: of 360 honest sets (40 groups of 25 with skewed intercepts or none, 30 of 12) Mundlak's test noted one,
the test of slopes none. Of 30 sets of 60 groups of 30, standard deviation .8, with a covariate that goes with
intercepts all were noted, with half as strong a one 29; with slopes of standard deviation .8 21, of .5 two.
"""

import warnings

import numpy as np
import pytest
from scipy.special import expit

import askance as ask
from askance.learning.surveys import AnswerRows, GroupedAnswers

CHANNEL = ask.Warner(0.85)
INTERCEPTS, SLOPES = "The groups' intercepts go with their covariates", "differs between groups, where"


def survey(seed, *, go_with=0.0, slopes=0.0, spread=0.8, groups=40, size=30):
    rng = np.random.default_rng(seed)
    group, shift = np.arange(groups * size) % groups, spread * rng.normal(size=groups)
    x = rng.normal(size=(groups * size, 2))
    x[:, 0] += go_with * shift[group]
    own = 1 + slopes * rng.normal(size=groups)
    truth = rng.random(len(x)) < expit(-0.5 + own[group] * x[:, 0] + 0.3 * x[:, 1] + shift[group])
    return x, CHANNEL.simulate(np.where(truth, "yes", "no"), rng), group


def notes(x, reports, group, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        fitted = ask.AnswerRegression(CHANNEL, intervals="wald").fit(x, reports, groups=group, **options)
    return " ".join(fitted.notes_)


def test_intercepts_that_go_with_covariates_are_noticed_until_group_means_are_there():
    x, reports, group = survey(0, go_with=1.0)
    assert INTERCEPTS in notes(x, reports, group)
    means = np.array([x[group == one, 0].mean() for one in range(40)])[group]
    assert INTERCEPTS not in notes(np.column_stack([x, means]), reports, group)


def test_slopes_that_differ_are_noticed_unless_errors_are_between_groups():
    x, reports, group = survey(1, slopes=0.8)
    found = notes(x, reports, group)
    assert SLOPES in found
    assert "'x0' differs" in found
    assert SLOPES not in notes(x, reports, group, cluster=group)


@pytest.mark.parametrize("spread", [0.0, 0.8])
def test_what_random_intercepts_allow_for_is_not_noted(spread):
    found = notes(*survey(2, spread=spread))
    assert INTERCEPTS not in found
    assert SLOPES not in found


def test_too_few_groups_are_not_asked():
    assert INTERCEPTS not in notes(*survey(3, go_with=1.0, groups=9, size=100))


def test_squared_scores_and_curvature_are_a_derivative_by_the_variance_of_slopes():
    """Half of their difference, at a variance of nothing: by differences of an integral over slopes of their own."""
    x, reports, group = survey(4, groups=1, size=20)
    rows, theta = AnswerRows("logit", x, np.log(CHANNEL.likelihood(reports))), np.array([0.8, 0.2, -0.4, 0.3])
    grouped = GroupedAnswers.around(rows, group, theta, 21)
    squares, expected = grouped.of_own_slopes(theta, x[:, 0])

    def likelihood(slope):
        return np.exp(grouped(theta + np.array([slope, 0, 0, 0])).value)

    step = 1e-3
    # With slopes of plus and minus sqrt(v) in equal parts, the variance is v.
    gained = np.log((likelihood(step) + likelihood(-step)) / 2 / likelihood(0.0)) / step**2
    np.testing.assert_allclose(gained, (squares[0] - expected[0]) / 2, rtol=1e-3, atol=1e-4)
