"""One small fitted example of every estimator, for the laws that all of them obey.

An estimator that ``askance.load_model`` can read and that has no example here fails a test.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import askance as ask

EPSILON = 2.0


@dataclass(frozen=True)
class Example:
    """A fitted estimator, and what its methods are called with.

    ``release`` makes the release that ``fit_release`` takes, with ``release_arguments`` beside it; ``scored`` are the
    arguments of ``score`` of reports, or None where it refuses, and ``truth`` those of ``of="truth"``, or None.
    ``given`` are the arguments of ``fit``.
    """

    fitted: Any
    given: tuple[Any, ...]
    release: Any
    release_arguments: dict[str, Any] = field(default_factory=dict)
    scored: tuple[Any, ...] | None = None
    truth: tuple[Any, ...] | None = None
    summary: tuple[Any, ...] = ()
    new: Any = None


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return rng, X, (rng.random(n) < 1 / (1 + np.exp(-1.5 * X[:, 0]))).astype(int)


def answers(n=600):
    """A release of one hidden answer, 0 or 1, and two covariates."""
    from askance.releases import Covariate, Header, Question

    rng, X, truth = people(n)
    channel = ask.RandomizedResponse([0, 1], epsilon=EPSILON)
    reports = channel.simulate(truth, rng)
    header = Header((Question("y", channel),), (Covariate("a"), Covariate("b")))
    table = {"y": reports, "a": X[:, 0], "b": X[:, 1]}
    return channel, X, truth, reports, ask.Release.from_table(table, header)


@cache
def indirect_classifier():
    channel, X, truth, reports, release = answers()
    fitted = ask.IndirectClassifier(channel).fit(X, reports)
    return Example(fitted, (X, reports), release, scored=(X, reports), truth=(X, truth), new=X)


@cache
def prevalence():
    channel, _, _, reports, release = answers()
    return Example(ask.Prevalence(channel).fit(reports), (reports,), release)


@cache
def indirect_model():
    channel, X, truth, reports, release = answers()
    fitted = ask.IndirectModel(ask.States(), channel).fit(X, reports)
    return Example(fitted, (X, reports), release, scored=(X, reports), truth=(X, truth), new=X)


@cache
def indirect_regressor():
    from askance.releases import Covariate, Header, Question

    rng, X, _ = people(4000)
    outcome = np.clip(0.5 * X[:, 0] + 0.1 * rng.normal(size=len(X)), -2, 2)
    channel = ask.PrivateNumber(-2.0, 2.0, epsilon=8.0)
    reports = channel.simulate(outcome, rng)
    header = Header((Question("y", channel),), (Covariate("a"), Covariate("b")))
    release = ask.Release.from_table({"y": reports, "a": X[:, 0], "b": X[:, 1]}, header)
    fitted = ask.IndirectRegressor(channel).fit(X, reports)
    return Example(fitted, (X, reports), release, scored=(X, reports), truth=(X, outcome), new=X)


@cache
def mean_operator_classifier():
    _, X, truth = people()
    release = ask.release_mean_operator(X, truth, epsilon=EPSILON, classes=(0, 1))
    fitted = ask.MeanOperatorClassifier().fit(X, release)
    return Example(fitted, (X, release), release, {"X": X}, truth=(X, truth), new=X)


def bags():
    rng, X, truth = people(1200)
    bag = np.where(rng.random(len(X)) < np.where(truth == 1, 0.8, 0.2), "Ayr", "Bute")
    counts = {name: np.bincount(truth[bag == name], minlength=2).tolist() for name in ("Ayr", "Bute")}
    return X, truth, bag, ask.release_counts(counts, epsilon=EPSILON, classes=(0, 1))


@cache
def proportion_classifier():
    X, truth, bag, release = bags()
    fitted = ask.ProportionClassifier(method="mean-map").fit(X, bag, release)
    return Example(fitted, (X, bag, release), release, {"X": X, "bags": bag}, truth=(X, truth), new=X)


@cache
def ratio_estimator():
    X, truth, bag, release = bags()
    fitted = ask.RatioEstimator(method="mmd", random_state=0).fit(X, bag, release)
    groups = np.repeat(["first", "second"], len(X) // 2)
    shares = {name: np.bincount(truth[groups == name], minlength=2) / (groups == name).sum() for name in set(groups)}
    asked = {"X": X, "bags": bag}
    return Example(fitted, (X, bag, release), release, asked, truth=(X, groups, shares), summary=(X,), new=X)


@cache
def ecological_inference():
    rng = np.random.default_rng(0)
    rows = rng.integers(40, 400, (30, 2))
    tables = np.stack([rng.binomial(rows, [0.2, 0.7]), np.zeros_like(rows)], axis=2)
    tables[:, :, 1] = rows - tables[:, :, 0]
    release = ask.release_counts(tables.sum(axis=1), epsilon=EPSILON, classes=(0, 1))
    fitted = ask.EcologicalInference(row_names=["town", "land"], random_state=0).fit(rows, release)
    return Example(fitted, (rows, release), release, {"row_counts": rows}, truth=(tables.sum(axis=0),))


@cache
def spread_classifier():
    from askance.releases import Header, Question

    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, size=(3000, 3))
    truth = (rng.random(len(bits)) < 1 / (1 + np.exp(-(2 * bits[:, 0] - 1)))).astype(int)
    row = ask.RowChannel(ask.StateFlip(2, 0.1), ask.RandomizedResponse([0, 1], epsilon=EPSILON))
    reports, labels = row.simulate((bits, truth), rng)
    fitted = ask.SpreadClassifier(row).fit(reports, labels)
    header = Header((Question("x", row.features, columns=("a", "b", "c")), Question("y", row.label)), ())
    features = row.for_width(3).features
    release = ask.Release.from_table({"x": features.store(features.encode_reports(reports)), "y": labels}, header)
    return Example(fitted, (reports, labels), release, scored=(reports, labels), truth=(bits, truth), new=bits)


@cache
def count_tagger():
    sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]] * 20
    tags = [["D", "N", "V"]] * 60
    regions = [{"sentence": i, "start": 0, "width": 3, "counts": {"D": 1, "N": 1, "V": 1}} for i in range(60)]
    regions += [{"sentence": i, "start": i % 2, "width": 2, "counts": {"N": 1, "DV"[i % 2]: 1}} for i in range(60)]
    release = ask.RegionRelease.of(regions, sentences)
    fitted = ask.CountTagger(random_state=0).fit(sentences, regions)
    told = (sentences, regions)
    return Example(fitted, told, release, scored=told, truth=(sentences, tags), new=sentences)


@cache
def answer_regression():
    channel, X, _, reports, release = answers()
    fitted = ask.AnswerRegression(channel, "probit").fit(X, reports)
    return Example(fitted, (X, reports), release, {"formula": "y ~ a + b"}, new=X)


@cache
def hidden_predictor():
    from askance.releases import Covariate, Header, Question

    rng, X, truth = people(1500)
    outcome = (rng.random(len(X)) < 1 / (1 + np.exp(1 - X[:, 1] - truth))).astype(float)
    channel = ask.RandomizedResponse([0, 1], epsilon=EPSILON)
    reports = channel.simulate(truth, rng)
    header = Header((Question("y", channel),), (Covariate("a"), Covariate("b"), Covariate("won")))
    table = {"y": reports, "a": X[:, 0], "b": X[:, 1], "won": outcome}
    given = X, outcome, {"y": reports}
    fitted = ask.HiddenPredictor({"y": channel}, "logistic").fit(*given)
    return Example(fitted, given, ask.Release.from_table(table, header), {"formula": "won ~ a + b + hidden(y)"})


@cache
def joint_table():
    from askance.releases import Header, Question

    rng, _, truth = people(1500)
    second = (rng.random(len(truth)) < 0.2 + 0.5 * truth).astype(int)
    channels = {name: ask.RandomizedResponse([0, 1], epsilon=EPSILON) for name in ("y", "z")}
    reports = {"y": channels["y"].simulate(truth, rng), "z": channels["z"].simulate(second, rng)}
    header = Header(tuple(Question(name, channel) for name, channel in channels.items()))
    return Example(ask.JointTable(channels).fit(reports), (reports,), ask.Release.from_table(reports, header))


@cache
def list_experiment():
    from askance.releases import Covariate, Header, Question

    rng, X, truth = people(1000)
    treated = rng.random(len(X)) < 0.5
    counts = rng.binomial(3, 0.5, len(X)) + truth * treated
    header = Header((Question("items", ask.Identity(range(5))),), (Covariate("a"), Covariate("b"), Covariate("long")))
    table = {"items": counts, "a": X[:, 0], "b": X[:, 1], "long": treated.astype(float)}
    fitted = ask.ListExperiment(items=3).fit(X, counts, treated)
    release = ask.Release.from_table(table, header)
    asked = {"treatment": "long", "formula": "items ~ a + b"}
    return Example(fitted, (X, counts, treated), release, asked)


EXAMPLES = {
    "AnswerRegression": answer_regression,
    "CountTagger": count_tagger,
    "EcologicalInference": ecological_inference,
    "HiddenPredictor": hidden_predictor,
    "IndirectClassifier": indirect_classifier,
    "IndirectModel": indirect_model,
    "IndirectRegressor": indirect_regressor,
    "JointTable": joint_table,
    "ListExperiment": list_experiment,
    "MeanOperatorClassifier": mean_operator_classifier,
    "Prevalence": prevalence,
    "ProportionClassifier": proportion_classifier,
    "RatioEstimator": ratio_estimator,
    "SpreadClassifier": spread_classifier,
}
