"""Budgets under choices that depend on what was released before."""

import functools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.errors import InvalidInput
from askance.mechanisms.accounting import (
    BalancedGaussianLoss,
    EitherFilter,
    GaussianFilter,
    GaussianLoss,
    LaplaceLoss,
    LevelLoss,
    RenyiFilter,
    Spend,
    SumsFilter,
    TruncatedLaplaceLoss,
    compose,
    filter_from_dict,
)
from askance.mechanisms.budget import Budget

BUDGET = Budget.of("0.915", "1e-6")
NOISE = Spend(Budget.of("0.1", "1e-8"), (GaussianLoss.of(0.1, 1e-8),))


def pure(epsilon):
    return Spend(Budget.of(epsilon), (LevelLoss.of(epsilon),))


def allowed(rule, spend):
    """How many such releases a filter allows."""
    low, high = 0, 1
    while rule.allows([spend] * high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rule.allows([spend] * middle) else (low, middle)
    return low


def test_a_hundred_gaussian_releases_fit_where_sums_allow_nine():
    assert allowed(SumsFilter(BUDGET), NOISE) == 9
    assert allowed(GaussianFilter(BUDGET), NOISE) == 100
    assert 80 <= allowed(RenyiFilter.best(BUDGET), NOISE) <= 100


def test_plain_sums_are_allowed_too():
    for rule in (GaussianFilter(Budget.of(1, "1e-6")), RenyiFilter.best(Budget.of(1, "1e-6"))):
        assert allowed(rule, pure("0.1")) == 10  # where the squares alone would allow 3 or 4
        assert allowed(rule, pure("0.01")) > 300
        # Noise without a bound spends what sums would have allowed.
        assert not rule.allows([pure("0.1")] * 9 + [NOISE])


def test_either_allows_what_one_of_both_allows_with_half_of_delta():
    budget = Budget.of(1, "1e-6")
    rule, half = EitherFilter(budget), Budget.of(1, "5e-7")
    large = Spend(Budget.of("0.5", "5e-7"), (GaussianLoss.of(0.5, 5e-7),))
    assert rule.allows([large, pure("0.5")])  # as sums do, and normal noise spoils for the other filter
    assert not GaussianFilter(budget).allows([large, pure("0.5")])
    assert allowed(rule, NOISE) == allowed(GaussianFilter(half), NOISE) > allowed(SumsFilter(half), NOISE)
    assert allowed(rule, pure("0.1")) == 10
    assert not rule.allows([large, pure("0.5"), pure("1e-9")])
    assert not rule.allows([Spend(Budget.of(1, "6e-7"), (GaussianLoss.of(1, 6e-7),))])


def test_three_tenths_are_allowed_exactly():
    for rule in (SumsFilter(Budget.of("0.3")), GaussianFilter(Budget.of("0.3", "1e-9"))):
        assert rule.allows([pure("0.1")] * 3)
        assert not rule.allows([pure("0.1")] * 3 + [pure("1e-9")])


LOSSES = [
    pure("0.05"),
    pure("0.3"),
    NOISE,
    Spend(Budget.of("0.2", "1e-9"), (LevelLoss.of("0.2", "1e-9"),)),
    Spend(Budget.of("0.3", "1e-9"), (GaussianLoss.of(0.3, 1e-9),)),
    Spend(Budget.of("0.25"), (LaplaceLoss(2, Fraction(8)),)),
    Spend(Budget.of("0.2", "1e-6"), (BalancedGaussianLoss(Fraction(1000), 3),)),
]


@pytest.mark.parametrize(
    "rule",
    [make(Budget.of(2, "1e-5")) for make in (SumsFilter, GaussianFilter, RenyiFilter.best, EitherFilter)],
)
@given(order=st.lists(st.integers(0, len(LOSSES) - 1), min_size=1, max_size=60))
@settings(max_examples=25, deadline=None)
def test_what_is_allowed_is_within_the_budget_for_every_list(rule, order):
    """A filter must at least keep its budget for lists that were fixed in advance: their exact cost is known."""
    spends = []
    for each in order:
        if rule.allows([*spends, LOSSES[each]]):
            spends.append(LOSSES[each])
    if spends:
        assert compose([loss for spend in spends for loss in spend.losses], delta=float(rule.budget.delta)) <= 2 * (
            1 + 1e-9
        )


@pytest.mark.parametrize("make", [RenyiFilter.best, GaussianFilter, SumsFilter, EitherFilter])
def test_a_choice_after_each_release_keeps_the_budget(make):
    """All strategies of somebody who sees each outcome before choosing the next of two levels of binary response.

    The best strategy against the filter by dynamic programming: at every stage it takes the level, or stops, that makes
    the final delta largest. Losses are on a grid, so that a stage is known by the loss and by what was spent.
    """
    rule = make(Budget.of(1, "0.05"))
    unit = 0.1
    small, large = pure(str(unit)), pure(str(2 * unit))

    @functools.cache
    def allows(ones, twos):
        return rule.allows([small] * ones + [large] * twos)

    @functools.cache
    def best(loss, ones, twos):
        found = max(0.0, -np.expm1(float(rule.budget.epsilon) - loss * unit))
        for size, more in ((1, (ones + 1, twos)), (2, (ones, twos + 1))):
            if allows(*more):
                truth = 1 / (1 + np.exp(-size * unit))
                found = max(found, truth * best(loss + size, *more) + (1 - truth) * best(loss - size, *more))
        return found

    assert best(0, 0, 0) <= float(rule.budget.delta)
    assert allows(12, 0) == (rule.kind != "sums")  # more than plain sums allow, and they are all in


def test_impossible_outcomes_have_a_part_of_delta_of_their_own():
    cut = TruncatedLaplaceLoss(Fraction(40), 200, 2)
    spend = Spend(Budget.of("0.05", Fraction(cut.infinite)), (cut,))
    assert 1e-6 < cut.infinite < 1e-5
    rule = GaussianFilter(Budget.of(5, "1e-2"))
    assert rule.allows([spend] * int(1e-4 / cut.infinite * 0.9))
    assert not rule.allows([spend] * int(1e-4 / cut.infinite * 1.1))


def test_the_largest_level_that_fits():
    for rule in (SumsFilter(BUDGET), GaussianFilter(BUDGET), RenyiFilter.best(BUDGET)):
        left = rule.largest_level([pure("0.1")] * 3)
        assert left == pytest.approx(0.615, abs=1e-6)
        assert rule.allows([pure("0.1")] * 3 + [pure(left * 0.999)])
        assert not rule.allows([pure("0.1")] * 3 + [pure(left * 1.001)])


@pytest.mark.parametrize(
    "rule", [SumsFilter(BUDGET), GaussianFilter(BUDGET), RenyiFilter(BUDGET, 30.0), EitherFilter(BUDGET)]
)
def test_a_filter_survives_json(rule):
    assert filter_from_dict(rule.to_dict(), BUDGET) == rule


@pytest.mark.parametrize(
    "spec", [None, {}, {"filter": "pld"}, {"filter": "renyi", "order": 1}, {"filter": "renyi", "order": "x"}]
)
def test_a_filter_that_is_none(spec):
    with pytest.raises(InvalidInput):
        filter_from_dict(spec, BUDGET)


def test_filters_of_losses_need_delta():
    for make in (GaussianFilter, RenyiFilter.best, EitherFilter):
        with pytest.raises(InvalidInput, match="delta"):
            make(Budget.of(1))
