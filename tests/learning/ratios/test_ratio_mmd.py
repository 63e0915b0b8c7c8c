"""Class ratios by mean embeddings: known solutions, exact laws, coverage, tests that hold their level."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2, kstest, norm

from askance.errors import InvalidInput, Unidentifiable
from askance.learning.ratios import kernel_functions, mean_embedding
from askance.learning.ratios.bandwidth import choose_bandwidth
from askance.learning.ratios.class_spread import class_spread, tangent
from askance.learning.ratios.diagnosis import lemma_4, theorem_1
from askance.learning.ratios.intervals import bounded_interval
from askance.learning.ratios.kernel_functions import (
    FourierFeatures,
    LinearFeatures,
    Standard,
    frequencies,
    kernel_function,
)
from askance.learning.ratios.mean_embedding import bag_features, bag_rows
from askance.learning.ratios.mmd_fit import fit_mmd
from askance.learning.ratios.simplex_programme import nearest_mixture
from askance.solvers.weighted_chi_square import weighted_chi_square_tail

TWO = np.array([[0.9, 0.1], [0.1, 0.9], [0.7, 0.3], [0.3, 0.7]])


def drawn(counts, rng, apart=1.5, d=2, widths=None):
    """Rows of normal classes, so many of each."""
    widths = np.ones(len(counts)) if widths is None else widths
    centres = apart * np.eye(len(counts), d)
    return np.concatenate([c + w * rng.normal(size=(n, d)) for n, c, w in zip(counts, centres, widths, strict=True)])


def bags_of(shares, rows, rng, **law):
    counts = np.round(np.asarray(shares) * rows).astype(int)
    X = np.concatenate([drawn(each, rng, **law) for each in counts])
    return X, np.repeat(np.arange(len(counts)), counts.sum(axis=1)), counts / counts.sum(axis=1, keepdims=True)


# -- the programme over ratios ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_inner_products_that_are_none_are_refused(number):
    # LAPACK, which would be asked, never returns from infinity: a saved model of 1e308 has such products.
    with pytest.raises(FloatingPointError, match="no finite numbers"):
        nearest_mixture(np.array([[number, 0.5], [0.5, 1.0]]), np.array([0.5, 0.5]))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_nearest_mixture_is_the_best_of_all_faces(classes):
    rng = np.random.default_rng(classes)
    for _ in range(60):
        points, goal = rng.normal(size=(classes, 7)), 2 * rng.normal(size=7)
        gram, products = points @ points.T, points @ goal
        found = nearest_mixture(gram, products)
        best = np.inf
        for size in range(1, classes + 1):
            for face in map(list, combinations(range(classes), size)):
                system = np.ones((size + 1, size + 1))
                system[:size, :size], system[size, size] = gram[np.ix_(face, face)], 0.0
                r = np.linalg.solve(system, np.append(products[face], 1.0))[:size]
                if r.min() >= 0:
                    best = min(best, r @ gram[np.ix_(face, face)] @ r - 2 * r @ products[face])
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        assert found @ gram @ found - 2 * found @ products == pytest.approx(best, abs=1e-9)


# -- kernels and embeddings ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
def test_random_features_are_the_kernel_on_average(kernel):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(12, 3))
    exact = kernel_function(kernel, 1.7)(rows, rows)
    apart = rows[:, None] - rows[None]
    formula = np.exp(-(apart**2).sum(axis=2) / (2 * 1.7**2) if kernel == "rbf" else -np.abs(apart).sum(axis=2) / 1.7)
    np.testing.assert_allclose(exact, formula, atol=1e-12)
    features = FourierFeatures(Standard.none(3), frequencies(kernel, 3, 20_000, rng) / np.float32(1.7))(rows)
    # 66 pairs, each with a standard error of at most 1 / sqrt(20000): 5 of them fail once in 10^4.
    assert np.abs(features @ features.T - exact).max() < 5 / np.sqrt(20_000)


def test_embeddings_in_blocks_are_those_of_the_whole_kernel_matrix(monkeypatch):
    rng = np.random.default_rng(1)
    rows, new = rng.normal(size=(60, 2)), rng.normal(size=(11, 2))
    codes = rng.permutation(np.repeat([0, 1, 2], 20))
    seen = []

    def kernel(left, right):
        seen.append(len(left) * len(right))
        return kernel_function("rbf", 1.3)(left, right)

    means = np.eye(3)[codes].T / 20
    table, cross = kernel(rows, rows), kernel(new, rows)
    within = float(kernel(new, new).mean())
    seen.clear()
    monkeypatch.setattr(kernel_functions, "_ENTRIES", 70)
    exact = bag_rows(kernel, Standard.none(2), rows, codes, 3)
    products, norm_ = exact.mean_products_and_norm(new)
    assert max(seen) <= 121  # never all pairs of training rows: blocks of at most 70 entries, or of one row
    np.testing.assert_allclose(exact.gram, means @ table @ means.T, atol=1e-12)
    np.testing.assert_allclose(exact.products(new), cross @ means.T, atol=1e-12)
    np.testing.assert_allclose(products, cross.mean(axis=0) @ means.T, atol=1e-12)
    assert norm_ == pytest.approx(within)
    np.testing.assert_allclose(exact.square_norms(new), 1.0)
    monkeypatch.setattr(kernel_functions, "BLOCK_ROWS", 7)
    features = FourierFeatures(Standard.of(rows), frequencies("rbf", 2, 9, rng))
    mapped = bag_features(features, rows, codes, 3)
    np.testing.assert_allclose(mapped.vectors, means @ features(rows), atol=1e-6)
    np.testing.assert_allclose(mapped.mean_products(new), mapped.products(new).mean(axis=0), atol=1e-6)
    for anchors in (exact, mapped):
        mixed = anchors.combined(np.array([[0.5, 0.5, 0.0]]))
        np.testing.assert_allclose(mixed.products(new)[:, 0], anchors.products(new)[:, :2].mean(axis=1), atol=1e-6)
        np.testing.assert_allclose(mixed.gram, anchors.gram[:2, :2].mean(), atol=1e-6)
    assert mean_embedding.row_blocks is kernel_functions.row_blocks


def test_standardising_in_blocks_and_constant_columns(monkeypatch):
    monkeypatch.setattr(kernel_functions, "BLOCK_ROWS", 3)
    rows = np.column_stack([np.arange(10.0), np.full(10, 7.0)])
    standard = Standard.of(rows)
    np.testing.assert_allclose(standard(rows)[:, 0], (rows[:, 0] - 4.5) / rows[:, 0].std())
    np.testing.assert_array_equal(standard(rows)[:, 1], 0)
    with pytest.raises(InvalidInput, match="constant"):
        Standard.of(rows[:, 1:])


# -- solutions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solution", ["class", "paper"])
def test_rows_without_scatter_give_the_ratios_exactly(solution):
    spots = np.array([[0.0, 0.0, 1.0], [3.0, 1.0, 0.0], [1.0, 4.0, 2.0]])
    counts = np.array([[6, 2, 2], [1, 7, 2], [2, 3, 5]])
    X = np.concatenate([np.repeat(spots, each, axis=0) for each in counts])
    codes, rng = np.repeat([0, 1, 2], 10), np.random.default_rng(0)
    new = np.repeat(spots, [1, 12, 7], axis=0)
    for law in ({"kernel": "linear"}, {"bandwidth": 2.0, "features": None}, {"bandwidth": 2.0, "features": 64}):
        model, _ = fit_mmd(X, codes, counts / 10, None, rng, solution=solution, **law)
        np.testing.assert_allclose(model.ratios(new), [0.05, 0.6, 0.35], atol=2e-4)
        np.testing.assert_allclose(model.estimate(new).free, [0.05, 0.6, 0.35], atol=0.03)  # chance is taken off


def test_a_class_that_is_absent_is_at_the_border():
    rng = np.random.default_rng(2)
    X, codes, told = bags_of(TWO, 300, rng)
    model, _ = fit_mmd(X, codes, told, None, rng, bandwidth=2.0, features=64)
    far = drawn([0, 200], rng) + np.array([0.0, 1.0])
    assert model.ratios(far).tolist() == [0.0, 1.0]
    assert model.estimate(far).free[0] < 0


def test_one_embedding_a_class_beats_one_weight_a_bag_with_many_small_bags():
    rng = np.random.default_rng(3)
    shares = rng.uniform(size=80)
    X, codes, told = bags_of(np.column_stack([1 - shares, shares]), 10, rng)
    wrong = {}
    for solution in ("class", "paper"):
        model, _ = fit_mmd(X, codes, told, None, np.random.default_rng(0), bandwidth=1.5, solution=solution)
        new = np.random.default_rng(4)
        wrong[solution] = np.mean([abs(model.ratios(drawn([s, 200 - s], new))[1] - 1 + s / 200) for s in (20, 60, 140)])
    assert wrong["class"] < 0.08
    assert wrong["class"] < wrong["paper"]


def test_the_bandwidth_is_chosen_where_classes_differ():
    rng = np.random.default_rng(5)
    # The classes differ in a fine pattern: a kernel as wide as the data cannot see it.
    y = rng.random(3000) < np.repeat([0.1, 0.9, 0.2, 0.8, 0.3, 0.7], 500)
    side = rng.choice([-0.5, 0.5], size=3000)
    X = (rng.integers(-5, 5, size=3000) + side * y + 0.05 * rng.normal(size=3000))[:, None]
    codes = np.repeat(np.arange(6), 500)
    told = np.array([[1 - y[codes == b].mean(), y[codes == b].mean()] for b in range(6)])
    choice = choose_bandwidth("rbf", Standard.of(X), X, codes, told, rng)
    median = choice.tried[5]
    assert choice.bandwidth == pytest.approx(median / 8)
    assert len(choice.tried) == len(choice.errors) == 11
    assert choice.tried[0] == pytest.approx(median / 32)
    assert min(choice.errors) < 0.1 < choice.errors[5]
    # The unit is the data's own, and with as few bags as classes halves of bags stand in.
    again = choose_bandwidth("laplace", Standard.of(1000 * X), 1000 * X, codes[:1000], told[:2], rng)
    assert len(again.errors) == 11


def test_a_kernel_that_is_none_is_refused():
    rng = np.random.default_rng(6)
    X, codes, told = bags_of(TWO, 20, rng)
    for kernel in (lambda a, b: a @ b.T - 90.0, lambda a, b: a[:, 0], lambda a: a, lambda a, b: a @ b.T + a[:, :1]):
        with pytest.raises(InvalidInput, match="kernel="):
            fit_mmd(X, codes, told, None, rng, kernel=kernel)


# -- the laws of distances ----------------------------------------------------------------------------------------


def test_tails_of_weighted_chi_squares():
    for freedom in (1, 3, 40):
        for value in chi2.ppf([0.3, 0.9, 0.999], freedom):
            tail = weighted_chi_square_tail(value, freedom, 2 * freedom, np.sqrt(8 / freedom))
            assert tail == pytest.approx(chi2.sf(value, freedom), abs=1e-9)
    weights = np.array([3.0, 1.0, 0.5, 0.5, 0.1])
    draws = np.random.default_rng(7).chisquare(1, size=(200_000, 5)) @ weights
    skewness = 8 * (weights**3).sum() / (2 * (weights**2).sum()) ** 1.5
    for chance in (0.5, 0.1, 0.05, 0.01):
        value = np.quantile(draws, 1 - chance)
        # The draws' own error is .0011 at most; three moments do the rest.
        tail = weighted_chi_square_tail(value, weights.sum(), 2 * (weights**2).sum(), skewness)
        assert tail == pytest.approx(chance, rel=0.08)


def test_traces_are_those_of_the_labelled_classes():
    rng = np.random.default_rng(8)
    X, codes, told = bags_of(TWO, 400, rng, widths=[1.0, 0.4])
    features = LinearFeatures(Standard.none(2))
    bags = bag_features(features, X, codes, 4)
    mixing = np.linalg.solve(told.T @ told, told.T)
    some = rng.choice(len(X), 800, replace=False)
    spread = class_spread(bags, mixing, told, np.full(4, 400.0), X[some], codes[some])
    # Sigma_k = w_k^2 I in the plane; the difference of the classes, which is projected out, takes half of it.
    np.testing.assert_allclose(spread.whole.first, [2.0, 0.32], atol=0.25)
    np.testing.assert_allclose(spread.whole.second, [[2.0, 0.32], [0.32, 0.05]], atol=0.4)
    np.testing.assert_allclose(spread.off_plane.first, [1.0, 0.16], atol=0.2)
    assert spread.off_plane.skewness == pytest.approx(np.sqrt(8), rel=0.2)  # one dimension is left
    basis = tangent(4)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=0), 0, atol=1e-12)


# -- errors, intervals and tests over many data sets -----------------------------------------------------------------


def repeated(repeats, shares, rows, ratio, noise=0.0, known=True, seed=0, shift=None, bag_shift=0.0, widths=None):
    """Fit and estimate on new data each time; return standardised errors, hits of intervals, and p-values."""
    errors, hits, groups, bags, raw = [], [], [], [], []
    level = np.eye(2) - 0.5
    for number in range(repeats):
        rng = np.random.default_rng([seed, number])
        X, codes, told = bags_of(shares, rows, rng, widths=widths)
        X[:, 1] += bag_shift * (codes % 2) * (codes > 1)
        told = told + rng.normal(0, noise, size=told.shape) @ level
        spread = np.tile(noise**2 * level, (len(told), 1, 1)) if noise and known else None
        model, _ = fit_mmd(X, codes, told, spread, rng, bandwidth=2.0, features=24)
        counts = np.round(np.asarray(ratio) * 100).astype(int)
        new = drawn(counts, rng, widths=widths)
        if shift is not None:
            new = new + shift
        found, truth = model.estimate(new), counts / 100
        error = np.sqrt(np.diag(found.covariance))
        low, high = bounded_interval(found.free, error, 0.95)
        raw.append(found.free[0] - truth[0])
        errors.append(raw[-1] / error[0])
        hits.append(bool(low[0] - 1e-9 <= truth[0] <= high[0] + 1e-9))
        groups.append(found.misfit_p)
        bags.append(model.bag_misfit().p)
    return np.array(errors), np.mean(hits), np.array(groups), np.array(bags), np.array(raw)


@pytest.mark.parametrize(
    ("ratio", "noise", "widths"),
    [((0.4, 0.6), 0.0, None), ((0.0, 1.0), 0.0, None), ((0.8, 0.2), 0.06, None), ((0.5, 0.5), 0.0, (1.0, 0.4))],
    ids=["inside", "at the border", "noisy proportions", "unequal classes"],
)
def test_intervals_cover_and_p_values_are_uniform(ratio, noise, widths):
    errors, covered, groups, bags, _ = repeated(80, TWO, 80, ratio, noise, widths=widths)
    # 80 repeats: fewer than 70 hits at .95 happen once in several hundred, as does a standard deviation off by .24 or a
    # mean by .33; a uniform p-value fails Kolmogorov's test at .001 once in a thousand. The seeds are fixed. The
    # bound is loose for a reason: in 400 repeats with bags this small the border was covered .917 of the time, the
    # inside .955 (60 rows); in 250 with bags of 240 rows .948 and .952.
    assert covered >= 0.875
    assert 0.76 < errors.std() < 1.24
    assert abs(errors.mean()) < 0.33
    assert kstest(groups, "uniform").pvalue > 1e-3
    assert kstest(bags, "uniform").pvalue > 1e-3
    assert np.mean(groups < 0.05) < 0.14


def test_noise_of_the_proportions_is_used_not_ignored():
    eight = np.concatenate([TWO, TWO[::-1]])
    used, ignored = (repeated(30, eight, 60, (1.0, 0.0), 0.15, known, seed=9) for known in (True, False))
    # Noise draws the classes together, so that a pure group seems purer than pure. The same data twice: the difference
    # of the means has an error of a few thousandths, each mean one of about .02.
    assert ignored[4].mean() > used[4].mean() + 0.02
    assert abs(used[4].mean()) < 0.06
    assert used[1] >= 0.85


def test_shifts_are_seen():
    shifted = repeated(12, TWO, 60, (0.5, 0.5), shift=np.array([1.0, 1.0]), seed=10)[2]
    assert np.mean(shifted < 0.01) > 0.8
    unlike = repeated(12, TWO, 60, (0.5, 0.5), bag_shift=1.0, seed=11)[3]
    assert np.mean(unlike < 0.01) > 0.8


def test_noise_as_large_as_the_spread_is_refused():
    rng = np.random.default_rng(12)
    X, codes, told = bags_of(np.concatenate([TWO, TWO]), 30, rng)
    with pytest.raises(Unidentifiable, match="noise is as large"):
        fit_mmd(X, codes, told, np.tile(0.5 * np.eye(2), (8, 1, 1)), rng, bandwidth=2.0, features=8)


# -- intervals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("error", [0.02, 0.2, 0.6])
def test_bounded_intervals_cover_exactly_everywhere(error, level):
    chances = (np.arange(4000) + 0.5) / 4000
    for truth in (0.0, 0.01, 0.05, 0.3, 0.5, 0.97, 1.0):
        estimates = norm.ppf(chances, truth, error)
        low, high = bounded_interval(estimates, np.full(4000, error), level)
        assert np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)) == pytest.approx(level, abs=2e-3)
        assert np.all((low >= 0) & (high <= 1) & (low < high))


def test_far_from_the_border_intervals_are_symmetric():
    low, high = bounded_interval(np.array([0.4]), np.array([0.01]), 0.95)
    np.testing.assert_allclose([low[0], high[0]], 0.4 + norm.ppf(0.975) * 0.01 * np.array([-1, 1]), atol=1e-9)


def test_the_papers_bounds():
    # By hand: M = 2, delta = .05, C(n) = 2 / sqrt(n) + sqrt(log(2 * 5 / .05) / 2n).
    c = [2 / np.sqrt(n) + np.sqrt(np.log(200) / (2 * n)) for n in (100, 400, 50)]
    expected = np.hypot(c[0], c[1]) / 0.3 * (1 + 4.0) + 4.0 * c[2]
    assert theorem_1(np.array([100, 400]), 0.3, 4.0, 50, 0.05) == pytest.approx(expected)
    assert theorem_1(np.array([100, 400]), 0.0, np.inf, None, 0.05) == np.inf
    # A Dirichlet law with the variances of the paper.
    share, size = np.array([0.2, 0.8]), 50
    noise = np.tile(np.diag(share * (1 - share) / (size + 1)), (3, 1, 1))
    assert lemma_4(noise, 0.1) == pytest.approx(3 * 2 / np.sqrt(0.1) * np.sqrt(0.16 / 51))
    assert np.isnan(lemma_4(np.zeros((3, 2, 2)), 0.1))
