"""Joint tables of hidden answers: closed forms, borders, association, sums, several reports of one answer."""

import warnings

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.learning.surveys import association
from askance.learning.surveys.hidden_answers import hidden_answers

CHANNELS = {"a": ask.Warner(0.8), "b": ask.ForcedResponse(1 / 6, 1 / 6)}


def words(flags):
    return np.where(flags, "yes", "no")


def people(n, seed, shares=(0.3, 0.6, 0.2)):
    rng = np.random.default_rng(seed)
    a = rng.random(n) < shares[0]
    b = rng.random(n) < np.where(a, shares[1], shares[2])
    return {"a": CHANNELS["a"].simulate(words(a), rng), "b": CHANNELS["b"].simulate(words(b), rng)}, a, b


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        return ask.JointTable(*arguments).fit(**options)


def test_inside_the_border_it_is_kroneckers_unbiasing():
    reports, _, _ = people(3000, 0)
    fitted = ask.JointTable(CHANNELS).fit(reports)
    inverse = [np.linalg.inv(channel.matrix) for channel in CHANNELS.values()]
    seen = pd.crosstab(reports["a"], reports["b"]).loc[["no", "yes"], ["no", "yes"]].to_numpy().ravel() / 3000
    closed = np.kron(*inverse) @ seen
    assert fitted.proportions_.ravel() == pytest.approx(closed, abs=1e-9)
    assert fitted.unbiased_.ravel() == pytest.approx(closed, abs=1e-9)
    spread = np.kron(*inverse) @ (np.diag(seen) - np.outer(seen, seen)) @ np.kron(*inverse).T / 3000
    assert fitted.covariance_ == pytest.approx(spread, abs=1e-9)


def test_its_margins_are_prevalences():
    reports, _, _ = people(2000, 1)
    fitted = ask.JointTable(CHANNELS).fit(reports)
    for name, channel in CHANNELS.items():
        alone = ask.Prevalence(channel).fit(reports[name])
        assert fitted.margins_[name] == pytest.approx(alone.proportions_, abs=1e-9)


def test_equal_weights_change_no_odds_ratio():
    """Away from the maximum a second derivative is no information: by it, equal weights doubled an interval."""
    reports, _, _ = people(1500, 5, (0.3, 0.3, 0.3))
    plain, weighted = (
        ask.JointTable(CHANNELS).fit(reports, sample_weight=each).summary().to_frame().loc["log odds ratio a x b"]
        for each in (None, np.full(1500, 7.0))
    )
    kept = ["estimate", "p_value", "lower", "upper"]
    assert weighted[kept].to_numpy() == pytest.approx(plain[kept].to_numpy(), rel=1e-4)


def test_odds_ratio_and_correlation_of_the_table():
    reports, _, _ = people(3000, 2)
    fitted = ask.JointTable(CHANNELS).fit(reports)
    table = fitted.proportions_
    kept = fitted.associations_["a x b"]
    assert kept["log_odds_ratios"][0] == pytest.approx(
        np.log(table[1, 1] * table[0, 0] / (table[1, 0] * table[0, 1])), abs=0.1
    )
    a, b = table[1].sum(), table[:, 1].sum()
    assert kept["correlation"] == pytest.approx((table[1, 1] - a * b) / np.sqrt(a * (1 - a) * b * (1 - b)), abs=1e-9)
    row = fitted.summary().to_frame().loc["log odds ratio a x b"]
    assert row["lower"] < np.log(6) < row["upper"]
    assert row["p_value"] < 1e-6  # as the test of independence, but for the penalty
    assert kept["p_value"] < 1e-6


def test_independent_answers_are_seldom_told_to_go_together():
    # 25 sets without association have more than 6 p-values below .05 once in a thousand times.
    found = 0
    for seed in range(25):
        reports, _, _ = people(800, 500 + seed, (0.3, 0.3, 0.3))
        answers = hidden_answers(CHANNELS, reports)
        found += association(*answers, None).p_value < 0.05
    assert found <= 6


def test_a_cell_that_nobody_is_in():
    reports, _, _ = people(600, 3, (0.1, 0.0, 0.2))
    fitted = quiet(CHANNELS, reports=reports)
    assert fitted.proportions_.min() >= 0
    assert fitted.summary().to_frame().loc["log odds ratio a x b", "lower"] == -np.inf
    shares = fitted.summary().to_frame().loc["a=yes, b=yes"]
    assert shares["lower"] == 0
    assert shares["std_error"] > 0


def test_sums_of_answers():
    reports, a, b = people(5000, 4)
    fitted = ask.JointTable(CHANNELS).fit(reports)
    table = fitted.sum_score().to_frame()
    assert table.loc["mean", "estimate"] == pytest.approx(fitted.margins_["a"][1] + fitted.margins_["b"][1], abs=1e-9)
    assert table.loc["mean", "estimate"] == pytest.approx((a.mean() + b.mean()), abs=4 * table.loc["mean", "std_error"])
    assert table.loc["P(sum = 2)", "estimate"] == pytest.approx(fitted.proportions_[1, 1], abs=1e-12)
    twice = fitted.sum_score({"a": [0, 2], "b": [0, 2]}).to_frame()
    assert twice.loc["mean", "estimate"] == pytest.approx(2 * table.loc["mean", "estimate"])
    with pytest.raises(ask.InvalidInput, match="values="):
        fitted.sum_score({"c": [0, 1]})


def test_several_reports_of_one_answer_tell_more_and_cost_more():
    rng = np.random.default_rng(5)
    truth = words(rng.random(2000) < 0.2)
    channel = ask.Warner(0.75)
    waves = {f"wave {i}": channel.simulate(truth, rng) for i in range(3)}
    fitted = ask.JointTable(dict.fromkeys(waves, channel), {"cheated": list(waves)}).fit(waves)
    once = ask.Prevalence(channel).fit(waves["wave 0"])
    assert fitted.standard_errors_[1] < 0.65 * once.standard_errors_[1]
    assert fitted.guarantee_.epsilon == pytest.approx(3 * channel.guarantee.epsilon)
    assert "reported 3 times" in str(fitted.guarantee_)
    assert fitted.margins_["cheated"][1] == pytest.approx((truth == "yes").mean(), abs=4 * fitted.standard_errors_[1])
    assert fitted.fit_p_value_ > 0.001


def test_a_report_that_was_copied_is_noticed():
    rng = np.random.default_rng(5)
    channel = ask.Warner(0.75)
    first = channel.simulate(words(rng.random(2000) < 0.2), rng)
    copied = {"first": first, "again": first, "third": first}
    with pytest.warns(ask.AskanceWarning, match="not drawn afresh"):
        ask.JointTable(dict.fromkeys(copied, channel), {"cheated": list(copied)}).fit(copied)


def test_three_questions_of_several_classes():
    rng = np.random.default_rng(6)
    channels = {
        "a": ask.RandomizedResponse(["low", "middle", "high"], epsilon=3.0),
        "b": ask.Warner(0.9),
        "c": ask.RandomizedResponse([0, 1], epsilon=3.0),
    }
    a, c = rng.integers(0, 3, 6000), rng.integers(0, 2, 6000)
    b = rng.random(6000) < 0.2 + 0.25 * a
    truth = {"a": np.array(["low", "middle", "high"])[a], "b": words(b), "c": c}
    reports = pd.DataFrame({name: channel.simulate(truth[name], rng) for name, channel in channels.items()})
    fitted = quiet(channels, reports=reports)
    assert fitted.proportions_.shape == (3, 2, 2)
    odds = fitted.summary().to_frame()
    assert odds.loc["log odds ratio a x b (high, yes)", "p_value"] < 0.001
    assert fitted.associations_["a x c"]["p_value"] > 0.001
    assert fitted.guarantee_.epsilon == pytest.approx(sum(channel.guarantee.epsilon for channel in channels.values()))


def test_designs_by_row_and_weights():
    reports, _, _ = people(1000, 7)
    rng = np.random.default_rng(8)
    design = rng.choice(["cards", "direct"], 1000)
    truth = words(rng.random(1000) < 0.3)
    several = ask.DesignPerRow({"cards": ask.Warner(0.8), "direct": ask.Identity(["no", "yes"])})
    reports["c"] = several.simulate(truth, rng, design)
    kept = np.arange(1000) >= 200
    options = {"design": {"c": design}, "sample_weight": kept.astype(float)}
    weighted = quiet({**CHANNELS, "c": several}, reports=reports, **options)
    some = {name: column[kept] for name, column in reports.items()}
    plain = quiet({**CHANNELS, "c": several}, reports=some, design={"c": design[kept]})
    assert weighted.proportions_ == pytest.approx(plain.proportions_, abs=1e-8)


@pytest.mark.parametrize(
    ("channels", "same", "message"),
    [
        (None, None, "channels=None"),
        ({"a": ask.Warner(0.8)}, None, "one report of each person"),
        ({"a": ask.Warner(0.8), "z": ask.Warner(0.8)}, None, "without a column 'z'"),
        ({"a": 3, "b": ask.Warner(0.8)}, None, "the channel of 'a'"),
        (CHANNELS, {"x": ["a", "q"]}, "'q' among the reports"),
        ({**CHANNELS, "b": ask.RandomizedResponse([0, 1], 1.0)}, None, "in the column 'b'"),
    ],
)
def test_what_cannot_be_is_refused(channels, same, message):
    reports, _, _ = people(100, 0)
    with pytest.raises(ask.InvalidInput, match=message):
        ask.JointTable(channels, same).fit(reports)


def test_too_many_combinations_are_refused():
    channels = {f"q{i}": ask.Warner(0.8) for i in range(11)}
    with pytest.raises(ask.InvalidInput, match="2,048 combinations"):
        ask.JointTable(channels).fit({name: ["no", "yes"] for name in channels})
