"""Coordinate release and per-value response: what is declared is what is drawn, promised and undone."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import CoordinateRelease, InvalidInput, PerValueFlip, Unidentifiable
from askance.entropy.bernoulli import NoisyBit
from askance.entropy.bits import BLOCK_BYTES, GeneratorBits
from askance.entropy.draws import BinarySampler
from askance.errors import AskanceWarning

EXAMPLES = {
    "cr-1": CoordinateRelease(1, 1.0),
    "cr-3": CoordinateRelease(3, 1.0),
    "cr-4-bound": CoordinateRelease(4, 0.7, bound=2.5),
    "cr-3-paper": CoordinateRelease(3, 2.0, calibration="paper"),
    "cr-3-law": CoordinateRelease(3, 1.5, probabilities=(0.2, 0.5, 0.3)),
    "pv-1": PerValueFlip(1, 1.0),
    "pv-3": PerValueFlip(3, 2.0),
    "pv-4-sparse": PerValueFlip(4, 2.0, max_ones=1),
    "pv-5-half": PerValueFlip(5, 3.0, max_ones=3, bound=0.25),
    "pv-4-paper": PerValueFlip(4, 2.0, max_ones=3, calibration="paper"),
    "pv-3-paper-sparse": PerValueFlip(3, 2.0, max_ones=1, calibration="paper"),
}
EVERY = pytest.mark.parametrize("channel", EXAMPLES.values(), ids=EXAMPLES.keys())
RELEASES = {name: channel for name, channel in EXAMPLES.items() if isinstance(channel, CoordinateRelease)}


def most_ones(channel):
    return getattr(channel, "max_ones", None) or channel.dim


def truths(channel, levels=(0.0, 1.0)):
    """All rows whose values are these shares of the bound."""
    rows = np.array(list(product(levels, repeat=channel.dim)))
    return channel.bound * rows[np.count_nonzero(rows, axis=1) <= most_ones(channel)]


def all_reports(channel):
    if isinstance(channel, CoordinateRelease):
        return np.arange(2 * channel.dim, dtype=np.uint8)
    return np.array(list(product((0, 1), repeat=channel.dim)), dtype=np.uint8)


def code(channel, reports):
    """The row number of each report in :func:`all_reports`."""
    return reports if reports.ndim == 1 else reports @ (1 << np.arange(channel.dim)[::-1])


def law_of(channel, row):
    """P(report | truth) as exact fractions, from the integers that are drawn from."""
    ones = [Fraction(int(limit), 2**62) for limit in channel.bit.thresholds(row / channel.bound)]
    if isinstance(channel, CoordinateRelease):
        chance = [Fraction(int(count), 2**62) for count in channel.coordinate_counts]
        return [p * (one if bit else 1 - one) for p, one in zip(chance, ones, strict=True) for bit in (0, 1)]
    return [
        math.prod(one if bit else 1 - one for one, bit in zip(ones, report, strict=True))
        for report in all_reports(channel).tolist()
    ]


def table_of(channel, rows):
    """P(report | truth), reports x rows."""
    return np.array([[float(cell) for cell in law_of(channel, row)] for row in rows]).T


# -- what is declared is what is drawn ---------------------------------------------------------------


def improbable_cells(draw, channel, rows, table, draws, alarm):
    """Cells whose frequency is too far from the table; all together wrongly named with probability alarm."""
    bad = []
    for t, row in enumerate(rows):
        counts = np.bincount(code(channel, draw(np.tile(row, (draws, 1)))), minlength=len(table))
        low = scipy.stats.binom.cdf(counts, draws, table[:, t])
        high = scipy.stats.binom.sf(counts - 1, draws, table[:, t])
        bad += [(o, t) for o in np.flatnonzero(2 * np.minimum(low, high) < alarm / table.size)]
    return bad


@EVERY
def test_every_cell_of_simulated_reports(channel):
    # The generator is fixed; a correct channel fails for one generator in a million.
    rng = np.random.default_rng(1)
    rows = np.vstack([truths(channel), truths(channel, (0.0, 0.3, 0.85))[-6:]])
    table = table_of(channel, rows)
    assert improbable_cells(lambda t: channel.simulate(t, rng), channel, rows, table, 40_000, 1e-6) == []


@EVERY
def test_every_cell_of_private_reports(channel):
    # Real entropy: over all examples a false alarm about once in 10^9 runs.
    rows = truths(channel)[:8]
    alarm = 1e-9 / len(EXAMPLES)
    assert improbable_cells(channel.privatize, channel, rows, table_of(channel, rows), 20_000, alarm) == []


def test_the_check_of_cells_notices_one_per_cent():
    channel = EXAMPLES["pv-3"]
    rows = truths(channel)[:2]
    wrong = table_of(channel, rows)
    wrong[3, 1] += 0.01
    wrong[6, 1] -= 0.01
    rng = np.random.default_rng(2)
    found = improbable_cells(lambda t: channel.simulate(t, rng), channel, rows, wrong, 200_000, 1e-6)
    assert found == [(3, 1), (6, 1)]


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32, float, list])
def test_every_form_of_zeros_and_ones_gives_the_same_reports(kind):
    truth = np.random.default_rng(3).random((3_000, 40)) < 0.3  # several blocks of random bits
    given = truth.astype(int).tolist() if kind is list else truth.astype(kind)
    for channel in (PerValueFlip(40, 2.0), PerValueFlip(40, 2.0, max_ones=30), CoordinateRelease(40, 1.0)):
        expected = channel.simulate(truth.astype(float), np.random.default_rng(4))
        reports = channel.simulate(given, np.random.default_rng(4))
        assert reports.dtype == np.uint8
        assert np.array_equal(reports, expected)


def test_bits_of_a_row_are_independent():
    # A normal deviate beyond 6 for one of 6 pairs: one in a hundred million; the generator is fixed.
    channel, n = PerValueFlip(4, 2.0), 200_000
    reports = channel.simulate(np.tile([0.0, 1.0, 0.5, 0.2], (n, 1)), np.random.default_rng(5))
    assert np.abs(np.corrcoef(reports.T) - np.eye(4)).max() < 6 / math.sqrt(n)
    for j in range(4):  # neighbouring rows
        assert abs(np.corrcoef(reports[:-1, j], reports[1:, j])[0, 1]) < 6 / math.sqrt(n)


class Script:
    """A source whose blocks are written down beforehand."""

    def __init__(self, *blocks):
        self.blocks = list(blocks)
        self.buffer = np.empty(BLOCK_BYTES, np.uint8)

    def block(self):
        self.buffer[:] = self.blocks.pop(0)  # overwritten by the next call, as the real one is
        return self.buffer


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.25, 0.5, 0.123456789, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("log_odds", [1e-9, 0.02, 1.0, 8.0, 50.0])
def test_a_tie_is_decided_by_the_other_54_bits(fraction, log_odds):
    bit = NoisyBit.within(log_odds)
    threshold = int(bit.thresholds(fraction))
    byte, rest = threshold >> 54, threshold & (2**54 - 1)
    for within in {max(rest - 1, 0), rest, min(rest + 1, 2**54 - 1)}:
        block = np.full(BLOCK_BYTES, byte, np.uint8)
        block[BinarySampler.answers_a_block :].view(np.uint64)[:] = within << 10
        values = np.full(500, 4.0 * fraction)
        assert np.all(bit.draw(values, 4.0, Script(block)) == (within < rest))
    for wrong in {byte - 1, byte + 1} & set(range(256)):
        drawn = bit.draw(np.full(9, 4.0 * fraction), 4.0, Script(np.full(BLOCK_BYTES, wrong, np.uint8)))
        assert np.all(drawn == (wrong < byte))


def test_fresh_bits_are_drawn_where_ties_use_up_a_block():
    bit, values = NoisyBit.within(1.0), np.full(3_000, 0.3)
    threshold = int(bit.thresholds(0.3))
    assert threshold & (2**54 - 1)
    all_tie = np.full(BLOCK_BYTES, threshold >> 54, np.uint8)
    all_tie[BinarySampler.answers_a_block :] = 0  # the first ties are below the threshold, whatever it is
    high = np.full(BLOCK_BYTES, 255, np.uint8)
    first = BLOCK_BYTES - BinarySampler.answers_a_block >> 3
    drawn = bit.draw(values, 1.0, Script(all_tie, high))
    assert drawn[:first].all()
    assert not drawn[first:].any()


@given(st.floats(1e-6, 50), st.lists(st.floats(0, 1), min_size=1, max_size=50), st.integers(0, 2**32))
@settings(max_examples=80, deadline=None)
def test_the_quick_draw_is_the_slow_one(log_odds, fractions, seed):
    """Each bit is 1 if and only if its 62 random bits are below its threshold."""
    bit = NoisyBit.within(log_odds)
    given_fractions = np.resize(fractions, 5_000)
    reports = bit.draw(given_fractions, 1.0, GeneratorBits(np.random.default_rng(seed)))
    block = GeneratorBits(np.random.default_rng(seed)).block()
    words = iter(block[BinarySampler.answers_a_block :].view(np.uint64).tolist())
    for report, threshold, byte in zip(reports, bit.thresholds(given_fractions).tolist(), block.tolist(), strict=False):
        number = byte << 54
        if byte == threshold >> 54:
            number += next(words) >> 10
        assert report == (number < threshold)


def test_thresholds_go_from_low_to_high_and_never_beyond():
    for log_odds in (1e-12, 1e-3, 0.3, 1.0, 7.7, 50.0):
        bit = NoisyBit.within(log_odds)
        assert bit.low + bit.high == 2**62
        assert bit.thresholds([0.0, 1.0]).tolist() == [bit.low, bit.high]
        many = bit.thresholds(np.append(np.linspace(0, 1, 1001), 1 - 2.0 ** -np.arange(40, 54)))
        assert many.min() == bit.low
        assert many.max() == bit.high
        assert bit.thresholds(0.5) == pytest.approx(2.0**61, rel=1e-15)


# -- privacy -----------------------------------------------------------------------------------------


def enumerated_level(channel, rows):
    laws = [law_of(channel, row) for row in rows]
    ratio = max(max(cells) / min(cells) for cells in zip(*laws, strict=True))
    return math.log1p(float(ratio - 1)), ratio


@EVERY
def test_the_level_is_the_enumerated_one(channel):
    exact, _ = enumerated_level(channel, truths(channel))
    assert channel.guarantee.epsilon == pytest.approx(exact, rel=1e-12)
    assert channel.guarantee.epsilon <= channel.epsilon


@EVERY
def test_no_rows_of_real_numbers_are_told_apart_better(channel):
    _, extreme = enumerated_level(channel, truths(channel))
    grid = (0.0, 1e-9, 0.4, 1.0) if channel.dim < 5 else (0.0, 0.4, 1.0)
    _, ratio = enumerated_level(channel, truths(channel, grid))
    assert ratio == extreme


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.3, 1.0, 2.0, 5.0, 20.0])
@pytest.mark.parametrize(("dim", "ones"), [(1, 1), (3, 2), (7, 3), (10, 10), (100, 7)])
def test_the_asked_level_is_kept_exactly_and_nearly_reached(epsilon, dim, ones):
    """In rational numbers: (high / low)^D <= e^epsilon, and the next integer would be too much or nearly so."""
    channels = [(CoordinateRelease(dim, epsilon), 1), (PerValueFlip(dim, epsilon, max_ones=ones), min(2 * ones, dim))]
    for channel, distance in channels:
        bit = channel.bit
        with localcontext() as context:
            context.prec = 80
            level = distance * (Decimal(bit.high) / Decimal(bit.low)).ln()
            assert level <= Decimal(epsilon)
            assert level >= Decimal(epsilon) * (1 - Decimal(2) ** -51) - distance * Decimal(4) / Decimal(bit.low)
        assert channel.guarantee.epsilon <= epsilon
        assert channel.guarantee.epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("dim", "ones", "share"), [(10, 2, 1.0), (10, 5, 1.0), (10, 8, 10 / 16), (10, 10, 0.5)])
def test_the_papers_calibration_says_what_it_really_gives(dim, ones, share):
    assert CoordinateRelease(dim, 3.0, calibration="paper").guarantee.epsilon == pytest.approx(1.5, rel=1e-12)
    channel = PerValueFlip(dim, 3.0, max_ones=ones, calibration="paper")
    assert channel.bit.epsilon == pytest.approx(3.0 / (2 * ones), rel=1e-12)
    assert channel.guarantee.epsilon == pytest.approx(3.0 * share, rel=1e-12)
    assert PerValueFlip(dim, 3.0, max_ones=ones).guarantee.epsilon == pytest.approx(3.0, rel=1e-12)


def test_guarantees_say_what_is_protected():
    assert str(CoordinateRelease(8, 1.0).guarantee) == (
        "epsilon 1, protects one row of 8 numbers (any two rows within the public bounds)"
    )
    assert PerValueFlip(8, 1.0).guarantee.neighbours == "any two rows within the public bounds"
    sparse = PerValueFlip(8, 1.0, max_ones=2).guarantee
    assert sparse.neighbours == "any two rows with at most 2 values other than zero"
    assert sparse.per_attribute == pytest.approx([0.25] * 8)


def test_a_row_that_is_too_full_is_refused_before_anything_is_drawn():
    channel = PerValueFlip(5, 1.0, max_ones=2)
    for truth in (np.eye(5), np.eye(5, dtype=np.uint8), np.eye(5, dtype=bool), 0.01 * np.eye(5)):
        full = truth.copy()
        full[3, :3] = truth.max()
        rng = np.random.default_rng(6)
        with pytest.raises(InvalidInput, match=r"row 4 has 4 values other than zero.*at most max_ones=2"):
            channel.simulate(full, rng)
        assert rng.bit_generator.state == np.random.default_rng(6).bit_generator.state
        assert channel.simulate(truth, rng).shape == (5, 5)
    with pytest.warns(AskanceWarning, match="3 values outside"):  # what is clipped to zero is zero
        channel.simulate([[1.0, 1.0, -1.0, -1.0, -0.5]], rng)


# -- unbiasing ---------------------------------------------------------------------------------------


@EVERY
def test_unbias_has_the_right_mean_over_all_reports(channel):
    rows = truths(channel, (0.0, 0.3, 1.0))[:200]
    mean = table_of(channel, rows).T @ channel.unbias(all_reports(channel))
    assert mean == pytest.approx(rows, abs=1e-12 * channel.bound)


@EVERY
def test_unbias_has_the_right_mean_in_simulation(channel):
    # 5 standard errors, at most 5 coordinates: fails for one generator in 300,000.
    n = 100_000
    row = truths(channel, (0.0, 0.3, 1.0))[-1]
    reports = channel.simulate(np.tile(row, (n, 1)), np.random.default_rng(7))
    error = np.sqrt(np.diag(channel.noise_covariance([row])) / n)
    assert np.all(np.abs(channel.unbias(reports).mean(axis=0) - row) < 5 * error)


@EVERY
def test_sums_without_the_rows(channel):
    rng = np.random.default_rng(8)
    rows = truths(channel)
    reports = channel.simulate(rows[rng.integers(0, len(rows), 1_000)], rng)
    assert channel.unbiased_sum(reports) == pytest.approx(channel.unbias(reports).sum(axis=0), rel=1e-10)
    nothing = channel.simulate(np.empty((0, channel.dim)), rng)
    assert channel.unbiased_sum(nothing).tolist() == [0.0] * channel.dim
    assert channel.unbias(nothing).shape == (0, channel.dim)


@EVERY
def test_noise_covariance_is_the_enumerated_one(channel):
    rows = truths(channel, (0.0, 0.3, 1.0))[:200]
    values = channel.unbias(all_reports(channel))
    expected = np.zeros((channel.dim, channel.dim))
    for row, law in zip(rows, table_of(channel, rows).T, strict=True):
        off = values - row
        expected += (off * law[:, None]).T @ off / len(rows)
    assert channel.noise_covariance(rows) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@EVERY
def test_noise_covariance_is_the_simulated_one(channel):
    # Each entry within 6 standard errors: over all examples fails for fewer than one generator in a million.
    n = 200_000
    rows = truths(channel, (0.0, 0.6, 1.0))
    rng = np.random.default_rng(9)
    truth = rows[rng.integers(0, len(rows), n)]
    off = channel.unbias(channel.simulate(truth, rng)) - truth
    products = off[:, :, None] * off[:, None, :]
    error = products.std(axis=0) / math.sqrt(n)
    assert np.all(np.abs(products.mean(axis=0) - channel.noise_covariance(truth)) < 6 * error + 1e-12)


def test_values_outside_are_clipped_and_counted():
    for channel in (CoordinateRelease(2, 1.0, bound=2.0), PerValueFlip(2, 1.0, bound=2.0), PerValueFlip(2, 1.0)):
        with pytest.warns(AskanceWarning, match=rf"2 values outside \[0, {channel.bound:g}\] were clipped"):
            reports = channel.simulate([[5.0, 0.0], [-1.0, 1.0]], np.random.default_rng(10))
        inside = channel.simulate([[channel.bound, 0.0], [0.0, 1.0]], np.random.default_rng(10))
        assert np.array_equal(reports, inside)
    with pytest.warns(AskanceWarning, match="2 values outside"):
        PerValueFlip(2, 1.0).simulate(np.array([[5, 0], [-1, 1]]), np.random.default_rng(10))


# -- identity ----------------------------------------------------------------------------------------


def test_specs_are_as_published():
    assert CoordinateRelease(3, 1, probabilities=np.array([0.2, 0.5, 0.3])).to_spec() == {
        "channel": "coordinate-release",
        "version": 1,
        "dim": 3,
        "epsilon": 1.0,
        "bound": 1.0,
        "calibration": "tight",
        "probabilities": [0.2, 0.5, 0.3],
    }
    assert PerValueFlip(3, 1) == PerValueFlip(3, 1, max_ones=3)
    assert PerValueFlip(3, 1, calibration="paper").to_spec() == {
        "channel": "per-value-flip",
        "version": 1,
        "dim": 3,
        "epsilon": 1.0,
        "max_ones": 3,
        "bound": 1.0,
        "calibration": "paper",
    }


def test_the_integers_behind_a_spec_never_change():
    """A release says its spec only: what is drawn from must be the same for ever."""
    assert CoordinateRelease(3, 1.0).bit.low == 1240273392707995214
    assert PerValueFlip(100, 2.0, max_ones=7).bit.low == 2141419473923054871
    assert CoordinateRelease(3, 1.0).coordinate_counts.tolist() == [
        1537228672809129472,
        1537228672809129216,
        1537228672809129216,
    ]


# -- files -------------------------------------------------------------------------------------------


@EVERY
def test_reports_survive_a_file(channel, tmp_path):
    rng = np.random.default_rng(11)
    rows = truths(channel)
    reports = channel.simulate(rows[rng.integers(0, len(rows), 500)], rng)
    column = channel.layout.to_arrow(reports)
    pq.write_table(pa.table({"row": column}), tmp_path / "reports.parquet")
    again = pq.read_table(tmp_path / "reports.parquet")["row"]
    assert np.array_equal(channel.encode_reports(again), reports)
    assert channel.unbiased_sum(again) == pytest.approx(channel.unbiased_sum(reports))
    assert np.array_equal(channel.encode_reports(column.slice(13, 50)), reports[13:63])
    assert len(channel.encode_reports(column.slice(0, 0))) == 0


def test_reports_take_as_little_room_as_they_need():
    truth = np.random.default_rng(12).random((1_000, 100))
    bits = PerValueFlip(100, 1.0)
    assert bits.layout.to_arrow(bits.simulate(truth, np.random.default_rng(13))).nbytes == 1_000 * 13
    one = CoordinateRelease(100, 1.0)
    assert one.layout.to_arrow(one.simulate(truth, np.random.default_rng(13))).nbytes == 1_000
    wide = CoordinateRelease(20_000, 1.0)
    reports = wide.simulate(np.ones((3, 20_000)), np.random.default_rng(14))
    assert reports.dtype == np.uint16
    assert wide.layout.to_arrow(reports).nbytes == 6


# -- bad input ---------------------------------------------------------------------------------------

NAN = float("nan")
ABSURD = [
    (lambda: CoordinateRelease(0, 1.0), "dim=0.*at least 1"),
    (lambda: PerValueFlip(2.5, 1.0), "dim=2.5"),
    (lambda: CoordinateRelease(3, 0), "epsilon=0.*positive"),
    (lambda: PerValueFlip(3, -1.0), "epsilon=-1.*positive"),
    (lambda: PerValueFlip(3, NAN), "epsilon=nan"),
    (lambda: CoordinateRelease(3, "1"), "epsilon='1'"),
    (lambda: CoordinateRelease(3, 51), r"epsilon=51.*at most 50.*e\^51"),
    (lambda: CoordinateRelease(3, 1.0, bound=0), "bound=0.*positive"),
    (lambda: PerValueFlip(3, 1.0, bound=-2.0), "bound=-2.0"),
    (lambda: PerValueFlip(3, 1.0, bound=math.inf), "bound=inf.*finite"),
    (lambda: CoordinateRelease(3, 1.0, calibration="loose"), "calibration='loose'.*'tight' or 'paper'"),
    (lambda: PerValueFlip(3, 1.0, calibration=None), "calibration=None"),
    (lambda: CoordinateRelease(3, 1.0, probabilities=[0.5, 0.5]), r"shape \(2,\).*3 probabilities, one for each"),
    (lambda: CoordinateRelease(2, 1.0, probabilities=[0.5, 0.6]), "sum to 1"),
    (lambda: CoordinateRelease(2, 1.0, probabilities=[0.0, 1.0]), "never drawn"),
    (lambda: CoordinateRelease(2, 1.0, probabilities=[NAN, 1.0]), "sum to 1"),
    (lambda: CoordinateRelease(2, 1.0, probabilities="uniform"), "probabilities='uniform'"),
    (lambda: PerValueFlip(3, 1.0, max_ones=0), "max_ones=0.*from 1 to 3"),
    (lambda: PerValueFlip(3, 1.0, max_ones=4), "max_ones=4.*from 1 to 3"),
    (lambda: PerValueFlip(3, 1.0, max_ones=1.5), "max_ones=1.5"),
    (lambda: PerValueFlip(3, 1.0, max_ones=True), "max_ones=True"),
]


@pytest.mark.parametrize(("make", "message"), ABSURD, ids=lambda p: p if isinstance(p, str) else "")
def test_absurd_parameters_are_refused_with_a_reason(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_a_level_too_small_to_be_drawn_is_refused():
    with pytest.raises(Unidentifiable, match="so small that it says nothing"):
        PerValueFlip(100, 1e-17)


def test_the_largest_level_is_kept_as_far_as_integers_can():
    channel = CoordinateRelease(2, 50.0)
    assert channel.bit.low == 1
    assert channel.guarantee.epsilon == pytest.approx(62 * math.log(2))


@pytest.mark.parametrize("channel", [CoordinateRelease(3, 1.0), PerValueFlip(3, 1.0)], ids=["cr", "pv"])
def test_bad_rows_and_reports_are_refused(channel):
    for bad, message in (
        ([[1.0, NAN, 0.0]], "nan in row 1, column 2.*finite"),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, math.inf]], "inf in row 2, column 3"),
        ([[1.0, 0.0]], r"shape \(1, 2\).*\(n, 3\)"),
        (np.ones((2, 4), dtype=np.uint8), r"shape \(2, 4\).*\(n, 3\)"),
        ([1.0, 0.0, 0.0], r"shape \(3,\)"),
        ([["a", "b", "c"]], "not a table of numbers"),
    ):
        with pytest.raises(InvalidInput, match=message):
            channel.privatize(bad)
        with pytest.raises(InvalidInput, match=message):
            channel.noise_covariance(bad)
    with pytest.raises(InvalidInput, match=r"no rows.*at least one"):
        channel.noise_covariance(np.empty((0, 3)))
    with pytest.raises(InvalidInput, match="numpy Generator"):
        channel.simulate([[0.0, 0.0, 0.0]], 7)
    with pytest.raises(InvalidInput, match="one design only"):
        channel.encode_reports(channel.privatize([[0.0, 0.0, 0.0]]), design=["cards"])
    for reports in ([[0.5, 0.5, 0.5]], [-1], [6], [[2, 0, 0]], [[0, 1]]):
        for method in (channel.unbias, channel.unbiased_sum):
            with pytest.raises(InvalidInput, match="reports"):
                method(reports)


@pytest.mark.parametrize("channel", list(RELEASES.values()), ids=list(RELEASES))
def test_the_law_of_the_coordinate_is_exact(channel):
    assert sum(channel.coordinate_counts.tolist()) == 2**62
    wanted = channel.probabilities or [1 / channel.dim] * channel.dim
    assert channel.coordinate_counts / 2**62 == pytest.approx(wanted, rel=1e-14)
