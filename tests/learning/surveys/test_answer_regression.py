"""Regressions of hidden answers with other links, ordered classes and random intercepts."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr

import askance as ask
from askance.learning.surveys import AnswerRows, GroupedAnswers
from askance.learning.surveys.hidden_answers import error_at_border, hidden_answers, notes_on_reports
from derivatives import assert_exact_derivatives

CHANNEL = ask.Warner(0.85)
INVERSE = {"logit": expit, "probit": ndtr, "cloglog": lambda t: 1 - np.exp(-np.exp(t))}


def people(n, groups, seed, spread=0.8, link="logit"):
    rng = np.random.default_rng(seed)
    group, x = np.arange(n) % groups, rng.normal(size=n)
    shift = spread * rng.normal(size=groups)
    truth = rng.random(n) < INVERSE[link](-1 + 0.7 * x + shift[group])
    return x[:, None], CHANNEL.simulate(np.where(truth, "yes", "no"), rng), group


def quiet(model, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        return model.fit(*arguments, **options)


def small():
    x, reports, group = people(60, 6, 0)
    return AnswerRows("logit", x, np.log(CHANNEL.likelihood(reports))), group


def test_derivatives_with_groups():
    rows, group = small()
    theta = np.array([0.5, -0.3, 0.8])
    assert_exact_derivatives(GroupedAnswers.around(rows, group, theta, 7), theta)


def test_the_quadrature_is_the_integral():
    rows, group = small()
    theta = np.array([0.5, -0.3, 0.8])
    total = 0.0
    for number in range(6):
        members = group == number

        def integrand(u, members=members):
            values = rows.along(rows.design[:, 0] * theta[0] + np.exp(theta[1]) * u, theta[2:])[0]
            return np.exp(values[members].sum() - u * u / 2) / np.sqrt(2 * np.pi)

        total += np.log(quad(integrand, -8, 8, epsabs=1e-12)[0])
    assert GroupedAnswers.around(rows, group, theta, 9)(theta).value == pytest.approx(total, abs=1e-4)


def test_without_groups_it_is_the_indirect_classifier():
    x, reports, _ = people(1500, 10, 1)
    plain = ask.IndirectClassifier(CHANNEL, ridge=0.0).fit(x, reports)
    fitted = ask.AnswerRegression(CHANNEL, intervals="wald").fit(x, reports)
    assert fitted.parameters_ == pytest.approx(plain.parameters_, abs=1e-7)
    assert fitted.standard_errors_ == pytest.approx(plain.standard_errors_, rel=1e-6)


@pytest.mark.parametrize("link", ["probit", "cloglog"])
def test_other_links_are_recovered(link):
    x, reports, _ = people(6000, 10, 2, spread=0.0, link=link)
    fitted = ask.AnswerRegression(CHANNEL, link).fit(x, reports)
    assert fitted.parameters_ == pytest.approx([-1, 0.7], abs=4 * fitted.standard_errors_.max())
    assert fitted.predict_proba([[0.0]])[0, 1] == pytest.approx(INVERSE[link](fitted.parameters_[0]))


def test_ordered_classes_are_recovered():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5000, 1))
    truth = (0.8 * x[:, 0] + rng.logistic(size=5000) > np.array([[-1.0], [0.2], [1.5]])).sum(axis=0)
    channel = ask.RandomizedResponse([0, 1, 2, 3], epsilon=2.5)
    fitted = ask.AnswerRegression(channel).fit(10 * x + 3, channel.simulate(truth, rng))
    assert fitted.parameter_names_ == ("x0", "0 | 1", "1 | 2", "2 | 3")
    errors = fitted.standard_errors_
    for estimate, error, value in zip(fitted.parameters_, errors, [0.08, -0.76, 0.44, 1.74], strict=True):
        assert estimate == pytest.approx(value, abs=4 * error)  # cuts move with the centre of x
    assert fitted.predict_proba([[3.0]]).sum() == pytest.approx(1)
    assert "|" not in fitted.figures()[0].description  # a cut between classes is no change in log-odds


def test_groups_are_recovered():
    x, reports, group = people(1500, 50, 4, spread=1.0)
    fitted = ask.AnswerRegression(CHANNEL, intervals="wald", nodes=7).fit(x, reports, groups=group)
    row = fitted.summary().to_frame().loc["standard deviation of groups"]
    assert row["lower"] < 1.0 < row["upper"]
    assert fitted.group_p_value_ < 0.01
    assert fitted.parameters_[1] == pytest.approx(0.7, abs=4 * fitted.standard_errors_[1])


def test_groups_that_do_not_differ_give_the_plain_fit():
    x, reports, _ = people(500, 10, 5, spread=0.0)
    order = np.argsort(reports, kind="stable")  # groups that are more alike than chance would make them
    group = np.empty(500, dtype=int)
    group[order] = np.arange(500) % 20
    fitted = quiet(ask.AnswerRegression(CHANNEL, intervals="wald", nodes=7), x, reports, groups=group)
    plain = ask.AnswerRegression(CHANNEL, intervals="wald").fit(x, reports)
    assert fitted.group_spread_ == 0
    assert fitted.parameters_ == pytest.approx(plain.parameters_)
    row = fitted.summary().to_frame().loc["standard deviation of groups"]
    assert row["lower"] == 0
    assert 0 < row["upper"] < 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"channel": None}, "no channel"),
        ({"link": "log"}, "link='log'"),
        ({"nodes": 1}, "nodes=1"),
        ({"groups": np.arange(100)}, "0 have more than one member"),
        ({"groups": np.zeros(100)}, "at least two groups"),
        ({"groups": np.arange(3)}, "groups of shape"),
        ({"groups": [None] * 100}, "without a group"),
        ({"sample_weight": np.ones(100), "groups": np.arange(100) % 5}, "weights together with groups"),
        ({"y": ["maybe"] * 100}, "maybe"),
        ({"intervals": "exact"}, "intervals='exact'"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    x, reports, _ = people(100, 10, 6)
    given = {"X": x, "y": reports, "groups": None, "sample_weight": None, "channel": CHANNEL} | change
    options = {key: given.pop(key) for key in ("y", "groups", "sample_weight")}
    rows = given.pop("X")
    with pytest.raises(ask.InvalidInput, match=message):
        quiet(ask.AnswerRegression(**given), rows, **options)


def test_reports_that_the_channel_cannot_give_are_noticed():
    x, _, _ = people(300, 10, 7)
    fitted = quiet(ask.AnswerRegression(CHANNEL, intervals="wald"), x, ["no"] * 300)
    assert "impossible under the channel" in fitted.notes_[0]


def test_a_class_that_nobody_reported_is_no_fault_of_the_channel():
    x, _, _ = people(300, 10, 7)
    reports = np.where(np.arange(300) % 2, "a", "b")
    fitted = quiet(ask.AnswerRegression(ask.Identity(["a", "b", "c"]), intervals="wald"), x, reports)
    assert not any("impossible" in note for note in fitted.notes_)


def test_two_reports_of_each_that_are_all_alike_are_noticed_only_where_they_are_many():
    def noticed(people):
        columns = {"first": ["no"] * people, "again": ["no"] * people}
        channels = dict.fromkeys(columns, ask.Warner(0.8))
        return bool(notes_on_reports(hidden_answers(channels, columns, {"q": list(columns)}), None))

    assert not noticed(5)  # of five people without the answer one set in ten looks so
    assert noticed(40)


def test_errors_at_the_border_of_several_reports_are_those_of_simulated_ones():
    rng, channels = np.random.default_rng(5), (ask.Warner(0.8), ask.RandomizedResponse(["no", "yes"], epsilon=1.0))
    shares = []
    for _ in range(2000):
        truth = np.where(rng.random(200) < 0.3, "yes", "no")
        columns = {str(place): channel.simulate(truth, rng) for place, channel in enumerate(channels)}
        (answer,) = hidden_answers(dict(zip(columns, channels, strict=True)), columns, {"q": list(columns)})
        shares.append(answer.unbiased_shares(None)[0])
    # 2,000 sets know a standard deviation to 1.6%.
    wanted = np.std(shares, axis=0)
    assert error_at_border(answer, np.array([0.7, 0.3]), np.ones(200)) == pytest.approx(wanted, rel=0.06)


def test_nodes_one_by_one_and_all_at_once_are_the_same_likelihood(monkeypatch):
    rng = np.random.default_rng(3)
    rows = AnswerRows("logit", rng.normal(size=(60, 2)), np.log(rng.dirichlet(np.ones(3), 60)))
    theta = np.array([0.3, -0.2, np.log(0.7), -0.5, 0.8])
    likelihood = GroupedAnswers.around(rows, np.arange(60) % 7, theta, 9)
    at_once = likelihood(theta + 0.1)
    monkeypatch.setattr("askance.learning.surveys.answer_likelihood._ROWS_AT_ONCE", 1)
    for one, other in zip(likelihood(theta + 0.1)[:3], at_once[:3], strict=True):  # value, gradient, information
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_groups_that_tell_the_answers_apart_are_remarked_upon():
    rng = np.random.default_rng(1)
    x, group = rng.normal(size=150), np.arange(150) % 15
    truth = np.where(x + 2 * rng.normal(size=15)[group] > 0, "yes", "no")
    channel = ask.Warner(0.95)
    with pytest.warns(ask.AskanceWarning, match="Read signs, not sizes"):
        fitted = ask.AnswerRegression(channel, intervals="wald").fit(
            x[:, None], channel.simulate(truth, rng), groups=group
        )
    assert fitted.group_spread_ > 6


def test_rows_to_predict_are_read_as_strictly_as_those_of_fit():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"age": rng.normal(40, 12, 600), "woman": rng.integers(0, 2, 600)})
    model = ask.AnswerRegression(CHANNEL).fit(
        X, CHANNEL.simulate(np.where(X["age"] > rng.normal(40, 12, 600), "yes", "no"), rng)
    )
    first = model.predict_proba(X[:3])
    np.testing.assert_array_equal(model.predict_proba(X[["woman", "age"]][:3]), first)
    np.testing.assert_array_equal(model.predict_proba(pd.DataFrame(X[:3].to_numpy())), first)
    for other, message in (
        (X.rename(columns={"age": "alter"}), "'alter', 'woman'; expected 2 columns, age, woman"),
        (X.mask(X["age"] > 60), "missing or not finite"),
        (X.assign(age="old"), "not numbers"),
    ):
        with pytest.raises(ask.InvalidInput, match=message):
            model.predict(other)
