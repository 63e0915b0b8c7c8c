"""Rows with equal features: copies are noticed, people of equal age are not, groups that nobody named are.

Error rates, on seeds that nothing was chosen on, the same for both estimators: of 600 sets of 1,500 honest reports
(continuous covariates; age in years and sex; five of yes and no, also of a rare answer) one was noted. Of 150 with 30
groups of 50 that differ by a standard deviation of 1, unnamed and with the covariate constant in each, 97% are noted,
of .7 79%; of 75 copies among 1,575 rows, and of age and sex four times over, all.
"""

import warnings

import numpy as np
import pytest
from scipy.special import expit

import askance as ask
from askance.engines.sources import ArraySource
from askance.learning.face import equal_rows as module
from askance.learning.face.equal_rows import copies_note, equal_rows
from askance.learning.face.feature_compliance import Design
from askance.statistics.base import Records

CHANNEL = ask.Warner(0.8)
DESIGNS = [Design(CHANNEL.matrix, slice(0, 2))]
MODELS = [ask.IndirectClassifier, ask.AnswerRegression]
COPIES, GROUPS = "Rows stand here several times", "Reports vary more between rows"


def reports(eta, rng, channel=CHANNEL):
    return channel.simulate(np.where(rng.random(len(eta)) < expit(eta), "yes", "no"), rng)


def said(model, *arguments, **options):
    """What is said of rows, after seeing that it is said aloud."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*arguments, **options)
    found = [note for note in model.notes_ if note.startswith((COPIES, GROUPS))]
    assert [note for note in map(str, (one.message for one in caught)) if note.startswith((COPIES, GROUPS))] == found
    return " ".join(found)


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, reports(x[:, 0] - 0.5, rng)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("times", [2, 4])
def test_a_table_that_was_added_to_itself_is_noticed(model, times):
    x, r = people()
    note = said(model(CHANNEL), np.tile(x, (times, 1)), np.tile(r, times))
    assert note.startswith(COPIES)
    assert f"of {600 * (times // 2):,} pairs" in note
    assert "at most 68.0%" in note
    assert said(model(CHANNEL), np.repeat(x, times, 0), np.repeat(r, times)).startswith(COPIES)
    assert said(model(CHANNEL), x, r) == ""


@pytest.mark.parametrize("model", MODELS)
def test_some_people_found_twice_are_noticed(model):
    x, r = people()
    rows = np.r_[0:600, 0:40]
    assert "of 40 pairs" in said(model(CHANNEL), x[rows], r[rows])


@pytest.mark.parametrize("model", MODELS)
def test_clusters_that_say_whose_rows_they_are_allow_for_copies(model):
    x, r = people(200)
    assert said(model(CHANNEL), np.tile(x, (2, 1)), np.tile(r, 2), cluster=np.tile(np.arange(200), 2)) == ""


@pytest.mark.parametrize("model", MODELS)
def test_people_of_one_age_and_sex_are_not_copies(model):
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.integers(18, 80, 1500), rng.integers(0, 2, 1500)]).astype(float)
    eta = (x[:, 0] - 45) / 18 - 0.5
    r = reports(eta, rng)
    order = np.argsort(r, kind="stable")  # a table that is sorted by its reports
    assert said(model(CHANNEL), x[order], r[order]) == ""
    assert said(model(CHANNEL), np.tile(x, (4, 1)), np.tile(r, 4)).startswith((COPIES, GROUPS))


@pytest.mark.parametrize("model", MODELS)
def test_groups_that_nobody_named_are_noticed(model):
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(30), 50)
    covariate, shift = rng.normal(size=30), rng.normal(size=30)
    x, r = covariate[group][:, None], reports((covariate + shift)[group], rng)
    note = said(model(CHANNEL), x, r)
    assert note.startswith(GROUPS)
    assert "cluster=" in note
    assert "over 30 different rows" in note
    assert said(model(CHANNEL), x, r, cluster=group) == ""


@pytest.mark.parametrize("model", MODELS)
def test_each_design_has_a_bound_of_its_own(model):
    x, r = people(400)
    designs = {"cards": CHANNEL, "dice": ask.Warner(0.95)}
    asked = np.repeat(["cards", "dice"], 200)
    both = said(model(designs), np.tile(x, (2, 1)), np.tile(r, 2), design=np.tile(asked, 2))
    assert both.startswith(COPIES)
    assert "of 200 pairs" in both
    # The same people under both designs are no copies.
    assert said(model(designs), np.tile(x[:200], (2, 1)), np.tile(r[:200], 2), design=asked) == ""


def test_answers_that_nobody_hides_may_agree():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 1))
    y = np.where(x[:, 0] > 0, "yes", "no")
    plain = [Design(np.eye(2), slice(0, 2))]
    twice = Records(np.tile(x, (2, 1)), np.tile((y == "yes").astype(np.uint8), 2))
    assert copies_note(equal_rows(ArraySource(twice), 1, plain), plain) == ""


def test_the_most_that_different_people_can_agree_is_not_noted():
    """The bound itself, with all truths the same: once in a thousand at most, by an exact test."""
    rng = np.random.default_rng(4)
    x, noted = np.repeat(np.arange(200.0), 2)[:, None], 0
    for _ in range(300):
        r = (rng.random(400) < 0.8).astype(np.uint8)
        noted += bool(copies_note(equal_rows(ArraySource(Records(x, r)), 1, DESIGNS), DESIGNS))
    assert noted <= 2


def test_copies_stay_together_where_a_part_is_looked_at(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 1000)
    x, r = people(2000)
    codes = (r == "yes").astype(np.uint8)
    twice = ArraySource(Records(np.tile(x, (2, 1)), np.tile(codes, 2)), partition_rows=300)
    found = equal_rows(twice, 2, DESIGNS)
    assert 400 < found.pairs[0] < 600
    assert found.agreeing[0] == found.pairs[0]
