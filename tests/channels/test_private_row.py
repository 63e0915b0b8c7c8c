"""Whole rows hidden in one report: every mechanism tells the second moments without bias, at the stated level."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import askance as ask
from askance.entropy.bits import GeneratorBits
from askance.learning.numbers.moment_readers import HiddenRows
from askance.learning.numbers.second_moments import ScoreProducts, SecondMoments
from askance.statistics.base import Records

COLUMNS = {"age": (0, 100), "income": (-50, 150), "score": (1, 6)}
ROW = np.array([30.0, 120.0, 2.0])
MECHANISMS = ["window", "unit", "sampled", "coordinate", "per-value", "triple"]


def in_units(channel, moments):
    """The mean moment matrix of reports, in the units of the data."""
    width = len(channel.bounds.names) + 1
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width)] = moments
    matrix += np.triu(matrix, 1).T
    return channel.to_units @ matrix @ channel.to_units.T


@pytest.mark.parametrize(
    ("mechanism", "calibration"), [*((m, "tight") for m in MECHANISMS), *((m, "paper") for m in MECHANISMS[3:])]
)
def test_moments_are_unbiased(mechanism, calibration):
    channel = ask.PrivateRow(COLUMNS, 3.0, mechanism, outcome="score", calibration=calibration)
    told = channel.moments(channel.simulate(np.tile(ROW, (100_000, 1)), np.random.default_rng(1)))
    own = np.linalg.solve(channel.to_units, np.r_[1.0, ROW])
    wanted = np.outer(own, own)[np.triu_indices(4)]
    error = told.std(axis=0) / np.sqrt(len(told))
    # Ten moments and twelve cases: five standard errors fail by chance less than once in ten thousand runs.
    assert np.all(np.abs(told.mean(axis=0) - wanted) <= 5 * error + 1e-12)
    assert told[:, 0].tolist() == [1.0] * len(told)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_level_is_what_was_asked(mechanism, epsilon):
    channel = ask.PrivateRow(COLUMNS, epsilon, mechanism)
    assert epsilon - 1e-6 < channel.guarantee.epsilon <= epsilon
    assert "age, income, score" in channel.guarantee.protects


def test_the_papers_calibration_is_told_for_what_it_is():
    exact = {m: ask.PrivateRow(COLUMNS, 2.0, m, calibration="paper").guarantee.epsilon for m in MECHANISMS[3:]}
    assert exact == pytest.approx({"coordinate": 1.0, "per-value": 1.0, "triple": 3.0}, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 1.5, 8])
def test_what_auto_chose_is_remembered(epsilon):
    channel = ask.PrivateRow(COLUMNS, epsilon)
    assert channel.mechanism == "window"
    assert ask.channel_from_spec(channel.to_spec()) == channel


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_reports_go_through_arrow(mechanism):
    channel = ask.PrivateRow(COLUMNS, 2.0, mechanism)
    reports = channel.privatize(np.tile(ROW, (500, 1)))
    packed = channel.layout.to_arrow(reports)
    assert len(packed) == 500
    assert packed.type == channel.layout.arrow_type
    np.testing.assert_array_equal(channel.encode_reports(pa.chunked_array([packed[:200], packed[200:]])), reports)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([ROW[::-1]], columns=["score", "income", "age"]),
        pa.table({"name": ["x"], "income": [120.0], "age": [30], "score": [2.0]}),
        {"age": [30.0], "income": [120.0], "score": [2]},
        [[30, 120, 2]],
    ],
)
def test_columns_are_found_by_name(table):
    channel = ask.PrivateRow(COLUMNS, 2.0)
    inside, clipped = channel.clip(table)
    np.testing.assert_array_equal(inside, [ROW])
    assert clipped == {}


def test_what_is_outside_is_clipped_and_counted():
    channel = ask.PrivateRow(COLUMNS, 8.0)
    inside, clipped = channel.clip([[130, -60, 2], [140, 0, 2]])
    np.testing.assert_array_equal(inside, [[100, -50, 2], [100, 0, 2]])
    assert clipped == {"age": 2, "income": 1}
    # The far value never reaches the mechanism: the law is that of the bound.
    with pytest.warns(ask.AskanceWarning, match="clipped before they were hidden: 2000 of age"):
        far = channel.simulate(np.tile([1e9, 0, 2], (2000, 1)), np.random.default_rng(3))
    near = channel.simulate(np.tile([100.0, 0, 2], (2000, 1)), np.random.default_rng(3))
    np.testing.assert_array_equal(far, near)


def test_huge_bounds_do_not_overflow():
    channel = ask.PrivateRow({"a": (-1.7e308, 1.7e308), "b": (1.5e308, 1.7e308)}, 4.0)
    assert np.isfinite(channel.bounds.standardise([[0.0, 1.6e308]])).all()


@pytest.mark.parametrize("mechanism", ["coordinate", "per-value"])
def test_what_is_no_number_would_decide_no_bit_for_certain(mechanism):
    channel = ask.PrivateRow(COLUMNS, 1.0, mechanism)
    spoiled = np.full((20_000, channel.inner.dim), np.nan)
    reports = channel.inner.draw(spoiled, GeneratorBits(np.random.default_rng(0)))
    ones = reports % 2 if mechanism == "coordinate" else reports
    assert 0 < ones.mean() < 0.5


def test_a_channel_is_a_fixed_value():
    channel = ask.PrivateRow(COLUMNS, 4.0)
    spec = channel.to_spec()
    spec["columns"][0][2] = 1000.0
    assert channel.to_spec()["columns"][0] == ["age", 0.0, 100.0]
    turned = ask.PrivateRow(dict(reversed(COLUMNS.items())), 4.0)
    assert turned != channel
    assert ask.channel_from_spec(json.loads(json.dumps(channel.to_spec(), sort_keys=True))) == channel
    assert ask.PrivateRow(COLUMNS, 4.0, k=np.int64(channel.k)) == channel


def test_shortened_moments_are_counted():
    channel = ask.PrivateRow(COLUMNS, 2.0, "unit", radius=0.5)
    _, clipped = channel.clip([[100, 150, 6], [50, 50, 3.5]])
    assert clipped == {"rows beyond the radius": 2}
    assert not ask.PrivateRow(COLUMNS, 2.0, "unit").shortens


def test_two_calls_draw_different_bits():
    channel = ask.PrivateRow(COLUMNS, 4.0)
    rows = np.tile(ROW, (200, 1))
    assert not np.array_equal(channel.privatize(rows), channel.privatize(rows))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": {"age": (100, 0), "b": (0, 1)}}, "lower bound first"),
        ({"columns": {"age": (0, 0), "b": (0, 1)}}, "lower bound first"),
        ({"columns": {"age": (0, np.inf), "b": (0, 1)}}, "unbounded cannot be hidden"),
        ({"columns": {"age": (0, np.nan), "b": (0, 1)}}, "finite"),
        ({"columns": {"age": 5, "b": (0, 1)}}, "two numbers"),
        ({"columns": {"age": (0, 1)}}, "PrivateNumber"),
        ({"columns": {}}, "public bounds"),
        ({"epsilon": 0}, "positive"),
        ({"epsilon": -1.0}, "positive"),
        ({"epsilon": float("nan")}, "positive"),
        ({"epsilon": 51}, "it would hide nothing"),
        ({"epsilon": "1"}, "positive number"),
        ({"mechanism": "windows"}, "one of auto, window"),
        ({"outcome": "wage"}, "one of the columns"),
        ({"mechanism": "coordinate", "calibration": "loose"}, "calibration"),
        ({"k": 9}, "k=9"),
        ({"k": 2, "mechanism": "unit"}, "k=2 for the mechanism 'unit'"),
        ({"radius": 1.0}, "radius=1.0 for the mechanism 'window'"),
        ({"calibration": "paper"}, "calibration='paper' for the mechanism 'window'"),
        ({"columns": {"age": (0, 5e-324), "b": (0, 1)}}, "needs no hiding"),
        ({"columns": {"age": (True, 2), "b": (0, 1)}}, "two finite numbers"),
        ({"columns": {"age": ("0", 2), "b": (0, 1)}}, "two finite numbers"),
        ({"columns": {"age": (0, 10**400), "b": (0, 1)}}, "two finite numbers"),
        ({"columns": [("a", 0, 1), ("a", 0, 1)]}, "named twice"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ask.InvalidInput, match=message):
        ask.PrivateRow(**({"columns": COLUMNS, "epsilon": 4.0} | arguments))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1.0, 2.0]], r"shape \(n, 3\)"),
        ([[1.0, np.nan, 2.0]], "row 1, column 2"),
        ({"age": [1], "income": [2]}, "no column 'score'"),
        ({"age": ["x"], "income": [2], "score": [2]}, "not numbers"),
    ],
)
def test_bad_rows_are_refused(table, message):
    with pytest.raises(ask.InvalidInput, match=message):
        ask.PrivateRow(COLUMNS, 4.0).privatize(table)


# -- sums ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sums_that_take_short_cuts_are_the_sums_of_the_moments(mechanism, weighted):
    rng = np.random.default_rng(0)
    channel = ask.PrivateRow(COLUMNS, 4.0, mechanism, outcome="income")
    reports = channel.simulate(np.tile(ROW, (5_000, 1)), rng)
    weights = rng.uniform(0, 2, 5_000) if weighted else None
    each = np.ones(5_000) if weights is None else weights
    reader = HiddenRows(channel)
    sums = SecondMoments(reader).observe(Records(np.empty((5_000, 0)), reports, weights))
    dense = channel.moments(reports)
    assert (sums.rows, sums.weight) == (5_000, pytest.approx(each.sum()))
    assert sums.squared_weight == pytest.approx(each @ each)
    np.testing.assert_allclose(sums.total, each @ dense, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(sums.squares, each**2 @ dense**2, rtol=1e-9)
    direction = rng.normal(size=reader.width)
    products = ScoreProducts(reader, direction)
    whole = np.zeros((5_000, reader.width, reader.width))
    first, second = np.triu_indices(reader.width)
    whole[:, first, second] = whole[:, second, first] = dense
    scores = each[:, None] * (whole @ direction)
    found = products.observe(Records(np.empty((5_000, 0)), reports, weights)).products
    np.testing.assert_allclose(found, scores.T @ scores, rtol=1e-8, atol=1e-6)
