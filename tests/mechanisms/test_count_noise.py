"""Noise on counts: exact levels by looking at every output, and draws that have the law they say."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.balanced_counts import (
    BalancedGaussian,
    BalancedLaplace,
    TruncatedLaplace,
    _wide_gaussian_delta,
    balanced_gaussian_delta,
)
from askance.mechanisms.counts.count_mechanisms import SOUND
from askance.mechanisms.counts.independent_counts import IndependentGaussian, IndependentLaplace
from askance.mechanisms.counts.sum_zero_vectors import log_vectors
from askance.mechanisms.total_noise import gaussian_deviation
from askance.releases.counts_release import simulate_counts_release
from count_cases import NEEDS_DELTA, bits, divergences, law_of, sum_zero

# -- exact levels ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "reach"), [(2, 60), (3, 25), (4, 9)])
def test_the_level_of_discrete_laplace_by_looking_at_every_output(classes, reach):
    noise = BalancedLaplace.calibrated(classes, Budget.of("0.7"))
    found = list(divergences(noise, reach, 0.7))
    assert len(found) == classes * (classes - 1)
    for _, ratio in found:
        assert ratio == pytest.approx(0.7, abs=1e-12)  # reached, and not exceeded


@pytest.mark.parametrize(("classes", "epsilon", "delta"), [(2, "0.5", "0.02"), (3, "0.8", "0.03"), (4, 1, "0.05")])
def test_the_level_of_truncated_laplace_by_looking_at_every_output(classes, epsilon, delta):
    noise = TruncatedLaplace.calibrated(classes, Budget.of(epsilon, delta))
    for excess, ratio in divergences(noise, noise.radius, float(epsilon)):
        assert excess <= float(delta)
        assert excess == pytest.approx(noise.delta, rel=1e-9)
        assert ratio == pytest.approx(float(epsilon), abs=1e-12)
    smaller = TruncatedLaplace(noise.scale, noise.radius - 1, classes)
    assert smaller.delta > float(delta)  # the least radius


@pytest.mark.parametrize(
    ("classes", "epsilon", "delta", "reach"), [(2, 1, "0.01", 30), (3, "0.5", "0.1", 22), (4, 2, "0.05", 10)]
)
def test_the_level_of_discrete_gaussian_by_looking_at_every_output(classes, epsilon, delta, reach):
    noise = BalancedGaussian.calibrated(classes, Budget.of(epsilon, delta))
    for excess, _ in divergences(noise, reach, float(epsilon)):
        assert excess <= float(delta)
        assert excess > 0.99 * float(delta)  # and no more noise than needed
        assert excess == pytest.approx(
            balanced_gaussian_delta(float(noise.variance), classes, float(epsilon)), rel=1e-8
        )


@pytest.mark.parametrize("variance", [0.3, 1.0, 3.0])
def test_the_delta_of_little_gaussian_noise_tells_even_from_odd(variance):
    noise = BalancedGaussian(Fraction(variance), 3)
    for excess, _ in divergences(noise, 14, 0.5):
        assert excess == pytest.approx(balanced_gaussian_delta(variance, 3, 0.5), rel=1e-9)


def test_wide_discrete_gaussian_noise_is_as_private_as_real_noise():
    discrete = BalancedGaussian.calibrated(5, Budget.of("0.05", "1e-6"))
    real = IndependentGaussian.calibrated(5, Budget.of("0.05", "1e-6"))
    assert float(discrete.variance) == pytest.approx(float(real.deviation) ** 2, rel=1e-4)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-3), (0.003, 1e-9), (0.02, 1e-12)])
def test_wide_gaussian_noise_is_bounded_from_above(classes, epsilon, delta):
    variance = 2 * gaussian_deviation(epsilon, delta) ** 2
    summed, bounded = (call(variance, classes, epsilon) for call in (balanced_gaussian_delta, _wide_gaussian_delta))
    if variance > 1e5:
        law = np.exp(-(np.arange(-120_000, 120_001.0, 2 if classes == 2 else 1) ** 2) / (4 * variance))
        losses = (1 - np.arange(-120_000, 120_001.0, 2 if classes == 2 else 1)) / variance
        summed = law @ -np.expm1(np.minimum(epsilon - losses, 0)) / law.sum()
    assert summed <= bounded <= summed * 1.02


def test_a_delta_smaller_than_any_tail_that_is_left_out():
    noise = BalancedGaussian.calibrated(2, Budget.of(1, "1e-40"))
    assert 0.9e-40 < balanced_gaussian_delta(float(noise.variance), 2, 1.0) <= 1e-40


def test_independent_noise_has_the_scales_of_the_paper():
    assert IndependentLaplace.calibrated(5, Budget.of("0.5")).scale == 4
    deviation = float(IndependentGaussian.calibrated(5, Budget.of(1, "1e-6")).deviation)
    assert deviation == pytest.approx(math.sqrt(2) * 4.2247, rel=1e-4)


def test_rounded_laplace_is_as_private_as_real_laplace():
    z = np.arange(-80, 81)
    law = stats.laplace.cdf(z + 0.5, scale=2 / 0.3) - stats.laplace.cdf(z - 0.5, scale=2 / 0.3)
    # Two counts move by one: twice the largest ratio of one.
    assert 2 * np.log(law[1:] / law[:-1]).max() <= 0.3 + 1e-12


# -- noise has the law that it says ----------------------------------------------------------------------------------


# Chi-square tests of 20,000 draws each: a correct program fails one of them in 10,000.
@pytest.mark.parametrize(
    "noise",
    [
        BalancedLaplace(Fraction(3, 2), 2),
        BalancedLaplace(Fraction(3, 2), 3),
        BalancedLaplace(Fraction(4, 3), 4),
        TruncatedLaplace(Fraction(3), 2, 2),
        TruncatedLaplace(Fraction(3), 2, 3),
        TruncatedLaplace(Fraction(20), 4, 3),
        BalancedGaussian(Fraction(7, 4), 2),
        BalancedGaussian(Fraction(7, 4), 3),
        BalancedGaussian(Fraction(1, 3), 4),
    ],
)
def test_balanced_noise_has_its_law(noise):
    classes = noise.classes
    vectors = sum_zero(classes, {2: 30, 3: 25, 4: 12}[classes])
    expected = 20_000 * law_of(noise, vectors)
    where = {tuple(v): k for k, v in enumerate(vectors)}
    found = np.bincount([where[tuple(v)] for v in noise.noise(20_000, bits(8))], minlength=len(vectors))
    often = expected > 8
    table = np.append(found[often], found[~often].sum()), np.append(expected[often], expected[~often].sum())
    if table[1][-1] == 0:
        assert table[0][-1] == 0
        table = tuple(part[:-1] for part in table)
    assert stats.chisquare(*table).pvalue > 1e-4


@pytest.mark.parametrize("classes", [2, 9, 40])
def test_bags_are_drawn_together_and_each_sums_to_zero(classes):
    budget = Budget.of("0.3", "0.01")
    for law in (BalancedLaplace, TruncatedLaplace, BalancedGaussian):
        noise = law.calibrated(classes, budget)
        drawn = noise.noise(1000, bits(classes))
        assert drawn.shape == (1000, classes)
        assert not drawn.sum(axis=1).any()
        assert len(np.unique(drawn, axis=0)) > 20  # of two classes, many are the same by chance
        # The mean of 1,000 squares: within five of its standard errors, which are below a tenth of it.
        assert (drawn.astype(float) ** 2).mean() == pytest.approx(noise.error.variance, rel=0.5)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_error_of_one_count_by_looking_at_every_vector(classes):
    vectors = sum_zero(classes, {2: 80, 3: 40, 4: 14}[classes])
    laws = [BalancedLaplace(Fraction(1), classes), TruncatedLaplace(Fraction(2), 5, classes)]
    laws.append(BalancedGaussian(Fraction(4, 3), classes))
    for noise in laws:
        p = law_of(noise, vectors)
        assert noise.error.mean_size == pytest.approx(p @ np.abs(vectors[:, 0]), rel=1e-5)
        assert noise.error.variance == pytest.approx(p @ vectors[:, 0] ** 2, rel=1e-5)
        assert noise.distortion == pytest.approx(p @ np.abs(vectors).sum(axis=1), rel=1e-5)
        below, above = noise.error.margins(0.95)
        off = vectors[:, 0]  # raw - truth: the truth is within raw - below .. raw + above
        assert p @ ((off <= below) & (-off <= above)) >= 0.95 - 1e-9
        assert p @ ((off < below) & (-off <= above)) < 0.95  # and no step less would do
        assert 0 <= below - above <= 1
        covariance = (vectors * p[:, None]).T @ vectors
        np.testing.assert_allclose(noise.covariance(np.zeros(classes)), covariance, rtol=1e-5, atol=1e-7)


def test_wide_noise_is_looked_at_on_a_coarser_grid():
    # In the limit |z|_1 / 2 is a gamma number of shape K - 1 and scale 1 / epsilon: E |z|_1 = 2 (K - 1) / epsilon.
    for classes in (2, 5, 20):
        noise = BalancedLaplace.calibrated(classes, Budget.of("1e-5"))
        assert noise.distortion == pytest.approx(2 * (classes - 1) / 1e-5, rel=1e-5)
    gaussian = BalancedGaussian(Fraction(10**8), 5)
    assert gaussian.error.variance == pytest.approx(0.8e8, rel=1e-5)
    assert gaussian.error.margins(0.95)[0] == pytest.approx(1.96 * math.sqrt(0.8e8), rel=1e-2)


def test_vectors_of_sum_zero_are_counted():
    vectors = sum_zero(4, 6)
    up = np.maximum(vectors, 0).sum(axis=1)
    for size in range(6):
        assert math.exp(log_vectors(4, np.array(size), np.array(size))) == pytest.approx((up == size).sum())


# 400 bags of 5 counts (40 from the slow urn): means within 4.5 standard errors (one in 10,000 for all of them), squared
# errors within 30 per cent of what is said (beyond five standard errors of their mean, kurtosis of Laplace).
@pytest.mark.parametrize("mechanism", SOUND)
def test_releases_are_unbiased_and_vary_as_they_say(mechanism):
    truth = np.array([150, 200, 150, 200, 300])
    bags = 40 if mechanism == "dirichlet" else 400
    release = simulate_counts_release(
        [truth] * bags, 0.5, "1e-3" if mechanism in NEEDS_DELTA else 0, mechanism, rng=np.random.default_rng(4)
    )
    off = release.raw - truth
    covariance = release.noise.mean(axis=0) * 1000**2
    np.testing.assert_allclose(off.sum(axis=1), 0, atol=1e-9)
    assert np.abs(off.mean(axis=0) / np.sqrt(np.diag(covariance) / bags)).max() < 4.5
    assert (off**2).mean() == pytest.approx(np.diag(covariance).mean(), rel=0.3 if bags == 400 else 0.5)
    tolerance = covariance.max() * (0.4 if bags == 400 else 0.7)
    np.testing.assert_allclose(np.cov(off, rowvar=False), covariance, atol=tolerance)
