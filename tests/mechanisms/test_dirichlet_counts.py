"""Dirichlet laws of counts: a sound one of public scale, and the published one, which has no guarantee."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

import askance as ask
from askance.errors import InvalidInput
from askance.mechanisms.budget import Budget
from askance.mechanisms.counts.count_mechanisms import SOUND, choose_count_mechanisms
from askance.mechanisms.counts.dirichlet_counts import SoundDirichlet, beta_delta, dirichlet_delta, polya_urn
from askance.mechanisms.counts.scaled_dirichlet import chebyshev_bound, outside_probability, paper_scale
from count_cases import PAPER, bits

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
    _, looked_at = choose_count_mechanisms("auto", [1000], 5, Budget.of("0.05", "0.05"))
    assert set(looked_at) == set(SOUND) - {"dirichlet", "laplace-prior"}
