"""What releases cost together: never below the exact value, and close to it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import askance as ask
from askance.errors import InvalidInput
from askance.mechanisms.accounting import (
    BalancedGaussianLoss,
    Composition,
    GaussianLoss,
    LaplaceLoss,
    LevelLoss,
    LossLaw,
    TruncatedLaplaceLoss,
    compose,
    profile,
)


def exact_response(epsilon, times, delta):
    """The level of so many binary responses: a sum over how many of them were true."""
    true = np.arange(times + 1)
    losses, law = (2 * true - times) * epsilon, binom.pmf(true, times, 1 / (1 + np.exp(-epsilon)))
    return solve(lambda level: law @ -np.expm1(np.minimum(level - losses, 0)), times * epsilon, delta)


def exact_gaussian(mu, delta):
    normal = GaussianLoss(Fraction(mu))
    return solve(lambda level: normal.delta(np.array([level]))[0], 100 * (mu + mu**2), delta)


def solve(function, high, delta):
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > delta else (low, middle)
    return high


def test_a_hundred_gaussian_releases():
    noise = GaussianLoss.of(0.1, 1e-8)
    found = compose([noise] * 100, delta=1e-6)
    exact = exact_gaussian(10 * float(noise.ratio), 1e-6)
    assert exact <= found <= 0.915
    assert found == pytest.approx(exact, rel=1e-5)


def test_a_hundred_binary_responses():
    found = compose([LevelLoss.of("0.1")] * 100, delta=1e-6)
    exact = exact_response(0.1, 100, 1e-6)
    assert exact == pytest.approx(4.7746, abs=1e-4)
    assert exact <= found <= 4.78
    response = ask.RandomizedResponse(["no", "yes"], epsilon=0.1)
    assert found == pytest.approx(compose([response] * 100, delta=1e-6), rel=1e-6)


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12, 1e-30])
@pytest.mark.parametrize(("epsilon", "times"), [(0.5, 3), (1.0, 10), (2.0, 5), (0.03, 40), (0.01, 2000), (3.0, 1)])
def test_responses_of_any_level_and_number(epsilon, times, delta):
    found, exact = compose([LevelLoss.of(epsilon)] * times, delta=delta), exact_response(epsilon, times, delta)
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12, 1e-30])
@pytest.mark.parametrize(("mu", "times"), [(0.01, 1), (0.01, 400), (0.3, 10), (2.0, 3), (5.0, 1)])
def test_gaussian_releases_of_any_size_and_number(mu, times, delta):
    found = compose([GaussianLoss(Fraction(mu))] * times, delta=delta)
    exact = exact_gaussian(mu * times**0.5, delta)
    assert exact * (1 - 1e-12) <= found + 1e-50 <= exact * (1 + 1e-4) + 1e-9


RESPONSES = [
    ask.RandomizedResponse(["a", "b", "c"], epsilon=0.7),
    ask.FiniteChannel([[0.6, 0.35], [0.3, 0.4], [0.1, 0.25]], ["no", "yes"], ["x", "y", "z"]),
    ask.ForcedResponse(1 / 6, 1 / 12),
]


@pytest.mark.parametrize("chosen", [*itertools.combinations_with_replacement(range(3), 4)])
def test_small_finite_cases_by_enumeration(chosen):
    """All outcomes of four channels, for all pairs of answers to each: the worst of them is never above the bound."""
    channels = [RESPONSES[each] for each in chosen]
    levels = np.linspace(0, 3, 7)
    bound = profile(channels, levels)
    worst = np.zeros(len(levels))
    pairs = [list(itertools.permutations(range(len(channel.classes)), 2)) for channel in channels]
    for answers in itertools.product(*pairs):
        p, q = np.ones(1), np.ones(1)
        for channel, (a, b) in zip(channels, answers, strict=True):
            p, q = np.outer(p, channel.matrix[:, a]).ravel(), np.outer(q, channel.matrix[:, b]).ravel()
        worst = np.maximum(worst, [np.maximum(p - np.exp(level) * q, 0).sum() for level in levels])
    assert (bound >= worst * (1 - 1e-12)).all()
    assert (bound <= worst + 0.05).all()


def test_failures_are_added_up():
    cut = TruncatedLaplaceLoss(Fraction(4), 20, 3)
    whole = Composition.of([cut] * 3)
    assert whole.epsilon(whole.infinite / 2) == np.inf
    assert whole.epsilon(3 * cut.infinite) <= whole.largest
    assert whole.delta(100.0) == pytest.approx(1 - (1 - cut.infinite) ** 3)
    assert compose([LevelLoss.of(1, "0.1")], delta=0.0999) == np.inf


def test_without_delta_levels_add_up():
    assert compose([LevelLoss.of("0.1"), LaplaceLoss(1, Fraction(5))], delta=0) == pytest.approx(0.3)
    assert compose([GaussianLoss(Fraction(1))], delta=0) == np.inf


def test_the_profile_and_the_level_agree():
    whole = Composition.of(
        [GaussianLoss(Fraction(1, 5))] * 7 + [LevelLoss.of("0.3")] * 4 + [LaplaceLoss(3, Fraction(9))]
    )
    for delta in (1e-3, 1e-6, 1e-9):
        assert whole.delta(whole.epsilon(delta)) == pytest.approx(delta, rel=1e-3)
    assert (np.diff(whole.profile([0, 0.5, 1, 2, 3])) < 0).all()


def test_a_mixture_by_convolution_on_a_fine_grid():
    """Losses of three different laws, added on their own lattices: sums of 10 million outcomes, without a transform."""
    laws = [LossLaw.from_profile(GaussianLoss(Fraction(1, 2)).delta, np.linspace(0, 6, 241), 1e-30)]
    laws += [LevelLoss.of("0.7").law, BalancedGaussianLoss(Fraction(3), 3).law, LaplaceLoss(2, Fraction(3)).law]
    total, law = np.zeros(1), np.ones(1)
    for each in laws[:3]:
        total, law = np.add.outer(total, each.losses).ravel(), np.multiply.outer(law, each.probabilities).ravel()
    level = 1.9
    last = laws[3]
    exact = sum(
        chance * (law @ -np.expm1(np.minimum(level - loss - total, 0)))
        for loss, chance in zip(
            last.losses[::20], np.add.reduceat(last.probabilities, np.arange(0, 2001, 20)), strict=True
        )
    )
    losses = [
        GaussianLoss(Fraction(1, 2)),
        LevelLoss.of("0.7"),
        BalancedGaussianLoss(Fraction(3), 3),
        LaplaceLoss(2, Fraction(3)),
    ]
    assert profile(losses, [level])[0] == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(
    ("losses", "levels"),
    [
        # Made with dp-accounting 0.6.0, value_discretization_interval=1e-4: a lower and an upper bound on epsilon at
        # delta = 1e-3, 1e-6 and 1e-10. from_gaussian_mechanism(10.0), 100 times
        ([GaussianLoss(Fraction(1, 10))] * 100, [(3.13367, 3.13868), (4.88155, 4.88656), (6.54292, 6.54794)]),
        # from_gaussian_mechanism(1.0), 5 times
        ([GaussianLoss(Fraction(1))] * 5, [(8.78703, 8.78729), (12.59499, 12.59525), (16.25198, 16.25224)]),
        # from_discrete_laplace_mechanism(0.5, sensitivity=3), 8 times
        ([LaplaceLoss(3, Fraction(2))] * 8, [(11.95461, 11.95462), (11.99995, 11.99996), (11.99999, 12.00001)]),
        # from_randomized_response(0.5, 4), 20 times
        (
            [ask.RandomizedResponse(range(4), truth_probability=0.5)] * 20,
            [(28.82851, 28.83035), (32.17583, 32.17784), (32.18799, 32.19)],
        ),
        # from_discrete_gaussian_mechanism(2.0), 6 times
        ([BalancedGaussianLoss(Fraction(8), 2)] * 6, [(4.03327, 4.03328), (6.17483, 6.17484), (8.19812, 8.19813)]),
        # from_privacy_parameters(0.2, 1e-8), 30 times
        ([LevelLoss.of("0.2", "1e-8")] * 30, [(3.42044, 3.42045), (5.08024, 5.08025), (np.inf, np.inf)]),
        # from_gaussian_mechanism(4.0), 10 times, with from_discrete_laplace_mechanism(0.5), 4 times
        (
            [GaussianLoss(Fraction(1, 4))] * 10 + [LaplaceLoss(1, Fraction(2))] * 4,
            [(3.83607, 3.83658), (5.41661, 5.41712), (6.82422, 6.82473)],
        ),
    ],
)
def test_agreement_with_another_accountant(losses, levels):
    for delta, (low, high) in zip((1e-3, 1e-6, 1e-10), levels, strict=True):
        assert low <= compose(losses, delta=delta) <= high * (1 + 1e-5)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, float("nan")])
def test_a_delta_that_is_none(delta):
    with pytest.raises(InvalidInput, match="delta"):
        compose([LevelLoss.of(1)], delta=delta)


def test_nothing_to_compose():
    with pytest.raises(InvalidInput, match="no releases"):
        compose([], delta=1e-6)
    with pytest.raises(InvalidInput, match="epsilon"):
        profile([LevelLoss.of(1)], [-1])
