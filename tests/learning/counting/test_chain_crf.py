"""The chain-structured field against brute force, and relabelling under counts against every permutation."""

import itertools

import numpy as np
import pytest

from askance.learning.counting.chain_crf import ChainModel, Runs, fit_chain
from askance.learning.counting.chain_features import EDGE, REACH, SHIFTS, ContextTable, context_features, word_shape
from askance.learning.counting.chain_loops import one_pass
from askance.learning.counting.count_relabel import relabel
from askance.learning.counting.counted_regions import Corpus, count_tags, join, labelled

SENTENCES = [["The", "old", "man", "runs"], ["He", "saw", "The", "old"], ["man"]]
TAGS = 3


def random_model(seed=0, kind=np.float64):
    rng = np.random.default_rng(seed)
    words = {word for sentence in SENTENCES for word in sentence} | {EDGE}
    names = sorted({name for word in words for shift in SHIFTS for name in context_features(word, shift)})
    weights = 0.3 * rng.normal(size=(len(names), TAGS))
    return ChainModel(tuple(names), weights.astype(kind), rng.normal(size=(TAGS, TAGS)).astype(kind))


def score(model, sentence, begin, tags):
    """The unnormalised log-probability of tags from a place on, straight from the definition."""
    number = {name: row for row, name in enumerate(model.features)}
    total = sum(model.transitions[pair] for pair in itertools.pairwise(tags))
    for place, tag in enumerate(tags, begin):
        for shift in SHIFTS:
            word = sentence[place + shift] if 0 <= place + shift < len(sentence) else EDGE
            total += sum(model.weights[number[name], tag] for name in context_features(word, shift))
    return total


def log_likelihood(model, sentence, begin, tags):
    everything = [score(model, sentence, begin, y) for y in itertools.product(range(TAGS), repeat=len(tags))]
    return score(model, sentence, begin, tags) - np.logaddexp.reduce(everything)


@pytest.mark.parametrize(("kind", "error"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_chances_are_those_of_enumeration(kind, error):
    model = random_model(kind=kind)
    found = model.chances(Corpus.of(SENTENCES))
    expected = []
    for sentence in SENTENCES:
        taggings = list(itertools.product(range(TAGS), repeat=len(sentence)))
        powers = np.exp([score(model, sentence, 0, y) for y in taggings])
        for place in range(len(sentence)):
            mass = np.bincount([y[place] for y in taggings], powers, TAGS)
            expected.append(mass / mass.sum())
    np.testing.assert_allclose(found, expected, atol=error)


def pass_over(model, corpus, labels, rate):
    """One online pass in double precision, with sums so large that a step is the slope times ``rate``."""
    runs = Runs.of(corpus, labels)
    table = ContextTable.of(corpus.vocabulary, model.features)
    weights, transitions = model.weights.copy(), model.transitions.copy()
    large = 1e16
    value = one_pass(
        np.arange(len(runs.begins)), runs.begins, runs.ends, runs.lows, runs.highs, corpus.words, labels, REACH,
        table.indptr, table.indices, weights, np.full_like(weights, large), transitions,
        np.full_like(transitions, large), rate * 1e8,
    )  # fmt: skip
    return value, weights - model.weights, transitions - model.transitions


def test_log_likelihood_and_its_slopes_match_enumeration_and_finite_differences():
    model, corpus = random_model(), Corpus.of(SENTENCES)
    labels = np.full(len(corpus.words), -1, np.int32)
    labels[1:4] = [2, 0, 1]  # a run inside a sentence: the first word is context, its tag is open
    value, by_weight, by_transition = pass_over(model, corpus, labels, 1e-3)
    assert value == pytest.approx(log_likelihood(model, SENTENCES[0], 1, (2, 0, 1)), abs=1e-12)
    rng = np.random.default_rng(1)
    for table, slopes in ((model.weights, by_weight / 1e-3), (model.transitions, by_transition / 1e-3)):
        moved = np.flatnonzero(slopes)
        assert len(moved) > 5
        for cell in rng.choice(moved, 6, replace=False):
            keep, step = table.flat[cell], 1e-5
            table.flat[cell] = keep + step
            above = log_likelihood(model, SENTENCES[0], 1, (2, 0, 1))
            table.flat[cell] = keep - step
            below = log_likelihood(model, SENTENCES[0], 1, (2, 0, 1))
            table.flat[cell] = keep
            assert slopes.flat[cell] == pytest.approx((above - below) / (2 * step), abs=1e-6)


def test_runs_are_cut_by_unknown_labels_and_by_sentences():
    corpus = Corpus.of(SENTENCES)
    runs = Runs.of(corpus, np.array([-1, 0, 1, 1, 2, -1, 0, 0, 1], np.int32))
    np.testing.assert_array_equal(runs.begins, [1, 4, 6, 8])
    np.testing.assert_array_equal(runs.ends, [4, 5, 8, 9])
    np.testing.assert_array_equal(runs.lows, [0, 4, 4, 8])
    np.testing.assert_array_equal(runs.highs, [4, 8, 8, 9])
    nothing = Runs.of(corpus, np.full(9, -1, np.int32))
    assert len(nothing.begins) == len(nothing.ends) == 0


def test_training_learns_what_only_transitions_tell():
    # "x" is tagged 1 after a tag of 0 and 0 after 1; its neighbours' words say nothing, since all are "x".
    rng = np.random.default_rng(0)
    sentences = [["x"] * 12 for _ in range(200)]
    firsts = rng.integers(2, size=200)
    for sentence, first in zip(sentences, firsts, strict=True):
        sentence[0] = "ab"[first]
    labels = np.concatenate([(first + np.arange(12)) % 2 for first in firsts]).astype(np.int32)
    corpus = Corpus.of(sentences)
    model = fit_chain(corpus, labels, 2, rng)
    np.testing.assert_array_equal(model.chances(corpus).argmax(axis=1), labels)


def test_the_same_generator_gives_the_same_model():
    corpus = Corpus.of(SENTENCES * 5)
    labels = np.tile(np.array([0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32), 5)
    seen = []
    one, two = (
        fit_chain(corpus, labels, TAGS, np.random.default_rng(3), passes=3, callback=seen.append) for _ in range(2)
    )
    np.testing.assert_array_equal(one.weights, two.weights)
    assert len(seen) == 6
    np.testing.assert_array_equal(seen[2].weights, one.weights)


def test_shapes_keep_case_digits_and_signs():
    assert word_shape("U.S.") == "X.X."
    assert word_shape("naïve") == "xx"
    assert word_shape("") == ""


# -- relabelling -----------------------------------------------------------------------------------------------------


def best_tagging(chances, allowed):
    """The likeliest of all taggings that ``allowed`` lets pass."""
    length, tags = chances.shape
    taggings = [y for y in itertools.product(range(tags), repeat=length) if allowed(np.bincount(y, minlength=tags))]
    return max(taggings, key=lambda y: np.log(chances[np.arange(length), list(y)]).sum())


@pytest.mark.parametrize("asked", [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 1]])
def test_relabelling_is_the_best_of_all_taggings_with_the_counts(asked):
    rng = np.random.default_rng(sum(asked))
    asked = np.array([asked], bool)
    corpus = Corpus.of([["w"] * 5] * 40)
    truth = rng.integers(4, size=200)
    many = np.arange(40)
    regions = count_tags(truth, corpus.starts, many, np.zeros(40, int), np.full(40, 5), np.zeros(40, int), asked)
    chances = rng.dirichlet(np.ones(4), size=200)
    found = relabel(chances, corpus, regions).reshape(40, 5)
    for sentence in range(40):
        counts = np.bincount(truth[5 * sentence : 5 * sentence + 5], minlength=4)[asked[0]]
        expected = best_tagging(
            chances[5 * sentence : 5 * sentence + 5], lambda n, counts=counts: (n[asked[0]] == counts).all()
        )
        np.testing.assert_array_equal(found[sentence], expected)


def test_known_labels_stay_and_uncounted_tokens_have_none():
    corpus = Corpus.of([["a", "b", "c", "d"], ["e"]])
    truth = np.array([1, 0, 1, 0, 0])
    counted = count_tags(truth, corpus.starts, [0], [0], [3], [0], np.ones((1, 2), bool))
    chances = np.tile([0.9, 0.1], (5, 1))
    chances[:2] = [[0.8, 0.2], [0.2, 0.8]]
    np.testing.assert_array_equal(relabel(chances, corpus, counted), [1, 1, 0, -1, -1])
    known = join([counted, labelled([0], [1], [0], 2)])
    np.testing.assert_array_equal(relabel(chances, corpus, known), [1, 0, 1, -1, -1])


def test_overlapping_regions_leave_the_wider_counts_true():
    corpus = Corpus.of([["a", "b", "c"]])
    truth = np.array([0, 1, 1])
    regions = count_tags(truth, corpus.starts, [0, 0], [0, 0], [3, 2], [0, 0], np.ones((1, 2), bool))
    chances = np.array([[0.6, 0.4], [0.4, 0.6], [0.9, 0.1]])
    np.testing.assert_array_equal(relabel(chances, corpus, regions), [0, 1, 1])
