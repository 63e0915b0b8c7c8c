"""Laws of sums, and derivatives against finite differences."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from askance.solvers.softmax import posterior, symmetric
from askance.statistics.base import Records
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


STATISTICS = {
    "frequencies": ReportFrequencies(4),
    "features": FeatureMoments(3, True),
    "features without intercept": FeatureMoments(3, False),
    "marginal score": score("marginal"),
    "moment score": score("moments"),
    "two-class score": score("marginal", classes=2),
}


def flat(value):
    return np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in value if part is not None])


def close(a, b):
    np.testing.assert_allclose(flat(a), flat(b), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("name", STATISTICS)
@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 200), max_size=6), weighted=st.booleans())
def test_rows_may_be_split_in_any_way(name, cuts, weighted):
    statistic = STATISTICS[name]
    records = some_records(200, weighted=weighted)
    whole = statistic.observe(records)
    borders = [0, *sorted(cuts), 200]
    total = statistic.empty()
    for start, stop in itertools.pairwise(borders):
        total = statistic.merge(total, statistic.observe(records.rows(start, stop)))
    close(whole, total)


@pytest.mark.parametrize("name", STATISTICS)
def test_merging_is_associative_and_commutative_with_a_neutral_element(name):
    statistic = STATISTICS[name]
    a, b, c = (statistic.observe(some_records(50, seed=seed)) for seed in (1, 2, 3))
    close(statistic.merge(a, statistic.merge(b, c)), statistic.merge(statistic.merge(a, b), c))
    close(statistic.merge(a, b), statistic.merge(b, a))
    close(statistic.merge(a, statistic.empty()), a)
    close(statistic.merge(statistic.empty(), statistic.empty()), statistic.empty())
    close(statistic.observe(some_records(0)), statistic.empty())


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


def test_levels_obey_the_laws_of_sums_and_stop_at_a_limit():
    statistic = ColumnLevels(("school", "age"), 3)
    tables = [
        pa.table({"school": ["n", "s"], "age": [1, 2]}),
        pa.table({"school": ["s", None], "age": [2, 3]}),
        pa.table({"school": ["w", "w"], "age": [4, 5]}),
    ]
    a, b, c = map(statistic.observe, tables)
    whole = statistic.observe(pa.concat_tables(tables))
    assert statistic.merge(a, statistic.merge(b, c)) == statistic.merge(statistic.merge(c, a), b) == whole
    assert statistic.merge(statistic.empty(), a) == a
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
