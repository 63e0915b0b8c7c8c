"""IndirectClassifier against independent answers, in every design and by both methods."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import askance as ask
import oracles
from askance.learning.answers.slope_approach import SlopeApproach
from askance.solvers.newton import Local, maximise
from askance.statistics.base import Records
from askance.statistics.softmax_score import SoftmaxScore

DESIGNS = {
    "warner": ask.Warner(0.8),
    "crosswise": ask.Crosswise(0.2),
    "forced": ask.ForcedResponse(0.1, 0.25),
    "unrelated": ask.UnrelatedQuestion(0.6, 0.3),
    "mangat": ask.Mangat(0.7),
    "triangular": ask.Triangular(0.3),
    "kuk": ask.Kuk(0.85, 0.3),
    "response": ask.RandomizedResponse(["no", "yes"], epsilon=1.5),
    "skewed response": ask.RandomizedResponse(["no", "yes"], truth_probability=0.6, base=[0.8, 0.2]),
    "three reports": ask.FiniteChannel(
        [[0.6, 0.1], [0.3, 0.3], [0.1, 0.6]], ["no", "yes"], ["never", "maybe", "surely"]
    ),
    "identity": ask.Identity(["no", "yes"]),
}
THREE = ask.RandomizedResponse(["a", "b", "c"], epsilon=2.0)
FOUR_REPORTS = ask.FiniteChannel(
    [[0.6, 0.1, 0.1], [0.1, 0.6, 0.1], [0.1, 0.1, 0.6], [0.2, 0.2, 0.2]], ["a", "b", "c"], [0, 1, 2, 3]
)


def sample(channel, n=1500, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 2.0, 0.5][:d] + [0.0, 1.0, -1.0][:d]
    theta = rng.normal(size=(len(channel.classes) - 1, d + 1)) * 0.6
    logits = np.column_stack([np.zeros(n), oracles.with_ones(X) @ theta.T])
    p = oracles.softmax(logits)
    truth = np.array(channel.classes)[(p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)]
    return X, truth, channel.simulate(truth, rng), rng


def told(channel, reports, method):
    """The table that the oracle needs, by plain formulas."""
    labels = list(channel.report_labels)
    codes = np.array([labels.index(r) for r in reports.tolist()])
    S = np.asarray(channel.matrix)
    if method == "marginal":
        return S[codes]
    seen, p = np.bincount(codes, minlength=len(labels)), np.full(S.shape[1], 1 / S.shape[1])
    for _ in range(5000):  # expectation-maximisation: the proportions that fit the reports best
        p *= S.T @ (seen / (S @ p)) / len(codes)
    W = np.diag(1 / (S @ (len(codes) * p + 0.5)))
    return (np.linalg.inv(S.T @ W @ S) @ S.T @ W).T[codes]


@pytest.mark.parametrize("method", ["marginal", "moments"])
@pytest.mark.parametrize("design", DESIGNS)
def test_coefficients_and_standard_errors_agree_with_a_general_optimiser(design, method):
    channel = DESIGNS[design]
    X, _, reports, _ = sample(channel)
    ours = ask.IndirectClassifier(channel, method=method).fit(X, reports)
    theta, information, sandwich = oracles.fit(X, told(channel, reports, method), method)
    np.testing.assert_allclose(ours.intercept_, theta[:, 0], atol=1e-6)
    np.testing.assert_allclose(ours.coef_, theta[:, 1:], atol=1e-6)
    np.testing.assert_allclose(ours.covariance_sandwich_, sandwich, rtol=1e-4, atol=1e-8)
    if method == "marginal":
        np.testing.assert_allclose(ours.covariance_information_, information, rtol=1e-4, atol=1e-8)
        np.testing.assert_array_equal(ours.covariance_, ours.covariance_information_)
    assert ours.converged_
    assert ours.ridge_ == 0


@pytest.mark.parametrize("method", ["marginal", "moments"])
@pytest.mark.parametrize("channel", [THREE, FOUR_REPORTS, ask.Identity(["a", "b", "c"])], ids=["3", "4 reports", "id"])
def test_many_classes_agree_with_a_general_optimiser(channel, method):
    X, _, reports, _ = sample(channel, n=2500)
    ours = ask.IndirectClassifier(channel, method=method).fit(X, reports)
    theta, information, sandwich = oracles.fit(X, told(channel, reports, method), method)
    np.testing.assert_allclose(ours.parameters_.reshape(theta.shape), theta, atol=2e-6)
    np.testing.assert_allclose(ours.coef_[1:] - ours.coef_[0], theta[:, 1:], atol=2e-6)
    np.testing.assert_allclose(ours.coef_.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(ours.covariance_sandwich_, sandwich, rtol=2e-4, atol=1e-7)
    if method == "marginal":
        np.testing.assert_allclose(ours.covariance_, information, rtol=2e-4, atol=1e-7)
    assert ours.parameter_names_[:3] == ("b: Intercept", "b: x0", "b: x1")


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_weights_ridge_and_no_intercept_agree_with_a_general_optimiser(method):
    channel = ask.Warner(0.85)
    X, _, reports, rng = sample(channel)
    weights = rng.random(len(X)) + 0.2
    ridge = 7.0
    ours = ask.IndirectClassifier(channel, method=method, ridge=ridge).fit(X, reports, sample_weight=weights)
    table = channel.likelihood(reports) if method == "marginal" else channel.unbias(reports)
    theta, _, sandwich = oracles.fit(X, table, method, weights, penalty=np.diag([0.0, ridge, ridge]))
    np.testing.assert_allclose(ours.parameters_, theta.ravel(), atol=1e-6)
    np.testing.assert_allclose(ours.covariance_sandwich_, sandwich, rtol=1e-4, atol=1e-8)
    bare = ask.IndirectClassifier(channel, method=method, fit_intercept=False).fit(X, reports)
    theta, _, _ = oracles.fit(X, table, method, intercept=False)
    np.testing.assert_allclose(bare.coef_, theta, atol=1e-6)
    np.testing.assert_array_equal(bare.intercept_, [0.0])


def test_a_design_for_each_row_agrees_with_a_general_optimiser():
    designs = {"cards": ask.Warner(0.75), "dice": ask.ForcedResponse(1 / 6, 1 / 6), "direct": ask.Identity()}
    channel = ask.DesignPerRow(designs)
    rng = np.random.default_rng(3)
    X, truth, _, _ = sample(ask.Identity(), n=2400)
    design = rng.choice(list(designs), size=len(X))
    reports = channel.simulate(truth, rng, design)
    S = np.stack([designs[d].likelihood([r])[0] for d, r in zip(design, reports, strict=True)])
    R = np.stack([designs[d].unbias([r])[0] for d, r in zip(design, reports, strict=True)])
    for method, table in (("marginal", S), ("moments", R)):
        for given in (channel, designs):  # a plain mapping will do
            ours = ask.IndirectClassifier(given, method=method).fit(X, reports, design=design)
            theta, information, sandwich = oracles.fit(X, table, method)
            np.testing.assert_allclose(ours.parameters_, theta.ravel(), atol=1e-6)
            np.testing.assert_allclose(ours.covariance_sandwich_, sandwich, rtol=1e-4)
            if method == "marginal":
                np.testing.assert_allclose(ours.covariance_, information, rtol=1e-4)
    with pytest.raises(ask.InvalidInput, match="no design for the rows"):
        ask.IndirectClassifier(channel).fit(X, reports)
    assert ours.score(X, reports, design=design) == pytest.approx(np.mean(ours.predict(X) == truth), abs=0.1)


def test_without_noise_it_is_statsmodels():
    X, truth, _, _ = sample(ask.Identity(), n=800)
    ours = ask.IndirectClassifier().fit(X, truth)
    theirs = sm.Logit((truth == "yes").astype(int), sm.add_constant(X)).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(ours.parameters_, theirs.params, atol=1e-7)
    np.testing.assert_allclose(ours.covariance_, theirs.cov_params(), rtol=1e-6)
    np.testing.assert_allclose(ours.log_likelihood_, theirs.llf)
    robust = sm.Logit((truth == "yes").astype(int), sm.add_constant(X)).fit(disp=0, tol=1e-12, cov_type="HC0")
    np.testing.assert_allclose(ours.covariance_sandwich_, robust.cov_params(), rtol=1e-6)
    table = ours.summary(level=0.9)
    np.testing.assert_allclose(table["z"], theirs.tvalues, rtol=1e-6)
    np.testing.assert_allclose(table["p_value"], theirs.pvalues, rtol=1e-6)
    np.testing.assert_allclose(table.values[:, 4:], theirs.conf_int(0.1), rtol=1e-6)


def test_without_noise_many_classes_are_statsmodels_and_scikit_learn():
    X, truth, _, _ = sample(ask.Identity(["a", "b", "c"]), n=900)
    ours = ask.IndirectClassifier().fit(X, truth)
    theirs = sm.MNLogit(pd.Categorical(truth).codes, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-12)
    np.testing.assert_allclose(ours.parameters_, np.asarray(theirs.params).T.ravel(), atol=1e-7)
    np.testing.assert_allclose(ours.covariance_, theirs.cov_params(), rtol=1e-5)
    for ridge in (0.5, 20.0):
        penalised = ask.IndirectClassifier(ridge=ridge).fit(X, truth)
        plain = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=1000).fit(X, truth)
        np.testing.assert_allclose(penalised.coef_, plain.coef_, atol=1e-5)
        np.testing.assert_allclose(
            penalised.intercept_ - penalised.intercept_[0], plain.intercept_ - plain.intercept_[0], atol=1e-5
        )


@pytest.mark.parametrize("ridge", [0.5, 30.0])
def test_ridge_means_what_it_means_in_scikit_learn(ridge):
    X, truth, _, _ = sample(ask.Identity(), n=500)
    ours = ask.IndirectClassifier(ridge=ridge).fit(X, truth)
    plain = LogisticRegression(C=1 / ridge, tol=1e-10, max_iter=1000).fit(X, truth)
    np.testing.assert_allclose(ours.coef_, plain.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, plain.intercept_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("method", ["marginal", "moments"])
@pytest.mark.parametrize("ridge", ["auto", 50.0])
def test_large_data_take_the_short_way_to_the_same_answer(method, ridge, monkeypatch):
    """Above 131,072 rows the fit starts from a sample; it must end where a fit from zero ends."""
    channel = ask.RandomizedResponse(["no", "yes"], epsilon=1.0)
    X, _, reports, _ = sample(channel, n=150_000)
    order = np.argsort(X[:, 0])  # sorted rows: a naive head would be a bad sample
    X, reports = X[order], reports[order]
    short = ask.IndirectClassifier(channel, method=method, ridge=ridge).fit(X, reports)
    monkeypatch.setattr("askance.learning.answers.softmax_fit._SAMPLE_ROWS", 10**9)
    long = ask.IndirectClassifier(channel, method=method, ridge=ridge).fit(X, reports)
    np.testing.assert_allclose(short.parameters_, long.parameters_, atol=1e-8)
    np.testing.assert_allclose(short.covariance_, long.covariance_, rtol=1e-6)


def test_a_level_too_rare_for_the_first_look_is_still_fitted():
    channel = ask.Warner(0.9)
    X, _, reports, _ = sample(channel, n=150_000)
    rare = np.zeros(150_000)
    rare[1:300:2] = 1.0  # the look at every second or third row starts with row 0
    frame = np.column_stack([X, rare])
    fitted = ask.IndirectClassifier(channel).fit(frame, reports)  # a warning would be an error here
    assert fitted.converged_
    assert 0.1 < fitted.standard_errors_[3] < 1
    without = ask.IndirectClassifier(channel).fit(X, reports)
    np.testing.assert_allclose(fitted.coef_[0, :2], without.coef_[0], atol=0.01)


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_intervals_cover(method):
    """400 studies of 1,000 respondents; coverage of 95% intervals is within 3.5 binomial standard errors
    (.912 to .988), which fails for one honest program in two thousand."""
    channel = ask.Warner(0.8)
    rng = np.random.default_rng(11)
    truth_parameters = np.array([-0.3, 0.8])
    covered, robust = np.zeros(2), np.zeros(2)
    runs = 400
    for _ in range(runs):
        x = rng.normal(size=(1000, 1))
        yes = rng.random(1000) < 1 / (1 + np.exp(-(truth_parameters[0] + truth_parameters[1] * x[:, 0])))
        fitted = ask.IndirectClassifier(channel, method=method).fit(
            x, channel.simulate(np.where(yes, "yes", "no"), rng)
        )
        table = fitted.summary().values
        covered += (table[:, 4] < truth_parameters) & (truth_parameters < table[:, 5])
        reach = 1.959964 * np.sqrt(np.diag(fitted.covariance_sandwich_))
        robust += np.abs(fitted.parameters_ - truth_parameters) < reach
    assert (np.abs(covered / runs - 0.95) < 0.038).all(), covered / runs
    assert (np.abs(robust / runs - 0.95) < 0.038).all(), robust / runs


@pytest.mark.parametrize("tail", ["outlier", "cauchy", "lognormal"])
@pytest.mark.parametrize("ridge", ["auto", 1.0])
@pytest.mark.parametrize("channel", [ask.Identity(), ask.Warner(0.8)], ids=["direct", "warner"])
def test_far_out_records_are_not_taken_for_separation(tail, ridge, channel):
    """A single record with a huge logit moves every root mean square, but the estimate is finite."""
    rng = np.random.default_rng(0)
    n = 2000
    x = {"outlier": rng.normal(size=n), "cauchy": rng.standard_cauchy(n), "lognormal": rng.lognormal(0, 3, n)}[tail]
    if tail == "outlier":
        x[0] = 1e4
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-np.clip(x - 0.5, -500, 500))), "yes", "no")
    reports = channel.simulate(truth, rng)
    fitted = ask.IndirectClassifier(channel, ridge=ridge).fit(x[:, None], reports)
    assert fitted.ridge_ == (0 if ridge == "auto" else 1)
    assert fitted.coef_[0, 0] == pytest.approx(1, abs=0.35)
    told = channel.likelihood(reports)

    def penalised(parameters):
        logits = np.column_stack([np.zeros(n), oracles.with_ones(x[:, None]) @ parameters])
        likelihood = np.log((oracles.softmax(logits) * told).sum(axis=1)).sum()
        return likelihood - (fitted.ridge_ / 2) * parameters[1] ** 2

    best = penalised(fitted.parameters_)
    for step in 1e-3 * np.array([[1, 0], [0, 1], [1, 1], [1, -1]]):
        assert penalised(fitted.parameters_ + step) < best
        assert penalised(fitted.parameters_ - step) < best


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e4, 1e6])
@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_the_unit_of_the_weights_does_not_matter(unit, method):
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=2.0)
    X, _, reports, rng = sample(channel)
    weights = rng.gamma(1.0, size=len(X))
    plain = ask.IndirectClassifier(channel, method=method).fit(X, reports, sample_weight=weights)
    scaled = ask.IndirectClassifier(channel, method=method).fit(X, reports, sample_weight=unit * weights)
    np.testing.assert_allclose(scaled.parameters_, plain.parameters_, atol=1e-7)
    np.testing.assert_allclose(scaled.covariance_, plain.covariance_, rtol=1e-6)
    assert plain.covariance_kind_ == "sandwich"  # sampling weights are no counts


def test_columns_far_from_zero_lose_no_digits():
    channel = ask.Warner(0.8)
    X, _, reports, _ = sample(channel)
    near = ask.IndirectClassifier(channel).fit(X, reports)
    for offset in (2000.0, 1e6, 1e7):
        far = ask.IndirectClassifier(channel).fit(X + offset, reports)
        np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6)
        np.testing.assert_allclose(far.standard_errors_[1:], near.standard_errors_[1:], rtol=1e-6)
        np.testing.assert_allclose(far.predict_proba(X + offset), near.predict_proba(X), atol=1e-6)


def test_of_several_maxima_the_highest_is_reported():
    """Few reports and strong noise: the moment solution may lead to a maximum that is not the highest."""
    channel = ask.Warner(0.75)
    missed = 0
    for seed in range(25):
        X, _, reports, rng = sample(channel, n=200, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ask.AskanceWarning)
            fitted = ask.IndirectClassifier(channel).fit(X, reports)
        if fitted.penalty_ != "none":
            continue
        statistic = SoftmaxScore(np.zeros((1, 3)), np.ascontiguousarray(channel.matrix), "marginal", True)
        records = Records(X, channel.encode_reports(reports))

        def evaluate(theta, records=records, statistic=statistic):
            sums = replace(statistic, theta=theta[None]).observe(records)
            return Local(sums.objective, sums.gradient, sums.information)

        others = [maximise(evaluate, 3 * rng.normal(size=3)) for _ in range(10)]
        best = max(found.local.value for found in others if found.converged and np.abs(found.theta).max() < 50)
        missed += fitted.log_likelihood_ < best - 1e-3
    assert missed <= 1


@pytest.mark.filterwarnings("ignore:The likelihood of these reports has several maxima")
def test_the_score_is_an_unbiased_estimate_of_clean_accuracy():
    """Mean over 400 draws of the reports: within 4 standard errors (one false alarm in 16,000)."""
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0)
    X, truth, reports, rng = sample(channel, n=600)
    fitted = ask.IndirectClassifier(channel, ridge=1.0).fit(X, reports)
    clean = np.mean(fitted.predict(X) == truth)
    scores = np.array([fitted.score(X, channel.simulate(truth, rng)) for _ in range(400)])
    assert abs(scores.mean() - clean) < 4 * scores.std() / 20
    assert abs(np.mean(fitted.predict(X) == reports) - clean) > 0.05  # the naive score is far off


def test_outside_the_polytope_there_is_a_note_and_a_finite_answer():
    channel = ask.Warner(0.55)
    X, _, reports, _ = sample(channel, n=40)
    X = X + 3 * (reports == "yes")[:, None]  # far more reports agree with x than the design allows
    with (
        pytest.warns(ask.AskanceWarning, match="more closely than the design"),
        pytest.warns(ask.AskanceWarning, match="marginal polytope"),
    ):
        fitted = ask.IndirectClassifier(channel, method="moments").fit(X, reports)
    assert np.isfinite(fitted.parameters_).all()
    assert np.abs(fitted.coef_).max() < 10
    assert fitted.penalty_ == "shrunk"
    assert fitted.ridge_ > 0
    table = fitted.summary().values
    assert np.isfinite(table[:, :2]).all()
    assert np.isnan(table[:, 2:]).all()  # no interval is right for that
    with pytest.raises(ask.InvalidInput, match=r"ridge=0, but there is no finite estimate.*marginal polytope"):
        ask.IndirectClassifier(channel, method="moments", ridge=0.0).fit(X, reports)


def test_fewer_yes_than_chance_gives_a_warning_and_a_finite_answer():
    channel = ask.ForcedResponse(0.1, 0.4)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    reports = np.where(rng.random(300) < 0.25, "yes", "no")  # at least 40% must say yes
    for method in ("marginal", "moments"):
        said = "Fewer reports point to 'yes'" if method == "marginal" else "no finite estimate"
        with (
            pytest.warns(ask.AskanceWarning, match="The design was not followed"),
            pytest.warns(ask.AskanceWarning, match=said),
        ):
            fitted = ask.IndirectClassifier(channel, method=method).fit(X, reports)
        assert np.isfinite(fitted.parameters_).all()
        assert fitted.predict_proba(X)[:, 1].mean() < 0.2


def test_separated_classes_give_a_warning_and_a_finite_answer():
    X = np.linspace(-1, 1, 50)[:, None]
    with pytest.warns(ask.AskanceWarning, match="separated"):
        fitted = ask.IndirectClassifier().fit(X, (X[:, 0] > 0).astype(int))
    assert fitted.score(X, (X[:, 0] > 0).astype(int)) == 1.0


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_one_separated_level_is_found_and_named(method):
    """Everybody in a rare group says no: the group's coefficient has no finite estimate, the others have."""
    channel = ask.Warner(0.8)
    X, _, reports, _ = sample(channel, n=3000)
    rare = np.arange(3000) < 25
    frame = pd.DataFrame({"age": X[:, 0], "income": X[:, 1], "rare": rare.astype(float)})
    reports = np.where(rare, "no", reports)
    with pytest.warns(ask.AskanceWarning, match="no finite estimate of .*'rare'"):
        fitted = ask.IndirectClassifier(channel, method=method).fit(frame, reports)
    if method == "marginal":
        assert fitted.summary()["lower"]["rare"] == -np.inf  # open
        assert np.isfinite(fitted.summary()["upper"]["rare"])
    assert fitted.standard_errors_.max() < 100
    without = ask.IndirectClassifier(channel, method=method).fit(X[~rare], reports[~rare])
    np.testing.assert_allclose(fitted.coef_[0, :2], without.coef_[0], rtol=0.15)


def test_collinear_columns_are_named():
    channel = ask.Warner(0.9)
    X, _, reports, _ = sample(channel)
    frame = pd.DataFrame({"age": X[:, 0], "months": 12 * X[:, 0], "income": X[:, 1]})
    with pytest.warns(ask.AskanceWarning, match="collinear.*age, months"):
        fitted = ask.IndirectClassifier(channel).fit(frame, reports)
    alone = ask.IndirectClassifier(channel).fit(frame[["age", "income"]], reports)
    np.testing.assert_allclose(fitted.predict_proba(frame), alone.predict_proba(frame[["age", "income"]]), atol=1e-6)
    errors = fitted.standard_errors_
    assert np.isnan(errors[1:3]).all()  # not determined
    np.testing.assert_allclose(errors[3], alone.standard_errors_[2], rtol=1e-6)
    np.testing.assert_allclose(fitted.covariance_[0, 0], alone.covariance_[0, 0], rtol=1e-6)


def test_features_in_any_units():
    channel = ask.Warner(0.8)
    X, _, reports, _ = sample(channel)
    scales = np.array([1e-7, 1e7])
    plain = ask.IndirectClassifier(channel).fit(X, reports)
    scaled = ask.IndirectClassifier(channel).fit(X * scales, reports)
    np.testing.assert_allclose(scaled.coef_ * scales, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        scaled.summary()["std_error"].iloc[1:] * scales, plain.summary()["std_error"].iloc[1:], rtol=1e-5
    )


def test_any_classifier_can_stand_in_and_logistic_regression_gives_the_same_answer():
    channel = ask.Warner(0.85)
    X, truth, reports, rng = sample(channel)
    weights = rng.random(len(X)) + 0.5
    native = ask.IndirectClassifier(channel).fit(X, reports, sample_weight=weights)
    plain = LogisticRegression(C=np.inf, tol=1e-8, max_iter=500)
    by_em = ask.IndirectClassifier(channel, base_estimator=plain, tol=1e-12, max_iter=3000)
    by_em.fit(X, reports, sample_weight=weights)
    np.testing.assert_allclose(by_em.base_estimator_.coef_, native.coef_, atol=2e-3)
    np.testing.assert_allclose(by_em.predict_proba(X), native.predict_proba(X), atol=2e-3)
    assert by_em.log_likelihood_ == pytest.approx(native.log_likelihood_, rel=1e-6)
    piped = ask.IndirectClassifier(channel, base_estimator=make_pipeline(StandardScaler(), plain), tol=1e-8)
    piped.fit(X, reports, sample_weight=weights)
    np.testing.assert_allclose(piped.predict_proba(X), native.predict_proba(X), atol=0.02)
    for unfit in (KNeighborsClassifier(), LinearSVC()):
        with pytest.raises(ask.InvalidInput, match="predict_proba whose fit takes sample_weight"):
            ask.IndirectClassifier(channel, base_estimator=unfit).fit(X, reports)
    forest = RandomForestClassifier(n_estimators=20, min_samples_leaf=60, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    with pytest.warns(ask.AskanceWarning, match="EM stopped after 5 rounds"):
        fitted = ask.IndirectClassifier(channel, base_estimator=forest, max_iter=5).fit(frame, reports)
    assert np.mean(fitted.predict(frame) == truth) > 0.6
    assert set(fitted.predict(frame)) <= {"no", "yes"}
    for refused in (fitted.to_sklearn, fitted.to_json, lambda: fitted.decision_function(frame)):
        with pytest.raises(ask.AskanceError, match="base_estimator"):
            refused()
    with pytest.raises(ask.InvalidInput, match="negative weights"):
        ask.IndirectClassifier(channel, "moments", base_estimator=forest).fit(X, reports)


def test_weighted_scores_are_right_on_average_whatever_the_unit_of_the_weights():
    channel = ask.RandomizedResponse(["no", "yes"], epsilon=1.5)
    X, truth, reports, rng = sample(channel)
    weights = rng.random(len(X))
    fitted = ask.IndirectClassifier(channel).fit(X, reports)
    known = fitted.score(X, truth, weights, of="truth")
    assert known == np.average(fitted.predict(X) == truth, weights=weights)
    scores = [fitted.score(X, channel.simulate(truth, rng), weights) for _ in range(100)]
    error = np.std(scores) / 10
    assert np.mean(scores) == pytest.approx(known, abs=4 * error)  # by chance: below 1 in 10 000
    once = fitted.score(X, reports, weights)
    assert fitted.score(X, reports, (weights / weights.sum()).tolist()) == pytest.approx(once, rel=1e-12)
    with pytest.raises(ask.InvalidInput, match="weight"):
        fitted.score(X, reports, -weights)


@pytest.mark.parametrize("channel", [ask.Warner(0.85), THREE], ids=["two", "three"])
def test_a_fit_by_a_learner_is_summed_up_without_coefficients(channel, tmp_path):
    X, _, reports, _ = sample(channel)
    learner = make_pipeline(StandardScaler(), GaussianNB())
    fitted = ask.IndirectClassifier(channel, base_estimator=learner, tol=1e-3).fit(X, reports)
    summary = fitted.summary()
    assert summary.title.endswith("by GaussianNB on hidden answers")
    assert summary.privacy == str(channel.guarantee)
    assert dict(summary.facts)["reports"] == str(len(X))
    assert summary.to_frame().empty
    fitted.report(tmp_path / "page.html")
    assert "epsilon" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(ask.AskanceError, match="figure"):
        fitted.plot()


def test_a_second_fit_forgets_the_first():
    channel = ask.Warner(0.85)
    X, _, reports, _ = sample(channel)
    model = ask.IndirectClassifier(channel, tol=1e-3).fit(X, reports)
    linear = model.predict_proba(X)
    model.set_params(base_estimator=GaussianNB()).fit(X, reports)
    assert not hasattr(model, "coef_")
    assert np.abs(model.predict_proba(X) - linear).max() > 0.01
    model.set_params(base_estimator=None).fit(X, reports)
    assert not hasattr(model, "base_estimator_")
    np.testing.assert_array_equal(model.predict_proba(X), linear)


@pytest.mark.parametrize("channel", [ask.Warner(0.8), THREE], ids=["two", "three"])
def test_it_becomes_a_plain_scikit_learn_model(channel):
    X, _, reports, _ = sample(channel)
    frame = pd.DataFrame(X, columns=["age", "income"])
    fitted = ask.IndirectClassifier(channel).fit(frame, reports)
    plain = fitted.to_sklearn()
    assert type(plain) is LogisticRegression
    np.testing.assert_allclose(plain.predict_proba(frame), fitted.predict_proba(frame), atol=1e-12)
    np.testing.assert_array_equal(plain.predict(frame), fitted.predict(frame))
    assert list(plain.feature_names_in_) == ["age", "income"]
    pickle.loads(pickle.dumps(plain)).predict(frame)


@pytest.mark.parametrize("channel", [ask.Warner(0.8), THREE, ask.DesignPerRow({"a": ask.Mangat(0.7)})], ids=str)
def test_save_and_load(channel, tmp_path):
    n = 400
    X, truth, _, rng = sample(ask.Identity(channel.classes), n=n)
    design = np.array(["a"] * n) if isinstance(channel, ask.DesignPerRow) else None
    reports = channel.simulate(truth, rng) if design is None else channel.simulate(truth, rng, design)
    frame = pd.DataFrame(X, columns=["age", "income"])
    fitted = ask.IndirectClassifier(channel, ridge=0.5).fit(frame, reports, design=design)
    path = tmp_path / "model.json"
    fitted.save(path)
    again = ask.IndirectClassifier.load(path)
    np.testing.assert_array_equal(again.predict_proba(frame), fitted.predict_proba(frame))
    np.testing.assert_array_equal(again.covariance_, fitted.covariance_)
    assert str(again.summary()) == str(fitted.summary())
    assert again.channel == channel
    assert again.get_params() == fitted.get_params()
    assert json.loads(path.read_text())["format"] == "askance-model"
    with pytest.raises(ask.ReleaseError, match="holds a IndirectClassifier"):
        ask.Prevalence.load(path)
    for content, message in (("{", "not a JSON file"), ('{"a": 1}', "not an askance model")):
        path.write_text(content)
        with pytest.raises(ask.ReleaseError, match=message):
            ask.load_model(path)
    with pytest.raises(ask.ReleaseError, match="there is no file"):
        ask.load_model(tmp_path / "absent.json")


def test_no_training_data_are_kept():
    channel = ask.Warner(0.8)
    X, _, reports, _ = sample(channel, n=1500)
    fitted = ask.IndirectClassifier(channel).fit(X, reports)
    assert len(pickle.dumps(fitted)) < 5000
    assert not any(isinstance(v, np.ndarray) and v.size > 100 for v in vars(fitted).values())


def test_pandas_and_polars_frames_give_the_same_fit():
    channel = ask.Warner(0.8)
    X, _, reports, _ = sample(channel)
    plain = ask.IndirectClassifier(channel).fit(X, reports)
    columns = {"age": X[:, 0], "income": X[:, 1]}
    for frame, labels in (
        (pd.DataFrame(columns), pd.Series(reports)),
        (pd.DataFrame(columns), pd.Categorical(reports)),
        (pl.DataFrame(columns), pl.Series(reports)),
    ):
        fitted = ask.IndirectClassifier(channel).fit(frame, labels)
        np.testing.assert_array_equal(fitted.parameters_, plain.parameters_)
        assert list(fitted.feature_names_in_) == ["age", "income"]
        assert fitted.parameter_names_ == ("Intercept", "age", "income")
        fitted.predict_proba(frame)
    assert "age" in str(fitted.summary())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "magic"}, "method='magic'"),
        ({"ridge": -1}, "ridge=-1"),
        ({"ridge": "strong"}, "ridge='strong'"),
        ({"ridge": np.nan}, "ridge=nan"),
        ({"covariance": "guess"}, "covariance='guess'"),
        ({"method": "moments", "covariance": "information"}, "with method='moments'"),
        ({"channel": 0.8}, "channel=0.8"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_iter": "x"}, "max_iter='x'"),
        ({"ridge": np.array([1.0, 2.0])}, "ridge="),
    ],
)
def test_absurd_parameters_are_refused(parameters, message):
    X, _, reports, _ = sample(ask.Warner(0.8), n=50)
    with pytest.raises(ask.InvalidInput, match=message):
        ask.IndirectClassifier(**{"channel": ask.Warner(0.8)} | parameters).fit(X, reports)


def test_bad_data_are_refused():
    channel = ask.Warner(0.8)
    X, _, reports, _ = sample(channel, n=50)
    fit = ask.IndirectClassifier(channel).fit
    with pytest.raises(ask.InvalidInput, match="50 rows of features and 49 reports"):
        fit(X, reports[1:])
    with pytest.raises(ask.InvalidInput, match=r"a LazyFrame as X.*X\.collect\(\)"):
        ask.IndirectClassifier(channel).fit(pl.LazyFrame({"a": [1.0, 2.0]}), ["no", "yes"])
    with pytest.raises(ask.InvalidInput, match=r"a dict as X; expected a table.*pandas\.DataFrame"):
        fit({"age": X[:, 0]}, reports)
    with pytest.raises(ask.InvalidInput, match="'maybe'"):
        fit(X, np.where(reports == "no", "maybe", "yes"))
    with pytest.raises(ValueError, match="NaN"):
        fit(np.where(X > 0, X, np.nan), reports)
    with pytest.raises(ask.InvalidInput, match="negative sample weights"):
        fit(X, reports, sample_weight=-np.ones(50))
    with pytest.raises(ValueError, match="at least one non-zero"):
        fit(X, reports, sample_weight=np.zeros(50))
    with pytest.raises(ask.InvalidInput, match="one class only"):
        ask.IndirectClassifier().fit(X, ["yes"] * 50)


def test_a_channel_that_hides_a_class_can_still_be_fitted_by_likelihood():
    """Reports that mix b and c do not determine the truth, but x does: the parameters are identified."""
    coarse = ask.FiniteChannel([[0.9, 0.05, 0.05], [0.05, 0.55, 0.35], [0.05, 0.4, 0.6]], ["a", "b", "c"])
    flat = ask.FiniteChannel([[0.5, 0.1, 0.3], [0.5, 0.9, 0.7]], ["a", "b", "c"], ["x", "y"])
    X, _, reports, _ = sample(flat, n=4000)
    with pytest.raises(ask.Unidentifiable, match="rank 2 for 3 classes"):
        ask.IndirectClassifier(flat, method="moments").fit(X, reports)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        fitted = ask.IndirectClassifier(flat).fit(X, reports)
    assert np.isfinite(fitted.parameters_).all()
    X, _, reports, _ = sample(coarse, n=4000)
    assert ask.IndirectClassifier(coarse).fit(X, reports).converged_


@pytest.mark.parametrize(
    ("method", "n"), [("marginal", 6000), ("marginal", 12_000), ("moments", 12_000)]
)  # 12,000 are begun with a sample
def test_many_columns_are_searched_by_slopes_and_end_where_newton_does(method, n, monkeypatch):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(n, 300)) + np.linspace(-5, 5, 300)  # wider than our own loop takes, and off centre
    X[:, 7] = 3.0  # constant
    channel = ask.RandomizedResponse([0, 1], epsilon=2.0)
    truth = (rng.random(n) < 1 / (1 + np.exp(-(X[:, :3] - X[:, :3].mean(axis=0)).sum(axis=1)))).astype(int)
    reports = channel.simulate(truth, rng)
    with pytest.warns(ask.AskanceWarning, match="constant"):
        by_slopes = ask.IndirectClassifier(channel, method=method).fit(X, reports)
    monkeypatch.setattr(SlopeApproach, "pays", False)
    with pytest.warns(ask.AskanceWarning, match="constant"):
        by_newton = ask.IndirectClassifier(channel, method=method).fit(X, reports)
    assert by_slopes.converged_
    errors = np.sqrt(np.diag(by_newton.covariance_))
    kept = np.isfinite(errors)
    assert kept.sum() == 300
    assert np.max(np.abs(by_slopes.parameters_ - by_newton.parameters_)[kept] / errors[kept]) < 1e-6
    np.testing.assert_allclose(np.sqrt(np.diag(by_slopes.covariance_))[kept], errors[kept], rtol=1e-6)


def test_the_sandwich_of_many_columns_is_summed_where_it_is_asked_for():
    rng = np.random.default_rng(14)
    X, y = rng.normal(size=(3000, 257)), rng.integers(0, 2, 3000)
    channel = ask.RandomizedResponse([0, 1], epsilon=3.0)
    plain = ask.IndirectClassifier(channel).fit(X, y)
    robust = ask.IndirectClassifier(channel, covariance="sandwich").fit(X, y)
    assert plain.covariance_sandwich_ is None
    assert plain.covariance_ is plain.covariance_information_
    np.testing.assert_allclose(robust.covariance_information_, plain.covariance_, rtol=1e-6, atol=1e-12)
    assert robust.covariance_ is robust.covariance_sandwich_
    assert np.all(np.diag(robust.covariance_) > 0)


def test_many_columns_without_a_finite_estimate_are_noticed():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(700, 300))
    y = (X[:, 0] > 0).astype(int)  # separated, and asked directly
    with pytest.warns(ask.AskanceWarning) as heard:
        model = ask.IndirectClassifier(ask.Identity((0, 1)), intervals="wald").fit(X, y)
    assert any("No estimate is within logits of 10" in str(one.message) for one in heard)
    assert model.penalty_ == "log-f"


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_what_tells_too_little_of_many_columns_is_shrunk_to_predict_by(method):
    """To follow the likelihood to where it has no maximum took minutes; what log-F left was five times too large."""
    rng = np.random.default_rng(15)
    X, slopes = rng.normal(size=(12_000, 300)), rng.normal(size=300) / 10
    truth = (rng.random(len(X)) < 1 / (1 + np.exp(-(X @ slopes)))).astype(int)
    channel = ask.RandomizedResponse([0, 1], epsilon=0.5)
    said = {"marginal": "It is there to predict", "moments": "method='marginal' has a likelihood"}[method]
    with pytest.warns(ask.AskanceWarning, match=said):
        model = ask.IndirectClassifier(channel, method=method).fit(X, channel.simulate(truth, rng))
    assert model.penalty_ == "shrunk"
    assert set(model.intervals_) == {"none"}
    assert method == "moments" or 0.2 < model.coef_[0] @ slopes / (slopes @ slopes) < 1
    assert np.corrcoef(X @ model.coef_[0], X @ slopes)[0, 1] > 0.5
    assert "none for a fit that a ridge shrinks" in str(model.summary())


def test_reports_that_tell_little_of_many_coefficients_are_a_caution_on_top():
    """Prevalence .1, level 2, 20 columns, 351 reports: intervals that say 95% held 71% there."""
    rng = np.random.default_rng(16)
    X, slopes = rng.normal(size=(20_000, 20)), rng.normal(size=20) / 4
    channel = ask.RandomizedResponse(["no", "yes"], epsilon=2.0)
    truth = np.where(rng.random(len(X)) < 1 / (1 + np.exp(2.2 - X @ slopes)), "yes", "no")
    reports = channel.simulate(truth, rng)
    with pytest.warns(ask.AskanceWarning) as heard:
        few = ask.IndirectClassifier(channel, intervals="wald").fit(X[:351], reports[:351])
    assert any("tell little about 21 coefficients together" in str(one.message) for one in heard)
    assert str(few.summary()).splitlines()[1].startswith("CAUTION: These reports tell little about 21 coefficients")
    assert few.summary().to_dict()["cautions"] == list(few.summary().cautions)
    many = ask.IndirectClassifier(channel).fit(X, reports)
    assert many.summary().cautions == ()
    rows = np.column_stack([np.ones(len(X)), X])
    error = np.sqrt(np.einsum("ij,jk,ik->i", rows, many.covariance_, rows).mean())
    assert many.logit_error_ == pytest.approx(error, rel=1e-6)


def test_what_is_not_known_of_three_classes_is_that_of_the_logit_known_least():
    rng = np.random.default_rng(17)
    X, truth = rng.normal(size=(4000, 2)) + np.array([3.0, 0.0]), rng.choice(3, 4000, p=[0.5, 0.4, 0.1])
    weights = rng.uniform(0.5, 2, 4000)
    channel = ask.RandomizedResponse([0, 1, 2], epsilon=3.0)
    model = ask.IndirectClassifier(channel).fit(X, channel.simulate(truth, rng), sample_weight=weights)
    rows = np.column_stack([np.ones(len(X)), X])
    blocks = model.covariance_.reshape(2, 3, 2, 3)
    squares = [np.average(np.einsum("ij,jk,ik->i", rows, blocks[k, :, k], rows), weights=weights) for k in range(2)]
    assert model.logit_error_ == pytest.approx(np.sqrt(max(squares)), rel=1e-6)


@pytest.mark.parametrize("seed", [7, 11])
def test_certainties_among_some_thousand_records_lead_not_all_of_them_astray(seed):
    """A part of these records is most likely where a rare class begins at an outlier; all of them are not."""
    rng = np.random.default_rng(6)
    channel = ask.RandomizedResponse(["never", "rarely", "often", "daily"], epsilon=1.0)
    hours, tablet = rng.gamma(2.0, 1.0, size=300_000), rng.choice(["phone", "tablet"], size=300_000) == "tablet"
    logits = np.outer(hours - 2, [0.0, 0.2, 0.4, 0.6]) + np.log([0.7, 0.2, 0.07, 0.03])
    truth = np.array(channel.classes)[(logits + rng.gumbel(size=logits.shape)).argmax(axis=1)]
    model = ask.IndirectClassifier(channel).fit(
        np.column_stack([hours, tablet]), channel.simulate(truth, np.random.default_rng(seed))
    )
    assert model.penalty_ == "none"
    assert model.parameters_.reshape(3, 3)[:, 1] == pytest.approx([0.2, 0.4, 0.6], abs=0.15)


def test_moments_of_many_kinds_of_reports_follow_no_luck():
    # Three reports of each of 200 people are 27 kinds: an intercept of .41 was -.22 in the mean, with an error of .04.
    # 60 sets: a mean beyond 4 of its errors has probability 1e-4.
    rng, channel = np.random.default_rng(21), ask.Repeated(ask.RandomizedResponse(["a", "b", "c"], epsilon=1.5), 3)
    found = []
    for _ in range(60):
        truth = rng.choice(["a", "b", "c"], 200, p=[0.2, 0.3, 0.5])
        model = ask.IndirectClassifier(channel, method="moments")
        found.append(model.fit(rng.normal(size=(200, 1)), channel.simulate(truth, rng)).parameters_[[0, 2]])
    away = np.mean(found, axis=0) - np.log([1.5, 2.5])
    assert (np.abs(away) < 4 * np.std(found, axis=0) / np.sqrt(60) + 0.05).all()  # logits are curved: +.03 at 200
