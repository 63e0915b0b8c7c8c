"""Several designs in one data set: each row keeps the law of its own design."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.stats

from askance import DesignPerRow, FiniteChannel, Identity, InvalidInput, Unidentifiable, Warner
from askance.channels.base import LabelChannel
from channel_examples import DESIGNS, EXAMPLES, MIXED_DESIGNS

BOTH = pytest.mark.parametrize("channel", [DESIGNS, MIXED_DESIGNS], ids=["same reports", "different reports"])


def names(channel, rows):
    return np.random.default_rng(21).choice(list(channel.designs), size=rows)


@BOTH
@pytest.mark.parametrize("real_entropy", [False, True])
def test_every_cell_of_every_design(channel, real_entropy):
    # 13 or 14 cells, each named wrongly with probability 1e-10: one false alarm in 10^8 runs with real entropy.
    draws, rng = 120_000, np.random.default_rng(22)
    design = names(channel, draws)
    for truth, label in enumerate(channel.classes):
        answers = np.full(draws, label)
        reports = channel.privatize(answers, design) if real_entropy else channel.simulate(answers, rng, design)
        counts = np.bincount(channel.encode_reports(reports, design), minlength=len(channel.matrix))
        asked = np.concatenate(
            [np.full(len(c.report_labels), np.sum(design == name)) for name, c in channel.designs.items()]
        )
        law = channel.matrix[:, truth]
        low, high = scipy.stats.binom.cdf(counts, asked, law), scipy.stats.binom.sf(counts - 1, asked, law)
        assert 2 * np.minimum(low, high).min() > 1e-10


@BOTH
def test_the_matrix_is_the_stack_of_the_designs(channel):
    assert np.array_equal(channel.matrix, np.vstack([c.matrix for c in channel.designs.values()]))
    assert isinstance(channel, LabelChannel)
    with pytest.raises(ValueError, match="read-only"):
        channel.matrix[0, 0] = 1


@BOTH
def test_a_row_has_the_likelihood_and_the_unbiased_value_of_its_design(channel):
    design = names(channel, 200)
    reports = channel.simulate([channel.classes[0]] * 200, np.random.default_rng(23), design)
    likelihood, unbiased = channel.likelihood(reports, design), channel.unbias(reports, design)
    for name, alone in channel.designs.items():
        rows = design == name
        assert rows.sum() > 20
        assert np.array_equal(likelihood[rows], alone.likelihood(reports[rows].tolist()))
        assert unbiased[rows] == pytest.approx(alone.unbias(reports[rows].tolist()))


@BOTH
def test_unbiasing_is_exact_within_every_design(channel):
    law = np.concatenate([c.matrix @ [0.3, 0.7] for c in channel.designs.values()])
    for report_law in (None, law, 5 * law):
        undo = channel.unbiasing_matrix(report_law)
        start = 0
        for alone in channel.designs.values():
            stop = start + len(alone.report_labels)
            assert undo[:, start:stop] @ alone.matrix == pytest.approx(np.eye(2), abs=1e-12)
            part = None if report_law is None else law[start:stop]
            assert undo[:, start:stop] == pytest.approx(alone.unbiasing_matrix(part))
            start = stop


def test_a_design_that_no_row_was_asked_under_does_not_spoil_the_others():
    law = np.concatenate([DESIGNS.designs["cards"].matrix @ [0.3, 0.7], [0, 0], [0.3, 0.7]])
    undo = DESIGNS.unbiasing_matrix(law)
    assert np.all(np.isfinite(undo))
    assert undo[:, :2] @ Warner(0.8).matrix == pytest.approx(np.eye(2))


def test_an_unidentifiable_design_is_named_by_its_rank():
    wide = DesignPerRow({"wide": EXAMPLES["finite-wide"]})
    with pytest.raises(Unidentifiable, match="rank 2"):
        wide.unbiasing_matrix()


def test_the_guarantee_is_the_weakest():
    assert DESIGNS.guarantee.epsilon == np.inf
    two = DesignPerRow({"a": Warner(0.8), "b": Warner(0.7)})
    assert two.guarantee == Warner(0.8).guarantee


def test_a_directly_asked_group_is_reported_as_it_is():
    truth = np.array(["no", "yes", "yes", "no"] * 500)
    design = np.array(["direct", "cards"] * 1000)
    reports = DESIGNS.privatize(truth, design)
    assert np.array_equal(reports[::2], truth[::2])
    assert not np.array_equal(reports[1::2], truth[1::2])  # 1,000 answers all kept: probability 1e-97


@pytest.mark.parametrize(
    "column", [list, tuple, np.array, pd.Series, pl.Series, pa.array, lambda v: pd.Series(v, dtype="category")]
)
def test_designs_and_reports_from_any_column(column):
    design, reports = column(["cards", "direct", "birthday"]), column(["yes", "no", "yes"])
    assert DESIGNS.encode_reports(reports, design).tolist() == [1, 4, 3]
    assert DESIGNS.encode_reports(reports, design=design).dtype == np.uint8


def test_reports_of_several_types_are_not_confused():
    assert MIXED_DESIGNS.encode_reports(["x", 1, "b"], ["three", "numbers", "two"]).tolist() == [0, 6, 4]


def test_one_design_needs_no_name():
    single = DesignPerRow({"cards": Warner(0.8)})
    assert single.encode_reports(["yes", "no"]).tolist() == [1, 0]
    assert single.encode_reports(["yes", "no"], ["cards", "cards"]).tolist() == [1, 0]
    with pytest.raises(InvalidInput, match="'dice'"):
        single.encode_reports(["yes"], ["dice"])


@pytest.mark.parametrize(
    ("reports", "design", "message"),
    [
        (["yes"], None, "no design for the rows.*names one of"),
        (["yes"], ["dice"], "designs are not among the labels: 'dice'.*'cards'"),
        (["yes"], [None], "1 of 1 designs are missing"),
        (["yes", "no"], ["cards"], "1 designs for 2 rows"),
        (["yes"], "cards", "one design a row"),
        (["yes", "perhaps"], ["cards", "direct"], "asked under 'direct': 1 of 1 reports.*'perhaps'"),
        (["yes", None], ["cards", "direct"], "asked under 'direct': 1 of 1 reports are missing"),
    ],
)
def test_bad_rows_are_refused(reports, design, message):
    with pytest.raises(InvalidInput, match=message):
        DESIGNS.encode_reports(reports, design)


def test_everything_is_checked_before_anything_is_drawn():
    rng = np.random.default_rng(24)
    for truth, design in ((["no", "perhaps"], ["cards", "cards"]), (["no", "no"], ["cards", "dice"])):
        with pytest.raises(InvalidInput, match="not among the labels"):
            DESIGNS.simulate(truth, rng, design)
    assert rng.bit_generator.state == np.random.default_rng(24).bit_generator.state
    with pytest.raises(InvalidInput, match="numpy Generator"):
        DESIGNS.simulate(["no"], 7, ["cards"])
    assert list(inspect.signature(DesignPerRow.privatize).parameters) == ["self", "truth", "design"]


@pytest.mark.parametrize(
    ("designs", "message"),
    [
        ({}, "no designs.*at least one"),
        ({"a": 3}, "'a': 3.*finite channels"),
        ({1: Warner(0.8)}, "names with finite channels"),
        ({"a": Warner(0.8), "b": Identity([0, 1])}, r"'b' has the classes 0, 1.*'no', 'yes'"),
        ({"a": Warner(0.8), "b": Warner(0.8, classes=("yes", "no"))}, "the same classes in every design"),
        ([("a", Warner(0.8))], "a mapping"),
        (None, "a mapping"),
    ],
)
def test_bad_designs_are_refused(designs, message):
    with pytest.raises(InvalidInput, match=message):
        DesignPerRow(designs)


def test_the_order_of_designs_is_part_of_their_identity():
    forth = DesignPerRow({"a": Warner(0.8), "b": Warner(0.7)})
    back = DesignPerRow({"b": Warner(0.7), "a": Warner(0.8)})
    assert forth != back
    assert forth == DesignPerRow({"a": Warner(0.8), "b": Warner(0.7)})


def test_designs_are_readable_and_fixed():
    text = repr(DesignPerRow({"cards": Warner(0.8)}))
    assert text == "DesignPerRow({'cards': Warner(p=0.8, classes=('no', 'yes'))})"
    assert "one of 3 designs. 'cards': With probability 0.8" in DESIGNS.describe()
    with pytest.raises(AttributeError, match="cannot assign"):
        DESIGNS.designs = {}
    with pytest.raises(TypeError, match="does not support item assignment"):
        DESIGNS.designs["cards"] = Warner(0.9)


def test_ragged_designs_stack():
    tall = FiniteChannel([[0.8, 0.3], [0.1, 0.5], [0.1, 0.2]], ["no", "yes"], ["x", "y", "z"])
    channel = DesignPerRow({"tall": tall, "cards": Warner(0.8)})
    assert channel.encode_reports(["z", "no"], ["tall", "cards"]).tolist() == [2, 3]
