"""Moments of region counts: the linear system, the laws of word types, the convex fit."""

import numpy as np
import pytest
from scipy import optimize

from askance.learning.counting.block_gradients import conjugate_gradients
from askance.learning.counting.count_moments import fit_moments, word_laws
from askance.learning.counting.count_moments_loops import onto_simplex, sweep
from askance.learning.counting.counted_regions import Corpus, count_tags, labelled
from askance.learning.counting.node_fit import marginal_passes
from askance.learning.counting.token_features import TokenFeatures
from askance.solvers.simplex import project_to_simplex


def spoken(sentences, length, rng, types=40, tags=4, sharpness=0.15):
    """Sentences of random words, and labels that depend on the word only: what the moment equations assume."""
    words = [f"{'abcdefgh'[a % 8]}{a}{'xyz'[a % 3]}" for a in range(types)]
    laws = rng.dirichlet(np.full(tags, sharpness), size=types)
    tokens = rng.integers(types, size=(sentences, length))
    corpus = Corpus.of([words, *[[words[a] for a in row] for row in tokens]])  # the first sentence fixes the order
    return corpus, drawn(laws[corpus.words], rng), laws


def drawn(laws, rng):
    """A label from every row."""
    return (laws.cumsum(axis=1)[:, :-1] < rng.random((len(laws), 1))).sum(axis=1)


def windows(corpus, labels, width, rng, asked=None):
    """One window of every sentence but the first."""
    asked = np.ones((1, labels.max() + 1), bool) if asked is None else asked
    sentence = np.arange(1, len(corpus.lengths))
    start = rng.integers(corpus.lengths[1:] - width + 1)
    subset = rng.integers(len(asked), size=len(sentence))
    return count_tags(labels, corpus.starts, sentence, start, np.full(len(sentence), width), subset, asked)


def test_block_gradients_solve_each_system_on_its_own():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(5, 8, 8))
    matrices = np.einsum("kij,klj->kil", roots, roots) + np.eye(8)
    matrices[1] = 3 * np.eye(8)  # done after one product
    right = rng.normal(size=(8, 5))
    right[:, 2] = 0
    right[:, 3] *= 1e6
    seen = []

    def multiply(block, columns):
        seen.append(len(columns))
        return np.einsum("kij,jk->ik", matrices[columns], block)

    found = conjugate_gradients(multiply, right, np.einsum("kii->ik", matrices), 1e-10)
    for k in range(5):
        np.testing.assert_allclose(found[:, k], np.linalg.solve(matrices[k], right[:, k]), rtol=1e-7, atol=1e-12)
    assert seen[:2] == [4, 3]  # the empty system was never asked about, and who is done is not asked again


def test_the_table_is_the_least_squares_solution_of_every_tag_that_was_asked_for():
    rng = np.random.default_rng(1)
    corpus, labels, _ = spoken(300, 6, rng, types=12)
    asked = np.array([[True, True, True, True], [True, False, False, True], [False, True, True, False]])
    regions = windows(corpus, labels, 4, rng, asked)
    found = word_laws(corpus, regions, TokenFeatures.of(corpus.vocabulary), "table")
    holds = np.zeros((len(regions), 12))
    np.add.at(holds, (np.repeat(np.arange(len(regions)), 4), corpus.words[regions.tokens(corpus)]), 1)
    for tag in range(4):
        told = asked[regions.subset, tag]
        expected = np.linalg.lstsq(holds[told], regions.dense_counts()[told, tag].astype(float))[0]
        np.testing.assert_allclose(found[:, tag], expected, atol=1e-3)


def test_the_table_is_unbiased():
    rng = np.random.default_rng(2)
    corpus, labels, laws = spoken(400, 5, rng, types=10)
    features = TokenFeatures.of(corpus.vocabulary)
    found = []
    for _ in range(60):
        labels = drawn(laws[corpus.words], rng)
        found.append(word_laws(corpus, windows(corpus, labels, 5, rng), features, "table"))
    z = (np.mean(found, axis=0) - laws) / (np.std(found, axis=0, ddof=1) / np.sqrt(60) + 1e-4)
    assert np.abs(z).max() < 4.5  # 40 cells: wrong once in 700 runs (Student's t, 59 degrees of freedom)


def test_onto_the_simplex_with_weights_is_the_nearest_law():
    rng = np.random.default_rng(3)
    for _ in range(20):
        point, weight = rng.normal(size=5), rng.uniform(0.2, 5, size=5)
        moved = point.copy()
        onto_simplex(moved, weight)
        assert moved.min() >= 0
        assert moved.sum() == pytest.approx(1)
        slope = weight * (moved - point)  # equal where a class is positive, at least as large elsewhere
        level = slope[moved > 0].mean()
        np.testing.assert_allclose(slope[moved > 0], level, atol=1e-9)
        assert (slope[moved == 0] >= level - 1e-9).all()
        even = point.copy()
        onto_simplex(even, np.ones(5))
        np.testing.assert_allclose(even, project_to_simplex(point), atol=1e-12)


def test_sweeps_reach_the_best_laws():
    rng = np.random.default_rng(4)
    holds = rng.integers(0, 3, size=(6, 3)).astype(np.float32)
    counts, weight, prior = rng.uniform(0, 3, size=(6, 2)), rng.uniform(0.5, 1, size=6), rng.dirichlet([1, 1], size=3)
    asked = np.array([[True, True], [True, False]])
    subset = np.array([0, 1, 0, 1, 0, 0])

    def objective(first):
        laws = np.column_stack([first, 1 - first])
        misfit = (weight[:, None] * asked[subset] * (holds @ laws - counts) ** 2).sum()
        return misfit + 0.5 * ((laws - prior) ** 2).sum()

    best = optimize.minimize(objective, np.full(3, 0.5), bounds=[(0, 1)] * 3, options={"ftol": 1e-15, "gtol": 1e-12})
    laws = prior.copy()
    residual = counts - holds @ laws
    indptr, regions = np.array([0, 6, 12, 18]), np.tile(np.arange(6), 3)
    for _ in range(500):
        sweep(indptr, regions, holds.T.ravel().copy(), weight, subset, asked, prior, 0.5, laws, residual)
    np.testing.assert_allclose(laws[:, 0], best.x, atol=1e-5)
    np.testing.assert_allclose(residual, counts - holds @ laws, atol=1e-9)


def test_laws_come_near_the_truth_as_counts_grow_and_stay_laws():
    errors = []
    for sentences in (200, 3200):
        rng = np.random.default_rng(5)
        corpus, labels, laws = spoken(sentences, 6, rng)
        found = word_laws(corpus, windows(corpus, labels, 6, rng), TokenFeatures.of(corpus.vocabulary))
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert found.min() >= 0
        errors.append(np.abs(found - laws).sum(axis=1).mean())
    assert errors[1] < 0.5 * errors[0]  # sixteen times the sentences: a quarter, in the limit
    assert errors[1] < 0.1


def test_the_convex_fit_matches_the_moments():
    rng = np.random.default_rng(6)
    corpus, labels, _ = spoken(300, 6, rng, types=12, sharpness=1.0)
    regions = windows(corpus, labels, 6, rng)
    features = TokenFeatures.of(corpus.vocabulary)
    laws = word_laws(corpus, regions, features)
    theta = marginal_passes(corpus, regions, features, passes=60, soft_labels=laws).theta
    table = features.rows(corpus.vocabulary).matrix(len(features)).toarray()
    powers = np.exp(table @ theta)
    fitted = powers / powers.sum(axis=1, keepdims=True)
    times = np.bincount(corpus.words[regions.tokens(corpus)], minlength=12)[:, None]
    np.testing.assert_allclose(table.T @ (times * fitted), table.T @ (times * laws), atol=0.01 * times.sum())


def test_labels_alone_give_back_frequencies():
    corpus = Corpus.of([["run"] * 10])
    labels = np.array([0] * 7 + [1] * 3)
    regions = labelled(np.zeros(10, int), np.arange(10), labels, 2)
    laws = word_laws(corpus, regions, TokenFeatures.of(corpus.vocabulary))
    np.testing.assert_allclose(laws, [[0.7, 0.3]], atol=0.05)


def test_features_beat_the_table_in_wide_windows_and_tag_unseen_words():
    rng = np.random.default_rng(7)
    endings = ["ing", "ed", "ly", "ous"]
    words = [f"{stem}{ending}" for stem in (f"w{i}q" for i in range(150)) for ending in endings]
    sentences = [[words[a] for a in rng.integers(len(words), size=12)] for _ in range(400)]
    corpus = Corpus.of(sentences)
    tag_of = {ending: tag for tag, ending in enumerate(endings)}
    labels = np.array([tag_of[word.split("q")[1]] for sentence in sentences for word in sentence])
    whole = np.arange(400)
    regions = count_tags(labels, corpus.starts, whole, 0 * whole, corpus.lengths, 0 * whole, np.ones((1, 4), bool))
    features = TokenFeatures.of(corpus.vocabulary)
    unseen = features.rows([f"new{ending}" for ending in endings]).matrix(len(features))
    by_features = fit_moments(corpus, regions, features).theta
    np.testing.assert_array_equal((unseen @ by_features).argmax(axis=1), range(4))
    seen = features.rows(corpus.vocabulary).matrix(len(features))
    laws = word_laws(corpus, regions, features, "table")
    assert (laws.argmax(axis=1)[corpus.words] == labels).mean() < 0.97
    assert ((seen @ by_features).argmax(axis=1)[corpus.words] == labels).mean() > 0.99
