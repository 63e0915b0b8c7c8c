"""The triple release: every cell, the exact level on [0, 1] and on [-1, 1], and unbiased products."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

from askance import AskanceWarning, InvalidInput, TripleRelease, Unidentifiable

CHANNELS = {
    "two": TripleRelease(2, 2.0),
    "three": TripleRelease(3, 4.0),
    "three-signed": TripleRelease(3, 4.0, signed=True),
    "paper": TripleRelease(3, 1.0, calibration="paper"),
    "paper-signed": TripleRelease(2, 1.0, signed=True, calibration="paper"),
    "nine": TripleRelease(9, 8.0, signed=True),
}
EVERY = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


def truths_of(channel):
    low = channel.range[0]
    corner = np.ones(channel.dim)
    corner[0] = low
    inside = np.random.default_rng(41).uniform(low, 1, channel.dim)
    return [np.zeros(channel.dim), np.ones(channel.dim), corner, inside]


def law_by_hand(channel, truth):
    """P(code | truth) from the log-odds t alone, in the order of codes."""
    t = channel.bit.epsilon
    keep = 1 / (1 + math.exp(-t))
    law = []
    for i in range(channel.dim):
        for j in range(i + 1, channel.dim):
            told = truth[i] * truth[j]
            chances = [truth[i] ** 2, (1 + told) / 2 if channel.signed else told, truth[j] ** 2]
            ones = [f * keep + (1 - f) * (1 - keep) for f in chances]
            for bits in product((0, 1), repeat=3):
                law.append(math.prod(p if bit else 1 - p for p, bit in zip(ones, bits, strict=True)))
    return np.array(law) / math.comb(channel.dim, 2)


# -- what is drawn -----------------------------------------------------------------------------------


@EVERY
def test_every_cell_of_simulated_reports(channel):
    # The generator is fixed; a correct channel fails for one generator in 250,000 (four truths).
    rng, draws = np.random.default_rng(42), 200_000
    for truth in truths_of(channel):
        law = law_by_hand(channel, truth)
        assert law.sum() == pytest.approx(1)
        counts = np.bincount(channel.simulate(np.tile(truth, (draws, 1)), rng), minlength=len(law))
        low, high = scipy.stats.binom.cdf(counts, draws, law), scipy.stats.binom.sf(counts - 1, draws, law)
        assert (2 * np.minimum(low, high)).min() > 1e-6 / len(law)


def test_every_cell_of_private_reports():
    # Real entropy: a false alarm about once in 10^9 runs.
    channel, draws = CHANNELS["three-signed"], 60_000
    truth = np.array([0.8, -1.0, 0.1])
    law = law_by_hand(channel, truth)
    reports = channel.privatize(np.tile(truth, (draws, 1)))
    counts = np.bincount(reports, minlength=len(law))
    low, high = scipy.stats.binom.cdf(counts, draws, law), scipy.stats.binom.sf(counts - 1, draws, law)
    assert (2 * np.minimum(low, high)).min() > 1e-9 / len(law)
    assert not np.array_equal(reports, channel.privatize(np.tile(truth, (draws, 1))))


def test_values_outside_are_clipped_and_counted():
    for channel, inside in ((CHANNELS["two"], [0.0, 1.0]), (CHANNELS["paper-signed"], [-1.0, 1.0])):
        assert channel.clip([[-1.5, 1.5]])[0].tolist() == [inside]
        with pytest.warns(AskanceWarning, match="2 values outside"):
            channel.privatize([[-1.5, 1.5]])


# -- privacy -----------------------------------------------------------------------------------------


def worst_ratio(channel, values):
    """The largest ratio of probabilities of one report, exactly, over all pairs of truths from a grid."""
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    ones = channel.bit.thresholds(channel._fractions(a, b))
    laws = [[(2**62 - p, p) for p in row] for row in ones.tolist()]
    worst = Fraction(1)
    for bits in product((0, 1), repeat=3):
        chances = [math.prod(p[bit] for p, bit in zip(law, bits, strict=True)) for law in laws]
        worst = max(worst, Fraction(max(chances), min(chances)))
    return worst


TINY = np.array([1e-300, 1e-20, 2.0**-31, 2.0**-27, 1.0000001 * 2.0**-26.5, 2.0**-26, 1e-7, 1e-3])


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 50.0])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_the_level_is_that_of_the_worst_report_and_pair_of_truths(epsilon, signed, calibration):
    channel = TripleRelease(2, epsilon, signed, calibration)
    low, high = channel.bit.low, channel.bit.high
    claimed = Fraction(high**2 * (2**61 if signed else high), low**3)
    positive = np.concatenate([[0.0], TINY, np.linspace(0.04, 1, 25), [1 - 2.0**-53]])
    values = np.concatenate([-positive, positive]) if signed else positive
    assert worst_ratio(channel, values) == claimed  # reached, and nowhere exceeded
    level = 2 * math.log(high / low) + math.log(2**61 / low if signed else high / low)
    assert channel.guarantee.epsilon == pytest.approx(level, rel=1e-12)
    if calibration == "tight":
        assert channel.guarantee.epsilon <= epsilon
        assert channel.guarantee.epsilon == pytest.approx(epsilon, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 10.0])
def test_log_odds_are_those_of_the_accounting(epsilon):
    tight, signed = TripleRelease(3, epsilon).bit.epsilon, TripleRelease(3, epsilon, signed=True).bit.epsilon
    assert tight == pytest.approx(epsilon / 3, rel=1e-9)
    assert 2 * signed + math.log((1 + math.exp(signed)) / 2) == pytest.approx(epsilon, rel=1e-9)
    assert epsilon / 3 < signed < 0.4 * epsilon
    paper = TripleRelease(3, epsilon, calibration="paper")
    assert paper.bit.epsilon == pytest.approx(epsilon / 2, rel=1e-9)
    assert paper.guarantee.epsilon == pytest.approx(1.5 * epsilon, rel=1e-9)
    both = TripleRelease(3, epsilon, signed=True, calibration="paper").guarantee.epsilon
    assert both == pytest.approx(epsilon + math.log((1 + math.exp(epsilon / 2)) / 2), rel=1e-9)


def test_a_flip_less_would_break_the_level():
    """The grid notices a threshold that is one unit too low."""
    channel = TripleRelease(2, 1.0, signed=True)
    low = channel.bit.low - 512
    exact = Fraction((2**62 - low) ** 2 * 2**61, low**3)
    assert exact > worst_ratio(channel, np.array([-1.0, 0.0, 1.0]))
    assert float(exact) > math.e * (1 - 1e-12)


# -- unbiasing ---------------------------------------------------------------------------------------


@EVERY
def test_the_mean_of_unbiased_products_is_exact(channel):
    every = channel.unbiased_products(np.arange(8 * math.comb(channel.dim, 2)))
    assert every.shape == (8 * math.comb(channel.dim, 2), math.comb(channel.dim + 1, 2))
    assert (np.count_nonzero(every, axis=1) == 3).all()
    first, second = np.triu_indices(channel.dim)
    for truth in truths_of(channel):
        assert law_by_hand(channel, truth) @ every == pytest.approx(truth[first] * truth[second], abs=1e-9)


# -- identity and files ------------------------------------------------------------------------------


@EVERY
def test_what_the_published_flips_cost_is_said(channel):
    text = channel.describe()
    assert (f"give epsilon {channel.guarantee.epsilon:.4g}" in text) == (channel.calibration == "paper")


@pytest.mark.parametrize(("dim", "width"), [(2, 1), (8, 1), (9, 2), (100, 2), (200, 4)])
def test_reports_survive_arrow_in_few_bytes(dim, width):
    channel = TripleRelease(dim, 3.0)
    reports = channel.simulate(np.random.default_rng(43).random((500, dim)), np.random.default_rng(44))
    column = channel.layout.to_arrow(reports)
    assert column.nbytes == 500 * width
    for part in (column, pa.chunked_array([column[:200], column[200:]])):
        assert np.array_equal(channel.encode_reports(part), reports)
    assert np.array_equal(channel.unbiased_products(column[99:]), channel.unbiased_products(reports[99:]))
    assert len(channel.privatize(np.empty((0, dim)))) == 0
    # All pairs are equally likely: a mean pair beyond 6 deviations is two in a thousand million.
    pairs = math.comb(dim, 2)
    assert abs((reports >> 3).mean() - (pairs - 1) / 2) <= 6 * math.sqrt((pairs**2 - 1) / 12 / 500)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TripleRelease(1, 1.0), InvalidInput, "dim=1;.*about two of them"),
        (lambda: TripleRelease(5000, 1.0), InvalidInput, "dim=5000;.*from 2 to 4096"),
        (lambda: TripleRelease("two", 1.0), InvalidInput, "dim='two'"),
        (lambda: TripleRelease(2, -1), InvalidInput, "epsilon=-1"),
        (lambda: TripleRelease(2, 51), InvalidInput, "epsilon=51.*hide nothing"),
        (lambda: TripleRelease(2, 1e-18), Unidentifiable, "so small"),
        (lambda: TripleRelease(2, 1.0, signed="no"), InvalidInput, "signed='no'"),
        (lambda: TripleRelease(2, 1.0, calibration="loose"), InvalidInput, "calibration='loose'.*'tight' or 'paper'"),
        (lambda: TripleRelease(2, 1.0).privatize([[0.5, float("nan")]]), InvalidInput, "nan in row 1, column 2"),
        (lambda: TripleRelease(2, 1.0).privatize([[0.5]]), InvalidInput, r"shape \(1, 1\)"),
        (lambda: TripleRelease(2, 1.0).unbiased_products([8]), InvalidInput, "reports up to 8.*below 8"),
        (lambda: TripleRelease(2, 1.0).unbiased_products([-1]), InvalidInput, "from 0"),
        (lambda: TripleRelease(2, 1.0).unbiased_products([0.5]), InvalidInput, "whole numbers"),
        (lambda: TripleRelease(2, 1.0).simulate([[0.0, 0.0]], None), InvalidInput, "numpy Generator"),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_absurd_input_is_refused_with_a_reason(make, error, message):
    with pytest.raises(error, match=message):
        make()
