"""Panels: one permanent response, many waves; what they give away together, exactly."""

import itertools
import math

import numpy as np
import pytest

import askance as ask
from askance.errors import InvalidInput, Unidentifiable


def panel(permanent=2.0, instantaneous=1.0, classes=2):
    return ask.Memoised(ask.RandomizedResponse(range(classes), epsilon=permanent), instantaneous)


def exhaustive_level(channel, waves):
    """The largest log-ratio of any sequence of reports, for any two truths."""
    kept, told = channel.permanent.matrix, channel.instantaneous.matrix
    worst = 0.0
    for reports in itertools.product(range(len(told)), repeat=waves):
        likelihood = np.prod(told[list(reports)], axis=0) @ kept
        if likelihood.max() > 0:
            worst = max(worst, math.log(likelihood.max() / likelihood.min()) if likelihood.min() else math.inf)
    return worst


@pytest.mark.parametrize(("permanent", "instantaneous"), [(29.0, 28.0), (25.0, 29.5), (2.0, 1.0), (30.0, 30.0)])
def test_one_wave_costs_no_less_than_what_either_way_to_draw_it_gives_away(permanent, instantaneous):
    channel = panel(permanent, instantaneous)
    one_by_one = channel.instantaneous.counts.astype(object) @ channel.permanent.counts.astype(object)
    for table in (one_by_one, channel.counts):
        assert channel.guarantee.epsilon >= max(math.log1p((max(row) - min(row)) / min(row)) for row in table.tolist())


CHANNELS = {
    "two": panel(),
    "three": panel(classes=3),
    "strong": panel(0.5, 3.0),
    "uneven": ask.Memoised(ask.ForcedResponse(1 / 6, 1 / 12), ask.Kuk(0.8, 0.3)),
    "tall": ask.Memoised(
        ask.FiniteChannel([[0.8, 0.3], [0.1, 0.5], [0.1, 0.2]], ["a", "b"], ["x", "y", "z"]),
        ask.RandomizedResponse(["x", "y", "z"], epsilon=0.7, base=[0.2, 0.3, 0.5]),
    ),
    "wide": ask.Memoised(
        ask.RandomizedResponse(["a", "b"], epsilon=1.5),
        ask.FiniteChannel([[0.5, 0.2], [0.3, 0.3], [0.2, 0.5]], ["a", "b"], ["low", "middle", "high"]),
    ),
    "open-eyed": ask.Memoised(ask.Warner(0.8), ask.Identity()),
}


def test_the_measured_levels():
    found = [panel().guarantee_of_waves(waves).epsilon for waves in (1, 2, 5, 10)]
    assert found == pytest.approx([0.735, 1.325, 1.952, 2.000], abs=5e-4)


@pytest.mark.parametrize("waves", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", CHANNELS)
def test_levels_are_those_of_all_outcomes(kind, waves):
    channel = CHANNELS[kind]
    level, exact = channel.guarantee_of_waves(waves).epsilon, exhaustive_level(channel, waves)
    assert level == pytest.approx(exact, rel=1e-12)
    assert level >= exact * (1 - 1e-15)


@pytest.mark.parametrize("kind", CHANNELS)
def test_the_bound_for_many_outcomes_is_never_below(kind):
    channel = CHANNELS[kind]
    for waves in (1, 2, 4):
        bound = min(channel._level_bound(waves), channel.permanent.guarantee.epsilon)
        assert bound >= exhaustive_level(channel, waves) * (1 - 1e-12)
    if kind in ("two", "three", "strong"):  # and the same for randomised response
        assert channel._level_bound(3) == pytest.approx(exhaustive_level(channel, 3))


def test_no_number_of_waves_gives_away_more_than_the_permanent_response():
    channel = panel(classes=10)
    levels = [channel.guarantee_of_waves(waves).epsilon for waves in (1, 2, 8, 64, 100_000)]
    assert levels == sorted(levels)
    assert levels[-1] == pytest.approx(channel.permanent.guarantee.epsilon)
    assert channel.lasting_guarantee.epsilon == channel.permanent.guarantee.epsilon
    fresh = channel.guarantee.repeated(8).epsilon
    assert levels[2] < fresh


def test_waves_are_drawn_about_one_permanent_response():
    # 60,000 people: frequencies of 8 outcomes of three waves, each within 5 standard errors: one alarm in 10^5.
    channel, n = panel(), 60_000
    kept, reports = channel.simulate_waves(np.ones(n, dtype=int), 3, np.random.default_rng(5))
    assert reports.shape == (n, 3)
    codes = reports @ [4, 2, 1]
    found = np.bincount(codes, minlength=8) / n
    for outcome, share in enumerate(found):
        bits = [[outcome >> 2 & 1, outcome >> 1 & 1, outcome & 1]]
        expected = channel.likelihood_of_waves(bits)[0, 1]
        assert share == pytest.approx(expected, abs=5 * math.sqrt(expected / n))
    assert np.bincount(kept)[1] / n == pytest.approx(channel.permanent.matrix[1, 1], abs=0.01)
    # Each wave agrees with what was kept as often as the instantaneous response says.
    assert (reports == kept[:, None]).mean() == pytest.approx(channel.instantaneous.matrix[0, 0], abs=0.01)


def test_a_device_can_go_on_from_what_it_kept():
    channel = CHANNELS["tall"]
    kept, _ = channel.privatize_waves(["a", "b"] * 5000, waves=2)
    assert set(kept) <= {"x", "y", "z"}
    again = channel.respond(kept)
    agree = channel.instantaneous.matrix.diagonal()
    for report, share in zip(["x", "y", "z"], agree, strict=True):
        mine = kept == report
        assert (again[mine] == report).mean() == pytest.approx(share, abs=6 * math.sqrt(0.25 / mine.sum()))


def test_the_likelihood_of_one_wave_is_the_channel():
    for channel in CHANNELS.values():
        reports = np.array(channel.report_labels)
        np.testing.assert_allclose(channel.likelihood_of_waves(reports[:, None]), channel.matrix, rtol=1e-12)
        np.testing.assert_allclose(channel.likelihood_of_waves(reports), channel.likelihood(reports), rtol=1e-12)


def test_the_posterior_of_fresh_reports_is_the_published_formula():
    channel = ask.RandomizedResponse(["a", "b", "c"], epsilon=1.0)
    reports = [["a", "a", "b"], ["c", "c", "c"], ["a", "b", "c"]]
    prior = np.array([0.2, 0.3, 0.5])
    expected = prior * np.prod(channel.matrix[channel.encode_waves(reports)], axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(channel.posterior(reports, prior), expected, rtol=1e-12)
    # It concentrates exponentially fast in the number of fresh reports; about a permanent response it does not.
    many = ask.Warner(0.75).posterior([["yes"] * 1000])[0]
    assert many[1] == 1
    assert many[0] < 1e-200
    kept = ask.Memoised(ask.Warner(0.75), ask.Warner(0.75)).posterior([["yes"] * 1000])[0]
    assert kept[1] == pytest.approx(0.75)


def test_the_posterior_of_waves_is_bayes_rule():
    channel = CHANNELS["uneven"]
    reports = [["yes", "yes"], ["no", "yes"]]
    joint = channel.likelihood_of_waves(reports) * [0.9, 0.1]
    np.testing.assert_allclose(channel.posterior(reports, [0.9, 0.1]), joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("prior", [[0.5], [0.5, -0.5], [0, 0], [np.nan, 1]])
def test_a_prior_that_is_none(prior):
    with pytest.raises(InvalidInput, match="prior"):
        ask.Warner(0.8).posterior(["yes"], prior)


def test_reports_that_cannot_be():
    with pytest.raises(InvalidInput, match="no truth"):
        ask.Identity().posterior([["no", "yes"]])
    with pytest.raises(InvalidInput, match="shape"):
        ask.Warner(0.8).likelihood_of_waves(np.empty((0, 2), dtype=str))
    with pytest.raises(InvalidInput, match="not among the labels"):
        ask.Warner(0.8).likelihood_of_waves([["yes", "perhaps"]])


@pytest.mark.parametrize(
    ("permanent", "instantaneous", "message"),
    [
        ("warner", 1.0, "permanent"),
        (ask.Warner(0.8), "warner", "instantaneous"),
        (ask.Warner(0.8), True, "instantaneous"),
        (ask.Warner(0.8), 0.0, "epsilon"),
        (ask.Warner(0.8), ask.Warner(0.8, classes=(0, 1)), "about the permanent reports"),
        (ask.PrivateNumber(0, 1, epsilon=1.0), 1.0, "finite channel"),
    ],
)
def test_parts_that_do_not_fit(permanent, instantaneous, message):
    with pytest.raises(InvalidInput, match=message):
        ask.Memoised(permanent, instantaneous)


def test_a_panel_that_tells_nothing_is_refused():
    with pytest.raises(Unidentifiable):
        ask.Memoised(
            ask.FiniteChannel([[0.5, 0.3], [0.3, 0.5], [0.2, 0.2]], ["a", "b"], ["x", "y", "z"]),
            ask.FiniteChannel([[0.5, 0.5 + 2e-9, 0.1], [0.5, 0.5 - 2e-9, 0.9]], ["x", "y", "z"], ["p", "q"]),
        )


@pytest.mark.parametrize("waves", [0, -1, 1.5, True, "two"])
def test_a_number_of_waves_that_is_none(waves):
    with pytest.raises(InvalidInput, match="waves"):
        panel().guarantee_of_waves(waves)
    with pytest.raises(InvalidInput, match="waves"):
        panel().privatize_waves([0, 1], waves)


def test_what_is_kept_does_not_cost_more_the_more_often_it_is_told():
    """It said in one breath that the level holds however often, and that asking again multiplies it."""
    channel = ask.Memoised(ask.RandomizedResponse(["no", "yes"], epsilon=2.0), 1.0)
    assert "multiplies" not in channel.lasting_guarantee.in_words()
    assert "add nothing" in channel.lasting_guarantee.in_words()
    assert "multiplies" in channel.permanent.guarantee.in_words()
