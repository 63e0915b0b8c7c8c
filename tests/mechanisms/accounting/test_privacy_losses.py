"""Every loss of a mechanism against the law that is really drawn: never below it, and close to it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import askance as ask
from askance.errors import InvalidInput
from askance.mechanisms.accounting import (
    EVERY_LOSS,
    BalancedGaussianLoss,
    BalancedLaplaceLoss,
    ChannelLoss,
    DirichletLoss,
    GaussianLoss,
    LaplaceLoss,
    LevelLoss,
    LossLaw,
    RadialLoss,
    RoundedLaplaceLoss,
    TruncatedLaplaceLoss,
    WorstLoss,
    channel_loss,
    loss_from_dict,
)
from channel_examples import EXAMPLES

LOSSES = [
    LevelLoss.of("0.1"),
    LevelLoss.of(2, "1e-6"),
    ChannelLoss(ask.RandomizedResponse(["a", "b", "c", "d"], epsilon=1.0)),
    ChannelLoss(ask.ForcedResponse(1 / 6, 1 / 12)),
    GaussianLoss(Fraction(1, 10)),
    GaussianLoss(Fraction(3)),
    LaplaceLoss(1, Fraction(1)),
    LaplaceLoss(1000, Fraction(2500)),
    RoundedLaplaceLoss(Fraction(2)),
    RadialLoss(Fraction(1), 1),
    RadialLoss(Fraction(1), 2),
    RadialLoss(Fraction(1, 2), 30),
    BalancedLaplaceLoss(Fraction(2), 2),
    BalancedLaplaceLoss(Fraction(3, 2), 4),
    TruncatedLaplaceLoss(Fraction(2), 6, 3),
    BalancedGaussianLoss(Fraction(2), 2),
    BalancedGaussianLoss(Fraction(1, 2), 3),
    BalancedGaussianLoss(Fraction(50), 5),
    BalancedGaussianLoss(Fraction(400_000), 4),
    DirichletLoss(Fraction(1, 20), Fraction(50), 1000, 5),
    DirichletLoss(Fraction(1, 20), Fraction(50), 200, 2),
    WorstLoss((LevelLoss.of("0.3", "1e-7"), GaussianLoss(Fraction(1, 4)))),
]


def name(loss):
    return repr(loss)[:60]


def hockey_stick(p, q, epsilon):
    """delta of two laws, exactly as defined."""
    return np.array([np.maximum(p - np.exp(level) * q, 0).sum() for level in epsilon])


def levels(loss):
    return np.linspace(0, min(loss.epsilon, 8 * loss.size) * 1.02, 29)


def test_every_kind_of_loss_has_an_example():
    assert {type(loss) for loss in LOSSES} == set(EVERY_LOSS)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_the_discrete_law_is_never_below_the_profile_and_close_to_it(loss):
    epsilon = levels(loss)
    chords, profile = loss.law.delta(epsilon), loss.delta(epsilon)
    assert (chords >= profile * (1 - 1e-12)).all()
    assert (chords <= profile * 1.01 + 1e-4).all()
    assert (np.diff(profile) <= 1e-15).all()
    assert abs(loss.law.probabilities.sum() + loss.law.infinite - 1) < 1e-6


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_a_law_is_the_same_after_exchanging_the_neighbours(loss):
    # P(-l) = Q(l) = e^-l P(l): delta of the other order, from the masses that the neighbour has.
    law = loss.law
    finite = np.abs(law.losses) < 30
    other = LossLaw(-law.losses[finite], (law.probabilities * np.exp(-law.losses))[finite], law.infinite)
    epsilon = levels(loss)
    np.testing.assert_allclose(other.delta(epsilon), law.delta(epsilon), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_the_gaussian_level_dominates_the_profile(loss):
    normal = GaussianLoss(Fraction(loss.gaussian_level))
    epsilon = levels(loss)
    # Chords, where there is no formula, are a little above.
    assert (loss.infinite + normal.delta(epsilon) >= loss.delta(epsilon) * (1 - 1e-4) - 1e-12).all()


@pytest.mark.parametrize("order", [1.5, 2, 8, 40])
@pytest.mark.parametrize("loss", LOSSES[:-1], ids=name)
def test_the_renyi_divergence_is_at_least_that_of_the_law(loss, order):
    law = loss.law
    kept = law.probabilities / law.probabilities.sum()
    exact = np.log(np.sum(kept * np.exp((order - 1) * np.minimum(law.losses, 600 / order)))) / (order - 1)
    # The discrete law is a little worse than the true one, for which a formula may be known.
    assert loss.renyi(order) >= exact * (1 - 1e-3) - 1e-9
    if np.isfinite(loss.epsilon):
        assert loss.renyi(order) <= min(loss.epsilon, order * loss.epsilon**2 / 2) * (1 + 1e-6) + 1e-8


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_a_loss_survives_json(loss):
    again = loss_from_dict(loss.to_dict())
    assert again == loss
    assert hash(again) == hash(loss)


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"loss": "magic"},
        {"loss": "gaussian"},
        {"loss": "gaussian", "ratio": "1e9999999"},
        {"loss": "gaussian", "ratio": "0"},
        {"loss": "gaussian", "ratio": "1/0"},
        {"loss": "gaussian", "ratio": 0.5},
        {"loss": "laplace", "shift": True, "scale": "1"},
        {"loss": "radial", "ratio": "1", "count": -1},
        {"loss": "level", "epsilon": "-1", "delta": "0"},
        {"loss": "channel", "channel": {"channel": "nothing"}},
        {"loss": "worst", "losses": 3},
        {"loss": "gaussian", "ratio": "1", "more": "1"},
    ],
)
def test_a_description_that_is_none(spec):
    with pytest.raises(InvalidInput):
        loss_from_dict(spec)


# -- against what is drawn -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shift", "scale"), [(1, Fraction(1)), (7, Fraction(5)), (3, Fraction(1, 3)), (50, Fraction(200))]
)
def test_discrete_laplace_noise_by_its_law(shift, scale):
    reach = 60 * max(1, int(scale)) + 2 * shift
    numbers = np.arange(-reach, reach + 1)
    p, q = (np.exp(-np.abs(numbers - moved) / float(scale)) for moved in (0, shift))
    loss = LaplaceLoss(shift, scale)
    epsilon = levels(loss)
    np.testing.assert_allclose(loss.delta(epsilon), hockey_stick(p / p.sum(), q / q.sum(), epsilon), atol=1e-13)


@pytest.mark.parametrize("moves", [(2, 2), (1, 3), (1, 1, 2), (1, 1, 1, 1)])
def test_one_number_moved_is_worse_than_several_moved_as_much_together(moves):
    scale = 2.0
    numbers = np.arange(-60, 61)
    laws = [np.exp(-np.abs(numbers - move) / scale) for move in (0, *moves)]
    laws = [law / law.sum() for law in laws]
    losses = [np.log(laws[0] / law) for law in laws[1:]]
    # The losses of several numbers add up.
    total, law = np.zeros(1), np.ones(1)
    for loss in losses:
        values, where = np.unique(loss.round(12), return_inverse=True)
        total = np.add.outer(total, values).ravel()
        law = np.multiply.outer(law, np.bincount(where, laws[0])).ravel()
    together = LossLaw(total, law)
    alone = LaplaceLoss(sum(moves), Fraction(2))
    epsilon = levels(alone)
    assert (together.delta(epsilon) <= alone.delta(epsilon) + 1e-9).all()


@pytest.mark.parametrize("scale", [Fraction(2), Fraction(1, 3), Fraction(10)])
def test_rounded_laplace_noise_by_its_law(scale):
    b = float(scale)
    numbers = np.arange(-200, 201)
    sizes = np.abs(np.stack([numbers, numbers - 1]))
    p, q = np.where(sizes == 0, 1 - np.exp(-0.5 / b), np.exp(-(sizes - 0.5) / b) * (1 - np.exp(-1 / b)) / 2)
    loss = RoundedLaplaceLoss(scale)
    values, where = np.unique(np.log(p / q).round(10), return_inverse=True)
    one = np.bincount(where, p)
    exact = LossLaw(np.add.outer(values, values).ravel(), np.multiply.outer(one, one).ravel())
    epsilon = levels(loss)[:-1]
    np.testing.assert_allclose(loss.delta(epsilon), exact.delta(epsilon), atol=1e-7)


@pytest.mark.parametrize(("count", "ratio"), [(2, 1.0), (3, 0.5), (10, 2.0)])
def test_radial_noise_by_quadrature_over_both_coordinates(count, ratio):
    """Another way to integrate: length by length and angle by angle, 2 million pieces."""
    from scipy.stats import gamma

    loss = RadialLoss(Fraction(ratio), count)
    lengths = gamma.ppf((np.arange(2000) + 0.5) / 2000, count) / ratio
    angles = (np.arange(1000) + 0.5) * np.pi / 1000
    weights = np.sin(angles) ** (count - 2)
    cosines = np.cos(angles)
    losses = ratio * (np.sqrt(lengths[:, None] ** 2 - 2 * np.outer(lengths, cosines) + 1) - lengths[:, None])
    for level in np.linspace(0, ratio, 6):
        exact = (np.maximum(-np.expm1(level - losses), 0) @ (weights / weights.sum())).mean()
        assert loss.delta(np.array([level]))[0] == pytest.approx(exact, rel=2e-3, abs=1e-6)


def sum_zero_vectors(classes, reach):
    for free in itertools.product(range(-reach, reach + 1), repeat=classes - 1):
        yield (*free, -sum(free))


@pytest.mark.parametrize(
    ("classes", "scale", "reach"), [(2, Fraction(2), 60), (3, Fraction(3, 2), 25), (4, Fraction(1), 12)]
)
def test_balanced_laplace_noise_by_enumeration(classes, scale, reach):
    vectors = np.array(list(sum_zero_vectors(classes, reach)))
    moved = vectors + np.eye(classes, dtype=int)[0] - np.eye(classes, dtype=int)[1]
    p, q = (np.exp(-np.abs(each).sum(axis=1) / float(scale)) for each in (vectors, moved))
    epsilon = levels(loss := BalancedLaplaceLoss(scale, classes))
    exact = hockey_stick(p / p.sum(), q / p.sum(), epsilon)
    assert (loss.delta(epsilon) >= exact - 1e-15).all()
    np.testing.assert_allclose(loss.delta(epsilon), exact, atol=1e-6)


@pytest.mark.parametrize(
    ("classes", "scale", "radius"), [(2, Fraction(2), 6), (3, Fraction(3, 2), 5), (4, Fraction(4), 3)]
)
def test_truncated_laplace_noise_by_enumeration(classes, scale, radius):
    vectors = np.array(list(sum_zero_vectors(classes, 2 * radius)))
    moved = vectors + np.eye(classes, dtype=int)[0] - np.eye(classes, dtype=int)[1]
    sizes = [np.abs(each).sum(axis=1) for each in (vectors, moved)]
    p, q = (np.where(size <= 2 * radius, np.exp(-size / float(scale)), 0.0) for size in sizes)
    epsilon = levels(loss := TruncatedLaplaceLoss(scale, radius, classes))
    exact = hockey_stick(p / p.sum(), q / p.sum(), epsilon)
    assert (loss.delta(epsilon) >= exact - 1e-15).all()
    np.testing.assert_allclose(loss.delta(epsilon), exact, atol=1e-8)
    assert loss.infinite == pytest.approx(exact[-1])


@pytest.mark.parametrize(
    ("classes", "variance", "reach"), [(2, Fraction(2), 30), (3, Fraction(1, 2), 12), (4, Fraction(3), 12)]
)
def test_balanced_gaussian_noise_by_enumeration(classes, variance, reach):
    vectors = np.array(list(sum_zero_vectors(classes, reach)))
    moved = vectors + np.eye(classes, dtype=int)[0] - np.eye(classes, dtype=int)[1]
    p, q = (np.exp(-(each**2).sum(axis=1) / (2 * float(variance))) for each in (vectors, moved))
    epsilon = levels(loss := BalancedGaussianLoss(variance, classes))
    exact = hockey_stick(p / p.sum(), q / p.sum(), epsilon)
    assert (loss.delta(epsilon) >= exact - 1e-14).all()
    np.testing.assert_allclose(loss.delta(epsilon), exact, atol=1e-8)


def test_discrete_gaussian_noise_is_gaussian_with_a_little_more():
    # The measured figures: sigma mu = 1.046, 1.011, 1.002 at variances 1, 4 and 25 of one whole number.
    found = [BalancedGaussianLoss(Fraction(2 * v), 2).gaussian_level * v**0.5 for v in (1, 4, 25)]
    np.testing.assert_allclose(found, [1.046, 1.011, 1.002], atol=5e-4)
    # Where there are too many whole numbers a formula takes over: never below.
    narrow, wide = (BalancedGaussianLoss(Fraction(v), 3).gaussian_level * v**0.5 for v in (99_999, 100_001))
    assert 1 <= wide / narrow < 1 + 1e-6


@pytest.mark.parametrize("example", [key for key, channel in EXAMPLES.items() if len(channel.classes) <= 20])
def test_a_channel_by_its_matrix(example):
    channel = EXAMPLES[example]
    loss = ChannelLoss(channel)
    epsilon = np.linspace(0, min(loss.epsilon, 40.0) * 1.02, 23)
    pairs = itertools.permutations(channel.matrix.T, 2)
    exact = np.max([hockey_stick(p, q, epsilon) for p, q in pairs], axis=0)
    assert (loss.delta(epsilon) >= exact - 1e-16).all()
    np.testing.assert_allclose(loss.delta(epsilon), exact, atol=1e-13)
    if np.isfinite(channel.guarantee.epsilon):
        assert loss.epsilon == channel.guarantee.epsilon
        assert loss.infinite == 0
    else:
        assert loss.infinite > 0


def test_a_channel_of_many_answers_is_taken_by_its_level_or_by_one_pair():
    alike = ChannelLoss(ask.RandomizedResponse(range(300), epsilon=2.0))
    truth, lie = alike.channel.matrix[0, 0], alike.channel.matrix[1, 0]
    assert alike.delta(np.array([0.0]))[0] == pytest.approx(truth - lie)
    base = np.arange(1, 61) / np.arange(1, 61).sum()
    uneven = ChannelLoss(ask.RandomizedResponse(range(60), epsilon=1.0, base=base))
    assert uneven.delta(np.array([0.0]))[0] == pytest.approx(np.tanh(0.5))


def test_what_a_report_costs():
    assert channel_loss(ask.Warner(0.75)) == ChannelLoss(ask.Warner(0.75))
    assert channel_loss(ask.PrivateNumber(0, 1, epsilon=0.5)) == LevelLoss.of(0.5)
    both = channel_loss(ask.DesignPerRow({"cards": ask.Warner(0.8), "birthday": ask.Crosswise(0.25)}))
    assert both.epsilon == pytest.approx(np.log(4))
    with pytest.raises(InvalidInput, match="guarantee"):
        channel_loss(ask.GaussianNoise(1.0, dim=2))
