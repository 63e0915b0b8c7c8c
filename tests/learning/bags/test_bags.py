"""Bags and proportions: every form they come in, and every way in which they can be wrong."""

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.errors import InvalidInput
from askance.learning.bags.bags import read_bags

NAMES = ["b", "a", "b", "c", "a", "b", "c", "b"]
SHARES = {"a": 0.5, "b": 0.25, "c": 1.0}


def read(proportions, classes=None, noise=None, bags=NAMES):
    return read_bags(bags, proportions, classes, noise, len(bags))


@pytest.mark.parametrize(
    "proportions",
    [
        SHARES,
        {name: [1 - share, share] for name, share in SHARES.items()},
        {name: {"yes": share, "no": 1 - share} for name, share in SHARES.items()},
        pd.Series(SHARES).loc[["c", "a", "b"]],
        pd.DataFrame({"yes": SHARES, "no": {name: 1 - share for name, share in SHARES.items()}}).loc[["b", "c", "a"]],
        np.array([0.5, 0.25, 1.0]),
        [[0.5, 0.5], [0.75, 0.25], [0.0, 1.0]],
    ],
    ids=["shares", "lists", "mappings", "series", "frame", "array", "table"],
)
def test_all_forms_of_proportions_say_the_same(proportions):
    told = read(proportions, classes=("no", "yes"))
    assert told.labels == ("a", "b", "c")
    assert told.classes == ("no", "yes")
    np.testing.assert_allclose(told.proportions, [[0.5, 0.5], [0.75, 0.25], [0, 1]])
    np.testing.assert_array_equal(told.counts, [[1, 1], [3, 1], [0, 2]])
    np.testing.assert_array_equal([NAMES[row] for row in told.order], ["a"] * 2 + ["b"] * 4 + ["c"] * 2)
    np.testing.assert_array_equal(told.sizes, [2, 4, 2])
    np.testing.assert_allclose(told.overall, [0.5, 0.5])


def test_counts_sum_to_the_sizes_however_shares_are_rounded():
    rng = np.random.default_rng(0)
    bags = rng.integers(40, size=1000)
    told = read(rng.dirichlet(np.ones(4), size=40).round(2), bags=bags)
    np.testing.assert_array_equal(told.counts.sum(axis=1), np.bincount(bags))
    assert np.abs(told.counts - told.shares * told.sizes[:, None]).max() < 1


def test_classes_come_from_a_frame_or_are_numbered():
    frame = pd.DataFrame({"x": [0.2, 0.3, 0.1], "y": [0.8, 0.7, 0.9]}, index=["a", "b", "c"])
    assert read(frame).classes == ("x", "y")
    assert read(SHARES).classes == (0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"proportions": {"a": 0.5, "b": 0.5}}, "without proportions: 'c'"),
        ({"proportions": SHARES | {"d": 0.5}}, "without rows: 'd'"),
        ({"proportions": [0.5, 0.5, 0.2, 0.1]}, "An empty bag"),
        ({"proportions": SHARES | {"a": -0.1}}, r"outside of \[0, 1\] in bag 'a'"),
        ({"proportions": SHARES | {"b": 1.2}}, r"outside of \[0, 1\] in bag 'b'"),
        ({"proportions": [[0.5, 0.4], [0.5, 0.5], [0.2, 0.8]]}, "sum to 0.9 in bag 'a'"),
        ({"proportions": SHARES | {"a": np.nan}}, "not finite"),
        ({"proportions": dict.fromkeys(SHARES, "half")}, "not numbers"),
        ({"proportions": {"a": [0.5, 0.5], "b": [1.0], "c": [0.2, 0.8]}}, "not numbers, or of different lengths"),
        ({"proportions": SHARES, "classes": ("a", "b", "c")}, "one column for each class"),
        ({"proportions": SHARES, "classes": ("a", "a")}, "more than once"),
        ({"proportions": SHARES, "bags": [*NAMES[:-1], None]}, "without a bag"),
        ({"proportions": SHARES, "noise": -0.1}, "negative variance"),
        ({"proportions": SHARES, "noise": np.zeros((3, 5))}, "noise of shape"),
        ({"proportions": SHARES, "noise": "little"}, "noise='little'"),
        ({"proportions": SHARES, "noise": True}, "noise=True"),
        ({"proportions": SHARES, "noise": np.inf}, "noise=inf"),
        ({"proportions": {name: 100 * share for name, share in SHARES.items()}, "noise": 1e-4}, "their noise explains"),
        ({"proportions": [[60, 40], [10, 10], [3, 1]]}, "Divide counts"),
        ({"proportions": [[0.6, 0.6], [0.1, 0.9], [0.5, 0.5]], "noise": np.full((3, 2), 1e-5)}, "sum to 1.2"),
        ({"proportions": SHARES, "bags": pd.array([*NAMES[:-1], None], dtype="string")}, "1 rows without a bag"),
        ({"proportions": SHARES, "bags": pd.Series([*NAMES[:-1], pd.NA], dtype=object)}, "1 rows without a bag"),
        (
            {
                "proportions": SHARES,
                "classes": ("no", "yes"),
                "noise": {name: {"no": 0.1, "maybe": 0.1} for name in SHARES},
            },
            "noise of 'no', 'maybe'",
        ),
    ],
)
def test_bad_bags_are_refused(arguments, message):
    with pytest.raises(ask.InvalidInput, match=message):
        read(**arguments)


def test_bags_for_other_rows_are_refused():
    with pytest.raises(ask.InvalidInput, match="for 9 rows"):
        read_bags(NAMES, SHARES, None, None, 9)


def test_equal_proportions_are_unidentifiable_and_the_direction_is_named():
    with pytest.raises(ask.Unidentifiable, match=r"same proportions along .*no.*yes"):
        read(dict.fromkeys(SHARES, 0.4), classes=("no", "yes")).check_identifiable()
    # Classes 0 and 1 always come in equal shares: only class 2 can be told from them.
    with pytest.raises(ask.Unidentifiable, match=r"along [+-]1 0 [+-]1 1, so"):
        read([[0.4, 0.4, 0.2], [0.1, 0.1, 0.8], [0.25, 0.25, 0.5]]).check_identifiable()
    # Eight bags were told to be three, though none of any number has the class.
    with pytest.raises(ask.Unidentifiable, match=r"no bag with any of 'owl'.*Leave out"):
        read([[0.4, 0.6, 0], [0.1, 0.9, 0], [0.25, 0.75, 0]], classes=("cat", "dog", "owl")).check_identifiable()
    read(SHARES).check_identifiable()


def test_noise_in_all_forms():
    one = read(SHARES, noise=0.01).noise
    np.testing.assert_allclose(one, np.tile([[0.01, -0.01], [-0.01, 0.01]], (3, 1, 1)))
    np.testing.assert_allclose(read(SHARES, noise=[0.01] * 3).noise, one)
    np.testing.assert_allclose(read(SHARES, noise=dict.fromkeys(SHARES, 0.01)).noise, one)
    np.testing.assert_allclose(read(SHARES, noise=one).noise, one)
    # Noisy proportions may leave [0, 1]; what counts as told is the nearest that does not.
    told = read(SHARES | {"a": -0.2}, noise=0.01)
    np.testing.assert_allclose(told.shares[0], [1, 0])
    np.testing.assert_allclose(told.proportions[0], [1.2, -0.2])


def test_noise_follows_its_classes():
    frame = pd.DataFrame({"x": [0.2, 0.3, 0.1], "y": [0.7, 0.1, 0.2], "z": [0.1, 0.6, 0.7]}, index=["a", "b", "c"])
    variances = pd.DataFrame({"x": [1e-4] * 3, "y": [2e-4] * 3, "z": [3e-4] * 3}, index=["a", "b", "c"])
    order = ("z", "x", "y")
    for noise in (
        variances,
        variances[["y", "z", "x"]],
        variances.to_numpy(),
        np.array([np.diag([1, 2, 3])] * 3) / 1e4,
    ):
        told = read(frame, classes=order, noise=noise)
        np.testing.assert_allclose(told.proportions[0], [0.1, 0.2, 0.7])
        np.testing.assert_allclose(told.noise[0], np.diag([3e-4, 1e-4, 2e-4]))


def test_spread_of_proportions_is_measured_against_chance():
    rng = np.random.default_rng(1)
    y, bags = rng.integers(2, size=4000), rng.permutation(np.arange(4000) % 100)
    told = read(np.bincount(bags, y) / 40, bags=bags)
    # Chi-square with 99 degrees of freedom, by its mean: 1 with a standard deviation of .14. Wrong one time in 10^5.
    assert told.overdispersion == pytest.approx(1, abs=0.65)
    assert read(y.astype(float), bags=np.arange(4000)).variance_between == pytest.approx(1)


@pytest.mark.parametrize(
    ("proportions", "match"),
    [
        ({1: 10.0, 2: 90.0}, "percentages by 100"),  # it said: if they carry noise of a known variance, say so
        ({"1": 0.1, "2": 0.9}, "there are rows of 1, 2. A number and its text are two names"),
        ({1: "0,1", 2: "0,9"}, r"\['0,1', '0,9'\]; expected numbers by bag and class, with a decimal point"),
    ],
)
def test_shares_that_are_meant_but_not_written_so_are_answered_with_what_to_write(proportions, match):
    with pytest.raises(InvalidInput, match=match):
        read_bags([1, 1, 2, 2], proportions, None, None, 4)


@pytest.mark.parametrize("estimator", [ask.ProportionClassifier, ask.RatioEstimator])
def test_features_too_large_to_be_squared_are_refused(estimator):
    """A division by zero was all that a classifier said of 1e300."""
    X = np.random.default_rng(0).normal(size=(40, 2)) * 1e300
    with pytest.raises(InvalidInput, match="at most 1e\\+100"):
        estimator(random_state=0).fit(X, np.repeat([1, 2], 20), {1: 0.1, 2: 0.9})
