"""Proportions against closed forms, and their intervals against simulation."""

import numpy as np
import pytest

import askance as ask
from askance.statistics.frequencies import ReportCounts


@pytest.mark.parametrize("method", ["marginal", "moments"])
@pytest.mark.parametrize(
    "channel",
    [
        ask.Warner(0.8),
        ask.Crosswise(0.3),
        ask.ForcedResponse(1 / 6, 1 / 6),
        ask.UnrelatedQuestion(0.7, 0.4),
        ask.Mangat(0.6),
        ask.Triangular(0.25),
        ask.Kuk(0.8, 0.3),
    ],
    ids=lambda c: type(c).__name__,
)
def test_two_classes_have_a_closed_form(channel, method):
    """f = (f~ - P10) / (P11 - P10), and its delta-method variance f~ (1 - f~) / n / (P11 - P10)^2."""
    carrier, other = channel.yes_probabilities()
    n, share = 1000, 0.3 * carrier + 0.7 * other
    yes = round(n * share)
    fitted = ask.Prevalence(channel, method=method).fit(["yes"] * yes + ["no"] * (n - yes))
    f = (yes / n - other) / (carrier - other)
    np.testing.assert_allclose(fitted.proportions_, [1 - f, f], atol=1e-9)
    variance = yes / n * (1 - yes / n) / n / (carrier - other) ** 2
    np.testing.assert_allclose(fitted.covariance_, variance * np.array([[1, -1], [-1, 1]]), rtol=1e-7)
    reach = 1.959964 * np.sqrt(variance)
    np.testing.assert_allclose(fitted.interval()[1], [max(f - reach, 0), min(f + reach, 1)], atol=1e-6)


def test_many_classes_both_methods_agree_for_square_channels():
    channel = ask.RandomizedResponse(["a", "b", "c", "d"], epsilon=1.5)
    rng = np.random.default_rng(0)
    truth = rng.choice(channel.classes, p=[0.1, 0.2, 0.3, 0.4], size=20_000)
    reports = channel.simulate(truth, rng)
    fits = [ask.Prevalence(channel, method=method).fit(reports) for method in ("marginal", "moments")]
    np.testing.assert_allclose(fits[0].proportions_, fits[1].proportions_, atol=1e-8)
    np.testing.assert_allclose(fits[0].covariance_, fits[1].covariance_, rtol=1e-5)
    np.testing.assert_allclose(fits[0].proportions_, [0.1, 0.2, 0.3, 0.4], atol=0.05)
    assert fits[0].proportions_.sum() == pytest.approx(1)


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_estimates_are_unbiased_and_intervals_cover(method):
    """600 surveys: the mean within 4 standard errors, coverage within 3.5 (one false alarm in a thousand)."""
    channel = ask.FiniteChannel(
        [[0.5, 0.1, 0.1], [0.2, 0.6, 0.1], [0.2, 0.1, 0.6], [0.1, 0.2, 0.2]], ["a", "b", "c"], list("wxyz")
    )
    truth_law = np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(5)
    counts = rng.multinomial(2000, channel.matrix @ truth_law, size=600)
    estimates, covered = [], np.zeros(3)
    for row in counts:
        fitted = ask.Prevalence(channel, method=method).fit(np.repeat(list("wxyz"), row))
        estimates.append(fitted.unbiased_ if method == "moments" else fitted.proportions_)
        limits = fitted.interval()
        covered += (limits[:, 0] <= truth_law) & (truth_law <= limits[:, 1])
    estimates = np.array(estimates)
    assert (np.abs(estimates.mean(axis=0) - truth_law) < 4 * estimates.std(axis=0) / np.sqrt(600)).all()
    assert (np.abs(covered / 600 - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / 600)).all(), covered / 600


def test_maximum_likelihood_is_at_least_as_precise_when_designs_are_mixed():
    channel = ask.DesignPerRow({"weak": ask.Warner(0.6), "strong": ask.Warner(0.95)})
    rng = np.random.default_rng(0)
    truth = rng.choice(["no", "yes"], p=[0.8, 0.2], size=4000)
    design = np.repeat(["weak", "strong"], 2000)
    reports = channel.simulate(truth, rng, design)
    marginal = ask.Prevalence(channel).fit(reports, design=design)
    moments = ask.Prevalence(channel, method="moments").fit(reports, design=design)
    assert marginal.covariance_[1, 1] < 0.3 * moments.covariance_[1, 1]
    assert marginal.proportions_[1] == pytest.approx(0.2, abs=0.05)


def test_weights_are_sampling_weights():
    channel = ask.Warner(0.8)
    rng = np.random.default_rng(2)
    reports = channel.simulate(rng.choice(["no", "yes"], size=500), rng)
    weights = rng.random(500) + 0.5
    told = channel.unbias(reports)[:, 1]
    expected = np.average(told, weights=weights)
    variance = (weights**2 * (told - expected) ** 2).sum() / weights.sum() ** 2
    for method in ("marginal", "moments"):
        fitted = ask.Prevalence(channel, method=method).fit(reports, sample_weight=weights)
        assert fitted.proportions_[1] == pytest.approx(expected, abs=1e-8)
        assert fitted.covariance_[1, 1] == pytest.approx(variance, rel=1e-6)


@pytest.mark.parametrize("method", ["marginal", "moments"])
def test_at_the_border_the_estimate_stays_inside_and_says_so(method):
    channel = ask.ForcedResponse(0.1, 0.4)
    with pytest.warns(ask.AskanceWarning, match="than chance alone would give"):
        fitted = ask.Prevalence(channel, method=method).fit(["yes"] * 35 + ["no"] * 65)
    np.testing.assert_allclose(fitted.proportions_, [1, 0], atol=1e-9)
    assert fitted.unbiased_[1] == pytest.approx(-0.1)
    low, high = fitted.interval()[1]
    assert low == 0
    assert high == pytest.approx(1.959964 * np.sqrt(0.35 * 0.65 / 100) / 0.5)  # as wide as the unbiased estimate's
    assert "unbiased" in str(fitted.summary())


def test_a_class_that_nobody_named_is_no_surprise():
    fitted = ask.Prevalence(ask.Identity(["a", "b", "c"])).fit(["a"] * 10 + ["b"] * 5)  # a warning would be an error
    np.testing.assert_allclose(fitted.proportions_, [2 / 3, 1 / 3, 0], atol=1e-9)
    assert fitted.notes_ == ()


def test_designs_that_only_together_tell_the_truth():
    """Two designs with two reports each, three classes: neither determines the truth, both do."""
    designs = {
        "first": ask.FiniteChannel([[0.9, 0.2, 0.4], [0.1, 0.8, 0.6]], ["a", "b", "c"], ["x", "y"]),
        "second": ask.FiniteChannel([[0.3, 0.7, 0.1], [0.7, 0.3, 0.9]], ["a", "b", "c"], ["x", "y"]),
    }
    channel = ask.DesignPerRow(designs)
    rng = np.random.default_rng(8)
    truth_law = np.array([0.5, 0.3, 0.2])
    covered = np.zeros(3)
    for _ in range(200):
        truth = rng.choice(["a", "b", "c"], p=truth_law, size=3000)
        design = rng.choice(["first", "second"], size=3000)
        fitted = ask.Prevalence(channel).fit(channel.simulate(truth, rng, design), design=design)
        limits = fitted.interval()
        covered += (limits[:, 0] <= truth_law) & (truth_law <= limits[:, 1])
    assert (covered / 200 > 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / 200)).all(), covered / 200
    with pytest.raises(ask.Unidentifiable):
        ask.Prevalence(channel, method="moments").fit(["x", "y"], design=["first", "second"])
    with pytest.raises(ask.Unidentifiable):
        ask.Prevalence(designs["first"]).fit(["x", "y"])


def test_bad_input():
    with pytest.raises(ask.InvalidInput, match="no channel"):
        ask.Prevalence().fit(["yes"])
    with pytest.raises(ask.InvalidInput, match="method='guess'"):
        ask.Prevalence(ask.Warner(0.8), method="guess").fit(["yes", "no"])
    with pytest.raises(ask.InvalidInput, match="at least one report"):
        ask.Prevalence(ask.Warner(0.8)).fit([])
    with pytest.raises(ask.InvalidInput, match="sample weights"):
        ask.Prevalence(ask.Warner(0.8)).fit(["yes", "no"], sample_weight=[1.0])
    for unit in (1e-200, 1e200):
        with pytest.raises(ask.InvalidInput, match="whose squares no double holds"):
            ask.Prevalence(ask.Warner(0.8)).fit(["yes", "no"], sample_weight=[unit, 2 * unit])
    with pytest.raises(ask.InvalidInput, match="level=95"):
        ask.Prevalence(ask.Warner(0.8)).fit(["yes", "no"]).summary(level=95)


def test_the_observed_law_never_has_a_zero():
    law = ReportCounts(10, np.array([10.0, 0.0]), np.array([10.0, 0.0])).law
    assert law.min() > 0
    assert law.sum() == pytest.approx(1)


def test_the_figure_shows_shares():
    fitted = ask.Prevalence(ask.Warner(0.8)).fit(["yes"] * 400 + ["no"] * 600)
    (figure,) = fitted.figures()
    assert figure.description == "Shares of all respondents with 95% intervals: yes 33.3%."
    axes = fitted.plot()
    assert axes.get_xlabel() == "share of all respondents (%)"
    assert axes.get_xlim()[0] == 0


def test_a_table_of_shares_does_not_test_them_against_zero():
    table = ask.Prevalence(ask.Warner(0.8)).fit(["no"] * 600 + ["yes"] * 400).summary()
    assert table.heads() == ["", "estimate", "std. error", "95% from", "to"]
    assert {len(row) for row in table.cells()} == {len(table.heads())}
    assert np.isnan(table.values[:, 2:4]).all()
    assert table.to_dict()["estimates"]["yes"]["p_value"] is None
    for shown in (str(table), table.to_markdown(), table.to_latex(), table._repr_html_()):
        assert "<.0001" not in shown
        assert "&lt;.0001" not in shown


def test_in_a_joint_table_odds_ratios_are_tested_and_shares_are_not():
    rng = np.random.default_rng(1)
    first = rng.random(3000) < 0.4
    truth = {"a": first, "b": np.where(rng.random(3000) < 0.7, first, ~first)}
    channels = {name: ask.Warner(0.9) for name in truth}
    reports = {name: channels[name].simulate(np.where(held, "yes", "no"), rng) for name, held in truth.items()}
    table = ask.JointTable(channels).fit(reports).summary()
    tested = {name for name, p in zip(table.names, table["p_value"], strict=True) if np.isfinite(p)}
    assert tested == {"log odds ratio a x b", "correlation a x b"}
