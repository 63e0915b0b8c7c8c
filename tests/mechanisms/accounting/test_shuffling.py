"""Reports in random order: never below the exhaustive truth, and as small as was measured."""

import itertools

import numpy as np
import pytest

import askance as ask
from askance.errors import InvalidInput
from askance.mechanisms.accounting import level_if_shuffled, shuffled_in_words


def histograms(matrix, answers):
    """The law of how often each report comes up, by enumeration of how many people of each answer give it."""
    law = {(0,) * len(matrix): 1.0}
    for answer in answers:
        grown = {}
        for counts, chance in law.items():
            for report, probability in enumerate(matrix[:, answer]):
                more = (*counts[:report], counts[report] + 1, *counts[report + 1 :])
                grown[more] = grown.get(more, 0.0) + chance * probability
        law = grown
    return law


def exhaustive_delta(matrix, n, epsilon):
    """The largest delta of any two neighbouring data sets: all answers of all people."""
    classes, worst = matrix.shape[1], 0.0
    for others in itertools.combinations_with_replacement(range(classes), n - 1):
        laws = [histograms(matrix, [*others, mine]) for mine in range(classes)]
        for p, q in itertools.permutations(laws, 2):
            worst = max(worst, sum(max(chance - np.exp(epsilon) * q.get(key, 0.0), 0.0) for key, chance in p.items()))
    return worst


CHANNELS = {
    "two": ask.RandomizedResponse(["no", "yes"], epsilon=1.0),
    "two-strong": ask.RandomizedResponse(["no", "yes"], epsilon=0.2),
    "three": ask.RandomizedResponse(["a", "b", "c"], epsilon=1.5),
    "uneven": ask.ForcedResponse(1 / 3, 1 / 6),
    "more-reports": ask.FiniteChannel([[0.5, 0.2], [0.2, 0.4], [0.3, 0.4]], ["no", "yes"], ["x", "y", "z"]),
    "uneven-three": ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0, base=[0.2, 0.3, 0.5]),
}


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("kind", CHANNELS)
def test_never_below_the_exhaustive_truth(kind, n):
    channel = CHANNELS[kind]
    for delta in (0.2, 0.05, 0.001):
        level = ask.shuffled(channel, n, delta)
        assert exhaustive_delta(channel.matrix, n, level.epsilon) <= max(level.delta, 1e-15)
        assert level.epsilon <= channel.guarantee.epsilon


@pytest.mark.parametrize(("n", "most"), [(1000, 0.352), (10_000, 0.1025), (100_000, 0.0297), (1_000_000, 0.00855)])
def test_the_measured_levels(n, most):
    level = ask.shuffled(ask.RandomizedResponse(["a", "b", "c", "d"], epsilon=2.0), n, 1e-6)
    assert 0.97 * most < level.epsilon <= most
    assert level.delta == 1e-6


def test_what_it_says():
    channel = ask.Warner(0.75)
    level = ask.shuffled(channel, 5000, 1e-6)
    assert "5,000 reports" in level.protects
    assert "nothing tells whose report is whose" in level.neighbours
    alone = ask.shuffled(channel, 1, 1e-6)
    assert (alone.epsilon, alone.delta) == (channel.guarantee.epsilon, 0.0)


def test_more_people_hide_better_and_more_delta_too():
    channel = ask.Crosswise(0.25)
    levels = [ask.shuffled(channel, n, delta).epsilon for n, delta in [(100, 1e-6), (1000, 1e-6), (1000, 1e-4)]]
    assert levels[0] > levels[1] > levels[2]


@pytest.mark.parametrize(
    ("channel", "n", "delta"),
    [
        (ask.Warner(0.75), 0, 1e-6),
        (ask.Warner(0.75), 2.5, 1e-6),
        (ask.Warner(0.75), True, 1e-6),
        (ask.Warner(0.75), 10, 0),
        (ask.Warner(0.75), 10, 1),
        (ask.Warner(0.75), 10, "x"),
        (ask.Warner(0.75), 10, 1e-320),
        (ask.Identity(), 10, 1e-6),
        (ask.PrivateNumber(0, 1, epsilon=1.0), 10, 1e-6),
        (ask.DesignPerRow({"cards": ask.Warner(0.8)}), 10, 1e-6),
        (ask.RandomizedResponse(range(50), epsilon=1.0, base=np.arange(1, 51) / 1275), 10, 1e-6),
    ],
)
def test_what_cannot_be_shuffled(channel, n, delta):
    with pytest.raises(InvalidInput):
        ask.shuffled(channel, n, delta)


# -- beside the local level ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [500, 20_000, 1_000_000])
def test_what_is_shown_is_never_below_what_is_computed_finely(n):
    channel = ask.RandomizedResponse(["a", "b", "c", "d"], epsilon=2.0)
    shown = level_if_shuffled(channel, n)
    fine = ask.shuffled(channel, n, shown.delta)
    assert fine.epsilon <= shown.epsilon <= 1.05 * fine.epsilon
    assert shown.delta <= 0.01 / n
    assert f"{n:,} reports" in shuffled_in_words(shown)


@pytest.mark.parametrize(
    ("channel", "n"),
    [
        (ask.Warner(0.8), 499),  # too few
        (ask.RandomizedResponse(["no", "yes"], epsilon=20.0), 1_000),  # hardly anything is gained
        (ask.Mangat(0.8), 10_000),  # no local level
        (ask.Identity(["no", "yes"]), 10_000),
        (ask.PrivateNumber(0, 10, epsilon=1.0), 10_000),
        (ask.DesignPerRow({"a": ask.Warner(0.8), "b": ask.Warner(0.7)}), 10_000),  # each is a group of its own
        (ask.UnrelatedQuestion(0.7, ask.Unknown()), 10_000),
    ],
)
def test_what_is_not_worth_a_sentence_is_not_shown(channel, n):
    assert level_if_shuffled(channel, n) is None
