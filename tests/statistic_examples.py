"""Every statistic of the package by example, with batches to sum over and a way to compare sums."""

import numpy as np
import pyarrow as pa

import askance as ask
from askance.learning.face.sampling_design import UnitCounts
from askance.learning.models.chain_source import SentenceReader, Sentences
from askance.learning.models.chain_sums import ChainGradients, ChainScores, ChainSlope, CountSeen
from askance.learning.models.token_features import TokenTable
from askance.learning.numbers.moment_readers import HiddenOutcome, HiddenRows
from askance.learning.numbers.report_checks import ReportCells
from askance.learning.numbers.second_moments import FoldMoments, FormProducts, ScoreProducts, SecondMoments
from askance.learning.records.collapsed_likelihood import CollapsedLikelihood
from askance.learning.records.posterior import FeaturePosterior
from askance.learning.records.record_sums import (
    BatchLikelihood,
    CountDistinct,
    CountReports,
    HeldOutDifference,
    LossAt,
    MeanProducts,
    ScoresAt,
    packed,
)
from askance.learning.totals.even_risk import EvenRisk
from askance.learning.totals.shaped_sums import ShapedSums
from askance.learning.totals.user_losses import as_loss
from askance.mechanisms.sums.label_shape import LabelShape
from askance.statistics.base import Records
from askance.statistics.column_edges import ColumnEdges
from askance.statistics.device_noise import DeviceNoise
from askance.statistics.features import FeatureMoments, FeatureTotals
from askance.statistics.frequencies import ReportFrequencies
from askance.statistics.grouped_joint_scores import GroupedJointScores
from askance.statistics.grouped_scores import GroupedReports, GroupedScores
from askance.statistics.joint_score import JointScore
from askance.statistics.levels import ColumnLevels
from askance.statistics.softmax_score import SoftmaxScore
from askance.statistics.softmax_slope import SoftmaxSlope
from askance.statistics.softmax_values import CubedReaches, SoftmaxValues


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


def joint_score(classes=2, columns=(), with_outer=True):
    """Two unknown numbers, the second of which depends on some columns."""
    rng = np.random.default_rng(3)
    corners = rng.random((2, 2, 4, classes)) + 0.1
    gammas = (rng.normal(size=1), rng.normal(size=1 + len(columns)))
    theta, own = rng.normal(size=(classes - 1, 3)), np.array([0, 2])
    unknown = (np.array([], int), np.array(columns, int))
    return JointScore(
        theta, gammas, corners / corners.sum(axis=2, keepdims=True), own, unknown, True, np.ones(3), with_outer
    )


def some_units(rows, seed=0, weighted=True):
    """Records with the number of their sampling unit, of three, as a last feature."""
    records = some_records(rows, seed=seed, weighted=weighted)
    units = np.random.default_rng(seed + 9).integers(0, 3, rows)
    return Records(np.column_stack([records.features, units]), records.codes, records.weights)


def grouped_score(method="marginal", outer=False):
    of = score(method)
    return GroupedScores(of.theta, of.table, method, True, np.zeros(3), ((0, 2), (2, 4)), 3, outer)


def values_at(of):
    return SoftmaxValues(of.theta[None], of.table, "marginal", True, None)


def some_schools(rows, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    schools = rng.choice(["north", "south", None], rows)
    return pa.table({"school": pa.array(schools, pa.string()), "age": rng.integers(0, 1 + 2 * seed, rows)})


def some_drawn_schools(rows, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    return pa.table({"school": rng.choice(["north", "south"], rows), "age": rng.integers(0, 3, rows)})


def some_numbers(channel):
    """Records whose codes are reports of a channel for numbers."""

    def made(rows, seed=0, weighted=True):
        rng = np.random.default_rng(seed)
        truth = rng.uniform(0, 1, (rows, 3 if channel is ROW else 1))
        public = some_records(rows, 2, seed=seed, weighted=weighted)
        return Records(public.features, channel.simulate(truth, rng), public.weights)

    return made


def in_three_folds(channel):
    """The same, with the number of a fold as a last feature."""

    def made(rows, seed=0, weighted=True):
        records = some_numbers(channel)(rows, seed, weighted)
        return Records(np.column_stack([records.features, np.arange(rows) % 3]), records.codes, records.weights)

    return made


ROW = ask.PrivateRow({"a": (0, 1), "b": (0, 1), "c": (0, 1)}, 4.0)
NUMBER = ask.PrivateNumber(0, 1, 2.0)
OUTCOME = HiddenOutcome(NUMBER, (0.0, 0.0, 0.5), (1.0, 1.0, 0.5))

FLIPS = ask.StateFlip(3, 0.2, dim=2)
MIXED = ask.RowChannel([ask.StateFlip(2, 0.1), ask.GaussianNoise(0.5)]).features


def some_hidden_records(channel):
    """Records packed as fits to hidden records sum them: reports, label report, fold of three."""

    def made(rows, seed=0, weighted=True):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, (rows, 2)).astype(float)
        reports = channel.codes_and_numbers(channel.simulate(truth, rng) if rows else truth)
        return packed(reports, rng.integers(0, 2, rows).astype(np.uint8), (np.arange(rows) % 3).astype(np.uint8))

    return made


def batch_likelihood(classes=2):
    """The likelihood of records of two attributes, of which nothing but priors is known."""
    known = {"metric": np.ones(2), "intercept": True, "centre": np.full(2, 0.5), "spread": np.ones(2)}
    frame = CollapsedLikelihood.without_reports(classes, **known, intercept_metric=1.0)
    frame = frame if classes == 2 else frame.joint()
    return BatchLikelihood(FeaturePosterior.learned(FLIPS, None, "flat"), stochastic(2, classes), frame)


def some_theta(sets, classes=2):
    theta = np.random.default_rng(5).normal(size=(sets, 1 if classes == 2 else classes, 3))
    return theta if classes == 2 else theta - theta.mean(axis=1, keepdims=True)


OF_A_TAG = ask.RandomizedResponse(["D", "N", "V"], epsilon=1.0)
READER = SentenceReader("tags", "words", ask.PerToken(OF_A_TAG), None, names=("a", "b"))


def some_sentences_in_a_table(rows, seed=0, weighted=True):
    """Sentences of one to four tokens, each of which has some of two features."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, rows)
    words = [[[name for name in "ab" if rng.random() < 0.6] for _ in range(length)] for length in lengths]
    tags = [rng.choice(["D", "N", "V"], length).tolist() for length in lengths]
    names = pa.list_(pa.list_(pa.string()))
    return pa.table({"words": pa.array(words, names), "tags": pa.array(tags, pa.list_(pa.string()))})


def some_sentences(rows, seed=0, weighted=True):
    return rows_of(READER.sentences(some_sentences_in_a_table(max(rows, 1), seed)), 0, rows)


def rows_of(batch, start, stop):
    """Some rows of a batch, which is a table, records, or sentences."""
    if isinstance(batch, pa.Table):
        return batch.slice(start, stop - start)
    if not isinstance(batch, Sentences):
        return batch.rows(start, stop)
    first, last = batch.tokens.starts[start], batch.tokens.starts[stop]
    tokens = TokenTable(batch.tokens.table[first:last], batch.tokens.starts[start : stop + 1] - first, READER.names)
    return Sentences(tokens, batch.codes[first:last])


CHAIN = np.random.default_rng(6).normal(size=(2, 2 * 3 + 3 * 3))  # two points: two features and pairs, of three tags
TAG_LAW = np.ascontiguousarray(OF_A_TAG.matrix)

# Every statistic of the package, in its variants, and what makes a batch for it of (rows, seed, weighted).
EXAMPLES = {
    "frequencies": (ReportFrequencies(4), some_records),
    "features": (FeatureMoments(3, True), some_records),
    "totals of features": (FeatureTotals(3), some_records),
    "edges of columns": (ColumnEdges(np.array([0, 2]), 4), some_records),
    "features without intercept": (FeatureMoments(3, False), some_records),
    "marginal score": (score("marginal"), some_records),
    "moment score": (score("moments"), some_records),
    "two-class score": (score("marginal", classes=2), some_records),
    "score without outer products": (score("marginal", with_outer=False), some_records),
    "joint score": (joint_score(), some_records),
    "joint score of three classes, with covariates": (joint_score(3, (1, 2)), some_records),
    "joint score without outer products": (joint_score(with_outer=False), some_records),
    "reports by unit": (GroupedReports(4, 3), some_units),
    "information by unit": (grouped_score(), some_units),
    "moment scores by unit": (grouped_score("moments", True), some_units),
    "information with unknown numbers by unit": (GroupedJointScores(joint_score(), ((0, 2), (2, 4)), 3), some_units),
    "scores with unknown numbers by unit": (GroupedJointScores(joint_score(), ((0, 4),), 3, True), some_units),
    "noise of the device": (DeviceNoise(joint_score(), ((0, 2), (2, 4)), np.array([0.2, 0.5, 1.0])), some_units),
    "values": (values_at(score("marginal")), some_records),
    "marginal slope": (SoftmaxSlope(score("marginal").theta, score("marginal").table, "marginal", True), some_records),
    "cubed reaches": (CubedReaches(score("marginal").theta[None], True), some_records),
    "sampling units": (UnitCounts("school", None, "age"), some_drawn_schools),
    "levels": (ColumnLevels(("school", "age"), 3), some_schools),
    "even risk": (EvenRisk(as_loss("logistic"), np.array([0.5, 1.0, -1.0, 0.2]), True), some_records),
    "even risk without curvature": (
        EvenRisk(as_loss("logistic"), np.array([1.0, -1.0, 0.2]), False, with_curvature=False), some_records,
    ),
    "totals of shaped rows": (
        ShapedSums(
            np.array([[0.5, 1.0, -1.0, 0.2]]),
            np.array([[-1.0], [1.0]]) / np.sqrt(2),
            LabelShape.turned(LabelShape([-1.0] * 3, [1.0] * 3, [0.0] * 3, [1.0] * 3), np.eye(3)[:, :2], 1.0),
            True,
        ),
        some_records,
    ),
    "moments of rows": (SecondMoments(HiddenRows(ROW)), some_numbers(ROW)),
    "cells of reports": (ReportCells(ROW), some_numbers(ROW)),
    "products of forms": (FormProducts(HiddenRows(ROW), np.arange(20.0).reshape(2, 10)), some_numbers(ROW)),
    "moments of folds": (FoldMoments(HiddenRows(ROW), 3), in_three_folds(ROW)),
    "score products and forms of folds": (
        ScoreProducts(HiddenRows(ROW), np.arange(4.0), np.arange(30.0).reshape(3, 10)),
        in_three_folds(ROW),
    ),
    "moments of an outcome": (SecondMoments(OUTCOME), some_numbers(NUMBER)),
    "score products of rows": (ScoreProducts(HiddenRows(ROW), np.arange(4.0)), some_numbers(ROW)),
    "reports of hidden records": (CountReports(FLIPS, 2, 3, np.zeros(2)), some_hidden_records(FLIPS)),
    "reports of hidden numbers": (CountReports(MIXED, 2, 3, np.full(2, 0.5)), some_hidden_records(MIXED)),
    "distinct records": (CountDistinct(2), some_hidden_records(FLIPS)),
    "products of posterior means": (MeanProducts(batch_likelihood().posterior, np.ones(2)), some_hidden_records(FLIPS)),
    "spread loss": (LossAt(batch_likelihood(), some_theta(1), np.ones(1), False), some_hidden_records(FLIPS)),
    "spread loss of folds": (
        LossAt(batch_likelihood(), some_theta(3), np.ones(3), True), some_hidden_records(FLIPS),
    ),
    "spread loss of three classes": (
        LossAt(batch_likelihood(3), some_theta(2, 3), np.ones(2), False), some_hidden_records(FLIPS),
    ),
    "spread scores": (ScoresAt(batch_likelihood(), some_theta(1)[0]), some_hidden_records(FLIPS)),
    "spread scores of three classes": (ScoresAt(batch_likelihood(3), some_theta(1, 3)[0]), some_hidden_records(FLIPS)),
    "held-out likelihood": (HeldOutDifference(((batch_likelihood(), some_theta(3)),)), some_hidden_records(FLIPS)),
    "held-out difference": (
        HeldOutDifference(((batch_likelihood(), some_theta(3)), (batch_likelihood(), 2 * some_theta(3)))),
        some_hidden_records(FLIPS),
    ),
    "features and reports of sentences": (CountSeen(READER, 3), some_sentences_in_a_table),
    "slope of a chain": (ChainSlope(CHAIN[0], TAG_LAW, "marginal"), some_sentences),
    "slopes of a chain at several points": (ChainGradients(CHAIN, TAG_LAW, "marginal"), some_sentences),
    "scores of a chain": (ChainScores(CHAIN[0], TAG_LAW, "marginal"), some_sentences),
    "score products of an outcome": (ScoreProducts(OUTCOME, np.arange(4.0)), some_numbers(NUMBER)),
}  # fmt: skip


def flat(value):
    """All numbers of a sum, one after the other."""
    if isinstance(value, dict | tuple | list):
        parts = [value[key] for key in sorted(value)] if isinstance(value, dict) else value
        return np.concatenate([flat(part) for part in parts] or [np.empty(0)])
    return np.empty(0) if value is None else np.ravel(np.asarray(value, dtype=float))


def close(a, b):
    if isinstance(a, dict):  # levels are sets
        assert a == b
    else:
        np.testing.assert_allclose(flat(a), flat(b), rtol=1e-10, atol=1e-9)
