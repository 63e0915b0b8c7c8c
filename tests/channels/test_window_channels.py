"""Laws of the channels that report numbers as codes: enumerated where small, drawn where large."""

import copy
import json
import math
import pickle
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import (
    AskanceWarning,
    InvalidInput,
    PrivateNumber,
    SampledCoordinates,
    Unidentifiable,
    WindowRelease,
    channel_from_spec,
)
from askance.channels.rows.number_law import NumberLaw
from askance.channels.rows.window_law import WindowLaw, law_within, least_cost
from askance.channels.rows.window_release import TYPICAL_SQUARE
from askance.entropy import windows
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.bits import GeneratorBits

WHOLE = 1 << 62
EXAMPLES = {
    "row": WindowRelease(9, 4.0, k=4),
    "chosen": WindowRelease(5, 2.0),
    "outcome": WindowRelease(6, 3.0, always=(0, 5)),
    "whole-row": WindowRelease(3, 6.0, k=3),
    "one": WindowRelease(1, 1.0),
    "fine": WindowRelease(2, 12.0, k=2),
    "hybrid": PrivateNumber(0, 100, 2.0),
    "hybrid-coin": PrivateNumber(-3, -1, 0.3),
    "hybrid-fine": PrivateNumber(0, 1, 11.0),
    "piecewise": PrivateNumber(-1, 1, 4.0, "piecewise"),
    "duchi": PrivateNumber(0, 1e6, 1.0, "duchi"),
    "sampled-one": SampledCoordinates(10, 1.0),
    "sampled": SampledCoordinates(7, 8.0, bound=2.5),
    "sampled-whole": SampledCoordinates(2, 6.0, k=2),
    "sampled-single": SampledCoordinates(1, 3.0),
}
EVERY = pytest.mark.parametrize("channel", EXAMPLES.values(), ids=EXAMPLES.keys())


# -- the law, enumerated -----------------------------------------------------------------------------


def starts(law, z):
    """P(start of the window | z), by the definition of the quadratic spline."""
    place = Fraction(law.codes - law.width, 2) + Fraction(law.codes - law.width - 1, 2) * Fraction(z)
    nearest = math.floor(place + Fraction(1, 2))
    off = place - nearest
    half = Fraction(1, 2)
    chances = {nearest - 1: (off - half) ** 2 / 2, nearest: Fraction(3, 4) - off**2, nearest + 1: (off + half) ** 2 / 2}
    return {start: chance for start, chance in chances.items() if chance}


def window_cells(law, truth):
    """P(codes | truth) of all tuples of codes, exactly."""
    kappa = Fraction(law.coin, WHOLE)
    inside = []
    for z in truth:
        cells = [Fraction(0)] * law.codes
        for start, chance in starts(law, z).items():
            assert 0 <= start <= law.codes - law.width
            for code in range(start, start + law.width):
                cells[code] += chance / law.width
        inside.append(cells)
    blank = (1 - kappa) / law.codes ** len(truth)
    return {
        codes: kappa * math.prod(cells[code] for cells, code in zip(inside, codes, strict=True)) + blank
        for codes in product(range(law.codes), repeat=len(truth))
    }


def number_cells(law, z):
    """P(code | z) of a number's law, exactly but for the double in the coin's threshold."""
    share = Fraction(law.share, WHOLE)
    cells = [share * cell for cell in window_cells(law.window, [z]).values()] if law.window else []
    if law.coin:
        heads = Fraction(int(law.coin.thresholds((np.array([float(z)]) + 1) / 2)[0]), WHOLE)
        cells += [(1 - share) * (1 - heads), (1 - share) * heads]
    return dict(enumerate(cells))


def log_of(ratio):
    with localcontext() as context:
        context.prec = 50
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def enumerated_level(cells_by_truth):
    tables = list(cells_by_truth)
    return max(log_of(max(t[cell] for t in tables) / min(t[cell] for t in tables)) for cell in tables[0])


TRUTHS = [Fraction(-1), Fraction(1), Fraction(-3, 7), Fraction(0), Fraction(9, 10)]
SMALL = [(8, 3, 1), (9, 2, 1), (16, 5, 1), (7, 4, 1), (12, 4, 2), (9, 3, 2), (8, 5, 2), (6, 2, 3)]


@pytest.mark.parametrize("shape", SMALL, ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5, 12.0])
def test_the_level_is_the_enumerated_one_and_not_above_the_asked_one(shape, epsilon):
    law = law_within(epsilon, *shape)
    tables = [window_cells(law, truth) for truth in product(TRUTHS[:3], repeat=law.numbers)]
    assert {sum(table.values()) for table in tables} == {1}
    level = enumerated_level(tables)
    assert level <= Decimal(epsilon)
    assert float(level) == law.epsilon
    assert law.epsilon == pytest.approx(epsilon, rel=1e-9)
    more = WindowLaw(*shape, law.coin + 1)  # one coin in 2^62 more would be too many
    apart = Fraction(more.coin, WHOLE - more.coin) * Fraction(more.codes, more.width) ** more.numbers
    assert log_of(1 + apart) > Decimal(epsilon)


@given(st.integers(6, 14), st.data())
@settings(max_examples=40, deadline=None)
def test_first_and_second_moments_are_exact_for_every_number(codes, data):
    width = data.draw(st.integers(2, codes - 3))
    truth = [data.draw(st.fractions(-1, 1, max_denominator=997)) for _ in range(2)]
    law = WindowLaw(codes, width, 2, data.draw(st.integers(1, WHOLE - 1)))
    half = Fraction(codes - width - 1, 2)
    value = [(code - Fraction(codes - 1, 2)) / half for code in range(codes)]
    cells = window_cells(law, truth)
    kappa = Fraction(law.coin, WHOLE)
    assert sum(p * value[a] for (a, _), p in cells.items()) == kappa * truth[0]
    assert sum(p * value[a] * value[b] for (a, b), p in cells.items()) == kappa * truth[0] * truth[1]
    window = (Fraction(width**2 - 1, 12) + Fraction(1, 4)) / half**2
    blank = Fraction(codes**2 - 1, 12) / half**2
    square = sum(p * value[b] ** 2 for (_, b), p in cells.items())
    assert square == kappa * (truth[1] ** 2 + window) + (1 - kappa) * blank
    # What the channels compute with is the same, in doubles.
    assert law.values == pytest.approx([float(v) for v in value], abs=1e-14)
    assert (law.window, law.blank) == pytest.approx((float(window), float(blank)))
    assert law.square_offset == pytest.approx(float(square - kappa * truth[1] ** 2))
    assert law.origin + law.step * np.arange(codes) == pytest.approx(law.values, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.7, 2.0, 5.0])
@pytest.mark.parametrize("mixed", [True, False])
def test_the_level_of_a_number_is_the_larger_of_window_and_coin(epsilon, mixed):
    window = law_within(epsilon, 10, 3, 1)
    for coin in (NoisyBit.within(epsilon), NoisyBit.within(epsilon / 2)) if mixed else (None,):
        law = NumberLaw(window, coin, window.coin if mixed else WHOLE)
        level = enumerated_level(number_cells(law, z) for z in TRUTHS)
        assert float(level) == law.epsilon
        assert level <= Decimal(epsilon)
    strong = NumberLaw(law_within(epsilon / 2, 10, 3, 1), NoisyBit.within(epsilon), WHOLE // 2)
    assert strong.epsilon == pytest.approx(epsilon, abs=1e-12)
    assert float(enumerated_level(number_cells(strong, z) for z in TRUTHS)) == strong.epsilon


@pytest.mark.parametrize("z", TRUTHS)
def test_moments_of_a_number_are_exact(z):
    window = law_within(2.0, 10, 3, 1)
    for law in (
        NumberLaw(window, NoisyBit.within(2.0), WHOLE // 3),
        NumberLaw(window, None, WHOLE),
        NumberLaw(None, NoisyBit.within(2.0), 0),
    ):
        chance = np.array([float(p) for p in number_cells(law, z).values()])
        assert len(law.values) == len(chance) == law.codes
        assert chance @ law.values == pytest.approx(float(z), abs=1e-13)
        assert chance @ (law.values - float(z)) ** 2 == pytest.approx(law.variance(np.array([float(z)]))[0])
        if law.window:
            assert chance @ law.squares == pytest.approx(float(z) ** 2, abs=1e-13)
        else:
            assert law.squares is None


# -- what is drawn -----------------------------------------------------------------------------------


def with_law(channel, law):
    """The same channel with so few codes that all its reports can be listed."""
    channel = copy.copy(pickle.loads(pickle.dumps(channel)))
    vars(channel)["law"] = law
    return channel


def improbability(counts, chances):
    """The p-value of a chi-square test; impossible cells must be empty."""
    draws = sum(counts.values())
    assert set(counts) <= {cell for cell, chance in chances.items() if chance}
    seen = np.array([counts[cell] for cell, chance in chances.items() if chance])
    wanted = draws * np.array([float(chance) for chance in chances.values() if chance])
    assert wanted.min() > 5
    return scipy.stats.chi2.sf(((seen - wanted) ** 2 / wanted).sum(), len(wanted) - 1)


def tallied(reports):
    rows = reports.reshape(len(reports), -1).astype(np.int64)
    places = 16 ** np.arange(rows.shape[1])  # all numbers here are below 16
    numbers, counts = np.unique(rows @ places, return_counts=True)
    cells = numbers[:, None] // places % 16
    return Counter(dict(zip(map(tuple, cells.tolist()), counts.tolist(), strict=True)))


def row_cells(channel, truth):
    """P(report | truth) of all reports of a window release."""
    always = channel.always
    others = [c for c in range(channel.dim) if c not in always]
    chosen = [sorted((*always, *some)) for some in combinations(others, channel.k - len(always))]
    return {
        (*(() if channel.k == channel.dim else which), *codes): chance / len(chosen)
        for which in chosen
        for codes, chance in window_cells(channel.law, [truth[c] for c in which]).items()
    }


ROWS = {
    "all": (WindowRelease(2, 1.0, k=2), [Fraction(-1), Fraction(3, 7)]),
    "some": (WindowRelease(4, 1.0, k=2), [Fraction(1), Fraction(0), Fraction(-5, 9), Fraction(1, 3)]),
    "always": (WindowRelease(4, 1.0, k=3, always=(2,)), [Fraction(-1), Fraction(1), Fraction(2, 5), Fraction(1)]),
    "one": (WindowRelease(1, 1.0), [Fraction(1, 8)]),
}


@pytest.mark.parametrize(("channel", "truth"), ROWS.values(), ids=ROWS.keys())
def test_every_cell_of_window_reports(channel, truth):
    small = with_law(channel, WindowLaw(7, 3, channel.k, 3 * WHOLE // 5))
    rows = np.tile([float(z) for z in truth], (300_000, 1))
    cells = row_cells(small, truth)
    # The generator is fixed; a correct channel fails for one generator in a million.
    assert improbability(tallied(small.simulate(rows, np.random.default_rng(1))), cells) > 1e-6
    # Real entropy: a false alarm in one of 10^9 runs.
    assert improbability(tallied(small.privatize(rows)), cells) > 1e-9
    # The test notices a coin that is off by two per cent.
    wrong = row_cells(with_law(channel, WindowLaw(7, 3, channel.k, 31 * WHOLE // 50)), truth)
    assert improbability(tallied(small.simulate(rows, np.random.default_rng(1))), wrong) < 1e-6


@pytest.mark.parametrize("z", [Fraction(-1), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize("mechanism", ["hybrid", "piecewise", "duchi"])
def test_every_cell_of_a_number(mechanism, z):
    window, coin = WindowLaw(9, 4, 1, WHOLE // 2), NoisyBit.within(1.5)
    law = {
        "hybrid": NumberLaw(window, coin, WHOLE // 3),
        "piecewise": NumberLaw(window, None, WHOLE),
        "duchi": NumberLaw(None, coin, 0),
    }[mechanism]
    channel = with_law(PrivateNumber(10, 30, 1.5), law)
    truth = np.full(300_000, 20 + 10 * float(z))
    cells = {(code,): chance for code, chance in number_cells(law, z).items()}
    # One generator in a million, and one run in 10^9, is a false alarm.
    assert improbability(tallied(channel.simulate(truth, np.random.default_rng(2))), cells) > 1e-6
    assert improbability(tallied(channel.privatize(truth)), cells) > 1e-9


def test_every_cell_of_sampled_coordinates():
    law = NumberLaw(WindowLaw(5, 2, 1, WHOLE // 2), NoisyBit.within(1.0), WHOLE // 2)
    channel = with_law(SampledCoordinates(3, 2.0, k=2, bound=2.0), law)
    truth = [Fraction(-1), Fraction(1, 2), Fraction(1)]
    single = [number_cells(law, z) for z in truth]
    cells = {
        (a, b, *codes): single[a][codes[0]] * single[b][codes[1]] / 3
        for a, b in combinations(range(3), 2)
        for codes in product(range(law.codes), repeat=2)
    }
    rows = np.tile([2 * float(z) for z in truth], (300_000, 1))
    assert improbability(tallied(channel.simulate(rows, np.random.default_rng(3))), cells) > 1e-6  # as above


@pytest.mark.parametrize("always", [(), (3,), (0, 4)])
def test_subsets_are_uniform_from_a_table_and_without(always, monkeypatch):
    others = [c for c in range(7) if c not in always]
    cells = {tuple(sorted((*always, *some))): 1 / math.comb(len(others), 3) for some in combinations(others, 3)}
    for seed, largest in enumerate((1 << 12, 0)):
        monkeypatch.setattr(windows, "_LARGEST_TABLE", largest)
        drawn = windows.subsets(60_000, 3 + len(always), 7, always, GeneratorBits(np.random.default_rng(seed)))
        assert improbability(tallied(drawn), cells) > 1e-6  # one generator in a million


def test_a_draw_that_runs_out_of_words_goes_on_with_fresh_ones():
    class Poor:
        """Nothing but words that are rejected, then ever fewer good ones."""

        def __init__(self, seed):
            self.good, self.calls = GeneratorBits(np.random.default_rng(seed)), 0

        def block(self):
            self.calls += 1
            fresh = self.good.block().copy()
            fresh[: -(1 << 12)] = 0  # a zero is rejected for every bound that is no power of two
            return fresh if self.calls > 2 else np.zeros_like(fresh)

    bounds = np.array([[3, 5, 7], [9, 11, 13]], dtype=np.uint64)
    kinds = np.arange(3000) % 2
    source = Poor(4)
    drawn = windows.uniform_below(bounds, kinds.astype(np.uint8), source)
    assert source.calls >= 2 + math.ceil(9000 / (1 << 10))
    for kind, column in product(range(2), range(3)):
        counts = np.bincount(drawn[kinds == kind, column], minlength=int(bounds[kind, column]))
        assert len(counts) == bounds[kind, column]
        assert scipy.stats.chisquare(counts).pvalue > 1e-6  # one generator in 10^5 fails one of the six


def test_rows_of_more_numbers_than_a_block_of_words():
    numbers = np.arange(20_000, dtype=np.uint32)[None]
    reports = np.empty((1, 20_000), np.uint8)
    bits = GeneratorBits(np.random.default_rng(5))
    windows.report_windows(np.zeros((1, 20_000)), numbers, np.array([True]), 11, 5, bits, reports)
    chances = {(code,): chance for (code,), chance in window_cells(WindowLaw(11, 5, 1, WHOLE), [0]).items()}
    assert improbability(tallied(reports[0]), chances) > 1e-6  # one generator in a million


def test_private_reports_differ_between_calls():
    for channel in EXAMPLES.values():
        truth = np.full((2000, channel.dim), np.mean(channel.range))
        assert not np.array_equal(channel.privatize(truth), channel.privatize(truth))
        seeded = [channel.simulate(truth, np.random.default_rng(seed)) for seed in (6, 6, 7)]
        assert np.array_equal(seeded[0], seeded[1])
        assert not np.array_equal(seeded[0], seeded[2])


# -- unbiasing ---------------------------------------------------------------------------------------


def random_truth(channel, rows, seed):
    low, high = channel.range
    rng = np.random.default_rng(seed)
    return low + (high - low) * rng.beta(rng.uniform(0.5, 3, channel.dim), 1.5, (rows, channel.dim))


@EVERY
def test_reports_are_unbiased_with_the_stated_covariance(channel):
    rows = 200_000
    truth = random_truth(channel, rows, 8)
    error = channel.unbias(channel.simulate(truth, np.random.default_rng(9))).reshape(rows, -1) - truth
    # Normal deviates beyond 6: two in a thousand million each.
    assert np.abs(error.mean(axis=0) / error.std(axis=0)).max() < 6 / math.sqrt(rows)
    products = np.einsum("ni,nj->nij", error, error)
    off = products.mean(axis=0) - channel.noise_covariance(truth)
    assert np.abs(off / products.std(axis=0)).max() < 6 / math.sqrt(rows)


@pytest.mark.parametrize("name", ["row", "chosen", "outcome", "whole-row", "one", "fine"])
def test_products_are_unbiased(name):
    channel, rows = EXAMPLES[name], 200_000
    truth = random_truth(channel, rows, 10)
    told = channel.unbiased_products(channel.simulate(truth, np.random.default_rng(11)))
    first, second = np.triu_indices(channel.dim)
    error = told - truth[:, first] * truth[:, second]
    # Normal deviates beyond 6: two in a thousand million each.
    assert np.abs(error.mean(axis=0) / error.std(axis=0)).max() < 6 / math.sqrt(rows)


@pytest.mark.parametrize("name", ["hybrid", "hybrid-fine", "piecewise"])
def test_squares_of_a_number_are_unbiased(name):
    channel, rows = EXAMPLES[name], 200_000
    truth = random_truth(channel, rows, 12)[:, 0]
    centred = (truth - np.mean(channel.range)) / (np.ptp(channel.range) / 2)
    reports = channel.simulate(truth, np.random.default_rng(13))
    error = channel.unbias_square(reports) - centred**2
    assert channel.tells_squares
    assert abs(error.mean() / error.std()) < 6 / math.sqrt(rows)  # two in a thousand million
    assert channel.unbias(reports).shape == (rows,)
    assert channel.variance(truth).mean() == pytest.approx(channel.noise_covariance(truth)[0, 0])


@pytest.mark.parametrize("name", ["duchi", "hybrid-coin"])
def test_a_coin_tells_no_squares(name):
    channel = EXAMPLES[name]
    assert not channel.tells_squares
    with pytest.raises(Unidentifiable, match=r"squares.*coin only.*piecewise"):
        channel.unbias_square(channel.privatize([channel.lower]))


@pytest.mark.parametrize("name", ["row", "outcome", "whole-row", "one", "sampled", "sampled-whole"])
def test_inclusion_probabilities_are_those_of_the_reports(name):
    channel, rows = EXAMPLES[name], 100_000
    single, both = channel.inclusion()
    reports = channel.simulate(np.zeros((rows, channel.dim)), np.random.default_rng(14)).reshape(rows, -1)
    seen = np.ones((rows, channel.dim))
    if channel.k < channel.dim:
        seen = np.zeros((rows, channel.dim))
        np.put_along_axis(seen, reports[:, : channel.k].astype(int), 1.0, axis=1)
    assert np.all(seen.sum(axis=1) == channel.k)
    # Beyond 6 deviations: two in a thousand million each.
    assert np.abs(seen.T @ seen / rows - both).max() < 6 * math.sqrt(0.25 / rows)
    assert np.array_equal(np.diag(both), single)
    assert single.sum() == pytest.approx(channel.k)
    assert both.sum() == pytest.approx(channel.k**2)


@pytest.mark.parametrize("name", ["row", "chosen", "outcome", "whole-row", "one", "fine"])
@pytest.mark.parametrize("weighted", [False, True])
def test_product_sums_are_those_of_the_dense_products(name, weighted):
    channel = EXAMPLES[name]
    reports = channel.simulate(random_truth(channel, 5000, 15), np.random.default_rng(16))
    weights = np.random.default_rng(17).uniform(0, 3, 5000) if weighted else None
    w = np.ones(5000) if weights is None else weights
    dense = np.hstack([channel.unbias(reports), channel.unbiased_products(reports)]) * w[:, None]
    for given_reports in (reports, reports.astype(np.int64), channel.layout.to_arrow(reports)):
        total, squared, sums, squares = channel.product_sums(given_reports, weights)
        assert (total, squared) == pytest.approx((w.sum(), w @ w))
        assert sums == pytest.approx(dense.sum(axis=0), rel=1e-9, abs=1e-7)
        assert squares == pytest.approx((dense**2).sum(axis=0), rel=1e-9)
    halves = [
        channel.product_sums(part, None if weights is None else weights[i::2])
        for i, part in ((0, reports[::2]), (1, reports[1::2]))
    ]
    assert halves[0][2] + halves[1][2] == pytest.approx(sums, abs=1e-7)


def test_product_sums_of_nothing_are_zero():
    channel = EXAMPLES["row"]
    total, squared, sums, squares = channel.product_sums(channel.privatize(np.empty((0, 9))))
    assert (total, squared) == (0.0, 0.0)
    assert sums.shape == squares.shape == (9 + 45,)
    assert not sums.any()
    assert not squares.any()


# -- which window, which k ---------------------------------------------------------------------------


def variance_of_pair(epsilon, codes, width, k):
    growth = math.expm1(epsilon)
    kappa = growth / (growth + (codes / width) ** k)
    half = (codes - width - 1) / 2
    told = TYPICAL_SQUARE + ((width**2 - 1) / 12 + 0.25) / half**2
    blank = (codes**2 - 1) / 12 / half**2
    return (kappa * told**2 + (1 - kappa) * blank**2) / kappa**2


@pytest.mark.parametrize(("dim", "always", "epsilon"), [(9, (), 4.0), (9, (8,), 4.0), (5, (), 0.5), (6, (0, 5), 12.0)])
def test_k_and_the_window_have_the_least_variance_of_products(dim, always, epsilon):
    chosen = WindowRelease(dim, epsilon, always=always)
    costs = {}
    for k in range(len(always) + 2, dim + 1):
        _, both = WindowRelease(dim, epsilon, k=k, always=always).inclusion()
        rarity = np.mean(1 / both[np.triu_indices(dim, 1)])
        costs[k] = {width: rarity * variance_of_pair(epsilon, 256, width, k) for width in range(2, 254)}
    best = min(costs, key=lambda k: min(costs[k].values()))
    assert chosen.k == best
    assert chosen.law.width == min(costs[best], key=costs[best].get)
    assert WindowRelease(dim, epsilon, k=best, always=always).law == chosen.law


def test_narrow_windows_get_two_bytes():
    coarse, fine = EXAMPLES["row"], EXAMPLES["fine"]
    assert (coarse.law.codes, fine.law.codes) == (256, 65536)
    assert coarse.layout.arrow_type == pa.binary(8)
    assert fine.layout.arrow_type == pa.binary(4)
    assert EXAMPLES["one"].layout.arrow_type == pa.uint8()
    assert EXAMPLES["hybrid"].layout.arrow_type == pa.uint8()
    assert EXAMPLES["hybrid-fine"].layout.arrow_type == pa.uint16()
    assert SampledCoordinates(300, 1.0).layout.arrow_type == pa.binary(4)


def published(mechanism, epsilon):
    """Worst variances as printed by Wang et al. (2019), equations for the mechanisms on [-1, 1]."""
    whole, half = math.exp(epsilon), math.exp(epsilon / 2)
    if mechanism == "piecewise":
        return 4 * half / (3 * (half - 1) ** 2)
    if mechanism == "duchi" or epsilon <= 0.61:
        return ((whole + 1) / (whole - 1)) ** 2
    return (half + 3) / (3 * half * (half - 1)) + (whole + 1) ** 2 / (half * (whole - 1) ** 2)


@pytest.mark.parametrize("epsilon", [0.3, 0.61, 1.0, 2.0, 4.0, 8.0])
def test_variances_of_a_number_are_published_or_better(epsilon):
    for mechanism in ("piecewise", "duchi", "hybrid"):
        ours = PrivateNumber(-1, 1, epsilon, mechanism)
        worst = max(ours.variance(np.linspace(-1, 1, 101)))
        assert worst <= 1.01 * published(mechanism, epsilon)
    assert PrivateNumber(-1, 1, epsilon, "duchi").law.worst_variance == pytest.approx(published("duchi", epsilon))
    # The published piecewise mechanism is a window law of another width, its hybrid shares it by kappa.
    window = law_within(epsilon, 65534, round(65534 / (math.exp(epsilon / 2) + 1)), 1)
    assert NumberLaw(window, None, WHOLE).worst_variance == pytest.approx(published("piecewise", epsilon), rel=1e-3)
    assert window.kappa == pytest.approx(-math.expm1(-epsilon / 2), rel=1e-3)
    mixed = NumberLaw(window, NoisyBit.within(epsilon), window.coin)
    if epsilon > 0.61:
        assert mixed.worst_variance == pytest.approx(published("hybrid", epsilon), rel=1e-3)


def test_the_hybrid_has_one_variance_for_every_number_and_the_least_worst_one():
    for epsilon in (1.0, 3.0, 6.0):
        variance = PrivateNumber(0, 10, epsilon).variance(np.linspace(0, 10, 11))
        assert variance == pytest.approx(variance[0], rel=1e-9)
        for mechanism in ("piecewise", "duchi"):
            assert variance[0] < PrivateNumber(0, 10, epsilon, mechanism).variance(np.linspace(0, 10, 11)).max()
    assert PrivateNumber(-1, 1, 8.0).law.worst_variance < 0.35 * published("hybrid", 8.0)


def test_the_search_finds_the_best_width():
    cost, width = least_cost(2.0, 200, 1, lambda kappa, window, blank: (1 + window) / kappa + blank / kappa**2)
    growth = math.expm1(2.0)

    def by_hand(width):
        kappa, half = growth / (growth + 200 / width), (199 - width) / 2
        return (1 + ((width**2 - 1) / 12 + 0.25) / half**2) / kappa + (200**2 - 1) / 12 / half**2 / kappa**2

    assert width == min(range(2, 198), key=by_hand)
    assert cost == pytest.approx(by_hand(width))


# -- privacy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 1.0, math.pi, 10.0, 29.7, 50.0])
def test_printed_levels_are_never_above_the_asked_one(epsilon):
    made = [WindowRelease(dim, epsilon, k=dim) for dim in (1, 2, 7)]
    made += [PrivateNumber(0, 1, epsilon, mechanism) for mechanism in ("hybrid", "piecewise", "duchi")]
    made += [SampledCoordinates(11, epsilon, k=k) for k in (1, 3, 7, 11)]
    for channel in made:
        assert channel.guarantee.epsilon <= epsilon
        if epsilon <= 10:
            assert channel.guarantee.epsilon == pytest.approx(epsilon, rel=1e-6)
        assert channel.guarantee.delta == 0


def test_guarantees_say_what_is_protected():
    assert str(EXAMPLES["row"].guarantee) == (
        "epsilon 4, protects one row of 9 numbers (any two rows within the public bounds)"
    )
    assert str(EXAMPLES["hybrid"].guarantee) == (
        "epsilon 2, protects one number (any two values within the public bounds)"
    )
    assert EXAMPLES["sampled"].guarantee.protects == "one row of 7 numbers"


# -- identity and files ------------------------------------------------------------------------------


@EVERY
def test_a_channel_made_again_has_the_same_law(channel):
    again = channel_from_spec(json.loads(json.dumps(channel.to_spec())))
    assert again.law == channel.law
    assert again.layout == channel.layout


def test_the_chosen_k_is_part_of_the_spec():
    assert WindowRelease(9, 4.0).to_spec() == {
        "channel": "window-release", "version": 1, "dim": 9, "epsilon": 4.0, "k": 3, "always": []
    }  # fmt: skip
    assert SampledCoordinates(9, 6.0).to_spec()["k"] == 2
    assert WindowRelease(4, 1.0, always=2) == WindowRelease(4, 1.0, always=(2,))
    assert WindowRelease(4, 1.0, k=3, always=[2, 2]).always == (2,)


@EVERY
def test_reports_survive_a_file(channel):
    reports = channel.simulate(random_truth(channel, 1000, 18), np.random.default_rng(19))
    column = channel.layout.to_arrow(reports)
    assert column.type == channel.layout.arrow_type
    for kept in (column, pa.chunked_array([column.slice(0, 300), column.slice(300)])):
        assert np.array_equal(channel.encode_reports(kept), reports)
        assert np.array_equal(channel.unbias(kept), channel.unbias(reports))
    assert channel.privatize(np.empty((0, channel.dim))).shape == (0, *reports.shape[1:])


@EVERY
def test_a_channel_describes_itself_in_sentences(channel):
    text = channel.describe()
    assert text[0].isupper() or text[0].isdigit()
    assert text.endswith(".")
    assert "\n" not in text


# -- bad input ---------------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf
ABSURD = [
    (lambda: WindowRelease(0, 1.0), InvalidInput, "dim=0"),
    (lambda: WindowRelease(3, 0.0), InvalidInput, "epsilon=0.*positive"),
    (lambda: WindowRelease(3, -1), InvalidInput, "epsilon=-1"),
    (lambda: WindowRelease(3, NAN), InvalidInput, "epsilon=nan"),
    (lambda: WindowRelease(3, 60), InvalidInput, "epsilon=60.*at most 50.*hide nothing"),
    (lambda: WindowRelease(3, 1e-25), Unidentifiable, "so small that the truth is never"),
    (lambda: WindowRelease(5000, 0.1, k=5000), Unidentifiable, "5000 numbers at once, so small"),
    (lambda: WindowRelease(3, 1.0, k=1), InvalidInput, "k=1;.*from 2 to 3.*any two"),
    (lambda: WindowRelease(3, 1.0, k=4), InvalidInput, "k=4"),
    (lambda: WindowRelease(3, 1.0, k=2.0), InvalidInput, "k=2.0"),
    (lambda: WindowRelease(5, 1.0, k=2, always=(0,)), InvalidInput, "k=2;.*from 3 to 5"),
    (lambda: WindowRelease(2, 1.0, k=1, always=(0,)), InvalidInput, "k=1; expected 2"),
    (lambda: WindowRelease(3, 1.0, always=(3,)), InvalidInput, r"always=\(3,\).*from 0 to 2"),
    (lambda: WindowRelease(3, 1.0, always=-1), InvalidInput, "always=-1"),
    (lambda: WindowRelease(3, 1.0, always="y"), InvalidInput, "always='y'"),
    (lambda: WindowRelease(3, 1.0, always=None), InvalidInput, "always=None"),
    (lambda: PrivateNumber(10, 0, 1.0), InvalidInput, "bounds 10 and 0;.*Swap them: 0, 10"),
    (lambda: PrivateNumber(1, 1, 1.0), InvalidInput, "needs no hiding"),
    (lambda: PrivateNumber(0, INF, 1.0), InvalidInput, "0 and inf;.*choose bounds"),
    (lambda: PrivateNumber(NAN, 1, 1.0), InvalidInput, "nan and 1;.*choose bounds"),
    (lambda: PrivateNumber(0, 10**400, 1.0), InvalidInput, "choose bounds"),
    (lambda: PrivateNumber("a", 1, 1.0), InvalidInput, "'a' and 1;.*finite numbers"),
    (lambda: PrivateNumber(0, 1, 51), InvalidInput, "at most 50"),
    (lambda: PrivateNumber(0, 1, 0), InvalidInput, "epsilon=0"),
    (lambda: PrivateNumber(0, 1, 1e-25), Unidentifiable, "so small"),
    (lambda: PrivateNumber(0, 1, 1.0, "laplace"), InvalidInput, "mechanism='laplace'.*hybrid, piecewise, duchi"),
    (lambda: SampledCoordinates(3, 1.0, k=0), InvalidInput, "k=0.*from 1 to 3"),
    (lambda: SampledCoordinates(3, 1.0, k=4), InvalidInput, "k=4"),
    (lambda: SampledCoordinates(3, 1.0, bound=-1), InvalidInput, "bound=-1"),
    (lambda: SampledCoordinates(3, 51), InvalidInput, "at most 50"),
    (lambda: EXAMPLES["row"].privatize(np.zeros((5, 8))), InvalidInput, r"shape \(5, 8\).*\(n, 9\)"),
    (lambda: EXAMPLES["row"].privatize(np.full((2, 9), NAN)), InvalidInput, "nan in row 1, column 1"),
    (lambda: EXAMPLES["hybrid"].privatize([1.0, INF]), InvalidInput, "inf in row 2, column 1"),
    (lambda: EXAMPLES["hybrid"].privatize(["x"]), InvalidInput, "not a table of numbers"),
    (lambda: EXAMPLES["row"].unbias(np.zeros((4, 8), int)), InvalidInput, "report 1 does not name.*ascending"),
    (lambda: EXAMPLES["row"].product_sums(np.zeros((4, 8), np.uint8)), InvalidInput, "report 1 does not name"),
    (
        lambda: EXAMPLES["row"].product_sums(np.array([[0, 1, 2, 3, 0, 0, 0, 0], [0, 1, 2, 9, 0, 0, 0, 0]], np.uint8)),
        InvalidInput,
        "reports up to 9",
    ),
    (lambda: EXAMPLES["row"].unbias(np.full((1, 8), 200)), InvalidInput, "reports up to 200"),
    (lambda: EXAMPLES["row"].unbias(np.zeros((4, 7), int)), InvalidInput, r"shape \(4, 7\)"),
    (lambda: EXAMPLES["hybrid"].unbias([256]), InvalidInput, "reports up to 256"),
    (lambda: EXAMPLES["hybrid"].unbias([-1]), InvalidInput, "numbers from 0"),
    (lambda: EXAMPLES["one"].product_sums([0, 1], [1.0]), InvalidInput, r"weights of shape \(1,\); expected 2"),
    (lambda: EXAMPLES["one"].product_sums([0, 1], [1.0, NAN]), InvalidInput, "2 finite numbers"),
]


@pytest.mark.parametrize(("make", "error", "message"), ABSURD, ids=lambda p: p if isinstance(p, str) else "")
def test_bad_input_is_refused_with_a_reason(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_values_outside_the_bounds_are_clipped_and_counted():
    channel = PrivateNumber(0, 10, 30.0)
    with pytest.warns(AskanceWarning, match=r"2 values outside \[0, 10\] were clipped"):
        reports = channel.simulate(np.array([-50.0, 5.0, 1e300]), np.random.default_rng(20))
    # At this level every report is within a hundredth of the bounds' distance, but for one in 10^5.
    assert channel.unbias(reports) == pytest.approx([0, 5, 10], abs=0.1)
    with pytest.warns(AskanceWarning, match="9 values outside"):
        EXAMPLES["row"].privatize(np.full((1, 9), 1.5))
