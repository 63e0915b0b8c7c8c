"""The test of one design: exact where it can be, said first, never absent."""

import numpy as np
import pytest
from scipy import stats

import askance as ask
from askance.learning.answers.compliance import DesignTest
from askance.statistics import ReportCounts

FORCED = ask.ForcedResponse(1 / 6, 1 / 6)
IMPOSSIBLE = ["yes"] * 80 + ["no"] * 920


def counts(*weights):
    return ReportCounts(int(sum(weights)), np.array(weights, float), np.array(weights, float))


def test_it_is_the_binomial_tail_at_the_border():
    assert DesignTest.of(FORCED, counts(920, 80)).p_value == pytest.approx(stats.binom.cdf(80, 1000, 1 / 6))
    assert DesignTest.of(ask.Warner(0.25), counts(200, 800)).p_value == pytest.approx(stats.binom.sf(799, 1000, 0.75))
    assert DesignTest.of(FORCED, counts(800, 200)).p_value == 1
    assert DesignTest.of(ask.Identity(), counts(1000, 0)).p_value == 1
    assert DesignTest.of(ask.Triangular(0.3), counts(1000, 0)).p_value < 1e-100


def test_its_size_is_at_most_what_it_says():
    """Exact: the probability of p < .05 over all outcomes, with no carrier at all."""
    for n in (30, 100, 500):
        yes = np.arange(n + 1)
        p = np.array([DesignTest.of(FORCED, counts(n - k, k)).p_value for k in yes.tolist()])
        assert stats.binom.pmf(yes, n, 1 / 6)[p < 0.05].sum() <= 0.05


def test_impossible_reports_are_said_first_with_the_unbiased_estimate():
    with pytest.warns(ask.AskanceWarning, match="design was not followed"):
        fitted = ask.Prevalence(FORCED).fit(IMPOSSIBLE)
    text = str(fitted.summary())
    assert text.splitlines()[1].startswith("ALERT: The design was not followed")
    assert "8.0% of reports are 'yes', where at least 16.7% must be" in text
    assert "exact p = 8e-16" in text
    assert "At least 52% said 'no' regardless" in text
    assert "-13.0%" in text
    row = fitted.summary().to_frame().loc["yes"]
    assert row["estimate"] == pytest.approx(-0.13)
    assert row[["z", "p_value", "lower", "upper"]].isna().all()
    assert fitted.proportions_.min() == 0  # what is used further stays a share


def test_no_answer_is_safe_under_warner():
    with pytest.warns(ask.AskanceWarning, match="not followed"):
        fitted = ask.Prevalence(ask.Warner(0.25)).fit(["yes"] * 860 + ["no"] * 140)
    assert "regardless" not in str(fitted.summary())


def test_regressions_and_learners_say_it_too(tmp_path):
    from sklearn.naive_bayes import GaussianNB

    x = np.random.default_rng(0).normal(size=(1000, 1))
    with pytest.warns(ask.AskanceWarning):
        fitted = ask.IndirectClassifier(FORCED, intervals="wald").fit(x, IMPOSSIBLE)
    learned = ask.IndirectClassifier(FORCED, base_estimator=GaussianNB()).fit(x, IMPOSSIBLE)
    for model in (fitted, learned):
        assert str(model.summary()).splitlines()[1].startswith("ALERT")
        model.report(tmp_path / "page.html", overwrite=True)
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert page.index("was not followed") < page.index("privacy of")
    fitted.save(tmp_path / "model.json")
    assert str(ask.load_model(tmp_path / "model.json").summary()) == str(fitted.summary())


def test_weights_make_reports_worth_fewer():
    weights = np.random.default_rng(1).gamma(0.5, size=1000)
    reports = ["yes"] * 130 + ["no"] * 870
    with pytest.warns(ask.AskanceWarning):
        heavy = ask.Prevalence(FORCED).fit(reports, sample_weight=weights)
    with pytest.warns(ask.AskanceWarning):
        scaled = ask.Prevalence(FORCED).fit(reports, sample_weight=1e4 * weights)
    assert scaled.design_test_.p_value == pytest.approx(heavy.design_test_.p_value)
    share = weights[:130].sum() / weights.sum()
    size = weights.sum() ** 2 / (weights**2).sum()
    tail = stats.beta.cdf(1 - 1 / 6, size * (1 - share), size * share + 1)
    assert heavy.design_test_.p_value == pytest.approx(tail)


def test_every_design_of_several_is_tested():
    channel = ask.DesignPerRow({"cards": ask.Warner(0.8), "dice": FORCED})
    design = ["cards"] * 500 + ["dice"] * 1000
    with pytest.warns(ask.AskanceWarning, match="under 'dice'"):
        fitted = ask.Prevalence(channel).fit(["yes"] * 200 + ["no"] * 300 + IMPOSSIBLE, design=design)
    assert fitted.design_test_.p_value == pytest.approx(2 * stats.binom.cdf(80, 1000, 1 / 6))
    fine = ask.Prevalence(ask.Warner(0.8)).fit(["yes"] * 400 + ["no"] * 600)
    assert fine.summary().fact("fit of the design") == (
        "the reports can have come from the design "
        "(so can any with 20% to 80% 'yes': other probabilities need not show)"
    )


def test_reports_that_are_possible_are_said_to_leave_the_probabilities_open():
    rng = np.random.default_rng(5)

    def sentence(channel, truth):
        return ask.Prevalence(channel).fit(channel.simulate(truth, rng)).design_test_.sentence

    three = ask.RandomizedResponse(["a", "b", "c"], epsilon=1)
    assert sentence(three, rng.choice(["a", "b", "c"], 900)).endswith("(other probabilities in it need not show)")
    truth = rng.choice(["no", "yes"], 900)
    assert sentence(ask.Identity(("no", "yes")), truth) == "the reports can have come from the design"
    assert "need not" not in sentence(ask.Repeated(ask.Warner(0.8), 2), truth)
    both = ask.DesignPerRow({"a": ask.Warner(0.8), "b": ask.Warner(0.7)})
    design = ["a", "b"] * 450
    fitted = ask.Prevalence(both).fit(both.simulate(truth, rng, design), design=design)
    assert "need not" not in fitted.design_test_.sentence
