"""Structured response: theorems 1 and 2, the channels' own noise, and simulated estimators agree."""

import math
from itertools import product

import numpy as np
import pytest

from askance import CoordinateRelease, InvalidInput, PerValueFlip, RandomizedResponse, Unidentifiable
from askance.papers.finite_family import match_moments
from askance.planning.theory.efficiency import asymptotic_variance, family_law, relative_efficiency
from askance.planning.theory.structured_response import (
    coordinate_release_loss,
    flip_variance,
    per_value_loss,
    response_loss,
)

THREE_BITS = np.array(list(product((0.0, 1.0), repeat=3))).T
SHARES = np.array([[0.0, 0.3, 1.0, 0.6], [1.0, 0.2, 0.5, 0.0]])  # numbers in between, which are rounded by chance
CHANNELS = {
    "cr-tight": CoordinateRelease(3, 1.5),
    "cr-paper": CoordinateRelease(3, 1.5, calibration="paper"),
    "pv-tight": PerValueFlip(3, 1.5),
    "pv-paper": PerValueFlip(3, 1.5, max_ones=3, calibration="paper"),
}


def keep(log_odds):
    return 1 / (1 + math.exp(-log_odds))


@pytest.mark.parametrize("theta", [(0.0, 0.0, 0.0), (1.0, -0.5, 2.0)])
@pytest.mark.parametrize("name", CHANNELS)
def test_the_theorems_are_the_noise_of_the_channels(name, theta):
    channel, law = CHANNELS[name], family_law(THREE_BITS, theta)
    if name.startswith("cr"):
        expected = coordinate_release_loss(THREE_BITS, law, keep(1.5 if name == "cr-tight" else 0.75))
    else:
        expected = per_value_loss(3, keep(1.5 / 3 if name == "pv-tight" else 1.5 / 6))
    loss = response_loss(channel, THREE_BITS.T, law)
    assert loss == pytest.approx(expected, rel=1e-12, abs=1e-12)
    inverse = asymptotic_variance(THREE_BITS, theta, method="full")
    variance = asymptotic_variance(THREE_BITS, theta, channel, "moments")
    assert variance == pytest.approx(inverse + inverse @ expected @ inverse, rel=1e-10)


def test_a_law_weighs_the_truths():
    channel = CoordinateRelease(2, 1.0, probabilities=[0.3, 0.7])
    rows = np.repeat(SHARES.T, [1, 2, 3, 4], axis=0)
    by_law = response_loss(channel, SHARES.T, [0.1, 0.2, 0.3, 0.4])
    assert by_law == pytest.approx(response_loss(channel, rows), rel=1e-12)
    assert response_loss(channel, SHARES.T) == pytest.approx(response_loss(channel, SHARES.T, [0.25] * 4))


def test_rounding_costs_what_a_coin_costs():
    """A value of one half adds the variance of a fair coin to that of the flip, once unbiased."""
    channel = PerValueFlip(1, 2.0)
    loss = response_loss(channel, [[0.5]])[0, 0]
    assert loss == pytest.approx(flip_variance(keep(2.0)) + 0.25, rel=1e-12)
    assert response_loss(PerValueFlip(1, 2.0, bound=3.0), [[1.5]])[0, 0] == pytest.approx(9 * loss)


SIMULATED = {
    "cr": (CoordinateRelease(3, 2.0), THREE_BITS, (0.5, -0.5, 0.2)),
    "cr-law": (CoordinateRelease(3, 2.0, probabilities=[0.2, 0.3, 0.5]), THREE_BITS, (0.5, -0.5, 0.2)),
    "pv": (PerValueFlip(3, 4.0), THREE_BITS, (0.5, -0.5, 0.2)),
    "pv-sparse": (PerValueFlip(3, 2.0, max_ones=1), np.hstack([np.zeros((3, 1)), np.eye(3)]), (0.5, -0.5, 0.2)),
    "cr-shares": (CoordinateRelease(2, 3.0, bound=2.0), 2 * SHARES, (0.4, -0.3)),
    "pv-shares": (PerValueFlip(2, 4.0), SHARES, (0.8, -0.6)),
}


def scatter(channel, features, theta, people, replicates, rng):
    """n Cov[theta-hat] over studies: truths drawn, hidden by the channel, unbiased, and fitted."""
    law = family_law(features, theta)
    means = np.empty((replicates, len(features)))
    for r in range(replicates):
        truth = np.repeat(features.T, rng.multinomial(people, law), axis=0)
        means[r] = channel.unbiased_sum(channel.simulate(truth, rng)) / people
    return people * np.cov(match_moments(features, means, np.array(theta)), rowvar=False)


@pytest.mark.parametrize("name", SIMULATED)
def test_estimates_scatter_as_the_theory_says(name):
    # An entry of a covariance over R studies has variance (S_ii S_jj + S_ij^2) / R. All entries of all six cases are
    # checked to 5 standard errors: a correct program fails for fewer than one generator in 20,000. Studies are large
    # enough for the curvature of theta in the moments not to show.
    channel, features, theta = SIMULATED[name]
    people, replicates = 20_000, 300
    sigma = asymptotic_variance(features, theta, channel, "moments")
    found = scatter(channel, features, theta, people, replicates, np.random.default_rng(21))
    error = np.sqrt((np.outer(np.diag(sigma), np.diag(sigma)) + sigma**2) / replicates)
    assert np.all(np.abs(found - sigma) < 5 * error)
    without_noise = asymptotic_variance(features, theta, method="full")
    assert np.all(np.diag(found - without_noise) > 5 * np.diag(error))  # the check would notice a missing H


def test_the_better_scheme_depends_on_how_full_rows_are():
    d, rng = 12, np.random.default_rng(22)
    dense = np.array(rng.random((d, 40)) < 0.5, dtype=float)
    sparse = np.hstack([np.zeros((d, 1)), np.eye(d)])
    one, every = CoordinateRelease(d, 1.0), PerValueFlip(d, 1.0)
    few = PerValueFlip(d, 1.0, max_ones=1)
    assert relative_efficiency(dense, np.zeros(d), one, reference=every) > 2
    assert relative_efficiency(sparse, np.zeros(d), few, reference=one) > 2
    assert relative_efficiency(sparse, np.zeros(d), few, reference=few) == pytest.approx(1)


def test_tight_calibration_is_never_worse():
    for theta in ((0.0, 0.0, 0.0), (1.0, -0.5, 2.0)):
        for scheme in ("cr", "pv"):
            tight, paper = CHANNELS[f"{scheme}-tight"], CHANNELS[f"{scheme}-paper"]
            assert tight.guarantee.epsilon > 1.99 * paper.guarantee.epsilon
            assert relative_efficiency(THREE_BITS, theta, tight, reference=paper) > 2


def test_a_finite_channel_can_be_compared_with_a_vector_channel():
    coin = RandomizedResponse(range(8), epsilon=1.5)
    gain = relative_efficiency(THREE_BITS, np.zeros(3), CHANNELS["cr-tight"], reference=coin)
    back = relative_efficiency(THREE_BITS, np.zeros(3), coin, reference=CHANNELS["cr-tight"])
    assert back < 1 < gain


@pytest.mark.parametrize("method", ["marginal", "least"])
def test_only_moments_are_known_for_vector_channels(method):
    with pytest.raises(InvalidInput, match=rf"method='{method}' for a vector channel.*method='moments'"):
        asymptotic_variance(THREE_BITS, np.zeros(3), CHANNELS["cr-tight"], method)


def test_bad_input_is_refused_with_a_reason():
    channel = CHANNELS["pv-tight"]
    with pytest.raises(InvalidInput, match=r"nothing to compare it with.*reference="):
        relative_efficiency(THREE_BITS, np.zeros(3), channel)
    with pytest.raises(InvalidInput, match=r"2 values outside \[0, 1\].*without bias"):
        response_loss(channel, [[2.0, -1.0, 0.0]])
    with pytest.raises(InvalidInput, match=r"shape \(1, 2\)"):
        response_loss(channel, [[1.0, 0.0]])
    with pytest.raises(InvalidInput, match=r"a law of shape \(2,\).*8 probabilities"):
        response_loss(channel, THREE_BITS.T, [0.5, 0.5])
    for law in ([0.5] * 8, [-1.0, 2.0, *[0.0] * 6], [np.nan] * 8):
        with pytest.raises(InvalidInput, match="sum to 1"):
            response_loss(channel, THREE_BITS.T, law)
    with pytest.raises(InvalidInput, match=r"not all 0 or 1.*response_loss"):
        coordinate_release_loss(SHARES, [0.25] * 4, 0.75)
    for q in (0.5, 0.2, 1.1, math.nan):
        with pytest.raises(InvalidInput, match="above 1/2"):
            per_value_loss(2, q)
    assert per_value_loss(2, 1.0).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(Unidentifiable, match="the features"):
        asymptotic_variance([[0.0, 0.0], [0.0, 1.0]], [0.0, 0.0], PerValueFlip(2, 1.0), "moments")
