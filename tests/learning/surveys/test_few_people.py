"""Survey models of very few people, and of answers that all are the same."""

import warnings

import numpy as np
import pytest

import askance as ask

FORCED = ask.ForcedResponse(1 / 6, 1 / 6)


def test_no_more_parameters_than_people():
    x = np.arange(5.0)[:, None]
    with pytest.raises(ask.InvalidInput, match="5 people for 6 parameters"):
        ask.HiddenPredictor({"z": FORCED}).fit(x, [1.0, 3.0, 2.0, 5.0, 4.0], {"z": ["no", "yes", "no", "yes", "yes"]})
    with pytest.raises(ask.InvalidInput, match="5 people for"):
        ask.ListExperiment(4).fit(x, [2, 2, 3, 1, 4], [1, 0, 1, 0, 1])


def test_few_people_are_said_to_be_few():
    with pytest.warns(ask.AskanceWarning, match="5 people for 2 parameters are few"):
        ask.AnswerRegression(FORCED, "probit").fit(np.arange(5.0)[:, None], ["no", "yes", "no", "yes", "yes"])
    four = {"a": ["no", "no", "yes", "yes"] * 5, "b": ["no", "yes"] * 10}
    with pytest.warns(ask.AskanceWarning, match="20 people for 3 parameters are few"):
        ask.JointTable({"a": FORCED, "b": ask.Warner(0.8)}).fit(four)


def test_people_of_unequal_weights_are_as_many_as_tell_as_much():
    """One weight of a million among 400: a table once had shares of 0 and 1 to three digits."""
    rng = np.random.default_rng(3)
    channels = {"a": FORCED, "b": ask.Warner(0.8)}
    truth = rng.choice(["no", "yes"], 400)
    reports = {name: channel.simulate(truth, rng) for name, channel in channels.items()}
    x, heavy, some = rng.normal(size=(400, 1)), np.ones(400), np.ones(400)
    heavy[0], some[:20] = 1e6, 300.0
    for made in (
        lambda weights: ask.JointTable(channels).fit(reports, sample_weight=weights),
        lambda weights: ask.AnswerRegression(FORCED).fit(x, reports["a"], sample_weight=weights),
        lambda weights: ask.ListExperiment(3).fit(None, np.arange(400) % 3, np.arange(400) % 2, sample_weight=weights),
    ):
        with pytest.raises(ask.InvalidInput, match=r"400 people whose weights leave as much as 1\.0 for"):
            made(heavy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ask.AskanceWarning)
            assert any("weights are very unequal: 400 reports" in note for note in made(some).notes_)


def test_a_list_of_few_people_has_few_degrees_of_freedom():
    """Welch's interval of two groups, as scipy has it."""
    from scipy.stats import ttest_ind

    counts, long = np.array([2, 2, 3, 1, 2]), np.array([1, 0, 1, 0, 1])
    table = ask.ListExperiment(4).fit(None, counts, long).summary()
    welch = ttest_ind(counts[long == 1], counts[long == 0], equal_var=False)
    ends = welch.confidence_interval(0.95)
    np.testing.assert_allclose(table.values[0, 3:6], [welch.pvalue, ends.low, ends.high], rtol=1e-6)


def test_a_probit_that_ran_away_is_penalised():
    rng = np.random.default_rng(0)
    x, reports = rng.normal(size=(30, 1)), ["yes"] * 28 + ["no"] * 2
    with pytest.warns(ask.AskanceWarning, match="no finite maximum"):
        fitted = ask.AnswerRegression(FORCED, link="probit").fit(x, reports)
    assert np.abs(fitted.parameters_).max() < 10
    assert fitted.standard_errors_.max() < 10


def test_those_who_all_answer_the_same_have_no_correlation():
    rng = np.random.default_rng(1)
    channels = {"a": FORCED, "b": ask.Warner(0.8)}
    reports = {"a": ["yes"] * 28 + ["no"] * 4, "b": channels["b"].simulate(rng.choice(["no", "yes"], 32), rng)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ask.AskanceWarning)
        table = ask.JointTable(channels).fit(reports).summary().to_frame()
    assert table.loc["correlation a x b"].isna().all()
