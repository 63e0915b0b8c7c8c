"""Linear regression on hidden rows and hidden outcomes: right on average, with intervals that cover."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_val_score

import askance as ask
from askance.learning.numbers.moment_regression import MomentProblem
from askance.releases import Header, Question

BOUNDS = {"a": (-3.0, 3.0), "b": (-3.0, 3.0), "y": (-6.0, 6.0)}
TRUTH = np.array([1.0, 0.5, -1.0])


def rows(n, rng):
    """Rows that never leave their bounds, with a linear mean."""
    a = rng.uniform(-2.5, 2.5, n)
    b = 0.4 * a + rng.uniform(-1.5, 1.5, n)
    return np.column_stack([a, b, TRUTH[0] + TRUTH[1] * a + TRUTH[2] * b + rng.uniform(-0.9, 0.9, n)])


def hidden(n=20_000, epsilon=8.0, mechanism="auto", seed=0):
    rng = np.random.default_rng(seed)
    channel = ask.PrivateRow(BOUNDS, epsilon, mechanism, outcome="y")
    truth = rows(n, rng)
    return channel, channel.simulate(truth, rng), truth


# -- known solutions -----------------------------------------------------------------------------------


def test_without_a_channel_it_is_least_squares():
    data = rows(500, np.random.default_rng(0))
    fitted = ask.IndirectRegressor().fit(data[:, :2], data[:, 2])
    known = LinearRegression().fit(data[:, :2], data[:, 2])
    np.testing.assert_allclose(fitted.coef_, known.coef_, rtol=1e-10)
    assert fitted.intercept_ == pytest.approx(known.intercept_, rel=1e-10)
    folds = [np.arange(500) % 10 == fold for fold in range(10)]  # every tenth row judges a line from all others
    lines = [LinearRegression().fit(data[~fold, :2], data[~fold, 2]) for fold in folds]
    missed = [np.mean((data[f, 2] - line.predict(data[f, :2])) ** 2) for f, line in zip(folds, lines, strict=True)]
    assert fitted.r_squared_ == pytest.approx(1 - np.mean(missed) / data[:, 2].var(), rel=1e-10)
    through_origin = ask.IndirectRegressor(fit_intercept=False).fit(data[:, :2], data[:, 2])
    known = LinearRegression(fit_intercept=False).fit(data[:, :2], data[:, 2])
    np.testing.assert_allclose(through_origin.coef_, known.coef_, rtol=1e-10)
    assert through_origin.intercept_ == 0


def test_its_standard_errors_are_then_whites():
    data = rows(500, np.random.default_rng(0))
    fitted = ask.IndirectRegressor().fit(data[:, :2], data[:, 2])
    design = np.column_stack([np.ones(500), data[:, :2]])
    residual = data[:, 2] - design @ fitted.parameters_
    bread = np.linalg.inv(design.T @ design)
    white = 500 / 497 * bread @ (design.T * residual**2) @ design @ bread
    np.testing.assert_allclose(fitted.covariance_, white, rtol=1e-8)


def test_a_given_ridge_is_that_of_scikit_learn():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    fitted = ask.IndirectRegressor(ridge=0.3).fit(X, y)
    np.testing.assert_allclose(fitted.coef_, Ridge(alpha=0.3 * 300).fit(X, y).coef_, rtol=1e-8)
    assert fitted.ridge_ == 0.3


def test_next_to_no_hiding_is_next_to_least_squares():
    channel, reports, truth = hidden(epsilon=50.0)
    fitted = ask.IndirectRegressor(channel).fit(reports)
    known = LinearRegression().fit(truth[:, :2], truth[:, 2])
    np.testing.assert_allclose(fitted.coef_, known.coef_, atol=0.02)
    assert fitted.r_squared_ == pytest.approx(known.score(truth[:, :2], truth[:, 2]), abs=0.02)


def test_moments_solve_by_hand():
    rng = np.random.default_rng(5)
    a = np.column_stack([np.ones(1000), rng.normal(size=(1000, 2)), rng.normal(size=1000)])
    second = a.T @ a / 1000
    solved = MomentProblem(noise=0.0, ridge=None, intercept=True).solve(second)
    np.testing.assert_allclose(solved.parameters, np.linalg.lstsq(a[:, :3], a[:, 3], rcond=None)[0], rtol=1e-9)
    assert not solved.projected
    assert solved.ridge == 0


def test_an_impossible_covariance_is_projected_and_shrunk():
    second = np.eye(4)
    second[1, 2] = second[2, 1] = 1.2  # a correlation above one
    second[1, 3] = second[3, 1] = 0.5
    solved = MomentProblem(noise=0.1, ridge=None, intercept=True).solve(second)
    assert solved.projected
    assert solved.ridge == pytest.approx(0.5 * 0.1 * 2)
    assert np.isfinite(solved.parameters).all()
    # By hand: the nearest matrix has the eigenvalues of the old one, without the negative ones.
    values, vectors = np.linalg.eigh(second[1:, 1:])
    nearest = (vectors * np.maximum(values, 0)) @ vectors.T
    slopes = np.linalg.solve(nearest[:2, :2] + 0.1 * np.eye(2), nearest[:2, 2])
    np.testing.assert_allclose(solved.parameters[1:], slopes, rtol=1e-9)


# -- right on average, with errors that cover ----------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "n", "runs"),
    [("window", 8.0, 4000, 200), ("unit", 4.0, 10_000, 80), ("sampled", 12.0, 30_000, 100)],
)
def test_intervals_cover(mechanism, epsilon, n, runs):
    channel = ask.PrivateRow(BOUNDS, epsilon, mechanism, outcome="y")
    hits = np.zeros(3)
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        fitted = ask.IndirectRegressor(channel, ridge=0.0).fit(channel.simulate(rows(n, rng), rng))
        assert not fitted.projected_
        hits += np.abs(fitted.parameters_ - TRUTH) < 1.96 * fitted.standard_errors_
    # Each count is binomial(runs, .95): 3.5 standard deviations away with probability below .0005.
    assert np.all(np.abs(hits / runs - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / runs)), hits / runs


def test_intervals_cover_with_public_features():
    channel = ask.PrivateNumber(-6.0, 6.0, epsilon=1.0)
    hits, runs = np.zeros(3), 200
    for seed in range(runs):
        rng = np.random.default_rng([8, seed])
        data = rows(2000, rng)
        fitted = ask.IndirectRegressor(channel).fit(data[:, :2], channel.simulate(data[:, 2], rng))
        hits += np.abs(fitted.parameters_ - TRUTH) < 1.96 * fitted.standard_errors_
    assert np.all((hits / runs >= 0.895) & (hits / runs <= 0.99)), hits / runs  # outside by chance: 1 in 1000


def test_several_channels_are_combined_by_their_precision():
    rng = np.random.default_rng(3)
    loud = ask.PrivateRow(BOUNDS, 3.0, outcome="y")
    wide = ask.PrivateRow({"a": (-5, 5), "b": (-4, 3), "y": (-8, 6)}, 8.0, outcome="y")
    number = ask.PrivateNumber(-6.0, 6.0, epsilon=2.0)
    parts = [rows(n, rng) for n in (5000, 6000, 7000)]
    reports = [
        loud.simulate(parts[0], rng),
        wide.simulate(parts[1], rng),
        (pd.DataFrame(parts[2][:, :2], columns=["a", "b"]), number.simulate(parts[2][:, 2], rng)),
    ]
    together = ask.IndirectRegressor([loud, wide, number]).fit(reports)
    assert together.n_reports_ == 18_000
    assert np.all(np.abs(together.parameters_ - TRUTH) < 4 * together.standard_errors_)
    alone = ask.IndirectRegressor(wide).fit(reports[1])
    assert np.trace(together.covariance_) < 0.7 * np.trace(alone.covariance_)
    assert together.guarantee_.epsilon == max(channel.guarantee.epsilon for channel in (loud, wide, number))
    assert "in the weakest of 3 report sets" in str(together.summary())
    assert dict(together.summary().facts)["epsilon of each report set"] == "3, 8, 2"


# -- how it is used ------------------------------------------------------------------------------------


def test_weights_are_repetitions():
    channel, reports, _ = hidden(3000)
    weights = np.random.default_rng(1).integers(0, 3, 3000)
    weighted = ask.IndirectRegressor(channel, ridge=0.01).fit(reports, sample_weight=weights.astype(float))
    repeated = ask.IndirectRegressor(channel, ridge=0.01).fit(np.repeat(reports, weights, axis=0))
    np.testing.assert_allclose(weighted.parameters_, repeated.parameters_, rtol=1e-9)


def test_some_of_the_columns():
    channel, reports, truth = hidden(40_000, epsilon=12.0)
    fitted = ask.IndirectRegressor(channel, outcome="a", features=["y"]).fit(reports)
    known = LinearRegression().fit(truth[:, [2]], truth[:, 0])
    assert fitted.parameter_names_ == ("Intercept", "y")
    assert fitted.coef_ == pytest.approx(known.coef_, abs=4 * fitted.standard_errors_[1])


def test_predictions_stay_inside_the_bounds():
    channel, reports, truth = hidden()
    fitted = ask.IndirectRegressor(channel).fit(reports)
    inside = pd.DataFrame({"a": [3.0], "b": [-3.0]})
    assert fitted.predict(inside) == fitted.predict(pd.DataFrame({"a": [1e9], "b": [-1e9]}))
    plain = fitted.to_sklearn()
    X = pd.DataFrame(truth[:50, :2] * 3, columns=["a", "b"])
    np.testing.assert_allclose(plain.predict(X), fitted.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        plain.predict(X[["b", "a"]])
    frame = pd.DataFrame(truth[:, :2], columns=["a", "b"])
    assert fitted.score(frame, truth[:, 2], of="truth") == pytest.approx(fitted.r_squared_, abs=0.1)


def test_a_plain_model_without_bounds():
    data = rows(500, np.random.default_rng(0))
    fitted = ask.IndirectRegressor().fit(data[:, :2], data[:, 2])
    np.testing.assert_allclose(fitted.to_sklearn().predict(data[:, :2]), fitted.predict(data[:, :2]))


def test_summary_and_saving(tmp_path):
    channel, reports, _ = hidden()
    fitted = ask.IndirectRegressor(channel).fit(reports)
    text = str(fitted.summary())
    assert "y by linear regression on hidden data" in text
    assert "epsilon 8" in text
    fitted.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.covariance_, fitted.covariance_)
    assert str(again.summary()) == text
    frame = pd.DataFrame({"a": [1.0], "b": [2.0]})
    assert again.predict(frame) == fitted.predict(frame)
    assert clone(fitted).channel == channel


def test_a_repair_is_told():
    channel, reports, _ = hidden(300, epsilon=1.5)
    with pytest.warns(ask.AskanceWarning) as told:
        fitted = ask.IndirectRegressor(channel).fit(reports)
    assert fitted.ridge_ > 0
    assert any("does not stand clear of the noise" in str(one.message) for one in told)
    assert any("shrunk" in note for note in fitted.notes_)
    assert "Note: " in str(fitted.summary())


@pytest.mark.parametrize("mixed", ["rows beside exact data", "two levels"])
def test_a_combination_is_no_worse_than_its_best_part(mixed):
    row, fine, coarse = ask.PrivateRow(BOUNDS, 4.0, outcome="y"), *(ask.PrivateNumber(-6, 6, e) for e in (12.0, 1.0))
    found = {"together": [], "alone": []}
    for seed in range(60):
        rng = np.random.default_rng([9, seed])
        many, few = rows(3000, rng), rows(500, rng)
        if mixed == "two levels":
            parts = [(many[:, :2], coarse.simulate(many[:, 2], rng)), (few[:, :2], fine.simulate(few[:, 2], rng))]
            channels = [coarse, fine]
        else:
            parts = [row.simulate(many, rng), (pd.DataFrame(few[:, :2], columns=["a", "b"]), few[:, 2])]
            channels = [row, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ask.AskanceWarning)
            found["together"].append(ask.IndirectRegressor(channels).fit(parts).coef_)
            found["alone"].append(ask.IndirectRegressor(channels[1]).fit(*parts[1]).coef_)
    spread = {name: np.std(coefficients, axis=0) for name, coefficients in found.items()}
    # Estimates of the same data: the ratio of their spreads is known to a few per cent.
    assert np.all(spread["together"] < 1.1 * spread["alone"])


def test_report_sets_may_have_their_columns_in_another_order():
    rng = np.random.default_rng(4)
    first = ask.PrivateRow(BOUNDS, 8.0, outcome="y")
    other = ask.PrivateRow({"y": (-6, 6), "b": (-5, 5), "a": (-3, 3)}, 8.0, outcome="y")
    data = [rows(4000, rng), rows(4000, rng)]
    reports = [first.simulate(data[0], rng), other.simulate(data[1][:, ::-1], rng)]
    both = ask.IndirectRegressor([first, other]).fit(reports)
    assert np.all(np.abs(both.parameters_ - TRUTH) < 4.5 * both.standard_errors_)
    assert both.bounds_.tolist() == [[-3, -5], [3, 5]]  # of a and b: in the order of the coefficients


def test_reports_are_scored_as_the_truth_would_be():
    rng = np.random.default_rng(5)
    channel, data = ask.PrivateNumber(-6.0, 6.0, epsilon=4.0), rows(40_000, rng)
    reports = channel.simulate(data[:, 2], rng)
    fitted = ask.IndirectRegressor(channel).fit(data[:, :2], reports)
    known = fitted.score(data[:, :2], data[:, 2], of="truth")
    assert fitted.score(data[:, :2], reports) == pytest.approx(known, abs=0.05)
    assert cross_val_score(ask.IndirectRegressor(channel), data[:, :2], reports, cv=3).mean() > 0.6


def test_scores_of_hidden_rows_are_right_on_average():
    rng = np.random.default_rng(11)
    channel, fitted_to = ask.PrivateRow(BOUNDS, 8.0, outcome="y"), rows(4000, rng)
    fitted = ask.IndirectRegressor(channel, features=["b", "a"]).fit(channel.simulate(fitted_to, rng))
    held_out = rows(4000, rng)
    known = fitted.score(pd.DataFrame(held_out[:, [1, 0]], columns=["b", "a"]), held_out[:, 2], of="truth")
    scores = [fitted.score_estimate(channel.simulate(held_out, rng)).value for _ in range(200)]
    # The ratio of two unbiased estimates has a bias of the order of its variance.
    error = np.std(scores) / np.sqrt(len(scores))
    assert np.mean(scores) == pytest.approx(known, abs=4 * error + np.var(scores))  # by chance: below 1 in 10 000


def test_scores_of_a_hidden_outcome_are_right_on_average():
    rng = np.random.default_rng(12)
    channel, data = ask.PrivateNumber(-6.0, 6.0, epsilon=4.0), rows(2000, rng)
    weights = rng.random(2000)
    fitted = ask.IndirectRegressor(channel).fit(data[:, :2], channel.simulate(data[:, 2], rng), sample_weight=weights)
    known = fitted.score(data[:, :2], data[:, 2], weights, of="truth")
    drawn = (channel.simulate(data[:, 2], rng) for _ in range(200))
    scores = [fitted.score_estimate(data[:, :2], reports, weights).value for reports in drawn]
    error = np.std(scores) / np.sqrt(len(scores))
    assert np.mean(scores) == pytest.approx(known, abs=4 * error + np.var(scores))  # by chance: below 1 in 10 000


def test_hidden_rows_are_cross_validated():
    channel, reports, truth = hidden(9000)
    scores = cross_val_score(ask.IndirectRegressor(channel), reports, cv=3)
    known = LinearRegression().fit(truth[:, :2], truth[:, 2]).score(truth[:, :2], truth[:, 2])
    assert scores.mean() == pytest.approx(known, abs=0.15)
    worse = cross_val_score(ask.IndirectRegressor(channel, features=["a"]), reports, cv=3)
    assert worse.mean() < scores.mean() - 0.2


def test_a_score_that_says_nothing_is_not_given_without_a_word():
    rng = np.random.default_rng(3)
    X, channel = rng.normal(size=(500, 2)), ask.PrivateNumber(0, 10, 2.0)
    reports = channel.simulate(np.clip(5 + X @ [1.0, 0.5] + 0.5 * rng.normal(size=500), 0, 10), rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        fitted = ask.IndirectRegressor(channel).fit(X, reports)
    with pytest.warns(ask.AskanceWarning, match=r"hardly tell R squared: 3\.\d+ with a standard error of 7"):
        fitted.score(X, reports)


def test_a_line_of_a_formula_is_scored_about_its_own_columns():
    channel, reports, truth = hidden(9000)
    header = Header((Question("row", channel),), ())
    release = ask.Release.from_table({"row": channel.layout.to_arrow(reports)}, header)
    fitted = ask.IndirectRegressor().fit_release(release, formula="a ~ y")
    known = fitted.score(pd.DataFrame({"y": truth[:, 2]}), truth[:, 0], of="truth")
    assert fitted.score(reports) == pytest.approx(known, abs=0.15)


def test_outcomes_are_never_taken_for_reports_by_their_type():
    rng = np.random.default_rng(13)
    channel, X = ask.PrivateNumber(0, 255, epsilon=8.0), rng.normal(size=(500, 1))
    outcomes = np.clip(100 + 20 * X[:, 0], 0, 255).round().astype(channel.layout.dtype)  # as codes are
    fitted = ask.IndirectRegressor(channel).fit(X, channel.simulate(outcomes, rng))
    assert fitted.score(X, outcomes, of="truth") > 0.9
    with pytest.raises(ask.InvalidInput, match="privatize or simulate"):
        fitted.score(X, outcomes.astype(float))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda c, r: ask.IndirectRegressor([c, c]).fit([r, r]).score(r), "several report sets.*of='truth'"),
        (lambda c, r: ask.IndirectRegressor(c).fit(r).score(r, r), "reports alone"),
        (lambda c, r: ask.IndirectRegressor(c).fit(r).score(r[:0]), "0 reports"),
        (lambda c, r: ask.IndirectRegressor(c).fit(r).score(r[:2]), "how much the outcome varies"),
        (lambda c, r: ask.IndirectRegressor(c).fit(r).score(r, of="reports of the truth"), "of='truth'"),
    ],
)
def test_scores_that_reports_cannot_give_are_refused(make, message):
    channel, reports, _ = hidden(3000)
    with pytest.raises(ask.AskanceError, match=message):
        make(channel, reports)


def test_coins_say_nothing_about_squares():
    rng = np.random.default_rng(14)
    channel, data = ask.PrivateNumber(-6.0, 6.0, epsilon=0.5), rows(4000, rng)
    reports = channel.simulate(data[:, 2], rng)
    fitted = ask.IndirectRegressor(channel).fit(data[:, :2], reports)
    with pytest.raises(ask.AskanceError, match="tells squares"):
        fitted.score(data[:, :2], reports)


def test_privacy_of_what_is_not_hidden_and_of_several_sets(tmp_path):
    data = rows(500, np.random.default_rng(0))
    plain = ask.IndirectRegressor().fit(data[:, :2], data[:, 2])
    assert "no privacy guarantee (epsilon is infinite) for one outcome" in str(plain.summary())
    channel, reports, _ = hidden(2000)
    both = ask.IndirectRegressor([channel, None], ridge=0.0).fit(
        [reports, (pd.DataFrame(data[:, :2], columns=["a", "b"]), data[:, 2])]
    )
    assert np.isinf(both.guarantee_.epsilon)
    assert "not hidden, in the weakest of 2 report sets" in both.privacy_statement_
    # A model of an earlier version, which kept no guarantee, gets it from its channels.
    both.save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    del content["fitted"]["guarantee_"]
    (tmp_path / "model.json").write_text(json.dumps(content))
    assert ask.load_model(tmp_path / "model.json").guarantee_ == both.guarantee_


def test_a_ridge_that_noise_outweighs_is_refused_in_true_words():
    second = np.eye(4)
    second[1, 2] = second[2, 1] = 1.5  # a correlation above one: a combination has the variance -.5
    with pytest.raises(ask.AskanceError, match=r"noise outweighs.*ridge=0.1 .*well above 0\.5"):
        MomentProblem(noise=0.1, ridge=0.1, intercept=True).solve(second)
    assert MomentProblem(noise=0.1, ridge=1.0, intercept=True).solve(second).ridge == 1.0
    second[1, 2] = second[2, 1] = 1.0
    with pytest.raises(ask.AskanceError, match="do not vary"):
        MomentProblem(noise=0.1, ridge=0.0, intercept=True).solve(second)


def test_several_channels_are_saved(tmp_path):
    channel, reports, _ = hidden(2000)
    fitted = ask.IndirectRegressor([channel, channel], features=["b", "a"], ridge=0.0).fit([reports, reports])
    fitted.save(tmp_path / "model.json")
    again = ask.load_model(tmp_path / "model.json")
    assert again.channel == [channel, channel]
    np.testing.assert_array_equal(again.coef_, fitted.coef_)


def test_a_radius_that_shortens_is_told():
    channel = ask.PrivateRow(BOUNDS, 6.0, "unit", radius=0.8, outcome="y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        rng = np.random.default_rng(6)
        fitted = ask.IndirectRegressor(channel).fit(channel.simulate(rows(2000, rng), rng))
    assert any("radius" in note for note in fitted.notes_)


def test_ridge_zero_is_obeyed_or_refused():
    channel, reports, _ = hidden(20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ask.IndirectRegressor(channel, ridge=0.0).fit(reports).ridge_ == 0


@pytest.mark.parametrize("n", [0, 1, 3])
def test_too_few_reports_are_refused(n):
    channel, reports, _ = hidden(10)
    with pytest.raises(ask.InvalidInput, match=f"{n} reports .* for a line with 3 parameters"):
        ask.IndirectRegressor(channel).fit(reports[:n])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda c, r: ask.IndirectRegressor(c).fit(r, r), "reports alone"),
        (lambda c, r: ask.IndirectRegressor(c).fit(r[:, :2]), "reports of shape"),
        (lambda c, r: ask.IndirectRegressor(c, outcome="z").fit(r), "'z'"),
        (lambda c, r: ask.IndirectRegressor(c, features=["a", "a"]).fit(r), "other columns"),
        (lambda c, r: ask.IndirectRegressor(c, ridge=-1).fit(r), "ridge=-1"),
        (lambda c, r: ask.IndirectRegressor(c, ridge="much").fit(r), "ridge='much'"),
        (lambda c, r: ask.IndirectRegressor(ask.Warner(0.8)).fit(r), "PrivateRow"),
        (lambda c, r: ask.IndirectRegressor([c, c]).fit([r]), "2 channels and 1 sets"),
        (lambda c, r: ask.IndirectRegressor([c, c]).fit(None), "2 channels and NoneType"),
        (lambda c, r: ask.IndirectRegressor([c]).fit([r], sample_weight=np.ones(len(r))), "beside a list of channels"),
        (lambda c, r: ask.IndirectRegressor([]).fit([]), "empty list of channels"),
        (lambda c, r: ask.IndirectRegressor().fit_release([]), "empty list of releases"),
        (lambda c, r: ask.IndirectRegressor(c).fit("reports.parquet"), "fit_release"),
        (lambda c, r: ask.IndirectRegressor(c, features="ab").fit(r), "a list of names"),
        (lambda c, r: ask.IndirectRegressor(c, ridge=True).fit(r), "ridge=True"),
        (lambda c, r: ask.IndirectRegressor(c, fit_intercept="no").fit(r), "True or False"),
        (lambda c, r: ask.IndirectRegressor(features=["a"]).fit(np.ones((9, 1)), np.ones(9)), "beside X"),
        (lambda c, r: ask.IndirectRegressor(c).fit(r, sample_weight=np.arange(len(r)) < 3.0), "for a line with 3"),
        (lambda c, r: ask.IndirectRegressor(ask.PrivateNumber(0, 1, 1.0)).fit(r), "features of every row are public"),
        (lambda c, r: ask.IndirectRegressor(c).fit(r, sample_weight=-np.ones(len(r))), "negative"),
    ],
)
def test_bad_input_is_refused(make, message):
    channel, reports, _ = hidden(100)
    with pytest.raises(ask.InvalidInput, match=message):
        make(channel, reports)


@pytest.mark.parametrize(
    ("more", "unknown"),
    [(lambda x: np.ones(len(x)), [3]), (lambda x: 2 * x[:, 0] - 1, [1, 3])],
    ids=["constant", "double"],
)
def test_public_features_that_repeat_each_other_change_nothing_else(more, unknown):
    """What is determined is as without them; what is not has no standard error."""
    rng = np.random.default_rng(0)
    channel = ask.PrivateNumber(0, 10, epsilon=2.0)
    X = rng.normal(size=(500, 2))
    reports = channel.simulate(np.clip(5 + X[:, 0] + rng.normal(0, 0.5, 500), 0, 10), rng)
    alone = ask.IndirectRegressor(channel).fit(X, reports)
    with pytest.warns(ask.AskanceWarning, match="does not vary"):
        both = ask.IndirectRegressor(channel).fit(np.column_stack([X, more(X)]), reports)
    assert np.flatnonzero(np.isnan(both.standard_errors_)).tolist() == unknown
    assert both.parameters_[2] == pytest.approx(alone.parameters_[2], abs=1e-8)
    assert both.standard_errors_[2] == pytest.approx(alone.standard_errors_[2], rel=1e-2)
    np.testing.assert_allclose(both.predict(np.column_stack([X, more(X)])), alone.predict(X), atol=1e-8)


def test_weights_that_leave_too_few_people_say_how_many():
    rng = np.random.default_rng(1)
    channel = ask.PrivateNumber(0, 10, epsilon=2.0)
    weights = np.r_[1e6, np.ones(49)]
    with pytest.raises(
        ask.InvalidInput, match=r"50 reports \(n_samples=50\), which tell as much as 1\.0 of equal weight"
    ):
        ask.IndirectRegressor(channel).fit(
            rng.normal(size=(50, 1)), channel.simulate(rng.uniform(0, 10, 50), rng), sample_weight=weights
        )
