"""Exactness of the samplers: every outcome has its declared weight, to the last of 62 bits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.entropy.bits import BLOCK_BYTES, GeneratorBits
from askance.entropy.draws import AliasSampler, BinarySampler, code_type
from askance.entropy.thresholds import RESOLUTION, exact_counts, exact_epsilon, log_ratio, shares_within
from channel_examples import EXAMPLES

FINE = 30  # bits of a threshold that the first word does not see


class Script:
    """A source whose blocks are written down beforehand; the last one is given again and again."""

    def __init__(self, *blocks):
        self.blocks = [np.ascontiguousarray(block).view(np.uint8) for block in blocks]
        self.asked = 0
        assert all(len(block) == BLOCK_BYTES for block in self.blocks)

    def block(self):
        block = self.blocks[min(self.asked, len(self.blocks) - 1)]
        self.asked += 1
        return block.copy()


def words(value, dtype):
    return np.full(BLOCK_BYTES // np.dtype(dtype).itemsize, value, dtype=dtype)


# -- thresholds --------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40).filter(lambda w: sum(w) > 1e-6))
def test_counts_sum_to_the_resolution_and_keep_what_is_possible(weights):
    law = np.array(weights) / sum(weights)
    counts = [int(count) for count in exact_counts(law[:, None])[:, 0]]
    assert sum(counts) == RESOLUTION
    for count, probability in zip(counts, law.tolist(), strict=True):
        assert (count > 0) == (probability > 0)
        # Off by the rounding of a column that sums to one only as well as doubles can.
        assert abs(Fraction(count, RESOLUTION) - Fraction(probability)) < Fraction(len(law), 2**52)


def test_a_double_above_one_in_512_is_represented_exactly():
    law = np.array([[0.125 + 2**-53], [1 - (0.125 + 2**-53)]])
    counts = exact_counts(law)
    assert Fraction(int(counts[0, 0]), RESOLUTION) == Fraction(law[0, 0])
    assert Fraction(int(counts[1, 0]), RESOLUTION) == Fraction(law[1, 0])


def test_counts_cannot_be_changed_afterwards():
    with pytest.raises(ValueError, match="read-only"):
        exact_counts(np.eye(2))[0, 0] = 1


def test_the_level_is_infinite_if_a_report_rules_a_truth_out():
    assert exact_epsilon(exact_counts(np.array([[1.0, 0.5], [0.0, 0.5]]))) == np.inf


def test_a_report_that_never_occurs_does_not_matter():
    counts = exact_counts(np.array([[0.75, 0.25], [0.25, 0.75], [0.0, 0.0]]))
    assert exact_epsilon(counts) == pytest.approx(np.log(3), rel=1e-15)


def test_log_ratio_is_accurate_for_nearly_equal_counts():
    assert log_ratio(2**61 + 1, 2**61) == pytest.approx(2.0**-61, rel=1e-15)


@given(
    st.floats(1e-9, 30),
    st.lists(st.integers(1, 10**6), min_size=2, max_size=30),
)
def test_shares_never_exceed_the_asked_level_and_come_close(epsilon, base):
    from decimal import Decimal, localcontext

    shares = shares_within(epsilon, base)
    truth = RESOLUTION - sum(shares)
    with localcontext() as context:
        context.prec = 60
        level = (Decimal(truth) / Decimal(min(shares)) + 1).ln()
        assert level <= Decimal(epsilon)
        # One unit of 2^-62 more for every share is all that may be lost.
        assert Decimal(epsilon) - level <= Decimal(2 * (len(base) + 2)) / Decimal(min(shares))


# -- two reports -------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [(5, 2**62 - 5), (2**61 + 12345, 2**60 + 1), (2**60, 2**61), (7 << 54, 9 << 54)])
@pytest.mark.parametrize("truth", [0, 1])
@pytest.mark.parametrize("extra", [0, 2**61 + 3])  # a third truth takes the general path
def test_a_tie_is_decided_by_the_fine_bits_exactly(limits, truth, extra):
    sampler = BinarySampler(np.array([*limits, extra] if extra else limits, dtype=np.int64))
    coarse, fine = limits[truth] >> 54, limits[truth] & ((1 << 54) - 1)
    for below, expected in ((1, 1), (0, 0)):
        value = fine - below
        if value < 0:
            continue  # nothing lies below a threshold without fine bits
        pattern = words((value << 10) | 1023, np.uint64)  # the last ten bits of the word must not matter
        first = words(coarse, np.uint8)
        first[sampler.answers_a_block :] = pattern.view(np.uint8)[sampler.answers_a_block :]
        answers = np.full(sampler.answers_a_block, truth, dtype=np.uint8)
        source = Script(first, pattern)
        assert np.all(sampler.draw(answers, source) == expected)
        assert source.asked == 8  # 57,344 ties: 1,024 words of the first block, then 8,192 a block


@pytest.mark.parametrize("general", [False, True])
def test_every_first_byte_is_decided_as_declared(general):
    limits = [3 * 2**54, 200 * 2**54 + 17] + [2**61] * general
    sampler = BinarySampler(np.array(limits, dtype=np.int64))
    first = words(0, np.uint8)
    first[:256] = np.arange(256)
    for truth, limit in enumerate(limits):
        reports = sampler.draw(np.full(256, truth, dtype=np.uint8), Script(first))
        # The fine bits are all zero: below any threshold that has fine bits.
        expected = [byte < limit >> 54 or (byte == limit >> 54 and limit % 2**54 > 0) for byte in range(256)]
        assert reports.tolist() == expected


def test_zero_and_one_are_certain():
    sampler = BinarySampler(np.array([0, RESOLUTION], dtype=np.int64))
    truth = np.arange(100_000, dtype=np.uint8) % 2
    for source in (Script(words(0, np.uint8)), Script(words(255, np.uint8)), GeneratorBits(np.random.default_rng(1))):
        assert np.array_equal(sampler.draw(truth, source), truth)


# -- many reports ------------------------------------------------------------------------------------


def alias_weights(sampler, table, outcomes):
    """Add up, in Python integers, what every outcome really gets."""
    cells = sampler.table.shape[1]
    capacity = RESOLUTION // cells
    weights = [0] * max(outcomes, cells)
    for cell in range(cells):
        entry = int(sampler.table[table, cell])
        threshold = (entry >> 32 << FINE) + int(sampler.fine[table, cell])
        assert 0 <= threshold <= capacity
        weights[cell] += threshold
        weights[entry & 0xFFFFFFFF] += capacity - threshold
    return weights


@given(st.integers(2, 70), st.integers(1, 4), st.floats(0.05, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_alias_table_holds_the_counts_exactly(outcomes, tables, concentration, seed):
    law = np.random.default_rng(seed).dirichlet(np.full(outcomes, concentration), size=tables).T
    law = np.nan_to_num(law)
    law[0] += law.sum(axis=0) == 0
    counts = exact_counts(law / law.sum(axis=0))
    sampler = AliasSampler.from_counts(counts, reports=outcomes)
    for table in range(tables):
        weights = alias_weights(sampler, table, outcomes)
        assert weights[:outcomes] == counts[:, table].tolist()
        assert not any(weights[outcomes:])


@pytest.mark.parametrize("name", [n for n, c in EXAMPLES.items() if isinstance(c.sampler, AliasSampler)])
def test_the_tables_of_every_channel_hold_its_counts(name):
    channel = EXAMPLES[name]
    sampler, classes = channel.sampler, len(channel.classes)
    for truth in range(0, classes, max(1, classes // 7)):
        shared = sampler.table.shape[0] == 1
        weights = alias_weights(sampler, 0 if shared else truth, len(channel.report_labels) + 1)
        told = weights[sampler.truth_outcome] if sampler.truth_outcome < len(weights) and shared else 0
        law = [weights[o] + told * (o == truth) for o in range(len(channel.report_labels))]
        assert law == channel.counts[:, truth].tolist()


@pytest.mark.parametrize("tables", [1, 3])
@pytest.mark.parametrize("outcomes", [2, 3, 10, 129, 1001])
def test_a_tie_in_a_cell_is_decided_by_the_fine_bits_exactly(outcomes, tables):
    law = np.random.default_rng(outcomes).dirichlet(np.ones(outcomes), size=tables).T
    truth_outcome = outcomes - 1 if tables == 1 else None
    sampler = AliasSampler.from_counts(exact_counts(law), reports=outcomes, truth_outcome=truth_outcome)
    cells = sampler.table.shape[1]
    shift = 32 - (cells.bit_length() - 1)
    table = tables - 1
    answers = np.full(cells, 2 if tables == 3 else 0, dtype=code_type(outcomes))
    limit = (sampler.table[table] >> np.uint64(32)).astype(np.int64)
    other = (sampler.table[table] & np.uint64(0xFFFFFFFF)).astype(np.int64)
    fine = sampler.fine[table].astype(np.int64)
    split = limit < 1 << shift  # a cell that is wholly one outcome's has no border to tie on
    assert split.sum() > cells // 3
    own = np.arange(cells)

    def reported(outcome):
        return np.where(outcome == truth_outcome, answers, outcome) if truth_outcome else outcome

    for below, expected in ((1, own), (0, other)):
        usable = split & (fine >= below)
        first, second = words(0, np.uint32), words(0, np.uint32)
        first[:cells] = (own << shift) | np.minimum(limit, (1 << shift) - 1)
        second[:cells] = (np.maximum(fine - below, 0) << 2) | 3  # the last two bits must not matter
        reports = sampler.draw(answers, Script(first, second)).astype(np.int64)
        assert np.array_equal(reports[usable], reported(expected)[usable])


@pytest.mark.parametrize("offset", [-1, 1])
def test_next_to_a_border_the_first_word_decides_alone(offset):
    sampler = AliasSampler.from_counts(exact_counts(np.array([[0.3], [0.33], [0.37]])), reports=3)
    limit, other = divmod(int(sampler.table[0, 1]), 1 << 32)
    source = Script(words((1 << 30) + limit + offset, np.uint32), words(0, np.uint32))
    expected = 1 if offset < 0 else other
    assert other != 1
    assert np.all(sampler.draw(np.zeros(1000, dtype=np.uint8), source) == expected)
    assert source.asked == 1


# -- both --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rr-2", "rr-3-strings", "finite-5x7", "rr-300"])
@pytest.mark.parametrize("size", [0, 1, 16383, 16384, 16385, 57344, 57345, 70000])
def test_block_borders_are_seamless(name, size):
    sampler = EXAMPLES[name].sampler
    classes = len(EXAMPLES[name].classes)
    truth = (np.arange(size) % classes).astype(code_type(classes))
    whole = sampler.draw(truth, GeneratorBits(np.random.default_rng(5)))
    assert whole.shape == (size,)
    longer = sampler.draw(np.concatenate([truth, truth]), GeneratorBits(np.random.default_rng(5)))
    kept = size // sampler.answers_a_block * sampler.answers_a_block
    assert np.array_equal(whole[:kept], longer[:kept])
    pieces = [codes.copy() for _, codes in sampler.draw_blocks(truth, GeneratorBits(np.random.default_rng(5)))]
    assert np.array_equal(np.concatenate([np.empty(0, dtype=whole.dtype), *pieces]), whole)


@pytest.mark.parametrize(("states", "expected"), [(2, "uint8"), (256, "uint8"), (257, "uint16"), (65537, "int32")])
def test_codes_are_as_small_as_they_can_be(states, expected):
    assert np.dtype(code_type(states)).name == expected
    assert np.iinfo(code_type(states)).max >= states - 1
