"""Laws of sums, and derivatives against finite differences."""

import copy
import importlib
import inspect
import itertools
import pickle
import pkgutil

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import askance
import oracles
from askance.solvers.softmax import posterior, symmetric
from askance.statistics.base import Records, Statistic
from askance.statistics.frequencies import ReportFrequencies
from askance.statistics.levels import ColumnLevels
from askance.statistics.row_blocks import gram, with_intercept
from askance.statistics.softmax_loops import differentiate
from askance.statistics.softmax_score import SoftmaxScore
from askance.statistics.softmax_slope import SoftmaxSlope
from askance.statistics.softmax_values import CubedReaches, SoftmaxValues
from statistic_examples import EXAMPLES, close, flat, rows_of, score, some_records


def every_statistic():
    """All classes of the package that have the three verbs of a statistic."""
    modules = [importlib.import_module(module.name) for module in pkgutil.walk_packages(askance.__path__, "askance.")]
    return {
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and value is not Statistic and all(hasattr(value, verb) for verb in VERBS)
    }


VERBS = ("empty", "observe", "merge")


def test_every_statistic_of_the_package_has_an_example():
    examples = {type(statistic) for statistic, _ in EXAMPLES.values()}
    assert {kind.__name__ for kind in every_statistic() - examples} == set()


@pytest.mark.parametrize("name", EXAMPLES)
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 200), max_size=6), weighted=st.booleans())
def test_rows_may_be_split_in_any_way(name, cuts, weighted):
    statistic, batch = EXAMPLES[name]
    records = batch(200, seed=1, weighted=weighted)
    whole = statistic.observe(records)
    borders = [0, *sorted(cuts), 200]
    total = statistic.empty()
    for start, stop in itertools.pairwise(borders):
        total = statistic.merge(total, statistic.observe(rows_of(records, start, stop)))
    close(whole, total)


@pytest.mark.parametrize("name", EXAMPLES)
def test_merging_is_associative_and_commutative_with_a_neutral_element(name):
    statistic, batch = EXAMPLES[name]
    a, b, c = (statistic.observe(batch(50, seed=seed)) for seed in (1, 2, 3))
    close(statistic.merge(a, statistic.merge(b, c)), statistic.merge(statistic.merge(a, b), c))
    close(statistic.merge(a, b), statistic.merge(b, a))
    close(statistic.merge(a, statistic.empty()), a)
    close(statistic.merge(statistic.empty(), statistic.empty()), statistic.empty())
    close(statistic.observe(batch(0)), statistic.empty())


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_statistic_and_its_sums_may_travel(name):
    statistic, batch = EXAMPLES[name]
    records = batch(50, seed=1)
    value = pickle.loads(pickle.dumps(statistic)).observe(records)
    close(value, statistic.observe(records))
    close(pickle.loads(pickle.dumps(value)), value)


@pytest.mark.parametrize("name", EXAMPLES)
def test_merging_leaves_both_sums_as_they_were(name):
    statistic, batch = EXAMPLES[name]
    a, b = (statistic.observe(batch(50, seed=seed)) for seed in (1, 2))
    kept = copy.deepcopy((a, b))
    statistic.merge(a, b)
    statistic.merge(statistic.empty(), a)
    close(a, kept[0])
    close(b, kept[1])


@pytest.mark.parametrize("method", ["marginal", "moments"])
@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_score_information_and_outer_products_are_the_derivatives(method, classes, weighted):
    statistic = score(method, classes=classes, reports=6)
    records = some_records(5000, reports=6, weighted=weighted)  # more than one block
    told = statistic.table[records.codes]
    Z = oracles.with_ones(records.features)
    weights = np.ones(len(records)) if records.weights is None else records.weights
    flat_theta = statistic.theta.ravel()

    def each(theta):
        return oracles.objectives(theta, Z, told, method, classes)

    sums = statistic.observe(records)
    scores = oracles.numeric_gradient(each, flat_theta, 1e-3)
    np.testing.assert_allclose(sums.objective, weights @ each(flat_theta), rtol=1e-12)
    np.testing.assert_allclose(sums.gradient, weights @ scores, rtol=1e-7, atol=1e-6)
    weighted_scores = scores * weights[:, None]
    np.testing.assert_allclose(sums.outer, weighted_scores.T @ weighted_scores, rtol=1e-7, atol=1e-6)

    def gradient(theta):
        return (
            SoftmaxScore(theta.reshape(statistic.theta.shape), statistic.table, method, True).observe(records).gradient
        )

    np.testing.assert_allclose(sums.information, -oracles.numeric_gradient(gradient, flat_theta, 1e-3), atol=1e-5)
    assert sums.rows == len(records)
    np.testing.assert_allclose(sums.weight, weights.sum())


@pytest.mark.parametrize("method", ["marginal", "moments"])
@pytest.mark.parametrize("weights", ["none", "positive", "negative"])
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 200])
def test_two_classes_in_lanes_are_three_of_which_one_never_comes(method, weights, rows):
    # Three classes take another loop. Logits are extreme, and some reports impossible under either class.
    rng = np.random.default_rng(rows)
    logits = rng.normal(size=(rows, 1)) * 5
    extremes = [0.0, -0.0, 800.0, -800.0, 1e300, -1e-300, 40.0, -40.0]
    logits[: len(extremes), 0] = extremes[:rows]
    marginal, none = method == "marginal", np.empty(0)
    table = np.array([[0.7, 0.3], [0.3, 0.7], [0.0, 0.0] if marginal else [-2.0, 3.0], [1.0, 0.0]])
    codes = rng.integers(0, 4, rows).astype(np.uint8)
    weight = {"none": none, "positive": rng.random(rows), "negative": -rng.random(rows)}[weights]
    two, three = (np.empty((rows, 1)), np.empty((rows, 1))), (np.empty((rows, 2)), np.empty((rows, 3)))
    objective = differentiate(logits, codes, table, weight, marginal, *two)
    absent = np.column_stack([table, np.zeros(4)])
    both = np.column_stack([logits, np.full(rows, -1e4)])
    np.testing.assert_allclose(objective, differentiate(both, codes, absent, weight, marginal, *three), rtol=1e-13)
    for found, known in zip(two, three, strict=True):
        np.testing.assert_allclose(found[:, 0], known[:, 0], rtol=1e-12, atol=1e-14)


def test_levels_stop_at_a_limit():
    statistic = ColumnLevels(("school", "age"), 3)
    sums = [
        statistic.observe(pa.table({"school": schools, "age": ages}))
        for schools, ages in ((["n", "s"], [1, 2]), (["s", None], [2, 3]), (["w", "w"], [4, 5]))
    ]
    whole = statistic.merge(statistic.merge(sums[0], sums[1]), sums[2])
    assert whole["school"] == (frozenset({"n", "s", "w"}), 1)
    assert whole["age"] == (None, 0)


def test_extreme_logits_stay_finite():
    statistic = SoftmaxScore(np.array([[900.0], [-900.0]]), np.eye(3), "marginal", False, True)
    sums = statistic.observe(Records(np.array([[1.0], [-1.0], [0.0]]), np.array([0, 1, 2], dtype=np.uint8)))
    assert np.isfinite(flat(sums)).all()
    probabilities, log_partition = posterior(np.array([[800.0, 0.0], [-800.0, -800.0]]))
    np.testing.assert_allclose(probabilities, [[0, 1, 0], [1, 0, 0]], atol=1e-300)
    np.testing.assert_allclose(log_partition, [800, 0])


def test_the_symmetric_representation_keeps_differences_and_sums_to_zero():
    theta = np.random.default_rng(0).normal(size=(3, 2))
    rows = symmetric(theta)
    np.testing.assert_allclose(rows.sum(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(rows[1:] - rows[0], theta)


def test_an_unseen_report_counts_as_half_of_one():
    counts = ReportFrequencies(3).observe(Records(np.empty((10, 0)), np.array([0] * 4 + [1] * 6)))
    np.testing.assert_allclose(counts.law, np.array([4, 6, 0.5]) / 10.5)


@pytest.mark.parametrize("method", ["marginal", "moments"])
@pytest.mark.parametrize("columns", [3, 300])  # our own loop, and BLAS
@pytest.mark.parametrize("classes", [2, 4])
def test_cubed_reaches_bound_what_a_parabola_misses(method, classes, columns):
    """For steps of any length, under both objectives."""
    of = score(method, classes, reports=5, columns=columns)
    records = some_records(300, columns, reports=5, seed=4)
    here = of.observe(records)
    rng = np.random.default_rng(5)
    lengths = np.geomspace(0.01, 10, 12) / np.sqrt(columns)
    steps = lengths[:, None, None] * rng.normal(size=(12, *of.theta.shape))
    there = SoftmaxValues(of.theta + steps, of.table, method, True).observe(records).values
    flat_steps = steps.reshape(12, -1)
    parabola = here.objective + flat_steps @ here.gradient
    parabola -= 0.5 * np.einsum("ij,jk,ik->i", flat_steps, here.information, flat_steps)
    reaches = CubedReaches(steps, True).observe(records).values
    moved = np.einsum("mkp,np->mnk", steps, with_intercept(records.features, True))
    spread = np.maximum(moved.max(axis=2), 0) - np.minimum(moved.min(axis=2), 0)
    exact = (spread**3) @ (np.ones(300) if records.weights is None else records.weights)
    np.testing.assert_allclose(reaches, exact, rtol=1e-9 if columns == 3 else 1e-5)  # BLAS takes half of the digits
    most = 2 / (36 * np.sqrt(3)) * reaches
    assert np.all(np.abs(there - parabola) <= most + 1e-9 * abs(here.objective))


def test_a_reach_that_half_of_the_digits_cannot_hold_is_no_number():
    """What is unknown must not pass for small."""
    records = some_records(300, 300, reports=5, seed=4)
    steps = np.zeros((2, 3, 301))
    steps[0], steps[1, 0, 5] = 1e39, 1e-3
    first, second = CubedReaches(steps, True).observe(records).values
    assert np.isnan(first)
    assert second > 0


@pytest.mark.parametrize("method", ["marginal", "moments"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("columns", [3, 600])  # 600: products by panels
def test_slopes_alone_are_those_of_the_score(method, intercept, columns):
    of = score(method, columns=columns)
    theta = of.theta if intercept else of.theta[:, 1:]
    records = some_records(400, columns, seed=2)
    centre = np.linspace(-1, 1, columns)
    whole = SoftmaxScore(theta, of.table, method, intercept, True, centre).observe(records)
    slope = SoftmaxSlope(theta, of.table, method, intercept, centre).observe(records)
    np.testing.assert_allclose(slope.objective, whole.objective, rtol=1e-10)
    np.testing.assert_allclose(slope.gradient, whole.gradient, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(whole.information, whole.information.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [True, False])
def test_panels_make_the_whole_product(weighted):
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(30, 500)), rng.normal(size=30)
    wanted = (rows * weights[:, None]).T @ rows if weighted else rows.T @ rows
    np.testing.assert_allclose(gram(rows, weights if weighted else None), wanted, atol=1e-12)
