"""Predictions with intervals of regressions of hidden answers and numbers, and of any finite truths."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.special import expit
from scipy.stats import norm

import askance as ask
from askance.errors import AskanceWarning, InvalidInput, NotAvailable
from askance.learning.face import delta_law
from askance.learning.surveys.cumulative_links import LINKS, class_probabilities, class_slopes


def words(flags):
    return np.where(flags, "yes", "no")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(1500, 2)), columns=["age", "income"])
    degree = (np.outer(X["age"], [0.0, 0.7, 1.4]) + rng.gumbel(size=(1500, 3))).argmax(axis=1)
    channel = ask.RandomizedResponse([0, 1, 2], epsilon=3.0)
    return X, channel, channel.simulate(degree, rng), np.where(X["income"] > 0, "North", "South")


@pytest.mark.parametrize("link", LINKS)
def test_slopes_of_class_probabilities_are_derivatives(link):
    rng = np.random.default_rng(2)
    X, theta = rng.normal(size=(30, 2)), np.array([0.6, -0.4, -0.8, 0.1, 0.9])
    by_slopes, by_cuts = class_slopes(link, X, theta[:2], theta[2:])
    for place, found in enumerate(np.moveaxis(np.concatenate([by_slopes, by_cuts], axis=2), 2, 0)):
        step = 1e-6 * np.eye(5)[place]
        ends = [class_probabilities(link, X @ at[:2], at[2:]) for at in (theta + step, theta - step)]
        np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-6, atol=1e-8)


def test_probabilities_of_answers_that_nobody_hid_are_those_of_statsmodels():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(3000, 2)), columns=["age", "income"])
    drawn = 0.5 * X["age"] + rng.logistic(size=3000)
    model = ask.AnswerRegression(ask.Identity(["no", "yes"]), intervals="wald").fit(X, words(drawn > 0.3))
    peer = sm.Logit((drawn > 0.3).astype(int), sm.add_constant(X)).fit(disp=0)
    found, known = model.predict_interval(X[10:20]), peer.get_prediction(sm.add_constant(X)[10:20]).summary_frame()
    np.testing.assert_allclose(found["estimate"], known["predicted"], rtol=1e-6)
    np.testing.assert_allclose(found["std_error"], known["se"], rtol=1e-4)
    assert list(found.index) == list(range(10, 20))
    same = ask.IndirectClassifier(ask.Identity(["no", "yes"])).fit(X, words(drawn > 0.3))
    groups = rng.choice(["a", "b"], 3000)
    weight = rng.random(3000)
    for given in ({}, {"by": groups}, {"by": groups, "sample_weight": weight}, {"level": 0.5}):
        pd.testing.assert_frame_equal(
            model.predict_interval(X, **given), same.predict_interval(X, **given), check_exact=False, rtol=1e-4
        )


@pytest.mark.parametrize("table", [None, [[0.0], [1.0], [2.0]]])
def test_finite_truths_have_the_errors_of_their_parameters(people, table):
    X, channel, reports, region = people
    family = ask.States() if table is None else ask.States(table, names=["degree"])
    model = ask.IndirectModel(family, channel).fit(X, reports)
    found = model.predict_interval(X.assign(region=region), by="region")
    assert found.index.tolist()[:3] == [("North", 0), ("North", 1), ("North", 2)]
    north, theta = X[region == "North"], model.parameters_

    def shares(at):
        model.parameters_ = at
        return model.predict_proba(north).mean(axis=0)

    steps = 1e-6 * np.eye(len(theta))
    slopes = np.stack([(shares(theta + step) - shares(theta - step)) / 2e-6 for step in steps], axis=1)
    np.testing.assert_allclose(found["estimate"][:3], shares(theta))
    errors = np.sqrt(np.diag(slopes @ model.covariance_ @ slopes.T))
    np.testing.assert_allclose(found["std_error"][:3], errors, rtol=1e-5)
    if table is None:
        known = ask.IndirectClassifier(channel).fit(X, reports).predict_interval(X[:20])
        pd.testing.assert_frame_equal(model.predict_interval(X[:20]), known, check_exact=False, rtol=1e-5)


def test_lines_have_the_errors_of_least_squares():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(800, 2)), columns=["age", "income"])
    y = 1 + X["age"] + rng.normal(size=800)
    model = ask.IndirectRegressor().fit(X, y)
    found = model.predict_interval(X[:5], level=0.9)
    rows = sm.add_constant(X)
    known = sm.OLS(y, rows).fit(cov_type="HC0").get_prediction(rows[:5]).summary_frame(alpha=0.1)
    np.testing.assert_allclose(found["estimate"], known["mean"], rtol=1e-6)
    np.testing.assert_allclose(found["std_error"], known["mean_se"], rtol=1e-2)
    np.testing.assert_allclose(found["upper"] - found["estimate"], norm.ppf(0.95) * found["std_error"])
    assert list(found.index) == list(X.index[:5])
    everybody = model.predict_interval(X, by=np.zeros(800)).loc[0]
    assert everybody["estimate"] == pytest.approx(y.mean(), rel=1e-6)
    frame = pl.DataFrame({"age": X["age"], "income": X["income"], "town": np.where(X["age"] > 0, "b", "a")})
    of_towns = model.predict_interval(frame, by="town")
    assert isinstance(of_towns, pl.DataFrame)
    assert of_towns["town"].to_list() == ["a", "b"]


def test_intervals_cover_probabilities_and_means():
    # 150 sets for each: a share of .95 is then known to .018, and 4 standard errors below it are .88.
    rng, warner, inside = np.random.default_rng(5), ask.Warner(0.85), []
    number = ask.PrivateNumber(-4, 4, epsilon=6.0)
    X = np.column_stack([rng.uniform(-1, 1, 1000), rng.integers(0, 2, 1000)])
    groups, mean = X[:, 1], X @ [1.0, 0.5]
    chance = [norm.cdf(mean - 0.4), np.column_stack([expit(-0.5 - mean), expit(1 - mean) - expit(-0.5 - mean)])]
    three = ask.RandomizedResponse([0, 1, 2], epsilon=3.0)
    for _ in range(150):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskanceWarning)
            probit = ask.AnswerRegression(warner, "probit", intervals="wald").fit(
                X, warner.simulate(words(rng.random(1000) < chance[0]), rng)
            )
            classes = np.digitize(mean + rng.logistic(size=1000), [-0.5, 1.0])
            ordered = ask.AnswerRegression(three, intervals="wald").fit(X, three.simulate(classes, rng))
            line = ask.IndirectRegressor(number, ridge=0.0).fit(
                X, number.simulate(mean + rng.uniform(-1, 1, 1000), rng)
            )
        kept = []
        for model, truth in ((probit, chance[0]), (ordered, chance[1][:, 0]), (line, mean)):
            for found, true in (
                (model.predict_interval(X[:1]), truth[0]),
                (model.predict_interval(X, by=groups), truth[groups == 0].mean()),
            ):
                kept.append(found["lower"].iloc[0] < true < found["upper"].iloc[0])
        inside.append(kept)
    rates = np.mean(inside, axis=0)
    assert (rates > 0.88).all(), rates


def test_features_are_brought_into_their_bounds_and_categories_are_taken_in_their_own_words():
    rng = np.random.default_rng(6)
    age, region = rng.uniform(20, 70, 40_000), rng.choice(["north", "south"], 40_000)
    income = 2 + 0.1 * age + (region == "south") + rng.uniform(-1, 1, 40_000)
    channel = ask.PrivateRow(
        {"age": (0, 100), "region": ["north", "south"], "income": (0, 15)}, epsilon=12.0, outcome="income"
    )
    people = pd.DataFrame({"age": age, "region": region})
    model = ask.IndirectRegressor(channel, ridge=0.0).fit(channel.simulate(people.assign(income=income), rng))
    found = model.predict_interval(people, by="region")
    assert list(found.index) == ["north", "south"]
    np.testing.assert_allclose(found["estimate"], [model.predict(people[region == one]).mean() for one in found.index])
    ends = pd.DataFrame({"age": [100.0, 300.0], "region": ["north", "north"]})
    assert model.predict_interval(ends)["upper"].nunique() == 1


def test_many_rows_are_summed_by_parts(people, monkeypatch):
    X, channel, reports, region = people
    model = ask.AnswerRegression(channel, intervals="wald").fit(X, reports)
    whole, groups = model.predict_interval(X), model.predict_interval(X, by=region)
    monkeypatch.setattr(delta_law, "_AT_ONCE", 100)
    pd.testing.assert_frame_equal(model.predict_interval(X), whole)
    pd.testing.assert_frame_equal(model.predict_interval(X, by=region), groups)
    named = model.predict_interval(X.assign(region=region), by="region")
    np.testing.assert_allclose(named["lower"], groups["lower"])


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
def test_covariates_of_survey_models_are_found_by_name(people):
    X, channel, reports, region = people
    model = ask.AnswerRegression(channel, intervals="wald").fit(X, reports)
    other = X[["income", "age"]].assign(same=1.0, region=region)
    for rows in (other, pl.from_pandas(other), pl.from_pandas(other).to_arrow()):
        # Not the last bit: a product of matrices sums in an order that depends on how the rows lie in memory.
        np.testing.assert_allclose(model.predict_proba(rows), model.predict_proba(X), rtol=1e-12)
    pd.testing.assert_frame_equal(model.predict_interval(other, by="region"), model.predict_interval(X, by=region))
    np.testing.assert_allclose(model.predict_proba(X.to_numpy()), model.predict_proba(X), rtol=1e-12)
    with pytest.raises(InvalidInput, match="2 columns, age, income"):
        model.predict_proba(other[["age"]])
    rng = np.random.default_rng(8)
    counts, treated = rng.binomial(4, 0.5, 1500), np.arange(1500) % 2
    listed = ask.ListExperiment(4, "likelihood", intervals="wald").fit(X, counts, treated)
    np.testing.assert_array_equal(listed.predict_proba(other), listed.predict_proba(X))


@pytest.mark.filterwarnings("ignore::askance.AskanceWarning")
def test_what_has_no_errors_has_no_intervals():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 2))
    number = ask.PrivateNumber(-4, 4, epsilon=6.0)
    shrunk = ask.IndirectRegressor(number, ridge=1.0).fit(X, number.simulate(np.clip(X[:, 0], -4, 4), rng))
    with pytest.raises(NotAvailable, match="ridge"):
        shrunk.predict_interval(X)
    few = ask.AnswerRegression(ask.Warner(0.85)).fit(X, np.where(np.arange(300) < 20, "yes", "no"))
    with pytest.raises(NotAvailable, match="log-F penalty"):
        few.predict_interval(X)
    sentences = [["the", "dog"], ["a", "cat"]] * 20
    chain = ask.IndirectModel(ask.Chain(["D", "N"], "words"), ask.PerToken(ask.Identity(["D", "N"])), ridge=1.0)
    with pytest.raises(NotAvailable, match="a chain"):
        chain.fit(sentences, [["D", "N"]] * 40).predict_interval(sentences)
    line = ask.IndirectRegressor(number, ridge=0.0).fit(X, number.simulate(np.clip(X[:, 0], -4, 4), rng))
    with pytest.raises(InvalidInput, match="level"):
        line.predict_interval(X, level=95)


def test_groups_have_any_names_and_rows_without_one_are_refused():
    rng = np.random.default_rng(6)
    X, channel = rng.normal(size=(300, 1)), ask.Warner(0.9)
    model = ask.IndirectClassifier(channel).fit(X, channel.simulate(words(X[:, 0] > rng.normal(size=300)), rng))
    mixed = np.array([1, "north", "north"] * 100, dtype=object)
    assert model.predict_interval(X, by=mixed).index.tolist() == [1, "north"]
    for missing in (None, np.nan):
        with pytest.raises(InvalidInput, match=r"100 rows without a group \(first in row 0\)"):
            model.predict_interval(X, by=np.array([missing, "north", "south"] * 100, dtype=object))
    table = pd.DataFrame({"x0": X[:, 0], "school": "a", "sex": "f"})
    with pytest.raises(InvalidInput, match=r"2 columns.*by=X\['school'\]\.astype\(str\) \+ ' ' \+ X\['sex'\]"):
        model.predict_interval(table, by=["school", "sex"])
