"""Columns of categories in a hidden row: what they become, the law of every code, the exact level, and a model."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import askance as ask
from askance.releases.privatizing import privatize_table

COLUMNS = {"town": ["north", "south", "west"], "smoker": ["no", "yes"], "age": (0, 100)}
PEOPLE = {"town": ["west", "north"], "smoker": ["yes", "no"], "age": [31.0, 120.0]}
HIDDEN = np.array([[0.0, 1, 1, 31], [0, 0, 0, 100]])


def channel(epsilon=4.0, **options):
    return ask.PrivateRow(COLUMNS, epsilon, **options)


@pytest.mark.parametrize("as_table", [dict, pd.DataFrame, pa.table, pl.DataFrame])
def test_categories_become_indicators(as_table):
    row = channel()
    assert row.names == ("town[south]", "town[west]", "smoker[yes]", "age")
    inside, clipped = row.clip(as_table(PEOPLE))
    np.testing.assert_array_equal(inside, HIDDEN)
    assert clipped == {"age": 1}
    np.testing.assert_array_equal(row.clip(np.array(list(zip(*PEOPLE.values(), strict=True)), dtype=object))[0], HIDDEN)
    np.testing.assert_array_equal(row.clip(HIDDEN)[0], HIDDEN)
    assert row.sources("home") == ("town", "smoker", "age")
    assert row.hidden("town") == ("town[south]", "town[west]")
    assert row.hidden("age") == ("age",)


def test_it_is_described_by_its_columns():
    row = channel(outcome="smoker")
    assert row.outcome == "smoker[yes]"
    assert ask.channel_from_spec(row.to_spec()) == row
    assert "town, smoker, age" in row.guarantee.protects
    assert "one row of 3 columns" in row.guarantee.protects
    assert "'town': ['north', 'south', 'west']" in repr(row)
    assert row.declaration()["columns"] == {"town": COLUMNS["town"], "smoker": COLUMNS["smoker"], "age": [0, 100]}


def test_every_code_of_every_truth_has_its_law():
    # 12 truths x 4 numbers x 256 codes, each beyond 6 standard deviations for one generator in 5e8: 2e-5 together.
    row, n = channel(k=4), 40_000
    law = row.inner.law
    assert law.numbers == 4
    starts = {0.0: (0, 1), 1.0: (law.codes - law.width - 1, law.codes - law.width)}
    rng = np.random.default_rng(3)
    for town, smoker, age in itertools.product(COLUMNS["town"], COLUMNS["smoker"], (0.0, 100.0)):
        person = {"town": [town] * n, "smoker": [smoker] * n, "age": np.full(n, age)}
        reports = row.simulate(person, rng)
        for place, value in enumerate(row.numbers({key: of[:1] for key, of in person.items()})[0]):
            chance = np.full(law.codes, (1 - law.kappa) / law.codes)
            for start in starts[float(value > 0)]:
                chance[start : start + law.width] += law.kappa / law.width / 2
            counts = np.bincount(reports[:, place], minlength=law.codes)
            assert np.all(np.abs(counts - n * chance) < 6 * np.sqrt(n * chance) + 1)


@pytest.mark.parametrize("mechanism", ["window", "unit", "sampled", "coordinate", "per-value", "triple"])
def test_the_level_is_that_of_the_mechanism(mechanism):
    row = channel(3.0, mechanism=mechanism)
    plain = ask.PrivateRow(dict.fromkeys("abcd", (0, 1)), 3.0, mechanism)
    assert row.guarantee.epsilon == plain.guarantee.epsilon <= 3.0


def test_the_level_is_attained_by_two_categories():
    """A report inside all windows of one truth and outside a single one of the other has the largest ratio."""
    law = channel(4.0).inner.law
    outside = (1 - law.kappa) / law.codes**law.numbers
    inside = outside + law.kappa / law.width**law.numbers
    assert math.log(inside / outside) == pytest.approx(channel(4.0).guarantee.epsilon, rel=1e-12)


def study(n, rng):
    frame = pd.DataFrame(
        {
            "town": rng.choice(COLUMNS["town"], n, p=[0.5, 0.3, 0.2]),
            "smoker": rng.choice(["no", "yes"], n, p=[0.7, 0.3]),
            "age": rng.uniform(20, 80, n),
        }
    )
    south, west, yes = frame.town == "south", frame.town == "west", frame.smoker == "yes"
    frame["rent"] = 3 + 1.5 * south - west + 0.8 * yes + 0.03 * frame.age + rng.uniform(-0.8, 0.8, n)
    return frame


HOME = ask.PrivateRow({**COLUMNS, "rent": (0, 10)}, 8.0, outcome="rent")
TRUTH = {"Intercept": 3.0, "town[south]": 1.5, "town[west]": -1.0, "smoker[yes]": 0.8, "age": 0.03}


def test_a_line_has_a_coefficient_for_every_category_but_the_first():
    covered = []
    for seed in range(40):
        rng = np.random.default_rng([5, seed])
        fitted = ask.IndirectRegressor(HOME).fit(HOME.simulate(study(5000, rng), rng))
        assert fitted.parameter_names_ == tuple(TRUTH)
        covered.append(np.abs(fitted.parameters_ - list(TRUTH.values())) < 1.96 * fitted.standard_errors_)
    assert np.mean(covered) > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 200)  # fails for one generator in 30,000
    people = study(50, np.random.default_rng(6))
    expected = HOME.numbers(people)[:, :-1] @ fitted.coef_ + fitted.intercept_
    np.testing.assert_allclose(fitted.predict(people[["age", "smoker", "town"]]), expected)
    named = pd.DataFrame(HOME.numbers(people)[:, :-1], columns=HOME.names[:-1])
    np.testing.assert_allclose(fitted.predict(named), expected)


def test_columns_are_asked_for_by_their_own_names():
    rng = np.random.default_rng(7)
    reports = HOME.simulate(study(3000, rng), rng)
    fitted = ask.IndirectRegressor(HOME, features=["town", "age"]).fit(reports)
    assert fitted.parameter_names_ == ("Intercept", "town[south]", "town[west]", "age")
    assert ask.IndirectRegressor(HOME, outcome="smoker", features=["age"]).fit(reports).outcome_ == "smoker[yes]"
    with pytest.raises(ask.AskanceError, match="the outcome 'town'"):
        ask.IndirectRegressor(HOME, outcome="town", features=["age"]).fit(reports)


def test_a_study_file_declares_them(tmp_path):
    text = """
        [questions.home]
        columns = { town = ["north", "south", "west"], smoker = ["no", "yes"], age = [0, 100], rent = [0, 10] }
        channel = { design = "private-row", epsilon = 8.0, outcome = "rent" }
    """
    declared = ask.Study.parse(text)
    assert declared.channels["home"] == HOME
    assert ask.Study.parse(declared.to_toml()) == declared
    people = study(3000, np.random.default_rng(8))
    release = privatize_table(declared, people)
    release.write(tmp_path / "r.parquet")
    fitted = ask.IndirectRegressor().fit_release(tmp_path / "r.parquet", formula="rent ~ town + age")
    assert fitted.parameter_names_ == ("Intercept", "town[south]", "town[west]", "age")
    assert np.all(np.abs(fitted.parameters_ - [3.24, 1.5, -1.0, 0.03]) < 6 * fitted.standard_errors_)  # 1e-8 by chance
    people.loc[7, "town"] = "moon"
    with pytest.raises(ask.AskanceError, match=r"row 8: 'moon' is not one of 'north', 'south', 'west'"):
        privatize_table(declared, people)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"town": ["north"], "age": (0, 1)}, "two or more texts"),
        ({"town": ["a", "a"], "age": (0, 1)}, "each once"),
        ({"town": ["a", "b", 1], "age": (0, 1)}, "texts"),
        ({"town": ["a", 1], "age": (0, 1)}, "two finite numbers"),
        ({"town": ["a", ""], "age": (0, 1)}, "texts"),
        ({"town": ["a", "b"]}, "RandomizedResponse"),
        ({"town": "ab", "age": (0, 1)}, "categories, such as"),
        ({"town": ["a", "b"], "town[b]": (0, 1)}, "named twice"),
    ],
)
def test_what_are_no_categories(columns, message):
    with pytest.raises(ask.AskanceError, match=message):
        ask.PrivateRow(columns, 1.0)


@pytest.mark.parametrize("town", ["moon", None, 3, np.nan])
def test_what_is_none_of_the_categories_is_named(town):
    with pytest.raises(ask.AskanceError, match=r"in row 2 of 'town'; expected one of its categories: 'north'"):
        channel().privatize({"town": ["north", town], "smoker": ["no", "no"], "age": [1, 2]})


def test_an_outcome_has_two_categories():
    with pytest.raises(ask.AskanceError, match="outcome='town'"):
        channel(outcome="town")
