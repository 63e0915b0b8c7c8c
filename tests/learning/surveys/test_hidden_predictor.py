"""Hidden answers as predictors: derivatives, closed forms, recovery, wrong models that are noticed, refusals."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import askance as ask
from askance.learning.surveys import Covariates, Outcome, split_formula
from askance.learning.surveys.cumulative_links import OrderedClasses
from askance.learning.surveys.hidden_answers import combinations, hidden_answers
from askance.learning.surveys.hidden_predictor import PredictorModel
from askance.solvers import Local
from derivatives import assert_exact_derivatives

FAMILIES = ("linear", "logistic", "poisson", "ordered")
CHANNELS = {"z": ask.Warner(0.8), "v": ask.ForcedResponse(1 / 6, 1 / 6)}


def words(flags):
    return np.where(flags, "yes", "no")


def people(n, seed, family, two=False, rare=-1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    z = rng.random(n) < expit(rare + 0.5 * x)
    v = rng.random(n) < expit(-0.5 + 0.8 * z)
    eta = 0.5 + 0.4 * x + z - (0.7 * v if two else 0)
    outcome = {
        "linear": lambda: eta + rng.normal(size=n),
        "logistic": lambda: (rng.random(n) < expit(eta - 1)).astype(int),
        "poisson": lambda: rng.poisson(np.exp(eta - 0.5)),
        "ordered": lambda: (eta + rng.logistic(size=n) > np.array([[0.0], [1.5]])).sum(axis=0),
    }[family]()
    reports = {"z": CHANNELS["z"].simulate(words(z), rng), "v": CHANNELS["v"].simulate(words(v), rng)}
    channels = CHANNELS if two else {"z": CHANNELS["z"]}
    return x[:, None], outcome, {name: reports[name] for name in channels}, channels, z


@pytest.mark.parametrize("family", FAMILIES)
def test_derivatives_of_the_likelihood(family):
    x, outcome, reports, channels, _ = people(60, 0, family, two=True)
    answers = hidden_answers(channels, reports)
    model = PredictorModel(answers, combinations(answers), Covariates.of(x), Outcome.of(family, outcome), True)
    likelihood = model.likelihood(1 + x[:, 0] ** 2)
    theta = model.starts()[1] + 0.1 * np.random.default_rng(1).normal(size=likelihood.size)
    assert_exact_derivatives(likelihood, theta)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_derivatives_of_links(link):
    rng = np.random.default_rng(2)
    factor = OrderedClasses(link, rng.normal(size=(30, 1, 2)), rng.integers(0, 4, (30, 1)), 4)
    weights = rng.random((30, 1))

    def local(theta):
        here = factor.at(theta)
        gradient = np.einsum("ih,ihd->d", weights, here.score)
        return Local(float((weights * here.value).sum()), gradient, -here.curvature(weights))

    assert_exact_derivatives(local, np.array([0.3, -0.2, -1.0, 0.1, 1.2]))


def test_corrected_scores_of_a_line_are_the_moment_estimator():
    x, outcome, reports, channels, _ = people(2000, 3, "linear")
    fitted = ask.HiddenPredictor(channels, method="moments").fit(x, outcome, reports)
    unbiased = channels["z"].unbias(reports["z"])[:, 1]
    rows = np.column_stack([np.ones(2000), x, unbiased])
    second = rows.T @ rows
    second[2, 2] = unbiased.sum()  # z is its own square
    assert fitted.parameters_[:3] == pytest.approx(np.linalg.solve(second, rows.T @ outcome), abs=1e-8)


def test_without_noise_it_is_least_squares():
    x, outcome, _, _, z = people(1000, 4, "linear")
    channel = ask.Identity(["no", "yes"])
    fitted = ask.HiddenPredictor({"z": channel}, method="likelihood").fit(x, outcome, {"z": words(z)})
    plain = np.linalg.lstsq(np.column_stack([np.ones(1000), x, z]), outcome, rcond=None)[0]
    assert fitted.parameters_[:3] == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_recovery(family):
    # One set of 4000 each: within 4 standard errors. benchmarks/hidden.py has 200 sets.
    x, outcome, reports, channels, _ = people(4000, 5, family, two=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        fitted = ask.HiddenPredictor(channels, family).fit(x, outcome, reports)
    table = fitted.summary().to_frame()
    truth = {"x0": 0.4, "hidden(z)": 1.0, "hidden(v)": -0.7}
    for name, value in truth.items():
        assert table.loc[name, "estimate"] == pytest.approx(value, abs=4 * table.loc[name, "std_error"])
    assert fitted.guarantee_.epsilon == pytest.approx(sum(c.guarantee.epsilon for c in channels.values()))


def test_counts_that_spread_more_than_poisson_are_not_taken_for_an_effect():
    x, _, reports, channels, _ = people(3000, 1, "poisson")
    rng = np.random.default_rng(6)
    spread = rng.poisson(np.exp(0.4 * x[:, 0]) * rng.gamma(1.0, 1.0, 3000))
    with pytest.warns(ask.AskanceWarning, match="Corrected scores are reported"):
        fitted = ask.HiddenPredictor(channels, "poisson").fit(x, spread, reports)
    row = fitted.summary().to_frame().loc["hidden(z)"]
    assert row["lower"] < 0 < row["upper"]
    with pytest.warns(ask.AskanceWarning, match="method='moments'"):
        wrong = ask.HiddenPredictor(channels, "poisson", method="likelihood", intervals="wald").fit(x, spread, reports)
    assert abs(wrong.parameters_[2]) > 10 * wrong.standard_errors_[2]  # which is why it is not


def test_intervals_by_profile_are_there_on_request():
    x, outcome, reports, channels, _ = people(600, 7, "logistic")
    fitted = ask.HiddenPredictor(channels, "logistic", method="likelihood", intervals="profile").fit(
        x, outcome, reports
    )
    assert "profile likelihood" in str(fitted.summary())
    row = fitted.summary().to_frame().loc["hidden(z)"]
    assert row["lower"] < 1.0 < row["upper"]
    assert np.isnan(row["z"])


def test_formulas_name_hidden_predictors():
    assert split_formula("y ~ hidden(z)").formula.text == "y ~ 1"
    assert split_formula("y ~ hidden(z) + x").formula.text.split() == ["y", "~", "x"]
    assert split_formula("y ~ hidden(z) + hidden(`the v`)").hidden == ("z", "the v")
    for wrong in (
        "y ~ x",
        "hidden(z) ~ x",
        "y ~ x * hidden(z)",
        "y ~ hidden(z):x",
        "y ~ I(hidden(z))",
        "y ~ hidden(z + v)",
    ):
        with pytest.raises(ask.InvalidInput):
            split_formula(wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"family": "cubic"}, "family='cubic'"),
        ({"family": "logistic"}, "for family='logistic'"),
        ({"family": "ordered"}, "classes for family='ordered'"),
        ({"family": "poisson"}, "no counts"),
        ({"y": np.ones(400)}, "1 in every row"),
        ({"y": np.arange(400) % 2.0, "X": (np.arange(400) % 2.0)[:, None]}, "told without error"),
        ({"y": np.full(400, np.nan)}, "missing or not finite"),
        ({"y": np.ones(3)}, "every row|3 outcomes"),
        ({"reports": None}, "no reports"),
        ({"reports": {"q": ["no"]}}, "without a column 'z'"),
        ({"reports": {"z": ["no"] * 400}}, "nearly constant"),
        ({"channels": None}, "channels=None"),
        ({"method": "guess"}, "method='guess'"),
        ({"intervals": "exact"}, "intervals='exact'"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    x, outcome, reports, channels, _ = people(400, 0, "linear")
    given = {"X": x, "y": outcome, "reports": reports, "channels": channels} | change
    parameters = {key: given.pop(key) for key in list(given) if key not in ("X", "y", "reports")}
    with pytest.raises(ask.InvalidInput, match=message):
        ask.HiddenPredictor(**parameters).fit(given["X"], given["y"], given["reports"])


def test_an_outcome_that_is_told_apart_is_penalised_and_says_so():
    x, _, reports, channels, _ = people(200, 8, "linear")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        model = ask.HiddenPredictor(channels, "logistic", intervals="wald")
        fitted = model.fit(x, np.where(x[:, 0] > 0, "up", "down"), reports)
    assert any("no finite maximum" in note for note in fitted.notes_)
    assert fitted.classes_.tolist() == ["down", "up"]
    assert fitted.penalised_


def test_classes_in_an_order_of_ones_own_and_frames():
    x, outcome, reports, channels, _ = people(1500, 10, "ordered")
    labels = np.array(["low", "middle", "high"])[outcome]
    fitted = ask.HiddenPredictor(channels, "ordered", method="likelihood", order=["low", "middle", "high"]).fit(
        pd.DataFrame(x, columns=["age"]), labels, pd.DataFrame(reports)
    )
    assert fitted.parameter_names_[:4] == ("age", "hidden(z)", "low | middle", "middle | high")
    again = ask.HiddenPredictor(channels, "ordered", method="likelihood").fit(x, outcome, reports)
    assert "|" not in again.figures()[0].description
    assert fitted.parameters_ == pytest.approx(again.parameters_)
