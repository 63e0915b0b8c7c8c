"""What a kind of prediction that hardly came does to the error of a ratio."""

import numpy as np
import pytest

import askance as ask
from askance.metrics import rare_predictions

CHANNEL = ask.Warner(0.8)


@pytest.mark.filterwarnings("ignore:.*surest predictions:askance.AskanceWarning")  # reports of one kind
def test_predictions_of_one_kind_are_known_no_better_than_one_in_as_many_rows():
    found = ask.metrics.recall(["yes"] * 500, ["yes"] * 500, CHANNEL)
    assert found.value == 1
    low = found.interval()[0]
    assert 1 - 6 / 500 < low < 1 - 2 / 500  # of none among n rows 3.7 / n, over a share of yes of 4/3 at most


@pytest.mark.parametrize("name", ["recall", "precision", "f1", "balanced_accuracy"])
@pytest.mark.parametrize("rare", [10, 200])
def test_ten_rows_of_each_kind_speak_for_themselves(name, rare, monkeypatch):
    rng = np.random.default_rng(3)
    predicted = np.repeat(["no", "yes"], [rare, 600 - rare])
    truth = np.where(rng.random(600) < 0.8, predicted, rng.choice(["no", "yes"], 600))
    reports = ask.Warner(0.95).simulate(truth, rng)
    metric = getattr(ask.metrics, name)
    found = metric(reports, predicted, ask.Warner(0.95))
    monkeypatch.setattr(rare_predictions, "_UNSEEN", 0.0)
    before = metric(reports, predicted, ask.Warner(0.95))
    assert (found.std_error, found.interval()) == (before.std_error, before.interval())


def test_the_values_are_the_same_and_errors_never_smaller(monkeypatch):
    rng = np.random.default_rng(4)
    truth = np.where(rng.random(80) < 0.9, "yes", "no")
    reports, predicted = CHANNEL.simulate(truth, rng), np.where(rng.random(80) < 0.97, "yes", "no")
    names = ("recall", "f1", "precision")
    now = [getattr(ask.metrics, name)(reports, predicted, CHANNEL) for name in names]
    monkeypatch.setattr(rare_predictions, "_UNSEEN", 0.0)
    before = [getattr(ask.metrics, name)(reports, predicted, CHANNEL) for name in names]
    assert [found.value for found in now] == [found.value for found in before]
    assert all(one.std_error >= other.std_error for one, other in zip(now, before, strict=True))
    assert now[0].std_error > before[0].std_error


@pytest.mark.parametrize("rows", [30, 200])
@pytest.mark.parametrize("name", ["recall", "f1"])
def test_intervals_hold_where_nearly_everybody_is_predicted_to_be_of_one_class(name, rows):
    # Of 200 intervals of 95%, 10 miss by chance, and more than 18 once in a hundred times; of recall 125 and 30 did.
    rng, missed = np.random.default_rng(7), 0
    hit, share = 0.98, 0.98
    truth = {"recall": hit, "f1": 2 * share * hit / (share + hit)}[name]
    for _ in range(200):
        answers = rng.random(rows) < share
        predicted = np.where(rng.random(rows) < hit, "yes", "no")  # whatever the truth: precision is the share
        reports = CHANNEL.simulate(np.where(answers, "yes", "no"), rng)
        low, high = getattr(ask.metrics, name)(reports, predicted, CHANNEL).interval()
        missed += not low <= truth <= high
    assert missed <= 18


@pytest.mark.filterwarnings("ignore:.*surest predictions:askance.AskanceWarning")  # reports of one kind
def test_weights_count_as_the_rows_they_are_worth():
    reports, predicted = ["yes"] * 60, ["yes"] * 60
    even = ask.metrics.recall(reports, predicted, CHANNEL)
    uneven = ask.metrics.recall(reports, predicted, CHANNEL, sample_weight=[1.0] * 20 + [1e-9] * 40)
    assert uneven.std_error == pytest.approx(3 * even.std_error, rel=1e-6)
