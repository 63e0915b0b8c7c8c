"""Odds ratios, probabilities with intervals, marginal effects, and tests of terms and between models."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import askance as ask
from askance.errors import InvalidInput, NotAvailable
from askance.learning.face.softmax_law import SoftmaxLaw
from askance.learning.face.wald_results import NamedEstimates


def answers(n=4000, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(size=n), "woman": rng.integers(0, 2, n).astype(float)})
    scores = np.column_stack([np.zeros(n), *(0.8 * X["age"] * k - 0.5 + 0.4 * X["woman"] for k in range(1, classes))])
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X, truth, rng


@pytest.fixture(scope="module")
def clean():
    X, truth, _ = answers()
    return X, truth, ask.IndirectClassifier().fit(X, truth), sm.Logit(truth, sm.add_constant(X)).fit(disp=0)


def test_effects_of_plain_labels_are_those_of_statsmodels(clean):
    X, _, model, peer = clean
    found = model.marginal_effects(X).to_frame()
    known = peer.get_margeff(dummy=True).summary_frame()
    np.testing.assert_allclose(found["estimate"], known["dy/dx"], rtol=1e-6)
    np.testing.assert_allclose(found["std_error"], known["Std. Err."], rtol=1e-5)
    np.testing.assert_allclose(found["lower"], known["Conf. Int. Low"], rtol=1e-5)


def test_effects_of_three_classes_are_those_of_statsmodels():
    X, truth, _ = answers(classes=3)
    X["woman"] += 0.5  # no zeros and ones: by the derivative, as there
    found = ask.IndirectClassifier().fit(X, truth).marginal_effects(X).to_frame()
    peer = sm.MNLogit(truth, sm.add_constant(X)).fit(disp=0).get_margeff()
    np.testing.assert_allclose(found["estimate"], peer.margeff.T.ravel(), atol=1e-7)
    np.testing.assert_allclose(found["std_error"], peer.margeff_se.T.ravel(), rtol=1e-4)
    assert found.groupby(lambda name: name.split(": ")[1])["estimate"].sum().abs().max() < 1e-12


def test_probabilities_and_odds_ratios_are_those_of_statsmodels(clean):
    X, _, model, peer = clean
    found = model.predict_interval(X[:5])
    known = peer.get_prediction(sm.add_constant(X)[:5]).summary_frame()
    np.testing.assert_allclose(found["estimate"], known["predicted"], rtol=1e-7)
    np.testing.assert_allclose(found["std_error"], known["se"], rtol=1e-5)
    assert list(found.index) == list(X.index[:5])
    ratios = model.odds_ratios()
    np.testing.assert_allclose(ratios["odds_ratio"], np.exp(peer.params[1:]), rtol=1e-6)
    np.testing.assert_allclose(ratios[["lower", "upper"]], np.exp(peer.conf_int()[1:]), rtol=1e-5)


def test_tests_of_terms_and_criteria_are_those_of_statsmodels(clean):
    X, truth, model, peer = clean
    known = peer.wald_test("(age = 0, woman = 0)", scalar=True, use_f=False)
    found = model.wald_test("age", "woman")
    assert (found.degrees, found.p_value) == (2, pytest.approx(known.pvalue))
    assert found.statistic == pytest.approx(known.statistic, rel=1e-5)
    assert model.aic_ == pytest.approx(peer.aic, rel=1e-9)
    assert model.bic_ == pytest.approx(peer.bic, rel=1e-9)
    smaller = ask.IndirectClassifier().fit(X[["age"]], truth)
    ratio = model.likelihood_ratio_test(smaller)
    without = sm.Logit(truth, sm.add_constant(X[["age"]])).fit(disp=0)
    assert ratio.statistic == pytest.approx(2 * (peer.llf - without.llf), rel=1e-6)
    assert str(ratio).startswith("likelihood ratio test of woman = 0: chi-squared")
    assert ratio.to_dict()["error_degrees"] is None


def test_slopes_are_derivatives():
    rng = np.random.default_rng(2)
    theta, X, weight = rng.normal(size=(2, 3)), rng.normal(size=(20, 2)), rng.random(20)
    X[:, 1] = X[:, 1] > 0

    def law(at):
        return SoftmaxLaw("ab", at.reshape(2, 3), np.eye(6), True)

    for what in ("mean", "effects"):

        def value(at, what=what):
            return np.ravel(getattr(law(at), what)(X, weight)[0])

        steps = 1e-6 * np.eye(6)
        slopes = np.stack([(value(theta.ravel() + h) - value(theta.ravel() - h)) / 2e-6 for h in steps], axis=1)
        errors = np.ravel(getattr(law(theta.ravel()), what)(X, weight)[1])  # of the identity: the length of the slope
        np.testing.assert_allclose(errors, np.linalg.norm(slopes, axis=1), rtol=1e-6)
    chance, errors = law(theta.ravel()).each(X)
    each = [law(theta.ravel()).mean(X[[i]], np.ones(1)) for i in range(20)]
    np.testing.assert_allclose(chance, [share for share, _ in each])
    np.testing.assert_allclose(errors, [error for _, error in each])


def test_intervals_cover_the_truth_of_hidden_answers():
    # 150 sets; a share of .95 is then known to .018: 4 standard errors below it are .88.
    rng, channel, inside = np.random.default_rng(5), ask.Warner(0.8), []
    X = np.column_stack([rng.normal(size=1500), rng.integers(0, 2, 1500)])
    chance = 1 / (1 + np.exp(0.3 - X @ [0.9, 0.6]))
    groups = X[:, 1]
    effect = 0.9 * (chance * (1 - chance)).mean()
    for _ in range(150):
        reports = channel.simulate(np.where(rng.random(1500) < chance, "yes", "no"), rng)
        model = ask.IndirectClassifier(channel).fit(X, reports)
        of_groups = model.predict_interval(X, by=groups)
        truths = [chance[groups == group].mean() for group in (0, 1)]
        slope = model.marginal_effects(X).to_frame().iloc[0]
        inside.append([*((of_groups["lower"] < truths) & (truths < of_groups["upper"])),
                       slope["lower"] < effect < slope["upper"]])  # fmt: skip
    assert (np.mean(inside, axis=0) > 0.88).all()


def test_groups_by_a_column_that_is_no_feature():
    X, truth, rng = answers(600)
    model = ask.IndirectClassifier().fit(X, truth)
    school = rng.choice(["north", "south"], 600)
    found = model.predict_interval(X.assign(school=school), by="school")
    assert list(found.index) == ["north", "south"]
    np.testing.assert_allclose(found["estimate"], model.predict_interval(X, by=school)["estimate"])
    one = model.predict_proba(X[school == "north"])[:, 1].mean()
    assert found.loc["north", "estimate"] == pytest.approx(one)
    three = ask.IndirectClassifier().fit(X, truth + (X["age"] > 1)).predict_interval(X[:2])
    assert three.index.tolist()[:2] == [(0, 0), (0, 1)]


def test_a_term_of_a_formula_is_all_its_columns():
    names = ("Intercept", "C(school)[T.b]", "C(school)[T.c]")
    many = NamedEstimates(names, names, np.array([0.0, 1.0, 2.0]), np.eye(3)).wald_test(["C(school)"])
    assert many.statistic == pytest.approx(5)
    few = NamedEstimates(names, names, np.array([0.0, 1.0, 2.0]), np.eye(3), (3.0, 8.0, 9.0)).wald_test(["C(school)"])
    assert (few.statistic, few.error_degrees) == (pytest.approx(2.5), 8.0)
    assert few.p_value > many.p_value
    assert "F 2.500 on 2 and 8.0" in str(few)


def test_what_cannot_be_said_is_refused():
    X, truth, rng = answers(600)
    channel = ask.Warner(0.8)
    reports = channel.simulate(np.where(truth == 1, "yes", "no"), rng)
    model = ask.IndirectClassifier(channel).fit(X, reports)
    penalised = ask.IndirectClassifier(channel, penalty="log-f").fit(X, reports)
    weighted = ask.IndirectClassifier(channel).fit(X, reports, sample_weight=rng.random(600))
    moments = ask.IndirectClassifier(channel, method="moments").fit(X, reports)
    for say, who in (("penalty", penalised), ("weighted", weighted), ("moments", moments)):
        with pytest.raises(NotAvailable, match=say):
            _ = who.aic_
    with pytest.raises(NotAvailable, match="penalty"):
        penalised.predict_interval(X)
    assert penalised.odds_ratios()["lower"].notna().all()  # by profile likelihood
    assert np.isfinite(weighted.predict_interval(X)["std_error"]).all()
    with pytest.raises(InvalidInput, match="the term 'agee'"):
        model.wald_test("agee")
    with pytest.raises(InvalidInput, match="no terms"):
        model.wald_test()
    with pytest.raises(InvalidInput, match="by='school'"):
        model.predict_interval(X, by="school")
    with pytest.raises(InvalidInput, match="one group for each"):
        model.predict_interval(X, by=["a"])
    none = (X["woman"] == 0).astype(float)
    with pytest.raises(InvalidInput, match="weights are all zero"):
        model.predict_interval(X, by="woman", sample_weight=none)
    with pytest.raises(InvalidInput, match="level"):
        model.predict_interval(X, level=95)
    with pytest.raises(InvalidInput, match=r"alpha of 0\.05 is a level of 0\.95"):
        model.conf_int(0.05)
    smaller = ask.IndirectClassifier(channel).fit(X[["age"]][:500], reports[:500])
    with pytest.raises(InvalidInput, match="600 and 500 reports"):
        model.likelihood_ratio_test(smaller)
    with pytest.raises(InvalidInput, match="which this one does not have"):
        smaller.likelihood_ratio_test(model)
    with pytest.raises(InvalidInput, match="both"):
        model.likelihood_ratio_test(model)
    other = ask.IndirectClassifier(ask.Warner(0.7)).fit(X[["age"]], reports)
    with pytest.raises(InvalidInput, match="different channels"):
        model.likelihood_ratio_test(other)
    again = ask.IndirectClassifier(channel).fit(X[["age"]], [*reports[::-1].tolist()[1:], "yes"])
    with pytest.raises(InvalidInput, match="fits to different reports"):
        model.likelihood_ratio_test(again)
    better = ask.IndirectClassifier(channel).fit(X[["age"]], reports)
    better.log_likelihood_ = model.log_likelihood_ + 1  # a model of the same reports never is
    with pytest.raises(InvalidInput, match=r"a smaller model whose log-likelihood is higher \(by 1\)"):
        model.likelihood_ratio_test(better)


def test_a_constant_column_adds_no_error():
    X, truth, _ = answers(600)
    with pytest.warns(ask.AskanceWarning):
        model = ask.IndirectClassifier().fit(X.assign(same=3.0), truth)
    plain = ask.IndirectClassifier().fit(X, truth)
    found, known = model.predict_interval(X.assign(same=3.0)), plain.predict_interval(X)
    np.testing.assert_allclose(found["std_error"], known["std_error"], rtol=1e-5)
    assert model.aic_ == pytest.approx(plain.aic_)
    with pytest.raises(NotAvailable, match="same"):
        model.wald_test("same")


def test_tables_for_papers():
    table = ask.Prevalence(ask.Warner(0.8)).fit(["no"] * 600 + ["yes"] * 400).summary()
    markdown, latex = table.to_markdown(), table.to_latex()
    assert "| yes | 0.3333 |" in markdown
    assert "privacy: epsilon 1.386" in markdown
    assert r"yes & 0.3333 &" in latex
    assert r"\caption{Proportions of the true answers}" in latex
    assert latex.startswith("% reports: 1000")
    nasty = ask.reports.Summary("50% & more_\n", ("a|b_{\\",), table.values[:1])
    assert r"a\textbar{}b\_\{\textbackslash{}" in nasty.to_latex()
    assert r"a\|b\_{\\" in nasty.to_markdown()


def test_odds_ratios_of_survey_models_are_those_of_their_coefficients():
    X, truth, rng = answers(2000)
    peer = sm.Logit(truth, sm.add_constant(X)).fit(disp=0)
    direct = ask.Identity((0, 1))
    states = ask.IndirectModel(ask.States(), direct).fit(X, truth)
    for model in (ask.AnswerRegression(direct).fit(X, truth), states):
        found = model.odds_ratios()
        np.testing.assert_allclose(found["odds_ratio"], np.exp(peer.params[1:]), rtol=1e-5)
        np.testing.assert_allclose(found[["lower", "upper"]], np.exp(peer.conf_int()[1:]), rtol=1e-4)
    treated = rng.integers(0, 2, 2000)
    listed = ask.ListExperiment(3).fit(X, rng.binomial(3, 0.4, 2000) + treated * truth, treated)
    table = listed.summary(0.9).to_frame().loc[["age", "woman"]]
    np.testing.assert_allclose(listed.odds_ratios(0.9)["upper"], np.exp(table["upper"]))
    channel = ask.Warner(0.9)
    hidden = ask.HiddenPredictor({"truth": channel}, "logistic").fit(
        X, rng.integers(0, 2, 2000), {"truth": channel.simulate(np.where(truth, "yes", "no"), rng)}
    )
    assert list(hidden.odds_ratios().index) == ["age", "woman", "hidden(truth)"]
    three, ordered, _ = answers(2000, classes=3)
    in_order = ask.AnswerRegression(ask.Identity((0, 1, 2))).fit(three, ordered)
    assert list(in_order.odds_ratios().index) == ["age", "woman"]
    with pytest.raises(NotAvailable, match="link='probit'"):
        ask.AnswerRegression(direct, link="probit").fit(X, truth).odds_ratios()
    with pytest.raises(NotAvailable, match="a linear outcome"):
        ask.HiddenPredictor({"truth": channel}).fit(
            X, rng.normal(size=2000), {"truth": channel.simulate(np.where(truth, "yes", "no"), rng)}
        ).odds_ratios()
    with pytest.raises(NotAvailable, match="method='difference'"):
        ask.ListExperiment(3).fit(None, rng.binomial(3, 0.4, 2000) + treated * truth, treated).odds_ratios()


def test_alpha_is_answered_with_the_level():
    fitted = ask.Prevalence(ask.Warner(0.8)).fit(["no"] * 60 + ["yes"] * 40)
    with pytest.raises(ask.InvalidInput, match=r"alpha=0\.1; expected level=0\.9"):
        fitted.conf_int(alpha=0.1)
    with pytest.raises(ask.InvalidInput, match=r"level=0\.95"):
        fitted.conf_int(alpha="five")


def test_the_new_strings_of_numpy_are_labels():
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("numpy 1")
    rng = np.random.default_rng(2)
    x, said = rng.normal(size=(200, 1)), np.where(rng.random(200) < 0.5, "yes", "no")
    new = said.astype(np.dtypes.StringDType())
    assert np.array_equal(
        ask.IndirectClassifier().fit(x, new).parameters_, ask.IndirectClassifier().fit(x, said).parameters_
    )
