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
import askance as ask
import oracles
from askance.learning.numbers.second_moments import HiddenOutcome, HiddenRows, ScoreProducts, SecondMoments
from askance.learning.totals.even_risk import EvenRisk
from askance.learning.totals.user_losses import as_loss
from askance.solvers.softmax import posterior, symmetric
from askance.statistics.base import Records, Statistic
from askance.statistics.features import FeatureMoments
from askance.statistics.frequencies import ReportFrequencies
from askance.statistics.levels import ColumnLevels
from askance.statistics.softmax_score import SoftmaxScore


def some_records(rows, columns=3, reports=4, weighted=True, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.random(rows) + 0.1 if weighted else None
    return Records(rng.normal(size=(rows, columns)), rng.integers(0, reports, rows).astype(np.uint8), weights)


def stochastic(reports, classes, seed=0):
    table = np.random.default_rng(seed).random((reports, classes)) + 0.1
    return table / table.sum(axis=0)


def score(method, classes=3, reports=4, columns=3, seed=0, with_outer=True):
    table = stochastic(reports, classes, seed)
    table = table if method == "marginal" else np.linalg.pinv(table).T
    theta = np.random.default_rng(seed + 1).normal(size=(classes - 1, columns + 1))
    return SoftmaxScore(theta, np.ascontiguousarray(table), method, True, with_outer)


def some_schools(rows, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    schools = rng.choice(["north", "south", None], rows)
    return pa.table({"school": pa.array(schools, pa.string()), "age": rng.integers(0, 1 + 2 * seed, rows)})


def some_numbers(channel):
    """Records whose codes are reports of a channel for numbers."""

    def made(rows, seed=0, weighted=True):
        rng = np.random.default_rng(seed)
        truth = rng.uniform(0, 1, (rows, 3 if channel is ROW else 1))
        public = some_records(rows, 2, seed=seed, weighted=weighted)
        return Records(public.features, channel.simulate(truth, rng), public.weights)

    return made


ROW = ask.PrivateRow({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, 4.0)
NUMBER = ask.PrivateNumber(0, 1, 2.0)
OUTCOME = HiddenOutcome(NUMBER, (0.0, 0.0, 0.5), (1.0, 1.0, 0.5))

# Every statistic of the package, in its variants, and what makes a batch for it of (rows, seed, weighted).
EXAMPLES = {
    "frequencies": (ReportFrequencies(4), some_records),
    "features": (FeatureMoments(3, True), some_records),
    "features without intercept": (FeatureMoments(3, False), some_records),
    "marginal score": (score("marginal"), some_records),
    "moment score": (score("moments"), some_records),
    "two-class score": (score("marginal", classes=2), some_records),
    "score without outer products": (score("marginal", with_outer=False), some_records),
    "levels": (ColumnLevels(("school", "age"), 3), some_schools),
    "even risk": (EvenRisk(as_loss("logistic"), np.array([0.5, 1.0, -1.0, 0.2]), True), some_records),
    "even risk without curvature": (
        EvenRisk(as_loss("logistic"), np.array([1.0, -1.0, 0.2]), False, with_curvature=False), some_records,
    ),
    "moments of rows": (SecondMoments(HiddenRows(ROW)), some_numbers(ROW)),
    "moments of an outcome": (SecondMoments(OUTCOME), some_numbers(NUMBER)),
    "score products of rows": (ScoreProducts(HiddenRows(ROW), np.arange(4.0)), some_numbers(ROW)),
    "score products of an outcome": (ScoreProducts(OUTCOME, np.arange(4.0)), some_numbers(NUMBER)),
}  # fmt: skip


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


def rows_of(batch, start, stop):
    return batch.slice(start, stop - start) if isinstance(batch, pa.Table) else batch.rows(start, stop)


def flat(value):
    """All numbers of a sum, one after the other."""
    if isinstance(value, dict | tuple | list):
        parts = value.values() if isinstance(value, dict) else value
        return np.concatenate([flat(part) for part in parts] or [np.empty(0)])
    return np.empty(0) if value is None else np.ravel(np.asarray(value, dtype=float))


def close(a, b):
    if isinstance(a, dict):  # levels are sets
        assert a == b
    else:
        np.testing.assert_allclose(flat(a), flat(b), rtol=1e-10, atol=1e-9)


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
