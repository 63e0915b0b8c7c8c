"""Profile likelihood ratios where they are known: a parabola, a binomial share, an end that is open."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from askance.solvers import Local, LogF, ProfileSearch, climb

Q = stats.norm.ppf(0.975)


def profiles(objective, start, directions, **options):
    search = ProfileSearch(objective, start, **options)
    return search.all_profiles(climb(objective, start), directions)


def binomial(yes, no, penalty=0.0):
    prior = LogF(np.zeros((1, 1)), np.ones(1), penalty)

    def objective(t):
        p = 1 / (1 + np.exp(-t[0]))
        here = Local(yes * np.log(p) + no * np.log1p(-p), np.array([yes - (yes + no) * p]), np.array([[0.0]]))
        extra = prior(t)
        curve = (yes + no) * p * (1 - p)
        return Local(float(here.value) + extra.value, here.gradient + extra.gradient, extra.information + curve)

    return objective


def test_a_parabola_gives_the_wald_interval_of_any_combination():
    information = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 2.0]])
    top = np.array([1.0, -2.0, 0.5])

    def parabola(t):
        gap = t - top
        return Local(-0.5 * float(gap @ information @ gap), -information @ gap, information)

    directions = [np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, -2.0])]
    _, found = profiles(parabola, np.zeros(3), directions)
    for c, one in zip(directions, found, strict=True):
        error = math.sqrt(c @ np.linalg.inv(information) @ c)
        for level in (0.5, 0.9, 0.95, 0.99, 0.9999):
            reach = stats.norm.ppf(0.5 + level / 2) * error
            np.testing.assert_allclose(one.interval(level), [c @ top - reach, c @ top + reach], rtol=1e-6)
        assert one.p_value() == pytest.approx(2 * stats.norm.sf(abs(c @ top) / error), rel=1e-6)
        reach = stats.t.ppf(0.975, 5) * error
        np.testing.assert_allclose(one.interval(0.95, df=5), [c @ top - reach, c @ top + reach], rtol=1e-6)


def test_the_ends_of_a_binomial_logit_are_where_the_ratio_crosses_the_quantile():
    objective = binomial(3, 40)
    full, (one,) = profiles(objective, np.zeros(1), [np.ones(1)])
    top = objective(full.theta).value
    for end, (a, b) in zip(one.interval(), ((-10, full.theta[0]), (full.theta[0], 5)), strict=True):
        wanted = optimize.brentq(lambda v: 2 * (top - objective(np.array([v])).value) - Q**2, a, b)
        assert end == pytest.approx(wanted, abs=1e-4)


def test_nobody_said_yes_and_the_lower_end_is_open():
    unpenalised = binomial(0, 50, penalty=1e-3)
    _, (one,) = profiles(binomial(0, 50, penalty=1.0), np.zeros(1), [np.ones(1)], unpenalised=unpenalised)
    lower, upper = one.interval()
    assert lower == -math.inf
    assert -6 < upper < -1


def test_a_ratio_scale_of_four_doubles_the_interval():
    def parabola(t):
        return Local(-0.5 * float(t @ t), -t, np.eye(2))

    _, (one,) = profiles(parabola, np.ones(2), [np.array([1.0, 0.0])], ratio_scale=lambda theta, c: 4.0)
    np.testing.assert_allclose(one.interval(), [-2 * Q, 2 * Q], rtol=1e-6)


def test_a_constrained_fit_that_leads_higher_replaces_the_full_fit():
    def two_hills(t):  # the hill at -2 is higher than the one at 2
        low, high = (np.exp(-0.5 * float((t - m) @ (t - m))) for m in (np.array([2.0, 0]), np.array([-2.0, 0])))
        weight = np.array([low, 2 * high])
        p = weight / weight.sum()
        means = np.array([[2.0, 0.0], [-2.0, 0.0]])
        centre = p @ means
        spread = (means - centre).T @ np.diag(p) @ (means - centre)
        return Local(float(np.log(weight.sum())), centre - t, np.eye(2) - spread)

    wrong = climb(two_hills, np.array([2.5, 0.1]))
    assert wrong.theta[0] > 1
    full, _ = ProfileSearch(two_hills, np.array([-2.0, 0.0])).all_profiles(wrong, [np.array([1.0, 0.0])])
    assert full.theta[0] < -1


def test_a_curve_that_jumps_over_the_quantile_is_not_searched_forever():
    asked = []

    def cliff(theta):
        asked.append(theta[0])
        fallen = 8.0 if abs(theta[0]) > 1.5 else 0.0
        return Local(-0.5 * float(theta @ theta) - fallen, -theta, np.eye(2))

    full = climb(cliff, np.zeros(2))
    curve = ProfileSearch(cliff, np.zeros(2)).all_profiles(full, [np.array([1.0, 0.0])])[1][0]
    assert np.allclose(curve.interval(), (-1.5, 1.5), atol=0.01)
    assert len(asked) < 80


@pytest.mark.parametrize("plateau", [1.99, 2.02, 2.1])
def test_the_end_of_a_curve_that_flattens_is_found_and_not_interpolated(plateau):
    # The root is plateau (1 - exp(-x)): it comes to the anchor late, and only just, and then hardly rises.
    def flattening(t):
        rest = plateau * math.exp(-abs(t[0]))
        root = plateau - rest
        gradient = np.array([-root * rest * np.sign(t[0])])
        return Local(-0.5 * root**2, gradient, np.array([[rest**2 - root * rest]]))

    _, [one] = profiles(flattening, np.zeros(1), [np.ones(1)])
    end = -math.log1p(-stats.norm.ppf(0.975) / plateau)
    np.testing.assert_allclose(one.interval(0.95), [-end, end], rtol=1e-4)


def test_every_direction_has_a_profile_however_many_higher_hills_are_found():
    def hills(t):
        value = 4 * math.cos(2 * t[0]) + 0.8 * t[0] - 0.01 * t[0] ** 2 - 0.5 * t[1] ** 2
        slope = np.array([-8 * math.sin(2 * t[0]) + 0.8 - 0.02 * t[0], -t[1]])
        return Local(value, slope, np.diag([16 * math.cos(2 * t[0]) + 0.02, 1.0]))

    first, directions = climb(hills, np.zeros(2)), [np.array([1.0, 0.0])] * 5
    highest, found = ProfileSearch(hills, np.zeros(2)).all_profiles(
        first, directions, [math.pi * number for number in (1, 2, 3, 4, 5)]
    )
    assert highest.local.value > first.local.value
    assert len(found) == 5


def test_profiles_beyond_the_evaluations_that_they_may_take_are_left_out():
    def parabola(t):
        taken.append(t)
        return Local(-0.5 * float(t @ t), -t, np.eye(3))

    taken, full, directions = [], climb(lambda t: Local(-0.5 * float(t @ t), -t, np.eye(3)), np.zeros(3)), np.eye(3)
    _, whole = ProfileSearch(parabola, np.zeros(3)).all_profiles(full, directions)
    needed = len(taken)
    assert len(whole) == 3
    for most, there in ((needed, 3), (needed - 1, 2), (0, 0)):
        taken.clear()
        _, found = ProfileSearch(parabola, np.zeros(3), most=most).all_profiles(full, directions)
        assert len(found) == there
        assert len(taken) <= most
        for one, other in zip(found, whole, strict=False):
            assert one.interval() == other.interval()
