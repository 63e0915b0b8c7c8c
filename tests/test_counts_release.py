"""Releases of counts: exact levels by looking at every output, honest errors, nothing spent on what is refused.

Run this module (``python tests/test_counts_release.py``) to write the golden file of the current version anew.
"""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, stats

import askance as ask
from askance.entropy.balanced_noise import balanced_gaussian, balanced_laplace, rounded_laplace
from askance.entropy.bits import GeneratorBits
from askance.errors import InvalidInput, ReleaseError
from askance.releases import paying
from askance.releases.balanced_counts import (
    BalancedGaussian,
    BalancedLaplace,
    TruncatedLaplace,
    _wide_gaussian_delta,
    balanced_gaussian_delta,
)
from askance.releases.budget import Budget
from askance.releases.count_mechanisms import SOUND, best_noise, calibrated, choose
from askance.releases.count_tables import count_labels, read_counts
from askance.releases.counts_release import CountsRelease, simulate_counts_release
from askance.releases.dirichlet_counts import SoundDirichlet, beta_delta, dirichlet_delta, polya_urn
from askance.releases.independent_counts import IndependentGaussian, IndependentLaplace
from askance.releases.scaled_dirichlet import chebyshev_bound, outside_probability, paper_scale
from askance.releases.simplex import project_to_simplex
from askance.releases.sum_zero_vectors import log_vectors
from askance.releases.total_noise import gaussian_deviation

GOLDEN = Path(__file__).parent / "golden" / "counts-v1.json"
PAPER = (50, 50, 50, 50, 800)  # five classes, m = 1000, rho = .05
NEEDS_DELTA = ("truncated-laplace", "discrete-gaussian", "gaussian", "dirichlet")


def bits(seed=0):
    return GeneratorBits(np.random.default_rng(seed))


def sum_zero(classes, reach):
    """Every whole vector of sum zero whose numbers but the last are at most so large."""
    free = np.array(list(itertools.product(range(-reach, reach + 1), repeat=classes - 1)))
    return np.column_stack([free, -free.sum(axis=1)])


def law_of(noise, vectors):
    """The probability of each vector."""
    if isinstance(noise, BalancedGaussian):
        weights = np.exp(-(vectors**2).sum(axis=1) / (2 * float(noise.variance)))
    else:
        weights = np.exp(-np.abs(vectors).sum(axis=1) / float(noise.scale))
    if isinstance(noise, TruncatedLaplace):
        weights = weights * (np.abs(vectors).sum(axis=1) <= 2 * noise.radius)
    return weights / weights.sum()


def moves(classes):
    """What one label can do to the counts: all of it, in both directions."""
    for i, j in itertools.permutations(range(classes), 2):
        yield np.eye(classes, dtype=int)[j] - np.eye(classes, dtype=int)[i]


def divergences(noise, reach, epsilon):
    """The hockey-stick divergence and the largest log-ratio over all outputs, for every neighbour."""
    vectors = sum_zero(noise.classes, reach)
    here = dict(zip(map(tuple, vectors), law_of(noise, vectors), strict=True))
    for move in moves(noise.classes):
        pairs = [(p, here.get(tuple(v - move), 0.0)) for v, p in zip(vectors, here.values(), strict=True)]
        excess = sum(max(p - math.exp(epsilon) * q, 0.0) for p, q in pairs)
        yield excess, max(math.log(p / q) for p, q in pairs if p > 0 and q > 0)


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


# -- Dirichlet laws --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b", "shift", "epsilon"), [(1.5, 0.5, 0.5, 0.2), (4, 9, 0.7, 0.1), (2, 1.4, 0.3, 0.05)])
def test_the_divergence_of_beta_laws_against_an_integral(a, b, shift, epsilon):
    def excess(t):  # on the scale of log(x / (1 - x)), where there are no poles
        x = 1 / (1 + math.exp(-t))
        here, there = (stats.beta.pdf(x, *law) for law in ((a, b), (a - shift, b + shift)))
        return max(here - math.exp(epsilon) * there, 0.0) * x * (1 - x)

    found = integrate.quad(excess, -30, 30, limit=500)[0]
    assert float(beta_delta(a, b, shift, epsilon)) == pytest.approx(found, rel=1e-5)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_worst_counts_of_a_dirichlet_law_are_the_worst(classes):
    total, scale, prior, epsilon = 12, 0.2, 3.0, 0.1
    worst = 0.0
    for counts in itertools.product(range(total + 1), repeat=classes - 1):
        if sum(counts) > total:
            continue
        eta = (*counts, total - sum(counts))
        for i, j in itertools.permutations(range(classes), 2):
            if eta[i]:
                delta = beta_delta(scale * (eta[i] + prior), scale * (eta[j] + prior), scale, epsilon)
                worst = max(worst, float(delta))
    assert dirichlet_delta(scale, prior, total, classes, epsilon) == pytest.approx(worst, rel=1e-12)


def test_two_classes_in_blocks_are_bounded_from_above():
    total, scale, prior, epsilon = 3000, 0.01, 40.0, 0.05
    one = np.arange(1, total + 1)
    exact = beta_delta(scale * (one + prior), scale * (total - one + prior), scale, epsilon).max()
    assert exact <= dirichlet_delta(scale, prior, total, 2, epsilon) <= exact * 1.01


def integrated_delta(first, second, shift, epsilon):
    """The same divergence as an integral of positive numbers over t = log(x / (1 - x)): nothing cancels.

    Beta(A + s, B) against Beta(A, B + s), A first: the log-ratio is epsilon + s (t - border) beyond the border.
    """
    log_beta = math.lgamma(first + shift) + math.lgamma(second) - math.lgamma(first + shift + second)
    moved = math.lgamma(first) + math.lgamma(second + shift) - math.lgamma(first + shift + second)
    border = (epsilon + log_beta - moved) / shift

    def excess(u):
        t = border + u
        log_x, log_rest = -np.logaddexp(0, -t), -np.logaddexp(0, t)
        return np.exp((first + shift) * log_x + second * log_rest - log_beta) * -np.expm1(-shift * u)

    scale = 1 / (first + shift) + 1 / second  # how fast the density falls, at least
    reach = max(-border, 0.0) + 60 * scale
    # Pieces that grow from the border on.
    ends = reach * np.append(0.0, np.geomspace(1e-9, 1, 60))
    return sum(integrate.fixed_quad(excess, low, high, n=20)[0] for low, high in itertools.pairwise(ends))


@pytest.mark.parametrize(
    ("classes", "total", "epsilon", "delta"),
    [
        (3, 10, "50", "1e-12"),  # a pseudo-count that vanishes beside one
        (3, 10, "500", "0.5"),
        (2, 1, "1", "0.01"),  # scales so small that 1 - x is smaller than any double
        (2, 6, "0.5", "1e-9"),
        (3, 10, "1e-6", "1e-12"),
    ],
)
def test_a_sound_dirichlet_keeps_its_level_at_the_ends_of_doubles(classes, total, epsilon, delta):
    law = SoundDirichlet.calibrated(total, classes, Budget.of(epsilon, delta))
    scale, prior = float(law.scale), float(law.pseudo_count)
    pairs = [(1, 0)] if classes > 2 else [(i, total - i) for i in range(1, total + 1)]
    worst = max(integrated_delta(scale * (i - 1 + prior), scale * (j + prior), scale, float(epsilon)) for i, j in pairs)
    assert 0.95 * float(delta) < worst <= float(delta)


@pytest.mark.parametrize(("scale", "prior", "epsilon"), [(0.00134, 0.575, 1.0), (1e-6, 3.0, 0.5), (1e-9, 2.0, 3.0)])
def test_the_delta_of_a_small_scale_does_not_vanish(scale, prior, epsilon):
    # As s falls to 0, delta of (1, 0) falls to exp(-a epsilon) / (1 + 2 a), and not further.
    limit = math.exp(-prior * epsilon) / (1 + 2 * prior)
    assert dirichlet_delta(scale, prior, 10, 3, epsilon) == pytest.approx(limit, rel=0.01)
    assert dirichlet_delta(scale, prior, 1, 2, epsilon) == pytest.approx(limit, rel=0.01)


@pytest.mark.parametrize("classes", [2, 5])
def test_a_sound_dirichlet_keeps_its_level(classes):
    law = SoundDirichlet.calibrated(300, classes, Budget.of("0.2", "0.01"))
    given = dirichlet_delta(float(law.scale), float(law.pseudo_count), 300, classes, 0.2)
    assert 0.0099 < given <= 0.01


def test_an_urn_of_many_people_is_no_larger_than_its_sample():
    law = SoundDirichlet.calibrated(10**9, 2, Budget.of("0.1", "1e-6"))
    assert law.scale * (10**9 + 2 * law.pseudo_count) < 10**7
    assert law.distortion > 1e6  # about sqrt(2 / (pi draws)) of all


def test_the_urn_is_a_sample_of_a_dirichlet_law():
    # All outcomes of three draws from an urn with 1/2, 1 and 2, by the Dirichlet-multinomial formula.
    start = [Fraction(1, 2), Fraction(1), Fraction(2)]
    outcomes = [c for c in itertools.product(range(4), repeat=3) if sum(c) == 3]
    expected = np.array([stats.dirichlet_multinomial.pmf(c, [0.5, 1, 2], 3) for c in outcomes])
    source, draws = bits(5), 4000
    seen = [tuple(polya_urn(start, 3, source)) for _ in range(draws)]
    found = np.array([seen.count(c) for c in outcomes])
    assert stats.chisquare(found, expected * draws).pvalue > 1e-4  # one correct program in 10,000 fails


# -- the paper's mechanism has no guarantee --------------------------------------------------------------------------


def test_the_papers_search_and_where_its_guarantee_breaks():
    assert paper_scale(PAPER, 0.05, 0.05) == pytest.approx(0.00818, abs=5e-6)
    neighbour = (49, 51, 50, 50, 800)
    assert paper_scale(neighbour, 0.05, 0.05) == pytest.approx(0.00716, abs=5e-6)
    # The two laws differ in their scale too: the divergence is far above delta. The error of the mean of 200,000 draws
    # is below 0.0006.
    rng = np.random.default_rng(1)
    for here, there in ((PAPER, neighbour), (neighbour, PAPER)):
        p, q = (stats.dirichlet(paper_scale(eta, 0.05, 0.05) * np.array(eta)) for eta in (here, there))
        theta = np.maximum(p.rvs(200_000, random_state=rng), 1e-300)
        theta /= theta.sum(axis=1, keepdims=True)
        excess = np.maximum(1 - np.exp(0.05 + q.logpdf(theta.T) - p.logpdf(theta.T)), 0).mean()
        assert excess > 0.05 + 0.0024
        assert 0.063 < excess < 0.080
    assert paper_scale((47, 47, 47, 47, 812), 0.05, 0.05) > 0
    with pytest.raises(InvalidInput, match="finds no sigma"):
        paper_scale((46, 48, 47, 47, 812), 0.05, 0.05)


def test_the_papers_distortion_is_not_what_it_prints():
    # E |theta_k - rho_k| summed, from the beta laws: .308, where the paper has .06.
    sigma = paper_scale(PAPER, 0.05, 0.05)
    found = 0.0
    for count in PAPER:
        law, share = stats.beta(sigma * count, sigma * (1000 - count)), count / 1000
        found += 2 * integrate.quad(law.cdf, 0, share)[0]  # E|x - mean| = 2 E(mean - x)+
    assert found == pytest.approx(0.308, abs=5e-4)


def test_the_chebyshev_bound_is_above_the_exact_probability():
    for sigma in (0.5, 2.0, 4.0):
        assert chebyshev_bound([200] * 5, sigma, 1.0) >= outside_probability([200] * 5, sigma, 1.0)
    assert paper_scale([200] * 5, 1.0, 0.05, "chebyshev") < paper_scale([200] * 5, 1.0, 0.05)
    with pytest.raises(InvalidInput, match="the chebyshev search finds no sigma"):
        paper_scale(PAPER, 0.05, 0.05, "chebyshev")
    assert outside_probability([1, 10], 0.1, 1.0) == 1.0


def test_the_papers_mechanism_says_that_it_has_no_guarantee(tmp_path):
    release = ask.release_counts(PAPER, 0.05, 0.05, "scaled-dirichlet-paper")
    assert math.isinf(release.guarantee.epsilon)
    assert "no privacy guarantee" in str(release)
    assert "chosen from the private counts" in release.how_known
    assert release.predicted == {}
    ledger = ask.Ledger.create(tmp_path / "l", 10, "0.5", data_set="d")
    with pytest.raises(InvalidInput, match="with a ledger"):
        ask.release_counts(PAPER, 0.05, 0.05, "scaled-dirichlet-paper", ledger=ledger)
    assert ledger.entries == ()
    _, looked_at = choose("auto", [1000], 5, Budget.of("0.05", "0.05"))
    assert set(looked_at) == set(SOUND) - {"dirichlet"}


# -- noise has the law that it says ----------------------------------------------------------------------------------


# Chi-square tests of 1,500 draws each: a correct program fails one of them in 10,000.
@pytest.mark.parametrize(
    ("draw", "noise"),
    [
        (lambda b: balanced_laplace(Fraction(3, 2), 3, b), BalancedLaplace(Fraction(3, 2), 3)),
        (lambda b: balanced_laplace(Fraction(3), 3, b, 2), TruncatedLaplace(Fraction(3), 2, 3)),
        (lambda b: balanced_laplace(Fraction(20), 3, b, 4), TruncatedLaplace(Fraction(20), 4, 3)),
        (lambda b: balanced_gaussian(Fraction(7, 4), 3, b), BalancedGaussian(Fraction(7, 4), 3)),
    ],
)
def test_balanced_noise_has_its_law(draw, noise):
    vectors = sum_zero(3, 12)
    expected = 1500 * law_of(noise, vectors)
    source = bits(8)
    where = {tuple(v): k for k, v in enumerate(vectors)}
    found = np.bincount([where[tuple(draw(source))] for _ in range(1500)], minlength=len(vectors))
    often = expected > 8
    table = np.append(found[often], found[~often].sum()), np.append(expected[often], expected[~often].sum())
    if table[1][-1] == 0:
        assert table[0][-1] == 0
        table = tuple(part[:-1] for part in table)
    assert stats.chisquare(*table).pvalue > 1e-4


def test_rounded_laplace_has_its_law():
    numbers = np.array(rounded_laplace(Fraction(5, 2), 4000, bits(3)))
    z = np.arange(-9, 10)
    law = stats.laplace.cdf(z + 0.5, scale=2.5) - stats.laplace.cdf(z - 0.5, scale=2.5)
    found = np.append([(numbers == k).sum() for k in z], (np.abs(numbers) > 9).sum())
    assert stats.chisquare(found, 4000 * np.append(law, 1 - law.sum())).pvalue > 1e-4


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


# -- what the user is promised ---------------------------------------------------------------------------------------


# Means of 500 releases, of standard errors of 2 per cent at most; .00753, .01576 and .02828 are predicted.
@pytest.mark.parametrize(
    ("epsilon", "delta", "most", "taken"),
    [
        (1, "1e-6", 0.0095, "discrete-laplace"),
        ("0.5", "1e-6", 0.019, "discrete-laplace"),
        ("0.05", "0.05", 0.029, "discrete-gaussian"),
    ],
)
def test_distortion_of_five_classes(epsilon, delta, most, taken):
    rng = np.random.default_rng(12)
    truth = np.array(PAPER) / 1000
    plan, predicted = choose("auto", [1000], 5, Budget.of(epsilon, delta))
    assert plan[0].name == taken
    assert predicted[taken] <= min(most, 1.001 * min(predicted.values()))
    found = [
        np.abs(project_to_simplex(plan[0].draw(PAPER, source) / 1000) - truth).sum()
        for source in [GeneratorBits(rng)]
        for _ in range(500)
    ]
    assert np.mean(found) < most
    assert np.mean(found) == pytest.approx(predicted[taken], rel=0.08)


def test_auto_looks_at_public_numbers_only():
    for first, second in (((1, 999, 0), (333, 333, 334)), ((0, 0, 1000), (500, 250, 250))):
        one, other = (ask.release_counts(counts, 0.3, "1e-4") for counts in (first, second))
        assert (one.mechanism, one.parameters, one.predicted) == (other.mechanism, other.parameters, other.predicted)


def test_auto_takes_the_least_distortion_and_spends_no_delta_for_little(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 3, "0.5", data_set="d")
    small = ask.release_counts([30, 70], 1, "1e-6", ledger=ledger)
    assert small.mechanism == "discrete-laplace"
    assert small.guarantee.delta == 0
    few = ask.release_counts([30, 70], 0.05, 0.05, ledger=ledger)
    assert few.mechanism == "truncated-laplace"
    many = ask.release_counts([10] * 10, 0.05, 0.05, ledger=ledger)
    assert many.mechanism == "discrete-gaussian"
    assert [entry.delta for entry in ledger.entries] == ["0", "0.05", "0.05"]
    assert set(ask.release_counts([30, 70], 1).predicted) == {"discrete-laplace", "laplace", "laplace-prior"}


@pytest.mark.parametrize(
    ("classes", "total", "epsilon", "delta"),
    [(2, 10, "0.001", "1e-6"), (3, 1000, "0.001", "1e-6"), (5, 1000, "0.05", "0.05"), (5, 10**5, 1, "1e-6")],
)
def test_no_dirichlet_law_is_better_than_noise(classes, total, epsilon, delta):
    budget = Budget.of(epsilon, delta)
    assert calibrated("dirichlet", total, classes, budget).distortion > best_noise(classes, budget).distortion


def test_a_level_that_some_mechanism_cannot_give_is_left_to_others():
    with pytest.raises(InvalidInput, match="truncated-laplace"):
        ask.release_counts([30, 70], "1e-5", "1e-9", "truncated-laplace")
    assert ask.release_counts([30, 70], "1e-5", "1e-9").mechanism == "discrete-laplace"
    assert best_noise(2, Budget.of("1e-5", "1e-9")).name == "discrete-laplace"


def test_noise_of_sum_zero_is_better_than_independent_noise():
    for classes in (2, 3, 5, 10):
        for epsilon in ("0.1", "1", "3"):
            ours, plain = (
                calibrated(name, 100, classes, Budget.of(epsilon)).distortion
                for name in ("discrete-laplace", "laplace")
            )
            assert ours < plain


def test_the_projection_is_the_nearest_point():
    rng = np.random.default_rng(2)
    release = simulate_counts_release(rng.multinomial(40, [0.02] * 5 + [0.9], 6), 0.2, rng=rng)
    assert (release.raw < 0).any()
    for raw, counts, total in zip(release.raw, release.counts, release.totals, strict=True):
        assert counts.min() >= 0
        assert counts.sum() == pytest.approx(total)
        solved = optimize.minimize(
            lambda x, raw=raw: ((x - raw) ** 2).sum(), np.full(6, total / 6), jac=lambda x, raw=raw: 2 * (x - raw),
            bounds=[(0, None)] * 6, constraints={"type": "eq", "fun": lambda x, total=total: x.sum() - total},
            method="SLSQP", options={"ftol": 1e-12},
        )  # fmt: skip
        np.testing.assert_allclose(counts, solved.x, atol=1e-4)


def test_the_projection_of_large_numbers():
    for size in (1e9, 1e17, 1e300):
        np.testing.assert_array_equal(project_to_simplex(np.array([size, -size])), [1.0, 0.0])
    np.testing.assert_allclose(project_to_simplex(np.array([1e9 + 0.25, 1e9])), [0.625, 0.375])


def test_the_projection_lessens_the_distortion():
    rng = np.random.default_rng(6)
    truth = np.array([1, 2, 3, 94])
    for _ in range(200):
        release = simulate_counts_release(truth, 0.3, mechanism="discrete-laplace", rng=rng)
        assert np.abs(release.counts - truth).sum() <= np.abs(release.raw - truth).sum() + 1e-9


# 500 intervals for five counts each: their share has a standard error of about .005, and is .95 to .96.
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta"),
    [
        ("discrete-laplace", 1, 0),
        ("discrete-laplace", "0.5", 0),
        ("discrete-gaussian", "0.05", "0.05"),
        ("truncated-laplace", "0.1", "0.05"),
        ("laplace", "0.5", 0),
        ("gaussian", "0.5", "1e-3"),
    ],
)
def test_intervals_cover(mechanism, epsilon, delta):
    truth = np.array([PAPER] * 500)
    release = simulate_counts_release(truth, epsilon, delta, mechanism, rng=np.random.default_rng(9))
    low, high = release.interval(0.95)
    covered = ((low <= truth / 1000) & (truth / 1000 <= high)).mean()
    assert 0.93 < covered < 0.97


def test_the_normal_interval_of_the_stated_covariance_covers():
    truth = np.array([[150, 200, 150, 200, 300]] * 400)
    for mechanism, delta in (("discrete-gaussian", "1e-3"), ("discrete-laplace", 0), ("laplace-prior", 0)):
        release = simulate_counts_release(truth, 0.5, delta, mechanism, rng=np.random.default_rng(3))
        error = np.sqrt(np.diagonal(release.noise, axis1=1, axis2=2))
        covered = (np.abs(release.raw_proportions - truth / 1000) <= 1.96 * error).mean()
        assert 0.93 < covered < 0.97


# -- tables ----------------------------------------------------------------------------------------------------------


def test_counts_come_in_many_shapes():
    rows = {"north": {"no": 5, "yes": 2}, "south": {"yes": 1, "no": 3}}
    frame = pd.DataFrame([[5, 2], [3, 1]], index=["north", "south"], columns=["no", "yes"])
    for counts, options in (
        (rows, {}),
        (frame, {}),
        (frame.astype(float), {}),
        (frame[["yes", "no"]], {"classes": ["no", "yes"]}),
        ({"north": [5, 2], "south": [3, 1]}, {"classes": ["no", "yes"]}),
        ([[5, 2], [3, 1]], {"classes": ["no", "yes"], "bags": ["north", "south"]}),
    ):
        table = read_counts(counts, **options)
        assert table.counts.tolist() == [[5, 2], [3, 1]]
        assert table.classes == ("no", "yes")
        assert table.bags == ("north", "south")
    for counts in ({"no": 5, "yes": 2}, pd.Series({"no": 5, "yes": 2}), [5, 2], np.array([5.0, 2.0])):
        table = read_counts(counts)
        assert table.counts.tolist() == [[5, 2]]
        assert table.bags == ("all",)
    told = count_labels(["no", "yes", "no", "no"], [2, 1, 2, 1], ["no", "yes"])
    assert (told.bags, told.counts.tolist()) == ((1, 2), [[1, 1], [2, 0]])


def test_bags_that_share_no_person_cost_as_much_as_one(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 5, "0.5", data_set="d")
    table = [[5, 2], [3, 1], [8, 8]]
    apart = ask.release_counts(table, "0.3", "0.1", "gaussian", ledger=ledger)
    shared = ask.release_counts(table, "0.3", "0.1", "gaussian", disjoint=False, ledger=ledger)
    assert [(entry.epsilon, entry.delta) for entry in ledger.entries] == [("0.3", "0.1"), ("0.9", "0.3")]
    assert (apart.guarantee.epsilon, apart.guarantee.delta) == (0.3, 0.1)
    assert (shared.guarantee.epsilon, shared.guarantee.delta) == (0.9, 0.3)


def test_proportions_go_to_a_learner_by_bag():
    release = ask.release_counts({"b": [10, 30], "a": [30, 10]}, 2.0, classes=["no", "yes"])
    x = np.repeat([0.0, 1.0], 40)[:, None] + np.random.default_rng(0).normal(size=(80, 1))
    told, noise = (release.by_bag(values) for values in (release.raw_proportions, release.noise))
    learner = ask.ProportionClassifier(classes=release.classes).fit(x, np.repeat(["a", "b"], 40), told, noise)
    assert tuple(learner.classes_) == ("no", "yes")


# -- files and the ledger --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [*SOUND, "scaled-dirichlet-paper"])
def test_a_release_comes_back_from_its_file(mechanism, tmp_path):
    path = tmp_path / "counts.json"
    delta = "0.05" if mechanism in (*NEEDS_DELTA, "scaled-dirichlet-paper") else 0
    release = ask.release_counts({"a": PAPER, 7: [200] * 5}, "0.05", delta, mechanism)
    release.write(path)
    again = CountsRelease.read(path)
    assert again.to_dict() == release.to_dict()
    assert again.digest == release.digest
    assert again.bags == ("a", 7)
    for mine, other in zip(again.interval(0.9), release.interval(0.9), strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(again.noise, release.noise)
    assert json.loads(path.read_text())["format"] == "askance-counts"
    with pytest.raises(ReleaseError, match="exists already"):
        release.write(path)


def test_the_golden_file_of_version_1_is_read_for_ever():
    golden = CountsRelease.read(GOLDEN)
    assert golden.to_dict() == json.loads(GOLDEN.read_text()) | {"askance": ask.__version__}
    assert golden.bags == ("north", "south")
    assert golden.parameters == ({"scale": "4"}, {"scale": "4"})
    low, high = golden.interval(0.95)
    np.testing.assert_allclose(high - low, 15 / 1000)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "askance-mean-operator"}, "is not the release of counts"),
        ({"version": 2}, "format version 2"),
        ({"counts": [[1.0]]}, "damaged"),
        ({"raw": None}, "damaged"),
        ({"totals": [10, 0]}, "damaged"),
        ({"totals": [10]}, "damaged"),
        ({"parameters": [{"scale": "x"}] * 2}, "damaged"),
        ({"parameters": [{}, {}]}, "damaged"),
        ({"mechanism": "magic"}, "damaged"),
        ({"guarantee": {}}, "damaged"),
        ({"classes": ["a"]}, "damaged"),
        ({"parameters": [{"scale": "0"}] * 2}, "damaged"),
        ({"parameters": [{"scale": "1/0"}] * 2}, "damaged"),
        ({"parameters": [{"scale": "-2"}] * 2}, "damaged"),
        ({"parameters": [{"scale": "1e999999999"}] * 2}, "damaged"),  # a number of a gigabyte
        ({"parameters": [{"scale": "1" + "0" * 400}] * 2}, "damaged"),
        ({"parameters": [[2], [2]]}, "damaged"),
        ({"totals": [10**400, 10]}, "damaged"),
        ({"counts": [[-1, 11], [5, 5]]}, "damaged"),
        ({"raw": [[30, 7], [5, 5]]}, "damaged"),
        ({"bags": ["a", "a"]}, "damaged"),
        ({"bags": [["a"], ["b"]]}, "damaged"),
        ({"predicted": {"laplace": math.nan}}, "damaged"),
        ({"guarantee": {"epsilon": -1, "delta": 0, "protects": "a", "neighbours": "b"}}, "damaged"),
    ],
)
def test_damaged_files_are_refused(change, says, tmp_path):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps(ask.release_counts([[3, 7], [5, 5]], 1).to_dict() | change))
    with pytest.raises(ReleaseError, match=says):
        CountsRelease.read(path)


def test_a_file_of_nothing_but_brackets(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text("[" * 100_000)
    with pytest.raises(ReleaseError, match="not a JSON file"):
        CountsRelease.read(path)


def test_the_ledger_knows_the_release(tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 1, data_set="d")
    release = ask.release_counts([3, 7], "0.25", ledger=tmp_path / "l")
    (entry,) = ledger.entries
    assert (entry.epsilon, entry.release) == ("0.25", release.digest)
    assert "counts of 10 labels in 1 bag (discrete-laplace)" in entry.what
    with pytest.raises(InvalidInput, match="another data set"):
        ask.release_counts([3, 8], "0.25", ledger=ledger)
    with pytest.raises(ask.BudgetSpent):
        ask.release_counts([3, 7], "0.8", ledger=ledger)
    assert len(ledger.entries) == 1


def test_the_budget_is_spent_before_noise_is_drawn(tmp_path, monkeypatch):
    ledger = ask.Ledger.create(tmp_path / "l", 1, data_set="d")

    def no_entropy():
        assert [entry.epsilon for entry in ledger.entries] == ["0.5"]
        raise KeyboardInterrupt  # the process ends here

    monkeypatch.setattr(paying, "system_bits", no_entropy)
    with pytest.raises(KeyboardInterrupt):
        ask.release_counts([3, 7], "0.5", ledger=ledger)
    (entry,) = ledger.entries
    assert (entry.epsilon, entry.release) == ("0.5", None)  # spent all the same


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (([3, -1], 1), {}, "negative counts"),
        (([3, 1.5], 1), {}, "not whole numbers"),
        (([3, math.nan], 1), {}, "missing or infinite"),
        (([3, math.inf], 1), {}, "missing or infinite"),
        (([3, None], 1), {}, "counts"),
        ((["3", "1"], 1), {}, "counts of type"),
        (([True, False], 1), {}, "counts of type"),
        (([[3, 1], [2]], 1), {}, "different lengths"),
        (([5], 1), {}, "at least two classes"),
        (([], 1), {}, "shape"),
        (({}, 1), {}, "no counts"),
        ((np.zeros((2, 2, 2)), 1), {}, "shape"),
        (([0, 0], 1), {}, "nobody in bag 'all'"),
        (([[1, 2], [0, 0]], 1), {}, "nobody in bag 1"),
        (([2**53, 1], 1), {}, "2\\^53"),
        (({"a": {"x": 1, "y": 2}, "b": {"x": 1, "z": 2}}, 1), {}, "other classes in other bags"),
        (([3, 1], 1), {"classes": ["a"]}, "at least two classes"),
        (([3, 1], 1), {"classes": ["a", "b", "c"]}, "2 counts for the classes"),
        (({"a": 3, "b": 1}, 1), {"classes": ["a", "c"]}, "the classes 'a', 'c'"),
        (([[3, 1], [1, 3]], 1), {"bags": ["a", "a"]}, "the same name"),
        (([[3, 1], [1, 3]], 1), {"bags": ["a"]}, "1 names for 2 bags"),
        (([[3, 1], [1, 3]], 1), {"bags": ["a", None]}, "without a name"),
        (([3, 1], 0), {}, "epsilon=0"),
        (([3, 1], -1), {}, "epsilon=-1"),
        (([3, 1], math.nan), {}, "epsilon"),
        (([3, 1], 1, 1), {}, "delta=1"),
        (([3, 1], 1, 0, "gaussian"), {}, "delta=0"),
        (([3, 1], 1, 0, "discrete-gaussian"), {}, "delta=0"),
        (([3, 1], 1, 0, "truncated-laplace"), {}, "delta=0"),
        (([3, 1], 1, 0, "dirichlet"), {}, "delta=0"),
        (([3, 1], 1, 0, "magic"), {}, "mechanism='magic'"),
        (([3, 1], "1e-7"), {}, "a level from 1e-06 to 500"),
        (([3, 1], "1e400"), {}, "a level from 1e-06 to 500"),
        (([3, 1], 1, "1e-101", "gaussian"), {}, "delta=1E-101"),
        (([3, 1], 1, "0.99999999999999999999"), {}, "less than 1"),
        ((np.ma.array([3, 1], mask=[True, False]), 1), {}, "missing"),
        (([[3, 1], [1, 3]], 1), {"bags": [math.inf, 1]}, "without a name"),
        (([[3, 1], [1, 3]], 1), {"bags": ["\ud800", "b"]}, "cannot be written"),
        (([[3, 1], [1, 3]], 1), {"bags": [10**5000, 1]}, "cannot be written"),
        (([3, 1], 1), {"classes": ["\ud800", "b"]}, "cannot be written"),
        (([[3, 1], [1, 3]], 1), {"disjoint": "no"}, "disjoint='no'"),
        (([[3, 1]] * 30, 1, "0.05", "gaussian"), {"disjoint": False}, "delta="),
        (([3, 1], 1, 0, "auto"), {"search": "guess"}, "search='guess'"),
        (([3, 1], 1, "0.1", "scaled-dirichlet-paper"), {}, "finds no sigma"),
    ],
)
def test_what_is_refused_spends_nothing(arguments, options, says, tmp_path):
    ledger = ask.Ledger.create(tmp_path / "l", 10, "0.1", data_set="d")
    with pytest.raises(InvalidInput, match=says):
        ask.release_counts(*arguments, ledger=ledger, **options)
    assert ledger.entries == ()


def test_bad_levels_of_intervals():
    with pytest.raises(InvalidInput, match="level=1"):
        ask.release_counts([3, 7], 1).interval(1)


def test_noise_is_never_seeded():
    first, second = (ask.release_counts(PAPER, 0.001).raw for _ in range(2))
    assert not np.array_equal(first, second)
    one, other = (simulate_counts_release(PAPER, 0.01, rng=np.random.default_rng(0)).raw for _ in range(2))
    np.testing.assert_array_equal(one, other)


if __name__ == "__main__":  # read the difference before keeping it
    made = simulate_counts_release(
        {"north": [50, 150, 800], "south": [300, 300, 400]}, "0.5", mechanism="discrete-laplace",
        classes=["ill", "at risk", "well"], rng=np.random.default_rng(0),
    )  # fmt: skip
    made.write(GOLDEN, overwrite=True)
