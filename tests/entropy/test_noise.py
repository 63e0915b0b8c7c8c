"""Noise has exactly the law that it says: every probability, not only the moments."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from askance.entropy import rounded_noise
from askance.entropy.bits import GeneratorBits, system_bits
from askance.entropy.noise import discrete_gaussian, discrete_laplace, discrete_laplace_variance, happens
from askance.entropy.random_bits import RandomIntegers
from askance.entropy.rounded_noise import rounded_gaussian, rounded_gaussian_variance, rounded_radial

DRAWS = 6000
NUMBERS = np.arange(-200, 201)


def bits(seed=0):
    return GeneratorBits(np.random.default_rng(seed))


def laplace_law(scale):
    weights = np.exp(-np.abs(NUMBERS) / scale)
    return weights / weights.sum()


def discrete_gaussian_law(deviation):
    weights = np.exp(-(NUMBERS**2) / (2 * deviation**2))
    return weights / weights.sum()


def rounded_gaussian_law(deviation):
    return stats.norm.cdf(NUMBERS + 0.5, scale=deviation) - stats.norm.cdf(NUMBERS - 0.5, scale=deviation)


def rounded_laplace_law(scale):
    # In one dimension, uniform direction and Gamma length of shape 1 is the Laplace law.
    return stats.laplace.cdf(NUMBERS + 0.5, scale=scale) - stats.laplace.cdf(NUMBERS - 0.5, scale=scale)


LAWS = {
    "discrete Laplace 5/2": (lambda n, b: discrete_laplace(Fraction(5, 2), n, b), laplace_law(2.5)),
    "discrete Laplace 1/3": (lambda n, b: discrete_laplace(Fraction(1, 3), n, b), laplace_law(1 / 3)),
    "discrete Gaussian 9/4": (lambda n, b: discrete_gaussian(Fraction(9, 4), n, b), discrete_gaussian_law(1.5)),
    "discrete Gaussian 1/4": (lambda n, b: discrete_gaussian(Fraction(1, 4), n, b), discrete_gaussian_law(0.5)),
    "rounded Gaussian 3/2": (lambda n, b: rounded_gaussian(Fraction(3, 2), n, b), rounded_gaussian_law(1.5)),
    "rounded Gaussian 1/3": (lambda n, b: rounded_gaussian(Fraction(1, 3), n, b), rounded_gaussian_law(1 / 3)),
    "radial, one dimension": (
        lambda n, b: [rounded_radial(Fraction(2), 1, b)[0] for _ in range(n // 3)],
        rounded_laplace_law(2.0),
    ),
}


def p_value(numbers, law):
    """Chi-square of counts against a law, rare numbers put together at both ends."""
    counts = np.bincount(np.array(numbers) + 200, minlength=401)
    expected = law * len(numbers)
    common = np.flatnonzero(expected >= 8)
    edges = [0, *common[1:], 401]
    observed, wanted = np.add.reduceat(counts, edges[:-1]), np.add.reduceat(expected, edges[:-1])
    return stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue


# Seven checks, each failing one time in 10,000 for a right sampler; the generator is fixed.
@pytest.mark.parametrize("name", LAWS)
def test_every_number_has_its_probability(name):
    sample, law = LAWS[name]
    assert p_value(sample(DRAWS, bits(1)), law) > 1e-4


def test_the_check_of_laws_notices_a_wrong_one():
    assert p_value(discrete_laplace(Fraction(5, 2), DRAWS, bits(1)), laplace_law(3.0)) < 1e-4
    assert p_value(rounded_gaussian(Fraction(3, 2), DRAWS, bits(1)), rounded_gaussian_law(1.7)) < 1e-4


# The radius is Gamma and the direction uniform: both by a Kolmogorov-Smirnov test at 1 in 10,000.
def test_radial_noise_has_a_gamma_length_and_a_uniform_direction():
    source = bits(2)
    vectors = np.array([[float(z) for z in rounded_radial(Fraction(10**9), 3, source)] for _ in range(1500)])
    length = np.linalg.norm(vectors, axis=1)
    assert stats.kstest(length / 1e9, stats.gamma(3).cdf).pvalue > 1e-4
    for axis in range(3):  # on a sphere in three dimensions each coordinate is uniform
        assert stats.kstest(vectors[:, axis] / length, stats.uniform(-1, 2).cdf).pvalue > 1e-4
    assert stats.kstest(length / 1e9, stats.gamma(4).cdf).pvalue < 1e-4


# Standard errors of a variance: sqrt((kurtosis - 1) / n) of it; five of them, about one in a million.
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7), Fraction(2**70, 3)])
def test_variances_are_those_of_the_discrete_laws(scale):
    laplace = np.array([float(z) for z in discrete_laplace(scale, DRAWS, bits(3))])
    assert laplace.var() == pytest.approx(discrete_laplace_variance(scale), rel=5 * math.sqrt(8 / DRAWS))
    gauss = np.array([float(z) for z in rounded_gaussian(scale, DRAWS // 3, bits(4))])
    assert gauss.var() == pytest.approx(rounded_gaussian_variance(scale), rel=5 * math.sqrt(3 / (DRAWS // 3)))


def test_variances_by_their_definition():
    assert discrete_laplace_variance(Fraction(5, 2)) == pytest.approx((laplace_law(2.5) * NUMBERS**2).sum(), rel=1e-12)
    for deviation in (Fraction(1, 3), Fraction(2), Fraction(4)):
        law = rounded_gaussian_law(float(deviation))
        assert rounded_gaussian_variance(deviation) == pytest.approx((law * NUMBERS**2).sum(), rel=1e-12)
    assert discrete_laplace_variance(Fraction(1, 10_000)) == 0


# 20,000 coins: five standard errors.
@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(9, 4)])
def test_a_coin_of_an_exponential(exponent):
    draw = RandomIntegers(bits(5))
    heads = sum(happens(exponent.numerator, exponent.denominator, draw) for _ in range(20_000))
    assert heads / 20_000 == pytest.approx(math.exp(-exponent), abs=5 * 0.5 / math.sqrt(20_000))


def test_whole_numbers_below_a_bound_are_uniform():
    draw = RandomIntegers(bits(6))
    counts = np.bincount([draw.below(5) for _ in range(10_000)], minlength=5)
    assert stats.chisquare(counts).pvalue > 1e-4  # one in 10,000
    assert draw.below(1) == 0
    huge = [draw.below(3 * 2**200) for _ in range(50)]
    assert max(huge) > 2**200
    assert len(set(huge)) == 50


class Scripted:
    """Gives the numbers that it was told to."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def below(self, bound):
        return self.numbers.pop(0) % bound

    def bits(self, count):
        return 0


def test_digits_are_drawn_until_the_rounding_is_clear():
    places = rounded_noise._PLACES
    # exp(-1/2) begins with these digits: -log of it is 0.5 up to 30 digits, right where rounding changes.
    with rounded_noise._enough(80):
        digits = int(Decimal("-0.5").exp().scaleb(places))
    for next_digits, expected in ((0, 1), (10**places - 1, 0)):  # a smaller number has a larger logarithm
        uniform = rounded_noise._Uniform.drawn(Scripted(digits, next_digits))
        size = rounded_noise.rounded_sizes(
            lambda u=uniform: [(-u.bounds[1].ln(), -u.bounds[0].ln())], Fraction(1), [uniform]
        )
        assert size == [expected]
        assert uniform.places == 2 * places


def test_a_pair_on_the_edge_of_the_disc_is_refined():
    places = rounded_noise._PLACES
    edge = 10**places - 1  # 0.999...9
    pair = rounded_noise.NormalPair.drawn(Scripted(edge, 0, 0, 0))
    assert pair.places == 2 * places
    assert [low <= high for low, high in pair.sizes()] == [True, True]


def test_the_samplers_take_the_bits_of_the_operating_system():
    for sample in (discrete_laplace, discrete_gaussian, rounded_gaussian, rounded_radial):
        first, second = (sample(Fraction(10**12), 5, system_bits()) for _ in range(2))
        assert first != second
