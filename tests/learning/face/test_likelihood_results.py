"""AIC, BIC and likelihood ratios of the models that maximise a likelihood."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import chi2

import askance as ask
from askance.errors import InvalidInput, NotAvailable
from askance.learning.face import LikelihoodResults
from askance.learning.face.wald_results import free_directions

pytestmark = pytest.mark.filterwarnings("ignore::askance.AskanceWarning")


def words(flags):
    return np.where(flags, "yes", "no")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(1200, 3)), columns=["age", "income", "noise"])
    truth = rng.random(1200) < expit(0.8 * X["age"] - 0.5)
    return X, truth, rng


def test_criteria_of_answers_that_nobody_hid_are_those_of_statsmodels(people):
    X, truth, _ = people
    model = ask.AnswerRegression(ask.Identity(["no", "yes"]), "probit", intervals="wald").fit(X, words(truth))
    peer = sm.Probit(truth.astype(int), sm.add_constant(X)).fit(disp=0)
    assert (model.aic_, model.bic_) == (pytest.approx(peer.aic, rel=1e-9), pytest.approx(peer.bic, rel=1e-9))
    smaller = ask.AnswerRegression(ask.Identity(["no", "yes"]), "probit", intervals="wald").fit(
        X[["age"]], words(truth)
    )
    without = sm.Probit(truth.astype(int), sm.add_constant(X[["age"]])).fit(disp=0)
    found = model.likelihood_ratio_test(smaller)
    assert found.hypothesis == "income, noise = 0"
    assert (found.degrees, found.statistic) == (2, pytest.approx(2 * (peer.llf - without.llf), abs=1e-6))


def test_answers_that_were_hidden_have_the_likelihood_of_the_classifier(people):
    X, truth, rng = people
    channel = ask.Warner(0.85)
    reports = channel.simulate(words(truth), rng)
    one = ask.AnswerRegression(channel, intervals="wald").fit(X, reports)
    other, states = (kind.fit(X, reports) for kind in (
        ask.IndirectClassifier(channel), ask.IndirectModel(ask.States(), channel))
    )  # fmt: skip
    for model in (one, states):
        assert (model.aic_, model.bic_) == (pytest.approx(other.aic_), pytest.approx(other.bic_))
    smaller = ask.IndirectModel(ask.States(), channel).fit(X[["age"]], reports)
    assert states.likelihood_ratio_test(smaller).hypothesis == "income, noise = 0"


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_an_outcome_on_an_answer_that_nobody_hid_has_the_likelihood_of_both_models(people, family):
    X, truth, rng = people
    line = 1 + 0.5 * X["age"] + truth
    y = {
        "linear": 70 + 30 * line + 20 * rng.normal(size=1200),
        "logistic": (rng.random(1200) < expit(line - 1.5)).astype(float),
        "poisson": rng.poisson(np.exp(line / 2)).astype(float),
    }[family]
    model = ask.HiddenPredictor({"ill": ask.Identity(["no", "yes"])}, family, method="likelihood", intervals="wald")
    model.fit(X, y, {"ill": words(truth)})
    rows = sm.add_constant(X)
    kind = {"linear": sm.OLS, "logistic": sm.Logit, "poisson": sm.Poisson}[family]
    outcome = kind(y, rows.assign(ill=truth.astype(float))).fit(**({} if family == "linear" else {"disp": 0}))
    answer = sm.Logit(truth.astype(int), rows).fit(disp=0)
    assert model.log_likelihood_ == pytest.approx(outcome.llf + answer.llf, rel=1e-7)
    parameters = 5 + (family == "linear") + 4
    assert model.n_parameters_ == parameters
    assert model.aic_ == pytest.approx(2 * parameters - 2 * (outcome.llf + answer.llf), rel=1e-7)


def test_a_list_whose_item_is_known_to_be_binomial_has_the_likelihood_of_its_law():
    rng = np.random.default_rng(2)
    treated, truth = np.arange(800) % 2 == 1, rng.random(800) < 0.4
    counts = rng.binomial(3, 0.5, 800) + (truth & treated)
    X = rng.normal(size=(800, 1))
    model = ask.ListExperiment(3, "likelihood", control="binomial", intervals="wald").fit(None, counts, treated)
    larger = ask.ListExperiment(3, "likelihood", control="binomial", intervals="wald").fit(X, counts, treated)
    intercept, each, more = model.parameters_
    ways, values = np.array([1, 3, 3, 1]), np.arange(4)
    laws = [ways * np.exp(values * (each + more * true)) for true in (0, 1)]
    no, yes = ((1 - expit(intercept)) * laws[0] / laws[0].sum(), expit(intercept) * laws[1] / laws[1].sum())
    short, long = np.append(no + yes, 0), np.append(no, 0) + np.append(0, yes)
    value = np.log(np.where(treated, long[counts], short[counts])).sum()
    assert model.aic_ == pytest.approx(2 * 3 - 2 * value)
    found = larger.likelihood_ratio_test(model)
    assert (found.hypothesis, found.degrees) == ("x0, other items: x0 = 0", 2)
    assert found.p_value == pytest.approx(chi2.sf(2 * (larger.log_likelihood_ - model.log_likelihood_), 2))
    free = ask.ListExperiment(3, "likelihood", intervals="wald").fit(X, counts, treated)
    with pytest.raises(InvalidInput, match="which this one does not have"):
        free.likelihood_ratio_test(model)
    floor = ask.ListExperiment(3, "likelihood", control="binomial", floor=True, intervals="wald")
    silent = treated & truth & (counts == 1) & (rng.random(800) < 0.7)
    counts[silent] = 0
    model.fit(None, counts, treated)
    assert not floor.fit(None, counts, treated).penalised_
    with pytest.raises(InvalidInput, match="different laws of the list"):
        floor.likelihood_ratio_test(model)


def test_ratios_of_terms_without_effect_are_as_large_as_they_should_be():
    # 200 sets: a test of level .05 refuses .05 with a standard error of .015; by chance alone 9 in 1,000 such rates are
    # at most .015, and 1 in 2,000 at least .11.
    rng, warner, refused = np.random.default_rng(3), ask.Warner(0.85), []
    for _ in range(200):
        X, truth = rng.normal(size=(500, 2)), rng.random(500) < 0.4
        reports = {"a": warner.simulate(words(truth), rng)}
        y = X[:, 0] + truth + rng.normal(size=500)
        probits = [ask.AnswerRegression(warner, "probit", intervals="wald").fit(X[:, :k], reports["a"]) for k in (2, 1)]
        outcomes = [
            ask.HiddenPredictor({"a": warner}, method="likelihood", intervals="wald").fit(X[:, :k], y, reports)
            for k in (2, 1)
        ]
        refused.append([one.likelihood_ratio_test(two).p_value < 0.05 for one, two in (probits, outcomes)])
    rates = np.mean(refused, axis=0)
    assert (rates > 0.015).all(), rates
    assert (rates < 0.11).all(), rates


def test_what_a_chain_leaves_open_is_no_parameter():
    rng = np.random.default_rng(8)
    X = [rng.normal(size=(4, 2)) for _ in range(200)]
    tags = [(np.arange(3) * x[:, :1] + rng.gumbel(size=(4, 3))).argmax(axis=1) for x in X]
    channel = ask.PerToken(ask.RandomizedResponse([0, 1, 2], epsilon=4.0))
    model = ask.IndirectModel(ask.Chain([0, 1, 2]), channel, ridge=0.0).fit(X, channel.simulate(tags, rng))
    # Two features and three tags; moves are 9, of which what enters a tag but at the ends is what leaves it.
    assert model.n_parameters_ == free_directions(model.covariance_) < len(model.parameters_)
    assert model.aic_ == pytest.approx(2 * model.n_parameters_ - 2 * model.log_likelihood_)
    held = ask.IndirectModel(ask.Chain([0, 1, 2]), channel, ridge=1.0).fit(X, channel.simulate(tags, rng))
    with pytest.raises(NotAvailable, match="a ridge"):
        _ = held.aic_


def test_what_is_no_maximum_of_all_reports_is_refused(people, tmp_path):
    X, truth, rng = people
    channel = ask.Warner(0.85)
    reports = channel.simulate(words(truth), rng)
    kind = ask.AnswerRegression(channel, intervals="wald")
    larger, smaller = (ask.AnswerRegression(channel, intervals="wald").fit(X[columns], reports)
                       for columns in (["age", "income"], ["age"]))  # fmt: skip
    assert isinstance(larger, LikelihoodResults)
    assert larger.likelihood_ratio_test(smaller).degrees == 1
    treated, y = np.arange(1200) % 2, X["age"] + truth
    told = {"a": reports}
    by_moments = ask.HiddenPredictor({"a": channel}, method="moments")
    for say, model in (
        ("weighted", ask.AnswerRegression(channel).fit(X, reports, sample_weight=rng.random(1200))),
        ("complex sample", ask.AnswerRegression(channel).fit(X, reports, cluster=np.arange(1200) // 20)),
        ("weighted", ask.IndirectModel(ask.States(), channel).fit(X, reports, sample_weight=rng.random(1200))),
        ("moments", ask.IndirectModel(ask.States(), channel, "moments").fit(X, reports)),
        ("log-F", ask.AnswerRegression(channel).fit(X, np.where(np.arange(1200) < 80, "yes", "no"))),
        ("method='likelihood'", by_moments.fit(X, y + rng.normal(size=1200), told)),
        ("method='likelihood'", ask.ListExperiment(3).fit(None, rng.binomial(3, 0.5, 1200), treated)),
    ):
        with pytest.raises(NotAvailable, match=say):
            _ = model.bic_
    other = ask.AnswerRegression(channel, "probit", intervals="wald").fit(X[["age"]], reports)
    with pytest.raises(InvalidInput, match="different links"):
        larger.likelihood_ratio_test(other)
    with pytest.raises(InvalidInput, match="different reports"):
        larger.likelihood_ratio_test(kind.fit(X[["age"]], channel.simulate(words(truth), rng)))
    groups = ask.AnswerRegression(channel, intervals="wald").fit(X, reports, groups=np.arange(1200) // 20)
    assert groups.n_parameters_ == 5
    with pytest.raises(InvalidInput, match="different spreads of groups"):
        groups.likelihood_ratio_test(smaller)
    both = {**told, "b": channel.simulate(words(rng.random(1200) < 0.4), rng)}
    y = y + rng.normal(size=1200)
    two = ask.HiddenPredictor({"a": channel, "b": channel}, method="likelihood", intervals="wald").fit(X, y, both)
    one = ask.HiddenPredictor({"a": channel}, method="likelihood", intervals="wald").fit(X, y, told)
    with pytest.raises(InvalidInput, match="different hidden answers"):  # the reports of b are not in both
        two.likelihood_ratio_test(one)
    larger.save(tmp_path / "larger.json")
    again = ask.load_model(tmp_path / "larger.json")
    assert again.likelihood_ratio_test(smaller) == larger.likelihood_ratio_test(smaller)
    del again.weighted_
    again.fill_in()
    with pytest.raises(NotAvailable, match="earlier version"):
        _ = again.aic_
