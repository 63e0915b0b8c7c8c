"""The node model by marginal likelihood: gradients, passes, mixtures of regions, bad counts."""

from dataclasses import replace

import numpy as np
import pytest

from askance.errors import InvalidInput
from askance.learning.counting.count_moments import fit_moments
from askance.learning.counting.count_posterior import region_posteriors
from askance.learning.counting.counted_regions import Corpus, count_tags, join, labelled
from askance.learning.counting.node_fit import hybrid_passes, marginal_passes
from askance.learning.counting.node_fit_loops import one_pass
from askance.learning.counting.node_model import NodeModel
from askance.learning.counting.token_features import TokenFeatures, word_features

ENDINGS = ["ing", "ed", "ly", "ous", "ment"]


def inflected(sentences, rng):
    """Words whose ending mostly tells the tag."""
    words = [f"{stem}{ending}" for stem in (f"w{i}q" for i in range(60)) for ending in ENDINGS]
    rows = [[words[a] for a in rng.integers(len(words), size=rng.integers(1, 12))] for _ in range(sentences)]
    corpus = Corpus.of(rows)
    labels = np.array([ENDINGS.index(word.split("q")[1]) for row in rows for word in row])
    swapped = rng.random(len(labels)) < 0.1
    labels[swapped] = rng.integers(5, size=swapped.sum())
    return corpus, labels


def mixed_regions(corpus, labels, rng):
    """One window per sentence, of all widths; all tags, two of them, or none are asked for."""
    asked = np.array([[True] * 5, [True, False, True, False, False], [False] * 5])
    width = rng.integers(1, corpus.lengths + 1)
    start = rng.integers(corpus.lengths - width + 1)
    sentence = np.arange(len(width))
    return count_tags(labels, corpus.starts, sentence, start, width, rng.integers(3, size=len(width)), asked)


def whole_sentences(corpus, labels):
    sentence = np.arange(len(corpus.lengths))
    return count_tags(
        labels, corpus.starts, sentence, 0 * sentence, corpus.lengths, 0 * sentence, np.ones((1, 5), bool)
    )


def accuracy(features, theta, corpus, labels):
    return (NodeModel(features, theta).logits(corpus.vocabulary).argmax(axis=1)[corpus.words] == labels).mean()


def test_a_step_follows_the_gradient_of_the_log_likelihood():
    rng = np.random.default_rng(0)
    corpus, labels = inflected(30, rng)
    regions = mixed_regions(corpus, labels, rng)
    features = TokenFeatures.of(corpus.vocabulary)
    rows = features.rows(corpus.vocabulary)
    theta = rng.normal(0, 0.5, size=(len(features), 5))

    def log_likelihood(weights):
        laws = NodeModel(features, weights).probabilities(corpus.vocabulary)
        return region_posteriors(laws, corpus, regions, largest_table=100_000).log_likelihood.sum()

    # With one batch and huge sums of squares, the step is the gradient times a constant.
    moved = theta.astype(np.float32)
    squares = np.full_like(moved, 1e12)
    first = corpus.starts[regions.sentence] + regions.start
    value, impossible = one_pass(
        np.arange(len(regions)), len(regions), corpus.words, first, regions.width, regions.offsets, regions.tag,
        regions.count, regions.subset, regions.asked, np.empty((0, 5)), rows.indptr, rows.indices, moved, squares,
        np.zeros_like(moved), np.float32(1e4), 100_000, 2.0,
    )  # fmt: skip
    assert impossible == -1
    assert value == pytest.approx(log_likelihood(theta), rel=1e-5)
    gradient = (moved - theta.astype(np.float32)) * 100
    for feature, tag in rng.integers([len(features), 5], size=(25, 2)):
        nudge = np.zeros_like(theta)
        nudge[feature, tag] = 1e-4
        slope = (log_likelihood(theta + nudge) - log_likelihood(theta - nudge)) / 2e-4
        assert gradient[feature, tag] == pytest.approx(slope, abs=2e-3)


def test_passes_raise_the_likelihood_and_learn_the_tags():
    rng = np.random.default_rng(1)
    corpus, labels = inflected(600, rng)
    regions = whole_sentences(corpus, labels)
    features = TokenFeatures.of(corpus.vocabulary)
    seen = []
    fitted = marginal_passes(corpus, regions, features, passes=4, callback=seen.append)
    assert [here.passes for here in seen] == [1, 2, 3, 4]
    values = [here.log_likelihood for here in seen]
    assert values == sorted(values)
    assert accuracy(features, fitted.theta, corpus, labels) > 0.88  # a tenth of the labels was drawn at random
    stranger = NodeModel(features, fitted.theta).logits([f"zz{ending}" for ending in ENDINGS])
    np.testing.assert_array_equal(stranger.argmax(axis=1), range(5))


def test_the_same_seed_gives_the_same_fit_and_the_start_is_not_changed():
    rng = np.random.default_rng(2)
    corpus, labels = inflected(50, rng)
    regions = mixed_regions(corpus, labels, rng)
    features = TokenFeatures.of(corpus.vocabulary)
    start = np.zeros((len(features), 5), np.float32)
    fits = [marginal_passes(corpus, regions, features, start, 2, seed=seed).theta for seed in (3, 3, 4)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 0
    assert not start.any()


def test_the_hybrid_goes_on_from_the_moments():
    rng = np.random.default_rng(3)
    corpus, labels = inflected(400, rng)
    regions = whole_sentences(corpus, labels)
    features = TokenFeatures.of(corpus.vocabulary)
    moments = fit_moments(corpus, regions, features)
    np.testing.assert_array_equal(hybrid_passes(corpus, regions, features, moments, 0).theta, moments.theta)
    hybrid = hybrid_passes(corpus, regions, features, moments, 1)
    cold = marginal_passes(corpus, regions, features, passes=1)

    def log_likelihood(theta):
        laws = NodeModel(features, theta).probabilities(corpus.vocabulary)
        return region_posteriors(laws, corpus, regions).log_likelihood.sum()

    assert log_likelihood(hybrid.theta) > log_likelihood(moments.theta)
    assert log_likelihood(hybrid.theta) > log_likelihood(cold.theta)


def test_labels_mix_with_counts():
    rng = np.random.default_rng(4)
    words, tag_of = [f"{a:03d}" for a in range(100)], rng.integers(5, size=100)  # the spelling tells nothing
    corpus = Corpus.of([words, *[[words[a] for a in rng.integers(100, size=8)] for _ in range(300)]])
    labels = tag_of[corpus.words]
    told = labelled(np.zeros(40, int), np.arange(40), labels[:40], 5)
    features = TokenFeatures.of(corpus.vocabulary)
    few = marginal_passes(corpus, told, features).theta
    both = marginal_passes(corpus, join([told, whole_sentences(corpus, labels)]), features).theta
    assert accuracy(features, few, corpus, labels) < 0.8  # it never saw more than half of the words
    assert accuracy(features, both, corpus, labels) > 0.95


def test_regions_without_questions_teach_nothing():
    rng = np.random.default_rng(5)
    corpus, labels = inflected(20, rng)
    regions = replace(whole_sentences(corpus, labels), asked=np.zeros((1, 5), bool))
    regions = count_tags(
        labels, corpus.starts, regions.sentence, regions.start, regions.width, regions.subset, regions.asked
    )
    fitted = marginal_passes(corpus, regions, TokenFeatures.of(corpus.vocabulary), passes=1)
    np.testing.assert_allclose(fitted.theta, 0, atol=1e-6)
    assert fitted.log_likelihood == pytest.approx(0, abs=1e-6)


def test_impossible_counts_stop_the_fit_and_name_the_sentence():
    corpus, labels = inflected(20, np.random.default_rng(6))
    regions = whole_sentences(corpus, labels)
    count = regions.count.copy()
    count[regions.offsets[7]] += 1
    with pytest.raises(InvalidInput, match="sentence 7: counts that sum to"):
        marginal_passes(corpus, replace(regions, count=count), TokenFeatures.of(corpus.vocabulary))


def test_no_regions_are_refused():
    corpus, labels = inflected(3, np.random.default_rng(7))
    nothing = count_tags(labels, corpus.starts, [], [], [], [], np.ones((1, 5), bool))
    with pytest.raises(InvalidInput, match="no regions"):
        marginal_passes(corpus, nothing, TokenFeatures.of(corpus.vocabulary))
    with pytest.raises(InvalidInput, match="no regions"):
        fit_moments(corpus, nothing, TokenFeatures.of(corpus.vocabulary))


def test_features_are_never_shared_and_short_words_have_no_affix_that_repeats_them():
    assert list(word_features("I")) == ["any", "form I", "word i", "shape X", "part <i>", "capital", "length 1"]
    features = TokenFeatures.of(["walked", "walks", "Walks"])
    assert len(set(features.names)) == len(features.names)
    rows = features.rows(["walks", "Walks", ""])
    lower, upper = (set(rows.indices[rows.indptr[a] : rows.indptr[a + 1]]) for a in (0, 1))
    different = {features.names[number] for number in lower ^ upper}
    assert different == {"form walks", "form Walks", "shape xx", "shape Xxx", "capital"}
