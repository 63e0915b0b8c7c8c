"""Noise added to numbers: its law, its level within public bounds, exact draws, and what is refused."""

import json
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import askance as ask
from askance.channels.attributes.gaussian_level import gaussian_delta, gaussian_epsilon
from askance.channels.attributes.noise_law import GaussianCoordinate, LaplaceCoordinate
from askance.entropy import rounded_arrays
from askance.entropy.bits import GeneratorBits, system_bits
from askance.entropy.rounded_arrays import rounded_gaussian_array, rounded_laplace_array
from askance.planning.auditing.exact_noise import exact_law_level

NOISE = {
    "normal": (ask.GaussianNoise(0.5, dim=2), stats.norm(scale=0.5)),
    "normal-bounded": (ask.GaussianNoise(0.5, dim=2, bounds=(0, 1)), stats.norm(scale=0.5)),
    "laplace": (ask.LaplaceNoise(0.3, dim=2), stats.laplace(scale=0.3)),
    "laplace-bounded": (ask.LaplaceNoise(0.3, dim=2, bounds=(-1, 1)), stats.laplace(scale=0.3)),
}


# Two attributes of four channels, drawn in two ways: with an error rate of 1e-7 each, all fail with less than 2e-6.
@pytest.mark.parametrize("name", NOISE)
@pytest.mark.parametrize("real", [False, True], ids=["simulate", "privatize"])
def test_the_noise_has_the_declared_law(name, real):
    channel, law = NOISE[name]
    truth = np.tile([0.25, 0.75], (30_000, 1))
    reports = channel.privatize(truth) if real else channel.simulate(truth, np.random.default_rng(3))
    for j in range(2):
        assert stats.kstest(reports[:, j] - truth[:, j], law.cdf).pvalue > 1e-7
    assert abs(np.corrcoef((reports - truth).T)[0, 1]) < 5.5 / math.sqrt(len(truth))
    assert channel.laws[0].variance == pytest.approx(law.var())
    at = np.linspace(-2, 2, 9)
    assert np.allclose(channel.laws[0].log_density(at), law.logpdf(at))
    assert np.allclose(channel.laws[0].distribution(at), law.cdf(at))
    assert np.array_equal(channel.unbias(reports), reports)


def test_without_bounds_there_is_no_guarantee_and_it_is_said():
    for channel in (ask.GaussianNoise(5.0, dim=2), ask.LaplaceNoise(5.0, dim=2)):
        assert math.isinf(channel.guarantee.epsilon)
        assert "no privacy guarantee" in str(channel.guarantee)
        assert "no public bounds" in channel.guarantee.in_words()
        assert "no guarantee" in channel.describe()


def test_the_level_of_laplace_noise_is_exact():
    channel = ask.LaplaceNoise((0.5, 2.0), bounds=((0, 1), (-3, 3)))
    assert channel.guarantee.per_attribute == pytest.approx((2.0, 3.0))
    assert channel.guarantee.epsilon == pytest.approx(5.0)
    assert channel.guarantee.delta == 0
    for law in channel.laws:
        assert law.epsilon == pytest.approx(exact_law_level(law), rel=1e-9)


@pytest.mark.parametrize("sigma", [0.2, 1.0, 7.0])
def test_the_level_of_normal_noise_is_that_of_its_integral(sigma):
    law = GaussianCoordinate(sigma, (0.0, 1.0), 1e-5)
    assert law.epsilon == pytest.approx(exact_law_level(law), rel=1e-6)
    assert gaussian_delta(sigma, gaussian_epsilon(sigma, 1e-5)) == pytest.approx(1e-5, rel=1e-6)


def test_a_row_of_normal_noise_is_one_normal_vector():
    channel = ask.GaussianNoise((1.0, 2.0), bounds=((0, 3), (0, 8)), delta=1e-6)
    assert channel.guarantee.epsilon == pytest.approx(gaussian_epsilon(1 / 5, 1e-6), rel=1e-9)  # 3-4-5
    assert channel.guarantee.delta == 1e-6
    # less than the sum of its attributes, which it would be if each had a delta of its own
    assert channel.guarantee.epsilon < sum(channel.guarantee.per_attribute)
    image = ask.GaussianNoise(math.sqrt(0.1), dim=784, bounds=(0, 1))
    assert 4000 < image.guarantee.epsilon < 5000
    mixed = ask.RowChannel([ask.GaussianNoise(1.0, bounds=(0, 3))] * 2 + [ask.LaplaceNoise(1.0, bounds=(0, 2))])
    together = gaussian_epsilon(1 / math.hypot(3, 3), 1e-6) + 2
    assert mixed.guarantee.epsilon == pytest.approx(together, rel=1e-9)


def test_numbers_are_clipped_to_their_bounds_and_it_is_told():
    channel = ask.LaplaceNoise(0.01, bounds=(0, 1))
    with pytest.warns(ask.AskanceWarning, match="2 values outside"):
        reports = channel.simulate(np.array([[5.0, 0.5], [-4.0, 1.0]]), np.random.default_rng(0))
    assert np.abs(reports - [[1, 0.5], [0, 1]]).max() < 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        channel.privatize(np.array([[0.0, 1.0]]))


def test_reports_within_bounds_lie_on_a_public_grid():
    # The low bits of a double must not tell what the noise was added to: whatever the truth, reports are the same.
    channel = ask.GaussianNoise(0.5, dim=1, bounds=(0, 1))
    law = channel.laws[0]
    step = float(law.range) / law.steps
    for truth in (0.123456789, 0.987654321):
        reports = channel.privatize(np.full((500, 1), truth))
        assert np.allclose(reports / step, np.rint(reports / step), atol=1e-6)
    assert step <= 0.5 / 1000


# -- exact rounding ----------------------------------------------------------------------------------


def rounded_law(cdf, size, most):
    edges = np.arange(-most, most + 2) - 0.5
    chances = np.diff(cdf(edges / size))
    return np.arange(-most, most + 1), chances


# Chi-square tests with an error rate of 1e-7 each.
@pytest.mark.parametrize(
    ("draw", "law"), [(rounded_gaussian_array, stats.norm), (rounded_laplace_array, stats.laplace)]
)
@pytest.mark.parametrize("size", [Fraction(1, 3), Fraction(5, 2), Fraction(40)])
def test_rounded_noise_has_the_law_of_the_rounded_noise(draw, law, size):
    drawn = draw(size, 100_000, GeneratorBits(np.random.default_rng(9)))
    values, chances = rounded_law(law.cdf, float(size), 400)
    counts = np.array([np.count_nonzero(drawn == value) for value in values])
    common = chances * len(drawn) > 20
    seen, expected = counts[common], chances[common] * len(drawn)
    rest = len(drawn) - seen.sum()
    assert rest >= 0
    seen = np.append(seen, rest)
    expected = np.append(expected, len(drawn) - expected.sum())
    statistic = np.sum((seen - expected) ** 2 / expected)
    assert stats.chi2.sf(statistic, len(seen) - 1) > 1e-7


@pytest.mark.parametrize("draw", [rounded_gaussian_array, rounded_laplace_array])
def test_doubles_never_decide_what_digits_would_decide_otherwise(draw, monkeypatch):
    fast = draw(Fraction(1000), 3000, GeneratorBits(np.random.default_rng(2)))
    monkeypatch.setattr(rounded_arrays, "_ALLOWANCE", 10.0)  # now every number is settled by its digits
    slow = draw(Fraction(1000), 3000, GeneratorBits(np.random.default_rng(2)))
    assert np.array_equal(np.abs(fast), np.abs(slow))


@pytest.mark.parametrize("draw", [rounded_gaussian_array, rounded_laplace_array])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 9000])
def test_as_many_numbers_come_as_were_asked_for(draw, count):
    assert draw(Fraction(3), count, system_bits()).shape == (count,)


def test_where_doubles_know_nothing_more_bits_are_drawn():
    class FirstZeros(GeneratorBits):
        blocks = 0

        def block(self):
            self.blocks += 1
            return np.zeros(1 << 16, np.uint8) if self.blocks == 1 else super().block()

    # 64 bits that are all zero: the uniform number is below 2^-64, and the size above 64 log 2.
    source = FirstZeros(np.random.default_rng(1))
    [size] = rounded_laplace_array(Fraction(1000), 1, source)
    assert 64 * math.log(2) * 1000 <= abs(size) < 64 * math.log(2) * 1000 + 20_000
    assert source.blocks == 3  # the number, its further bits, its sign
    # Both coordinates of the pair are near zero: their ratio, and so the sizes, are told by further bits only.
    sizes = rounded_gaussian_array(Fraction(1000), 2, FirstZeros(np.random.default_rng(1)))
    assert np.abs(sizes).max() > 5_000


# -- values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "channel",
    [
        ask.GaussianNoise(0.5),
        ask.GaussianNoise((0.5, 0.0), bounds=(0, 1), delta=1e-5),
        ask.LaplaceNoise((0.5, 1.0), bounds=((0, 1), (0, 2))),
        ask.LaplaceNoise(0.5, dim=3),
    ],
    ids=repr,
)
def test_specs_and_files_go_round(channel):
    read = ask.channel_from_spec(json.loads(json.dumps(channel.to_spec())))
    assert read == channel
    assert pickle.loads(pickle.dumps(channel)) == channel
    wide = channel.for_width(channel.dim or 2)
    reports = wide.simulate(np.full((5, wide.width), 0.5), np.random.default_rng(0))
    assert np.array_equal(wide.encode_reports(wide.store(wide.encode_reports(reports))), reports)


def test_noise_of_size_zero_hides_nothing():
    channel = ask.GaussianNoise((0.0, 1.0), bounds=(0, 1))
    reports = channel.privatize(np.array([[0.3, 0.3]]))
    assert reports[0, 0] == 0.3
    assert math.isinf(channel.guarantee.epsilon)
    assert not channel.laws[0].hides
    assert channel.laws[1].hides


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ask.GaussianNoise(-1.0), "not negative"),
        (lambda: ask.GaussianNoise(math.inf), "finite"),
        (lambda: ask.GaussianNoise(math.nan), "NaN"),
        (lambda: ask.LaplaceNoise("1"), "not negative"),
        (lambda: ask.GaussianNoise(1.0, bounds=(1, 0)), "Swap"),
        (lambda: ask.GaussianNoise(1.0, bounds=3), "lower, upper"),
        (lambda: ask.GaussianNoise(1.0, bounds=(0, math.inf)), "finite"),
        (lambda: ask.GaussianNoise(1.0, bounds=(0, 1), delta=0), "small probability"),
        (lambda: ask.GaussianNoise((1.0, 2.0), dim=3), "sigma says 2"),
        (lambda: ask.LaplaceNoise((1.0, 2.0), bounds=((0, 1),) * 3), "bounds says 3"),
        (lambda: ask.GaussianNoise(1.0).privatize([[1.0, math.nan]]), "nan in row 1, column 2"),
        (lambda: ask.GaussianNoise(1.0).privatize([[1.0], [math.inf]]), "inf in row 2, column 1"),
        (lambda: ask.GaussianNoise(1.0, dim=2).privatize([[1.0]]), "1 columns and a channel for 2"),
        (lambda: ask.GaussianNoise(1.0, dim=2).encode([[1.0, 2.0]]), "finitely many states"),
        (lambda: ask.GaussianNoise(1.0).simulate([[1.0]], 3), "numpy Generator"),
    ],
)
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ask.InvalidInput, match=words):
        make()


def test_the_audit_integrates_the_level_and_notices_less_noise_than_declared(monkeypatch):
    channel = ask.LaplaceNoise(0.5, dim=2, bounds=(0, 1))
    honest = ask.audit(channel, draws=5_000, error_rate=1e-9)
    assert honest.passed
    assert honest.exact_epsilon == pytest.approx(4.0)
    assert 1.0 < honest.lower_bound <= 2.0
    normal = ask.audit(ask.GaussianNoise(0.5, dim=2, bounds=(0, 1)), draws=5_000, error_rate=1e-9)
    assert normal.passed
    assert normal.exact_epsilon == pytest.approx(gaussian_epsilon(0.5 / math.sqrt(2), 1e-6), rel=1e-6)
    assert ask.audit(ask.GaussianNoise(0.5, dim=2), draws=5_000, error_rate=1e-9).passed
    monkeypatch.setattr(
        LaplaceCoordinate, "_whole", lambda self, size, count, bits: rounded_laplace_array(size / 2, count, bits)
    )
    assert not ask.audit(channel, draws=5_000, error_rate=1e-9).passed


@pytest.mark.parametrize("channel", [ask.GaussianNoise, ask.LaplaceNoise])
def test_noise_out_of_proportion_to_its_bounds_is_refused(channel):
    """Beyond these the level would be lost in rounding, or the noise would be too large a whole number."""
    for size in (1e-300, 1e-7, 1e10, 1e300):
        with pytest.raises(ask.errors.InvalidInput, match="distance of the bounds"):
            channel(size, bounds=(0, 1))
    with pytest.raises(ask.errors.InvalidInput, match="distance of the bounds"):
        channel([1.0, 1.0], bounds=[(0, 1), (-1.7e308, 1.7e308)])
    for size in (1e-6, 1e9):
        hidden = channel(size, bounds=(0, 1), dim=1)
        assert math.isfinite(hidden.guarantee.epsilon)
        assert np.isfinite(hidden.privatize(np.zeros((3, 1)))).all()
