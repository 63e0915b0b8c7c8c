"""Average marginal effects of regressions of hidden answers, lists and numbers; predictions from list experiments."""

import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.special import expit

import askance as ask
from askance.errors import AskanceWarning, NotAvailable
from askance.learning.face.delta_law import DeltaLaw


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(11)
    X = pd.DataFrame({"age": rng.normal(40, 12, 2500), "woman": rng.integers(0, 2, 2500).astype(float)})
    return X, 0.06 * (X["age"].to_numpy() - 40) + 0.5 * X["woman"].to_numpy(), rng


def test_effects_by_probit_are_those_of_statsmodels(people):
    X, score, rng = people
    truth = (score + rng.normal(size=len(X)) > 0.2).astype(int)
    model = ask.AnswerRegression(ask.Identity([0, 1]), link="probit", intervals="wald").fit(X, truth)
    found = model.marginal_effects(X).to_frame()
    known = sm.Probit(truth, sm.add_constant(X)).fit(disp=0).get_margeff(dummy=True).summary_frame()
    np.testing.assert_allclose(found["estimate"], known["dy/dx"], rtol=1e-5)
    np.testing.assert_allclose(found["std_error"], known["Std. Err."], rtol=1e-4)


def test_effects_on_ordered_classes_are_derivatives_of_predictions_and_sum_to_zero(people):
    X, score, rng = people
    channel = ask.RandomizedResponse([0, 1, 2], epsilon=3.0)
    truth = np.digitize(score + rng.logistic(size=len(X)), [-0.5, 0.9])
    model = ask.AnswerRegression(channel, intervals="wald").fit(X, channel.simulate(truth, rng))
    weight = rng.random(len(X))
    found = model.marginal_effects(X, sample_weight=weight).to_frame()["estimate"].to_numpy().reshape(3, 2)
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-9)
    ends = [model.predict_proba(X.assign(age=X["age"] + step)) for step in (0.01, -0.01)]
    np.testing.assert_allclose(found[:, 0], weight @ (ends[0] - ends[1]) / 0.02 / weight.sum(), rtol=1e-5)
    ends = [model.predict_proba(X.assign(woman=value)) for value in (1.0, 0.0)]
    np.testing.assert_allclose(found[:, 1], weight @ (ends[0] - ends[1]) / weight.sum(), rtol=1e-9)


def test_errors_of_effects_are_lengths_of_their_slopes():
    X, theta, weight = np.random.default_rng(4).normal(size=(40, 2)), np.array([0.3, 0.8, -0.5]), np.ones(40)
    X[:, 1] = X[:, 1] > 0

    def law(at):
        def curve(rows):
            full = np.column_stack([np.ones(len(rows)), rows])
            chance = expit(full @ at)
            return chance[:, None], (chance * (1 - chance))[:, None, None] * full[:, None, :]

        return DeltaLaw(curve, np.eye(3))

    steps = 1e-5 * np.eye(3)
    slopes = [(law(theta + h).effects(X, weight)[0] - law(theta - h).effects(X, weight)[0])[0] / 2e-5 for h in steps]
    np.testing.assert_allclose(law(theta).effects(X, weight)[1][0], np.linalg.norm(slopes, axis=0), rtol=1e-6)


def test_effects_on_a_hidden_number_are_its_coefficients(people):
    X, score, rng = people
    channel = ask.PrivateNumber(-4, 4, epsilon=6)
    model = ask.IndirectRegressor(channel).fit(X, channel.simulate(score + rng.normal(size=len(X)) / 3, rng))
    found, table = model.marginal_effects(X).to_frame(), model.summary().to_frame().loc[["age", "woman"]]
    for column in ("estimate", "std_error"):
        np.testing.assert_allclose(found[column], table[column], rtol=1e-8)


def test_effects_of_finite_truths_are_those_of_the_classifier(people):
    X, score, rng = people
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=3.0)
    drawn = np.outer(score, [0.0, 1.0, 1.5]) + rng.gumbel(size=(len(X), 3))
    reports = channel.simulate(np.array(["a", "b", "c"])[drawn.argmax(axis=1)], rng)
    one = ask.IndirectModel(ask.States(), channel).fit(X, reports).marginal_effects(X).to_frame()
    other = ask.IndirectClassifier(channel).fit(X, reports).marginal_effects(X).to_frame()
    pd.testing.assert_frame_equal(one, other, check_exact=False, rtol=1e-5)


def listed(X, chance, rng):
    treated, truth = rng.random(len(X)) < 0.5, rng.random(len(X)) < chance
    return rng.binomial(3, 0.5, len(X)) + (truth & treated), treated


@pytest.mark.parametrize("method", ["likelihood", "linear"])
def test_predictions_and_effects_of_lists_cover_the_truth(method):
    # 100 sets: a share of .95 is then known to .022, and 4 standard errors below it are .86.
    rng, inside = np.random.default_rng(21), []
    X = pd.DataFrame({"age": rng.uniform(-1, 1, 1500)})
    old = np.where(X["age"] > 0, "old", "young")
    chance = (0.4 + 0.25 * X["age"] if method == "linear" else expit(1.2 * X["age"] - 0.4)).to_numpy()
    effect = 0.25 if method == "linear" else 1.2 * (chance * (1 - chance)).mean()
    truths = [chance[old == name].mean() for name in ("old", "young")]
    for _ in range(100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskanceWarning)  # one design test of twenty is below .05
            model = ask.ListExperiment(3, method, intervals="wald").fit(X, *listed(X, chance, rng))
        groups, slope = model.predict_interval(X, by=old), model.marginal_effects(X).to_frame().iloc[0]
        inside.append([*((groups["lower"] < truths) & (truths < groups["upper"])),
                       slope["lower"] < effect < slope["upper"]])  # fmt: skip
    assert (np.mean(inside, axis=0) > 0.86).all()


def test_a_difference_in_means_predicts_nothing():
    rng = np.random.default_rng(5)
    model = ask.ListExperiment(3).fit(None, *listed(np.empty(500), 0.4, rng))
    with pytest.raises(NotAvailable, match="a difference in means"):
        model.predict_interval(np.empty((2, 0)))
    with pytest.raises(NotAvailable, match="without a likelihood"):
        model.predict_proba(np.empty((2, 0)))


def test_a_product_of_columns_is_remarked_upon_and_no_rows_have_no_mean(people):
    X, score, rng = people
    both = X.assign(**{"age:woman": X["age"] * X["woman"]})
    channel = ask.Warner(0.9)
    reports = channel.simulate(np.where(score + rng.logistic(size=len(X)) > 0, "yes", "no"), rng)
    for kind in (ask.AnswerRegression, ask.IndirectClassifier):
        assert not kind(channel).fit(X, reports).marginal_effects(X).notes
        model = kind(channel).fit(both, reports)
        assert "'age:woman' changes with columns that stand alone" in model.marginal_effects(both).notes[-1]
        with pytest.raises(ValueError, match=r"no rows|0 sample"):
            model.marginal_effects(both[:0])
