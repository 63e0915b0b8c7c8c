"""Whole tables near to noisy ones: sums that hold exactly, and nearly the least distance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from askance.solvers.whole_tables import rows_on_simplex, whole_rows, whole_table


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    bags=st.integers(1, 40),
    classes=st.integers(2, 6),
    noise=st.sampled_from([0.1, 3.0, 100.0, 1e5]),
    size=st.sampled_from([1, 20, 10**6, 10**14]),
)
def test_sums_hold_exactly(seed, bags, classes, noise, size):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, size + 1, (bags, classes))
    totals = true.sum(axis=1)
    raw = true + rng.laplace(0, noise, true.shape)
    columns = whole_rows(raw.sum(axis=0)[None], totals.sum(keepdims=True))[0]
    table = whole_table(raw, totals, columns)
    assert table.dtype == np.int64
    assert table.min() >= 0
    np.testing.assert_array_equal(table.sum(axis=1), totals)
    np.testing.assert_array_equal(table.sum(axis=0), columns)


def test_what_is_possible_already_is_left_alone():
    table = np.array([[3, 4, 5], [0, 1, 9]])
    np.testing.assert_array_equal(whole_table(table.astype(float), table.sum(axis=1), table.sum(axis=0)), table)


@pytest.mark.parametrize("seed", range(4))
def test_the_table_is_nearly_the_nearest(seed):
    rng = np.random.default_rng(seed)
    raw, totals = rng.normal(3, 6, (4, 3)), np.array([10, 8, 9, 7])
    columns = np.array([12, 10, 12])
    table = whole_table(raw, totals, columns)
    solved = optimize.minimize(
        lambda x: ((x - raw.ravel()) ** 2).sum(), np.full(12, 3.0), bounds=[(0, None)] * 12, method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda x: x.reshape(4, 3).sum(axis=1) - totals},
            {"type": "eq", "fun": lambda x: (x.reshape(4, 3).sum(axis=0) - columns)[:2]},
        ],
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    # Twelve numbers that are made whole are off by 1/4 on average, and a few by one more.
    assert np.abs(table.ravel() - solved.x).max() < 2
    assert ((table - raw) ** 2).sum() < solved.fun + 12


def test_rows_on_the_simplex_are_exact_for_large_numbers():
    rows = rows_on_simplex(np.array([[1e15 + 2, -4.0], [7.0, 3.0]]), np.array([10**15, 10]))
    np.testing.assert_array_equal(rows, [[1e15, 0.0], [7.0, 3.0]])
