"""Tests of terms, the same for every estimator whose parameters have names and a covariance."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import chi2, norm

import askance as ask
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.learning.face.wald_results import NamedEstimates, WaldResults
from estimator_examples import EXAMPLES

TESTED = ("AnswerRegression", "HiddenPredictor", "ListExperiment", "IndirectModel", "IndirectRegressor")


def words(flags):
    return np.where(flags, "yes", "no")


@pytest.mark.parametrize("name", TESTED)
def test_one_coefficient_is_tested_by_its_z(name):
    model = EXAMPLES[name]().fitted
    assert isinstance(model, WaldResults)
    table = model.summary().to_frame()
    for parameter, row in table.iterrows():
        found = model.wald_test(parameter)
        assert found.statistic == pytest.approx((row["estimate"] / row["std_error"]) ** 2, rel=1e-9)
        assert found.p_value == pytest.approx(2 * norm.sf(abs(row["estimate"] / row["std_error"])), rel=1e-6)
    several = list(table.index[:2])
    places = [model.parameter_names_.index(one) for one in several]
    values, covariance = model.parameters_[places], model.covariance_[np.ix_(places, places)]
    found = model.wald_test(*several)
    assert found.statistic == pytest.approx(values @ np.linalg.inv(covariance) @ values, rel=1e-9)
    assert (found.degrees, found.p_value) == (2, pytest.approx(chi2.sf(found.statistic, 2)))


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
@pytest.mark.parametrize("kind", ["answers", "predictor", "list", "share", "classifier"])
def test_clusters_leave_the_degrees_of_freedom_of_the_intervals(kind):
    rng = np.random.default_rng(3)
    X, cluster = rng.normal(size=(500, 2)), rng.integers(0, 12, 500)
    truth = rng.random(500) < 0.4
    reports = ask.Warner(0.85).simulate(words(truth), rng)
    counts, treated = rng.binomial(3, 0.5, 500), np.arange(500) % 2
    model = {
        "answers": lambda: ask.AnswerRegression(ask.Warner(0.85), intervals="wald").fit(X, reports, cluster=cluster),
        "predictor": lambda: ask.HiddenPredictor({"a": ask.Warner(0.85)}, intervals="wald").fit(
            X, X[:, 0] + truth + rng.normal(size=500), {"a": reports}, cluster=cluster
        ),
        "list": lambda: ask.ListExperiment(3, intervals="wald").fit(
            X, counts + truth * treated, treated, cluster=cluster
        ),
        "share": lambda: ask.ListExperiment(3).fit(None, counts + truth * treated, treated, cluster=cluster),
        "classifier": lambda: ask.IndirectClassifier(ask.Warner(0.85)).fit(X, reports, cluster=cluster),
    }[kind]()
    table = model.summary().to_frame()
    for parameter, row in table.iterrows():
        found = model.wald_test(parameter)
        assert found.error_degrees == model.degrees_[model.parameter_names_.index(parameter)] < 12
        assert found.statistic == pytest.approx((row["estimate"] / row["std_error"]) ** 2, rel=1e-9)
        assert found.p_value == pytest.approx(row["p_value"], rel=1e-6)
    if len(table) > 2:
        slopes = [name for name in table.index if name in ("x0", "x1")]
        degrees = [model.degrees_[model.parameter_names_.index(name)] for name in slopes]
        assert model.wald_test(*slopes).error_degrees == min(degrees)


def test_probits_and_ordered_logits_of_answers_that_nobody_hid_are_those_of_statsmodels():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(3000, 3)), columns=["age", "income", "years"])
    drawn = 0.5 * X["age"] + rng.normal(size=3000)
    model = ask.AnswerRegression(ask.Identity(["no", "yes"]), "probit", intervals="wald").fit(X, words(drawn > 0))
    peer = sm.Probit((drawn > 0).astype(int), sm.add_constant(X)).fit(disp=0)
    found = model.wald_test("income", "years")
    known = peer.wald_test("(income = 0, years = 0)", scalar=True, use_f=False)
    assert found.statistic == pytest.approx(known.statistic, rel=2e-2)  # its information is observed, as ours
    classes = np.digitize(0.5 * X["age"] + rng.logistic(size=3000), [-1.0, 1.0])
    ordered = ask.AnswerRegression(ask.Identity([0, 1, 2]), intervals="wald").fit(X, classes)
    peer = OrderedModel(classes, X, distr="logit").fit(method="bfgs", disp=0)
    known = peer.wald_test(np.eye(5)[:3], scalar=True, use_f=False)
    assert ordered.wald_test(*X.columns).statistic == pytest.approx(known.statistic, rel=1e-3)


def test_terms_without_effect_are_refused_as_often_as_they_should():
    # 200 sets for each kind: a test of level .05 refuses .05, with a standard error of .015. By chance alone 9 in 1,000
    # such rates are at most .015, and 1 in 2,000 at least .11.
    rng, warner, number = np.random.default_rng(6), ask.Warner(0.85), ask.PrivateNumber(-4, 4, epsilon=6.0)
    refused = []
    for _ in range(200):
        X, truth = rng.normal(size=(600, 3)), rng.random(600) < 0.4
        reports = warner.simulate(words(truth), rng)
        line = np.clip(X[:, 0] + 0.5 * rng.normal(size=600), -4, 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskanceWarning)
            fits = [
                ask.AnswerRegression(warner, "cloglog", intervals="wald").fit(X, reports),
                ask.HiddenPredictor({"a": warner}, explained=False, intervals="wald").fit(
                    X, X[:, 0] + truth + rng.normal(size=600), {"a": reports}
                ),
                ask.IndirectRegressor(number, ridge=0.0).fit(X, number.simulate(line, rng)),
            ]
        refused.append([model.wald_test("x1", "x2").p_value < 0.05 for model in fits])
    rates = np.mean(refused, axis=0)
    assert (rates > 0.015).all(), rates
    assert (rates < 0.11).all(), rates


def test_a_term_stands_for_all_its_columns():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1500, 2))
    party = rng.choice(["left", "middle", "right"], 1500)
    channel = ask.RandomizedResponse(["left", "middle", "right"], epsilon=3.0)
    reports = channel.simulate(party, rng)
    outcome = (party == "right") + rng.normal(size=1500)
    model = ask.HiddenPredictor({"party": channel}, intervals="wald").fit(X, outcome, {"party": reports})
    whole = model.wald_test("hidden(party)")
    assert whole.hypothesis == "hidden(party)=middle, hidden(party)=right = 0"
    assert whole.to_dict() == model.wald_test("hidden(party)=middle", "hidden(party)=right").to_dict()
    states = ask.IndirectModel(ask.States(), channel).fit(X, reports)
    softmax = ask.IndirectClassifier(channel).fit(X, reports)
    assert states.wald_test("x0").hypothesis == "middle: x0, right: x0 = 0"
    assert states.wald_test("x0").statistic == pytest.approx(softmax.wald_test("x0").statistic, rel=1e-6)
    scale = ask.IndirectModel(ask.States([[0.0], [1.0], [2.0]], names=["degree"]), channel).fit(X, reports)
    assert scale.wald_test("x1").hypothesis == "degree: x1 = 0"


def test_what_a_model_leaves_open_is_no_degree_of_freedom():
    rng = np.random.default_rng(8)
    X = [rng.normal(size=(4, 2)) for _ in range(200)]
    tags = [(np.arange(3) * x[:, :1] + rng.gumbel(size=(4, 3))).argmax(axis=1) for x in X]
    channel = ask.PerToken(ask.RandomizedResponse([0, 1, 2], epsilon=4.0))
    model = ask.IndirectModel(ask.Chain([0, 1, 2]), channel, ridge=0.0).fit(X, channel.simulate(tags, rng))
    found = model.wald_test("x0")  # the same number added to the weights of all tags changes nothing
    assert (found.hypothesis, found.degrees) == ("0: x0, 1: x0, 2: x0 = 0", 2)
    places = [model.parameter_names_.index(f"{tag}: x0") for tag in (0, 1, 2)]
    against_first = np.array([[-1.0, 1, 0], [-1, 0, 1]])
    values = against_first @ model.parameters_[places]
    covariance = against_first @ model.covariance_[np.ix_(places, places)] @ against_first.T
    assert found.statistic == pytest.approx(values @ np.linalg.inv(covariance) @ values, rel=1e-5)
    assert model.wald_test("x1").p_value > 0.001
    names, flat = ("a", "b"), np.ones((2, 2))
    assert NamedEstimates(names, names, np.array([2.0, 2.0]), flat).wald_test(names).statistic == pytest.approx(4)
    with pytest.raises(NotAvailable, match="2 parameters together, whose errors are known along 1 directions"):
        NamedEstimates(names, names, np.array([2.0, 1.0]), flat).wald_test(names)


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
def test_what_cannot_be_tested_is_refused():
    rng = np.random.default_rng(9)
    X, truth = rng.normal(size=(300, 2)), rng.random(300) < 0.4
    reports = ask.Warner(0.85).simulate(words(truth), rng)
    model = ask.AnswerRegression(ask.Warner(0.85)).fit(X, reports)
    with pytest.raises(InvalidInput, match="the term 'x9'"):
        model.wald_test("x9")
    with pytest.raises(InvalidInput, match="no terms"):
        model.wald_test()
    few = ask.AnswerRegression(ask.Warner(0.85)).fit(X, np.where(np.arange(300) < 20, "yes", "no"))
    with pytest.raises(NotAvailable, match="log-F penalty"):
        few.wald_test("x0")
    groups = ask.AnswerRegression(ask.Warner(0.95), intervals="wald").fit(
        X, ask.Warner(0.95).simulate(words(X[:, 0] + 2 * rng.normal(size=30)[np.arange(300) % 30] > 0), rng),
        groups=np.arange(300) % 30,
    )  # fmt: skip
    with pytest.raises(NotAvailable, match="group_p_value_"):
        groups.wald_test("standard deviation of groups")
    assert groups.wald_test("x0").degrees == 1
    counts, treated = rng.binomial(3, 0.5, 300), np.arange(300) % 2
    direct = truth & (rng.random(300) < 0.5)
    both = ask.ListExperiment(3).fit(None, counts + truth * treated, treated, direct=direct)
    with pytest.raises(NotAvailable, match="same people"):
        both.wald_test("together")
    number = ask.PrivateNumber(-4, 4, epsilon=6.0)
    shrunk = ask.IndirectRegressor(number, ridge=1.0).fit(X, number.simulate(np.clip(X[:, 0], -4, 4), rng))
    with pytest.raises(NotAvailable, match="ridge"):
        shrunk.wald_test("x0")
    penalised = ask.IndirectModel(ask.States(), ask.Warner(0.85), ridge=5.0).fit(X, reports)
    with pytest.raises(NotAvailable, match="ridge"):
        penalised.wald_test("x0")
