"""Shapes of public features: the same rows everywhere, no column that drowns the others, honest predictions."""

import json
from fractions import Fraction

import numpy as np
import pytest

from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.sums.label_shape import LabelShape, ShapedRows, standard_shape
from askance.mechanisms.sums.shape_choice import choose_shape, predicted_accuracy, variance_of_accuracy

RNG = np.random.default_rng(4)
MIXED = np.column_stack(
    [
        RNG.lognormal(10, 1.5, 400),  # dollars
        RNG.random(400) < 0.5,
        RNG.random(400) < 0.004,
        RNG.standard_t(2, 400),
        np.full(400, 7.0),
    ]
).astype(float)
PURE = ("laplace", "knorm", "response")


def chosen(X, epsilon, classes=2, intercept=True, mechanisms=PURE):
    one = float(intercept)
    norms = float(np.abs(X).sum(axis=1).max()) + one, float((X**2).sum(axis=1).max()) + one
    return choose_shape(X, norms, mechanisms, Budget.of(epsilon), classes, intercept)


def turned(cap=2.0):
    standard = standard_shape(MIXED, True)
    return LabelShape.turned(standard, np.random.default_rng(1).normal(size=(5, 3)), cap)


def test_rows_are_the_same_however_they_are_computed():
    shape = turned()
    rows = shape.rows(MIXED)
    assert (rows == np.vstack([shape.rows(MIXED[i : i + 1]) for i in range(len(MIXED))])).all()
    assert (rows == shape.rows(np.asfortranarray(MIXED))).all()
    assert (rows == ShapedRows(MIXED, shape)[0:400]).all()
    # Every product and partial sum is a whole number that doubles hold: any order of additions gives the same.
    steps = shape.standard(MIXED) * 2.0**16
    whole = LabelShape.turned(standard_shape(MIXED, True), shape.directions)
    for row, made in zip(steps[:50], whole.rows(MIXED[:50]), strict=True):
        exact = [
            sum(Fraction(v) * Fraction(w) for v, w in zip(row, axis, strict=True)) / 2**16
            for axis in shape.directions.T
        ]
        assert np.abs(np.array([float(e) for e in exact]) - made).max() <= 2.0**-shape.value_bits


def test_no_row_is_longer_than_the_shape_says():
    for shape in (turned(), turned(None), standard_shape(MIXED, True)):
        outside = np.vstack([MIXED, MIXED * 1e9, -MIXED])
        assert (shape.rows(outside) ** 2).sum(axis=1).max() <= shape.longest


def test_values_within_the_limits_are_only_moved_and_scaled():
    shape = standard_shape(MIXED, True)
    inside = np.clip(MIXED, shape.low, shape.high)
    np.testing.assert_allclose(shape.standard(MIXED), (inside - shape.centre) / shape.scale, atol=2.0**-17)
    assert shape.high[2] == 1  # a rare indicator keeps its 1
    back = shape.in_raw_units(True)
    theta = RNG.normal(size=6)
    raw = back @ theta
    np.testing.assert_allclose(
        theta[0] + shape.standard(inside) @ theta[1:],
        raw[0] + inside @ raw[1:],
        atol=6 * 2.0**-16 * np.abs(theta).sum(),
    )


def test_a_shape_survives_its_file():
    for shape in (turned(), turned(None), standard_shape(MIXED, False)):
        again = LabelShape.from_dict(json.loads(json.dumps(shape.to_dict())))
        assert (again.rows(MIXED) == shape.rows(MIXED)).all()
        assert again.to_dict() == shape.to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"low": [0.0]},
        {"scale": [0.0] * 5},
        {"scale": [1.0, 1.0, 1.0, 1.0, float("inf")]},
        {"axes": [[0.5, 1, 1]] * 5},
        {"axes": [[2**52, 1, 1]] * 5},
        {"axes": [[1, 1]] * 4},
        {"axes": None},
        {"shift": -1},
        {"shift": 0},
        {"shift": 0.5},
        {"value_bits": 4000},
        {"cap": 0},
        {"cap": 1.5},
    ],
)
def test_what_cannot_be_a_shape_is_refused(change):
    with pytest.raises(InvalidInput):
        LabelShape.from_dict(turned().to_dict() | change)


# -- what is chosen --------------------------------------------------------------------------------------------------


def test_units_do_not_matter():
    X = RNG.normal(size=(2000, 4))
    plain, odd = chosen(X, 0.2), chosen(X * [1, 1e6, 1e-6, 1], 0.2)
    assert odd.left == pytest.approx(plain.left, rel=0.15)
    assert odd.shape is not None


def test_one_value_of_a_million_does_not_ruin_a_release():
    X = RNG.normal(size=(2000, 4))
    odd = X.copy()
    odd[17, 2] = 1e6
    assert chosen(odd, 0.2).left == pytest.approx(chosen(X, 0.2).left, rel=0.15)
    few = odd[:50]
    assert chosen(few, 2).left < chosen(X[:50], 2).left + 0.05


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 5])
def test_every_table_gets_a_choice(classes, intercept):
    tables = (MIXED, RNG.normal(size=(30, 200)), RNG.standard_cauchy((300, 3)), np.repeat(MIXED[:, :2], 3, axis=1))
    for table in (*tables, MIXED[:5], MIXED[:, [0]]):
        for epsilon in (0.01, 1, 25):
            assert 0 <= chosen(table, epsilon, classes, intercept).left <= 1


def test_features_that_are_all_the_same_tell_nothing():
    choice = chosen(np.ones((50, 3)), 1)
    assert (choice.shape, choice.left) == (None, 1.0)


def test_more_budget_leaves_less():
    left = [chosen(MIXED, epsilon).left for epsilon in (0.05, 0.2, 1, 5)]
    assert left == sorted(left, reverse=True)


# -- what is predicted -----------------------------------------------------------------------------------------------


def test_accuracy_of_nothing_and_of_everything():
    assert predicted_accuracy(0, 0.9) == pytest.approx(0.9)
    assert predicted_accuracy(1, 0.9) == 0.5
    assert predicted_accuracy(1, 0.9, classes=4) == 0.25
    with pytest.raises(InvalidInput, match="clean_accuracy"):
        predicted_accuracy(0.5, 0.2, classes=4)


def test_the_variance_of_scores_gives_the_accuracy_back():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=200_000) * np.sqrt(variance_of_accuracy(0.8))
    right = (rng.random(200_000) < 1 / (1 + np.exp(-scores))) == (scores > 0)
    assert right.mean() == pytest.approx(0.8, abs=0.005)  # five standard errors
