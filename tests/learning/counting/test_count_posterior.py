"""Tags given counts: the dynamic programme against enumeration of every labelling."""

from itertools import product

import numpy as np
import pytest

from askance.errors import InvalidInput
from askance.learning.counting.count_posterior import region_posteriors
from askance.learning.counting.counted_regions import Corpus, Regions, count_tags, join, labelled
from askance.papers.linear_moments.count_beam import beam_posteriors


def enumerate_labellings(law, counts, asked):
    """P(tag | counts) and P(counts), by a sum over all K^n labellings."""
    n, tags = law.shape
    posterior, mass = np.zeros((n, tags)), 0.0
    for labels in product(range(tags), repeat=n):
        if all(labels.count(t) == counts[t] for t in range(tags) if asked[t]):
            chance = np.prod(law[np.arange(n), labels])
            posterior[np.arange(n), labels] += chance
            mass += chance
    return posterior / mass, mass


def one_sentence(n, counts, asked):
    """A corpus of one sentence of different words, and the region that is all of it."""
    tag = np.flatnonzero((counts > 0) & asked).astype(np.int32)
    zero, offsets = np.zeros(1, np.int64), np.array([0, len(tag)])
    width = np.array([n], np.int64)
    regions = Regions(zero, zero, width, offsets, tag, counts[tag].astype(np.int32), zero, asked[None])
    return Corpus.of([[str(i) for i in range(n)]]), regions


@pytest.mark.parametrize("tags", [2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_the_programme_equals_enumeration_for_every_subset_of_asked_tags(n, tags):
    rng = np.random.default_rng(n * 10 + tags)
    for asked in product([False, True], repeat=tags):
        law = rng.dirichlet(np.full(tags, 0.5), size=n)
        asked = np.array(asked)
        counts = np.bincount(rng.integers(tags, size=n), minlength=tags)
        expected, mass = enumerate_labellings(law, counts, asked)
        given = region_posteriors(law, *one_sentence(n, counts, asked))
        np.testing.assert_allclose(given.probabilities, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.exp(given.log_likelihood[0]), mass, rtol=1e-9)


def test_every_count_vector_of_a_window_and_their_probabilities_sum_to_one():
    law = np.random.default_rng(1).dirichlet(np.ones(3), size=5)
    total = 0.0
    for counts in product(range(6), repeat=3):
        if sum(counts) == 5:
            given = region_posteriors(law, *one_sentence(5, np.array(counts), np.ones(3, bool)))
            np.testing.assert_allclose(given.probabilities.sum(axis=0), counts, atol=1e-9)
            total += np.exp(given.log_likelihood[0])
    assert total == pytest.approx(1, abs=1e-12)


def test_tiny_probabilities_do_not_underflow():
    law = np.array([[1e-200, 1.0], [2e-200, 1.0], [4e-200, 1.0]])
    given = region_posteriors(law, *one_sentence(3, np.array([2, 1]), np.ones(2, bool)))
    chances = np.array([1 * 2, 1 * 4, 2 * 4]) / 14  # of tokens 01, 02, 12 having the first tag
    expected = [chances[0] + chances[1], chances[0] + chances[2], chances[1] + chances[2]]
    np.testing.assert_allclose(given.probabilities[:, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(given.log_likelihood[0], np.log(14) - 400 * np.log(10), rtol=1e-12)


def test_posteriors_do_not_change_when_rows_and_columns_are_scaled():
    rng = np.random.default_rng(2)
    law, counts = rng.dirichlet(np.ones(4), size=9), np.array([3, 1, 3, 2])
    scaled = law * rng.lognormal(0, 3, size=(9, 1)) * rng.lognormal(0, 3, size=4)
    plain = region_posteriors(law, *one_sentence(9, counts, np.ones(4, bool))).probabilities
    other = region_posteriors(scaled, *one_sentence(9, counts, np.ones(4, bool))).probabilities
    np.testing.assert_allclose(plain, other, rtol=1e-8, atol=1e-12)


def test_large_regions_of_mostly_certain_tokens_are_nearly_exact():
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.full(10, 0.02), size=30) + 1e-6
    law /= law.sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(10, p=row) for row in law])
    question = one_sentence(30, np.bincount(labels, minlength=10), np.ones(10, bool))
    exact = region_posteriors(law, *question, largest_table=10_000_000)
    near = region_posteriors(law, *question, largest_table=2000)
    assert 0 < np.abs(exact.probabilities - near.probabilities).sum(axis=1).max() / 2 < 0.05
    np.testing.assert_allclose(near.probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(near.log_likelihood, exact.log_likelihood, atol=0.5)


def test_large_regions_without_certain_tokens_keep_their_counts():
    law = np.random.default_rng(4).dirichlet(np.ones(12), size=60)
    counts = np.full(12, 5)
    near = region_posteriors(law, *one_sentence(60, counts, np.ones(12, bool)))
    np.testing.assert_allclose(near.probabilities.sum(axis=0), counts, rtol=0.02)
    np.testing.assert_allclose(near.probabilities.sum(axis=1), 1)


def test_regions_of_all_kinds_mix():
    corpus = Corpus.of([["a", "b", "c"], ["b", "a"]])
    labels = np.array([0, 1, 2, 1, 0])
    asked = np.array([[True, True, True], [False, True, False]])
    counted = count_tags(labels, corpus.starts, [0, 0, 1], [0, 1, 0], [2, 2, 2], [0, 1, 1], asked)
    both = join([counted, labelled([1], [1], [0], 3)])
    law = np.random.default_rng(5).dirichlet(np.ones(3), size=3)
    given = region_posteriors(law, corpus, both)
    words = corpus.words[both.tokens(corpus)]
    for region in range(4):
        tokens = slice(both.token_offsets[region], both.token_offsets[region + 1])
        told = both.dense_counts()[region]
        expected, mass = enumerate_labellings(law[words[tokens]], told, both.asked[both.subset[region]])
        np.testing.assert_allclose(given.probabilities[tokens], expected, atol=1e-12)
        np.testing.assert_allclose(np.exp(given.log_likelihood[region]), mass)


@pytest.mark.parametrize(("counts", "asked"), [([2, 2], [True, True]), ([1, 1], [True, True]), ([4, 0], [True, False])])
def test_impossible_counts_are_refused_by_sentence(counts, asked):
    corpus, regions = one_sentence(3, np.array(counts), np.array(asked))
    with pytest.raises(InvalidInput, match="sentence 0: counts that sum to"):
        region_posteriors(np.full((3, 2), 0.5), corpus, regions)


def test_counts_that_a_sure_model_contradicts_are_unlikely_and_not_impossible():
    # Three rounds of scaling leave a programme that underflows.
    rng = np.random.default_rng(0)
    for n in (150, 400):
        for counts in ([n // 2, n - n // 2], [n // 3, n // 3, n - 2 * (n // 3)]):
            logits = 70 * rng.normal(size=(n, len(counts)))
            law = np.maximum(np.exp(logits - logits.max(axis=1, keepdims=True)), 1e-30)
            law[:, 0] = 1e-30
            for largest in (500, 100_000):
                question = one_sentence(n, np.array(counts), np.ones(len(counts), bool))
                given = region_posteriors(law / law.sum(axis=1, keepdims=True), *question, largest)
                np.testing.assert_allclose(given.probabilities.sum(axis=1), 1)
                assert np.isfinite(given.log_likelihood).all()


def test_counts_of_probability_zero_are_refused():
    law = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.5]])
    with pytest.raises(InvalidInput, match="probability zero"):
        region_posteriors(law, *one_sentence(3, np.array([1, 2]), np.ones(2, bool)))


def test_a_beam_that_holds_every_labelling_is_exact_and_a_narrow_one_is_a_lower_bound():
    rng = np.random.default_rng(6)
    law, counts = rng.dirichlet(np.ones(3), size=6), np.array([2, 3, 1])
    question = one_sentence(6, counts, np.ones(3, bool))
    exact = region_posteriors(law, *question)
    whole = beam_posteriors(law, *question, beam=60)  # 6! / (2! 3! 1!) labellings
    np.testing.assert_allclose(whole.probabilities, exact.probabilities, atol=1e-12)
    np.testing.assert_allclose(whole.log_likelihood, exact.log_likelihood)
    narrow = beam_posteriors(law, *question, beam=5)
    assert narrow.log_likelihood[0] < exact.log_likelihood[0]
    np.testing.assert_allclose(narrow.probabilities.sum(axis=0), counts)
