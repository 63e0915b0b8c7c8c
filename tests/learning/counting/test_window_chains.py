"""Windows under a chain, given their counts, against brute force."""

import itertools

import numpy as np
import pytest

from askance.learning.counting.chain_features import REACH, ContextTable
from askance.learning.counting.counted_regions import Corpus, count_tags, labelled
from askance.learning.counting.window_chain_loops import given_counts, tags_of_window
from askance.learning.counting.window_chains import ChainLearner, Windows, window_laws
from askance.learning.counting.window_pass_loops import window_pass

pytestmark = pytest.mark.xdist_group("tagger")  # loops that take long to compile

TAGS = 4


def enumerated(scores, transitions, allowed):
    """Laws of tags, expected transitions and the log of the mass, over all taggings that are allowed."""
    length = len(scores)
    taggings = [y for y in itertools.product(range(TAGS), repeat=length) if allowed(y)]
    powers = np.array(
        [
            scores[np.arange(length), list(y)].sum() + sum(transitions[pair] for pair in itertools.pairwise(y))
            for y in taggings
        ]
    )
    mass = np.logaddexp.reduce(powers)
    laws, pairs = np.zeros((length, TAGS)), np.zeros((TAGS, TAGS))
    for y, share in zip(taggings, np.exp(powers - mass), strict=True):
        laws[np.arange(length), list(y)] += share
        for pair in itertools.pairwise(y):
            pairs[pair] += share
    return laws, pairs, mass


@pytest.mark.parametrize("asked", [(0, 1, 2, 3), (1, 3), (2,)])
@pytest.mark.parametrize("labels", [(-1,) * 6, (-1, 2, -1, -1, 0, -1)])
@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_tags_given_counts_are_those_of_enumeration(asked, labels, scale):
    rng = np.random.default_rng(len(asked))
    scores, transitions = scale * rng.normal(size=(6, TAGS)), rng.normal(size=(TAGS, TAGS))
    truth = np.array([1, 2, 0, 1, 0, 3])
    told = np.isin(np.arange(TAGS), asked)
    tag = np.array([k for k in asked if (truth == k).any()], np.int32)
    count = np.array([(truth == k).sum() for k in tag], np.int32)
    known = np.array(labels, np.int32)

    def allowed(y):
        y = np.array(y)
        return all((y == k).sum() == (truth == k).sum() for k in asked) and (y == known)[known >= 0].all()

    laws, pairs = np.empty((6, TAGS)), np.zeros((TAGS, TAGS))
    value = given_counts(
        scores, np.exp(transitions), *tags_of_window(tag, count, told, 6), known, 10_000, 2.0, laws, pairs
    )
    expected = enumerated(scores, transitions, allowed)
    np.testing.assert_allclose(laws, expected[0], atol=1e-9)
    np.testing.assert_allclose(pairs, expected[1], atol=1e-9)
    assert value == pytest.approx(expected[2], abs=1e-9)


def test_counts_that_cannot_be_are_seen():
    for count in (3, 1):
        told = tags_of_window(np.array([0], np.int32), np.array([count], np.int32), np.ones(2, bool), 2)
        assert len(told[0]) == 0
    scores, steps = np.zeros((2, 2)), np.ones((2, 2))
    told = tags_of_window(np.array([0], np.int32), np.array([2], np.int32), np.ones(2, bool), 2)
    known = np.array([1, -1], np.int32)
    found = given_counts(scores, steps, *told, known, 100, 2.0, np.empty((2, 2)), np.zeros((2, 2)))
    assert found == -np.inf


def test_sure_tokens_change_little():
    # Twelve tokens of four tags have up to 4 x 4 x 4 x 4 states; a table of 200 leaves out the surest.
    rng = np.random.default_rng(0)
    worst = []
    for _ in range(20):
        truth = rng.integers(TAGS, size=12)
        scores = rng.normal(size=(12, TAGS)) + 3 * np.eye(TAGS)[truth]
        steps = np.exp(0.5 * rng.normal(size=(TAGS, TAGS)))
        tag, count = (column.astype(np.int32) for column in np.unique(truth, return_counts=True))
        open_ones, told = np.full(12, -1, np.int32), tags_of_window(tag, count, np.ones(TAGS, bool), 12)
        found = []
        for largest, certain in ((100_000, 2.0), (200, 0.995)):
            laws, pairs = np.empty((12, TAGS)), np.zeros((TAGS, TAGS))
            value = given_counts(scores, steps, *told, open_ones, largest, certain, laws, pairs)
            found.append((laws, pairs, value))
            np.testing.assert_allclose(laws.sum(axis=1), 1, atol=1e-6)
            assert pairs.sum() == pytest.approx(11)
        worst.append(0.5 * np.abs(found[0][0] - found[1][0]).sum(axis=1).mean())
    assert np.mean(worst) < 0.06  # seen: .038


def test_slopes_of_the_likelihood_of_counts_match_finite_differences():
    rng = np.random.default_rng(3)
    corpus = Corpus.of([["the", "old", "man", "saw"], ["old", "saw", "man"]])
    table = ContextTable.of(corpus.vocabulary)
    truth = np.array([0, 1, 2, 3, 1, 2, 2])
    regions = count_tags(truth, corpus.starts, [0], [0], [4], [0], np.ones((1, TAGS), bool))
    windows = Windows.of(corpus, regions)
    weights = 0.3 * rng.normal(size=(len(table.names), TAGS))
    transitions = rng.normal(size=(TAGS, TAGS))

    def passed(rate):
        large, moved, steps = 1e16, weights.copy(), transitions.copy()
        value, _ = window_pass(
            np.arange(1), windows.begins, windows.ends, windows.lows, windows.highs, windows.offsets, windows.tag,
            windows.count, windows.subset, regions.asked, windows.known, np.empty((0, 0)),
            windows.places, corpus.words, REACH, table.indptr, table.indices, moved, np.full_like(moved, large), steps,
            np.full_like(steps, large), rate * 1e8, 10_000, 2.0,
        )  # fmt: skip
        return value, moved - weights, steps - transitions

    _, by_weight, by_transition = passed(1e-3)
    for parameters, slopes in ((weights, by_weight / 1e-3), (transitions, by_transition / 1e-3)):
        for cell in rng.choice(np.flatnonzero(slopes), 6, replace=False):
            keep, step = parameters.flat[cell], 1e-5
            values = []
            for sign in (1, -1):
                parameters.flat[cell] = keep + sign * step
                values.append(passed(0.0)[0])
            parameters.flat[cell] = keep
            assert slopes.flat[cell] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-6)


def test_learning_finds_what_only_transitions_tell():
    # "x" is tagged 1 after a tag of 0 and 0 after 1; its neighbours' words say nothing, since all are "x".
    rng = np.random.default_rng(0)
    sentences = [["x"] * 12 for _ in range(200)]
    firsts = rng.integers(2, size=200)
    for sentence, first in zip(sentences, firsts, strict=True):
        sentence[0] = "ab"[first]
    labels = np.concatenate([(first + np.arange(12)) % 2 for first in firsts])
    corpus = Corpus.of(sentences)
    places = np.repeat(np.arange(200), 12), np.tile(np.arange(12), 200)
    windows = Windows.of(corpus, labelled(*places, labels, 2))
    assert len(windows) == 200  # labels beside each other are one run
    learner = ChainLearner(corpus, windows, ContextTable.of(corpus.vocabulary))
    for _ in range(5):
        learner.learn(rng.permutation(200), average=True)
    np.testing.assert_array_equal(learner.model().chances(corpus).argmax(axis=1), labels)


def test_known_tags_hold_in_the_windows_around_them():
    corpus = Corpus.of([["a", "b", "c"]])
    truth = np.array([0, 1, 1])
    every = np.ones((1, 2), bool)
    regions = count_tags(truth, corpus.starts, [0, 0], [0, 1], [3, 1], [0, 0], every)
    windows = Windows.of(corpus, regions)
    np.testing.assert_array_equal(windows.known, [-1, 1, -1])
    judged = window_laws(np.zeros((3, 2), np.float32), np.zeros((2, 2), np.float32), windows)
    np.testing.assert_allclose(judged.laws[:3], [[0.5, 0.5], [0, 1], [0.5, 0.5]], atol=1e-6)
    # Not trusted, a window of one token is a window like others, and may be off.
    assert len(Windows.of(corpus, regions, np.zeros(2, bool))) == 2
    assert (Windows.of(corpus, regions, np.zeros(2, bool)).known == -1).all()


def test_counts_of_an_unlikely_tag_look_off():
    corpus = Corpus.of([["a", "b"]] * 2)
    every = np.ones((1, 3), bool)
    regions = count_tags(np.array([0, 1, 0, 2]), corpus.starts, [0, 1], [0, 0], [2, 2], [0, 0], every)
    scores = np.tile(np.log([[0.98, 0.01, 0.01], [0.01, 0.98, 0.01]]), (2, 1)).astype(np.float32)
    off = window_laws(scores, np.zeros((3, 3), np.float32), Windows.of(corpus, regions)).off
    assert off[0] < 0.05
    assert off[1] == pytest.approx((0.02 / 0.98 + 0.99 / 0.01) / 2 / 2, rel=0.02)
