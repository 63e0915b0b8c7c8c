"""Every statistic of the package by example, with batches to sum over and a way to compare sums."""

import numpy as np
import pyarrow as pa

import askance as ask
from askance.learning.numbers.second_moments import HiddenOutcome, HiddenRows, ScoreProducts, SecondMoments
from askance.learning.totals.even_risk import EvenRisk
from askance.learning.totals.user_losses import as_loss
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
