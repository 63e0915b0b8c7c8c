"""Numbers of a design that nobody knows: affine in them, private for every value of them, and never guessed."""

import json
import pickle

import numpy as np
import pytest

import askance as ask
from askance import InvalidInput, Unidentifiable, channel_from_spec
from askance.channels.labels import unknown_from_spec
from askance.mechanisms.accounting import channel_loss

UNKNOWN = {
    "unrelated": ask.UnrelatedQuestion(0.7, prevalence=ask.Unknown()),
    "unrelated-bounded": ask.UnrelatedQuestion(0.7, prevalence=ask.Unknown("moon", between=(0.2, 0.6))),
    "lie-detector": ask.StochasticLieDetector(0.7),
    "both-of-kuk": ask.Kuk(ask.Unknown("red"), ask.Unknown("black")),
    "crosswise": ask.Crosswise(ask.Unknown()),
    "cheaters": ask.Cheaters(ask.ForcedResponse(0.1, 0.2)),
    "always-same": ask.Cheaters(ask.Crosswise(0.25), says="yes"),
    "random": ask.RandomAnswers(ask.Crosswise(0.25)),
    "anchor": ask.Anchor(ask.RandomAnswers(ask.Crosswise(0.25))),
    "two": ask.RandomAnswers(ask.Cheaters(ask.UnrelatedQuestion(0.7, 0.3))),
    "three-classes": ask.Cheaters(ask.RandomizedResponse(("a", "b", "c"), epsilon=1.0), says="b"),
    "designs": ask.DesignPerRow(
        {
            "a": ask.RandomAnswers(ask.UnrelatedQuestion(0.7, ask.Unknown())),
            "b": ask.UnrelatedQuestion(0.3, ask.Unknown()),
            "direct": ask.Identity(["no", "yes"]),
        }
    ),
}
EVERY = pytest.mark.parametrize("channel", UNKNOWN.values(), ids=UNKNOWN.keys())
DESIGNS = UNKNOWN["designs"]


def some_values(channel, seed=0):
    return dict(
        zip(channel.unknowns, np.random.default_rng(seed).uniform(0.1, 0.9, len(channel.unknowns)), strict=True)
    )


@EVERY
def test_it_survives_json_and_pickle_and_its_repr_makes_it_again(channel):
    again = channel_from_spec(json.loads(json.dumps(channel.to_spec())))
    assert again == channel
    assert again.unknowns == channel.unknowns
    assert pickle.loads(pickle.dumps(channel)) == channel
    assert eval(repr(channel), vars(ask) | {"Unknown": ask.Unknown}) == channel


@EVERY
def test_its_matrix_is_that_of_the_channel_with_these_values(channel):
    values = some_values(channel)
    known = channel.with_values(values)
    assert not known.unknowns
    assert channel.matrix_at(values) == pytest.approx(known.matrix, abs=1e-15)
    names = list(values)
    partly = channel.with_values({names[0]: values[names[0]]})
    assert list(partly.unknowns) == names[1:]
    assert partly.with_values({name: values[name] for name in names[1:]}) == known


@EVERY
def test_it_is_affine_in_each_number_and_the_derivative_is_exact(channel):
    values = some_values(channel, 1)
    table = channel.corners
    for value in values.values():
        table = (1 - value) * table[0] + value * table[1]
    assert table == pytest.approx(channel.matrix_at(values), abs=1e-15)
    for name in values:
        up, down = (channel.matrix_at(values | {name: values[name] + step}) for step in (0.01, -0.01))
        assert channel.matrix_derivative(values, name) == pytest.approx((up - down) / 0.02, abs=1e-12)


@EVERY
def test_the_guarantee_holds_for_every_value(channel):
    rng = np.random.default_rng(2)
    promised = channel.guarantee.epsilon
    for _ in range(50):
        values = {name: rng.uniform(*unknown.between) for name, unknown in channel.unknowns.items()}
        matrix = channel.matrix_at(values)
        assert np.log(matrix.max(axis=1) / np.maximum(matrix.min(axis=1), 1e-300)).max() <= promised + 1e-9
    for name in channel.unknowns:
        assert name in channel.guarantee.neighbours or channel is DESIGNS


def test_bounds_of_an_unknown_number_make_a_guarantee():
    assert UNKNOWN["unrelated"].guarantee.epsilon == np.inf
    bounded = UNKNOWN["unrelated-bounded"]
    worst = max(ask.UnrelatedQuestion(0.7, r).guarantee.epsilon for r in (0.2, 0.6))
    assert bounded.guarantee.epsilon == pytest.approx(worst)
    assert "moon from 0.2 to 0.6" in str(bounded.guarantee)


@EVERY
def test_whatever_needs_a_matrix_refuses_and_says_who_does_not(channel):
    for need in (
        lambda: channel.matrix,
        lambda: channel.unbias(["yes"], **({"design": ["a"]} if channel.needs_design else {})),
        lambda: channel.unbiasing_matrix(),
    ):
        with pytest.raises(Unidentifiable, match=r"unknown, so that its matrix is not known.*Prevalence"):
            need()


@EVERY
def test_simulations_must_be_told_all_values(channel):
    design = {"design": ["a"] * 3} if channel.needs_design else {}
    truth = [channel.classes[0]] * 3
    with pytest.raises(InvalidInput, match="no value for the unknown"):
        channel.simulate(truth, np.random.default_rng(0), **design)
    with pytest.raises(InvalidInput, match="values of 'nonsense'"):
        channel.simulate(truth, np.random.default_rng(0), psi={"nonsense": 0.5}, **design)
    with pytest.raises(InvalidInput, match="probability"):
        channel.simulate(truth, np.random.default_rng(0), psi=dict.fromkeys(channel.unknowns, 1.5), **design)


@pytest.mark.parametrize("name", ["unrelated", "lie-detector", "two", "three-classes", "anchor"])
def test_simulated_reports_have_the_law_at_these_values(name):
    # At most 9 cells of 50,000 draws: a deviation of 5 standard errors has a probability of 6e-7; seeds are fixed.
    channel, draws = UNKNOWN[name], 50_000
    values = some_values(channel, 3)
    for number, label in enumerate(channel.classes):
        reports = channel.simulate([label] * draws, np.random.default_rng(number), psi=values)
        law = channel.matrix_at(values)[:, number]
        shares = np.bincount(channel.encode_reports(reports), minlength=len(law)) / draws
        assert np.all(np.abs(shares - law) < 5 * np.sqrt(law * (1 - law) / draws) + 1e-12)


def test_real_reports_come_from_the_device_that_people_are_asked_to_follow():
    # 40,000 draws: five standard errors are 0.0125.
    truth = ["yes"] * 40_000
    for channel, share in (
        (UNKNOWN["cheaters"], 0.9),
        (UNKNOWN["random"], 0.25),
        (UNKNOWN["lie-detector"], 1.0),
        (UNKNOWN["anchor"], 0.75),
    ):
        assert np.mean(channel.privatize(truth) == "yes") == pytest.approx(share, abs=0.0125)
    with pytest.raises(InvalidInput, match=r"unrelated_prevalence nobody knows.*collect their reports"):
        UNKNOWN["unrelated"].privatize(["yes"])


def test_numbers_of_one_name_are_one_number():
    assert list(DESIGNS.unknowns) == ["unrelated_prevalence", "random_answers"]
    two = ask.DesignPerRow({"a": ask.Cheaters(ask.Warner(0.8)), "b": ask.Cheaters(ask.Warner(0.7), ask.Unknown("b"))})
    assert list(two.unknowns) == ["cheaters", "b"]
    with pytest.raises(InvalidInput, match="two unknown numbers 'cheaters' in"):
        ask.Cheaters(ask.Cheaters(ask.Warner(0.8)))
    bounded = ask.Cheaters(ask.Warner(0.7), ask.Unknown(between=(0, 0.5)))
    with pytest.raises(InvalidInput, match="same bounds"):
        ask.DesignPerRow({"a": ask.Cheaters(ask.Warner(0.8)), "b": bounded})


def test_where_people_do_as_asked():
    assert UNKNOWN["two"].without_effect("cheaters") == UNKNOWN["two"].without_effect("random_answers") == 0
    assert UNKNOWN["lie-detector"].without_effect("truthful") == 1
    assert UNKNOWN["unrelated"].without_effect("unrelated_prevalence") is None
    assert UNKNOWN["anchor"].without_effect("random_answers") == 0


def test_the_device_is_what_is_audited_and_the_worst_value_is_what_is_paid_for():
    audited = ask.audit(UNKNOWN["cheaters"], draws=20_000, error_rate=1e-9)
    assert audited.passed
    assert audited.exact_epsilon == pytest.approx(UNKNOWN["cheaters"].guarantee.epsilon)
    assert ask.audit(ask.DesignPerRow({"a": UNKNOWN["random"]}), draws=20_000, error_rate=1e-9).passed
    with pytest.raises(InvalidInput, match="unrelated_prevalence nobody knows"):
        ask.audit(UNKNOWN["unrelated"])
    paid = channel_loss(UNKNOWN["unrelated-bounded"])
    assert paid.epsilon == pytest.approx(UNKNOWN["unrelated-bounded"].guarantee.epsilon)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ask.Unknown(3), "a name"),
        (lambda: ask.Unknown(between=0.5), "two probabilities"),
        (lambda: ask.Unknown(between=(0.5, 0.2)), "the lower one first"),
        (lambda: ask.Cheaters("warner"), "a finite channel"),
        (lambda: ask.Cheaters(ask.Warner(0.8), says="perhaps"), "one of the reports 'no', 'yes'"),
        (lambda: ask.Cheaters(ask.Warner(0.8), share=3), "For 3 per cent write 0.03"),
        (lambda: ask.Anchor(ask.Warner(0.8), truth="never"), "one of the classes"),
        (lambda: UNKNOWN["random"].with_values({"cheaters": 0.1}), "among 'random_answers'"),
        (lambda: UNKNOWN["random"].with_values(0.1), "a mapping such as {'random_answers': 0.1}"),
        (lambda: ask.Warner(0.8).with_values({"p": 0.1}), "nothing here is unknown"),
        (lambda: unknown_from_spec({"unknown": "a", "from": 3}), "between"),
    ],
)
def test_mistakes_are_answered(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()
