"""The chain-structured field against brute force."""

import itertools

import numpy as np
import pytest

from askance.learning.counting.chain_crf import ChainModel, Runs
from askance.learning.counting.chain_features import EDGE, SHIFTS, context_features, word_shape
from askance.learning.counting.counted_regions import Corpus

pytestmark = pytest.mark.xdist_group("tagger")  # loops that take long to compile

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


def test_runs_are_cut_by_unknown_labels_and_by_sentences():
    corpus = Corpus.of(SENTENCES)
    runs = Runs.of(corpus, np.array([-1, 0, 1, 1, 2, -1, 0, 0, 1], np.int32))
    np.testing.assert_array_equal(runs.begins, [1, 4, 6, 8])
    np.testing.assert_array_equal(runs.ends, [4, 5, 8, 9])
    np.testing.assert_array_equal(runs.lows, [0, 4, 4, 8])
    np.testing.assert_array_equal(runs.highs, [4, 8, 8, 9])
    nothing = Runs.of(corpus, np.full(9, -1, np.int32))
    assert len(nothing.begins) == len(nothing.ends) == 0


def test_shapes_keep_case_digits_and_signs():
    assert word_shape("U.S.") == "X.X."
    assert word_shape("naïve") == "xx"
    assert word_shape("") == ""
