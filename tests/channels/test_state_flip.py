"""Attributes with a few states: every cell, exact levels of attributes and records, codes, and what is refused."""

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import askance as ask
from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.channels.attributes.per_coordinate import PerCoordinate
from askance.entropy.thresholds import RESOLUTION

# Every flip here: two states, several, many; more likely to change than to stay; states that are not 0, 1, 2, ...
FLIPS = {
    "two": ask.StateFlip(2, 0.2, dim=3),
    "two-mostly-flipped": ask.StateFlip(2, 0.9, dim=3),
    "five": ask.StateFlip(5, 0.3, dim=2),
    "five-mostly-flipped": ask.StateFlip(5, 0.95, dim=2),
    "grey": ask.StateFlip(17, 0.1, dim=2),
    "signs": ask.StateFlip((1, -1), 0.25, dim=2),
    "fractions": ask.StateFlip((0.0, 0.5, 1.0), 0.4, dim=2),
    "each": ask.StateFlip([range(2), range(4), (-1, 1)], [0.1, 0.3, 0.4]),
    "not-hidden": ask.StateFlip(3, 0.0, dim=2),
    "table": PerCoordinate([ask.FiniteChannel([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]], [2, 0, 1])] * 2),
}


def each_truth(channel, rows):
    """Rows in which every attribute takes each of its states in turn."""
    number = np.arange(rows)[:, None]
    return np.column_stack([law.values[(number[:, 0] + j) % len(law.values)] for j, law in enumerate(channel.laws)])


# Each of at most 17 x 17 x 2 cells: 6 standard errors or more by chance with probability 2e-9; all together below 2e-6.
@pytest.mark.parametrize("name", FLIPS)
@pytest.mark.parametrize("real", [False, True], ids=["simulate", "privatize"])
def test_every_cell_of_every_attribute_is_drawn_as_declared(name, real):
    channel = FLIPS[name]
    truth = each_truth(channel, 60_000)
    reports = channel.privatize(truth) if real else channel.simulate(truth, np.random.default_rng(5))
    assert reports.shape == truth.shape
    for j, law in enumerate(channel.laws):
        for k, state in enumerate(law.values):
            mine = reports[truth[:, j] == state, j]
            seen = np.array([(mine == value).mean() for value in law.values])
            assert seen.sum() == pytest.approx(1)  # nothing but states is reported
            error = np.sqrt(law.matrix[:, k] * (1 - law.matrix[:, k]) / len(mine))
            assert np.all(np.abs(seen - law.matrix[:, k]) <= 6 * error)


def test_attributes_do_not_share_their_chance():
    truth = np.zeros((200_000, 4), dtype=np.uint8)
    kept = ask.StateFlip(2, 0.3).simulate(truth, np.random.default_rng(8)) == 0
    correlation = np.corrcoef(kept.T)[np.triu_indices(4, 1)]
    assert np.abs(correlation).max() < 5 / math.sqrt(len(truth))  # five standard errors, six pairs: below 4e-6
    again = np.corrcoef(kept[1:, 0], kept[:-1, 0])[0, 1]
    assert abs(again) < 5 / math.sqrt(len(truth))


@pytest.mark.parametrize(("states", "flip"), [(2, 0.2), (4, 0.3), (256, 0.1), (4, 0.9), (3, 1e-9)])
def test_the_table_is_a_i_plus_b_and_exact(states, flip):
    law = ask.StateFlip(states, flip, dim=1).laws[0]
    counts = law.counts
    assert all(sum(column) == RESOLUTION for column in counts.T.tolist())
    assert law.b == pytest.approx(flip / (states - 1), rel=1e-9)
    assert law.a == pytest.approx(1 - flip - flip / (states - 1), rel=1e-9)
    assert np.allclose(law.matrix, law.a * np.eye(states) + law.b, atol=1e-15)
    most, least = max(counts[0, 0], counts[1, 0]), min(counts[0, 0], counts[1, 0])
    assert law.epsilon == pytest.approx(math.log(Fraction(int(most), int(least))), rel=1e-14)
    assert law.epsilon == pytest.approx(abs(math.log((1 - flip) * (states - 1) / flip)), rel=1e-9)
    assert np.allclose(law.matrix.T @ law.unbiased_values, law.values, atol=1e-9)


def product_level(laws):
    """The level of a record by brute force: all truths, all reports."""
    truths = list(itertools.product(*(range(len(law.values)) for law in laws)))
    worst = 0.0
    for report in truths:
        chances = [
            math.prod(law.matrix[o, k] for law, o, k in zip(laws, report, truth, strict=True)) for truth in truths
        ]
        worst = max(worst, math.log(max(chances) / min(chances)))
    return worst


@pytest.mark.parametrize("name", ["two", "five", "five-mostly-flipped", "signs", "fractions", "each", "table"])
def test_the_level_of_a_record_is_that_of_the_enumerated_product(name):
    channel = FLIPS[name]
    assert channel.guarantee.epsilon == pytest.approx(product_level(channel.laws), rel=1e-12)
    alone = [product_level([law]) for law in channel.laws]
    assert channel.guarantee.per_attribute == pytest.approx(alone, rel=1e-12)
    assert channel.guarantee.delta == 0


def test_an_image_is_hardly_hidden_and_the_guarantee_says_so():
    pixels = ask.StateFlip(256, 0.1, dim=784)
    assert pixels.guarantee.epsilon == pytest.approx(784 * math.log(0.9 * 255 / 0.1))
    assert "epsilon 6067" in str(pixels.guarantee)
    assert "each alone 7.738" in str(pixels.guarantee)
    words = pixels.guarantee.in_words()
    assert "e^6067" in words
    assert "next to no protection" in words
    assert "7.738" in words
    three = pixels.guarantee.repeated(3)
    assert three.epsilon == pytest.approx(3 * pixels.guarantee.epsilon)
    assert three.per_attribute[0] == pytest.approx(3 * pixels.guarantee.per_attribute[0])
    assert "reported 3 times" in str(three)


def test_what_is_not_hidden_is_told_as_it_is_and_has_no_level():
    channel = FLIPS["not-hidden"]
    truth = each_truth(channel, 300)
    assert np.array_equal(channel.privatize(truth), truth)
    assert not channel.laws[0].hides
    assert math.isinf(channel.guarantee.epsilon)
    partly = ask.StateFlip(2, (0.0, 0.2))
    assert math.isinf(partly.guarantee.epsilon)
    assert partly.guarantee.per_attribute == pytest.approx((math.inf, math.log(4)))


@pytest.mark.parametrize("name", FLIPS)
def test_codes_states_and_specs_go_round(name):
    channel = FLIPS[name]
    truth = each_truth(channel, 60)
    codes = channel.encode(truth)
    for j, law in enumerate(channel.laws):
        assert np.array_equal(law.values[codes[:, j]], truth[:, j])
    assert np.array_equal(channel.decode(codes), truth)
    packed = channel.store(channel.encode_reports(truth))
    assert np.array_equal(channel.encode_reports(packed), codes)
    assert np.array_equal(channel.encode_reports(packed.slice(7, 20)), codes[7:27])
    read = ask.channel_from_spec(json.loads(json.dumps(channel.to_spec())))
    assert read == channel
    assert read.guarantee == channel.guarantee
    assert pickle.loads(pickle.dumps(channel)) == channel


@pytest.mark.parametrize("name", [name for name in FLIPS if name != "not-hidden"])
def test_unbiased_reports_have_the_mean_of_the_truth(name):
    channel = FLIPS[name]
    row = [law.values[-1] for law in channel.laws]
    told = channel.unbias(channel.simulate(np.tile(row, (40_000, 1)), np.random.default_rng(11)))
    error = told.std(axis=0) / 200
    assert np.all(np.abs(told.mean(axis=0) - row) < 5 * error)  # at most 3 attributes, ten channels: below 2e-5


def test_numbers_of_any_type_are_understood_and_images_are_laid_out():
    channel = ask.StateFlip(4, 0.3)
    whole = np.array([[0, 3], [2, 1]])
    expected = channel.encode(whole)
    for kind in (np.uint8, np.int64, np.uint64, np.float32, np.float64):
        assert np.array_equal(channel.encode(whole.astype(kind)), expected)
    assert np.array_equal(channel.encode(whole.tolist()), expected)
    assert np.array_equal(ask.StateFlip(2, 0.1).encode(np.array([[True, False]])), [[1, 0]])
    assert channel.privatize(np.zeros((5, 2, 3), np.uint8)).shape == (5, 6)
    assert channel.privatize(whole.astype(np.uint8)).dtype == np.uint8  # an image stays as small as it came
    tenths = ask.StateFlip(np.arange(11) / 10, 0.2)
    assert np.array_equal(tenths.encode(np.float32([[0.1, 0.7]])), [[1, 7]])
    assert channel.privatize(np.zeros((0, 2), np.uint8)).shape == (0, 2)


def test_the_width_may_be_said_later_but_not_otherwise():
    channel = ask.StateFlip(2, 0.2)
    assert channel.dim is None
    assert channel.for_width(3) == ask.StateFlip(2, 0.2, dim=3)
    with pytest.raises(ask.InvalidInput, match="how many attributes"):
        _ = channel.laws
    with pytest.raises(ask.InvalidInput, match="4 columns and a channel for 3"):
        channel.for_width(3).privatize(np.zeros((2, 4), int))
    with pytest.raises(ask.InvalidInput, match="4 columns and a channel for 2"):
        ask.StateFlip(2, (0.1, 0.2)).simulate(np.zeros((2, 4), int), np.random.default_rng(0))


@pytest.mark.parametrize("states", [2, 3, 10, 256])
def test_a_flip_that_loses_everything_is_refused(states):
    with pytest.raises(ask.Unidentifiable, match="everything is lost"):
        ask.StateFlip(states, (states - 1) / states)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ask.StateFlip(2, 1.0), "never reported"),
        (lambda: ask.StateFlip(4, 1), "never reported"),
        (lambda: ask.StateFlip(2, -0.1), "between 0 and 1"),
        (lambda: ask.StateFlip(2, 1.5), "between 0 and 1"),
        (lambda: ask.StateFlip(2, math.nan), "NaN"),
        (lambda: ask.StateFlip(2, "0.2"), "between 0 and 1"),
        (lambda: ask.StateFlip(2, True), "between 0 and 1"),
        (lambda: ask.StateFlip(1, 0.2), "from 2 to"),
        (lambda: ask.StateFlip(2.5, 0.2), "whole number"),
        (lambda: ask.StateFlip(100_000, 0.2), "from 2 to"),
        (lambda: ask.StateFlip((1, 1), 0.2), "twice"),
        (lambda: ask.StateFlip((2, 4, 2), 0.2), "range"),
        (lambda: ask.StateFlip(("a", "b"), 0.2), "finite numbers"),
        (lambda: ask.StateFlip((0, math.inf), 0.2), "finite numbers"),
        (lambda: ask.StateFlip(2, 0.2, dim=0), "at least 1"),
        (lambda: ask.StateFlip(2, (0.1, 0.2), dim=3), "flip says 2"),
        (lambda: ask.StateFlip([range(2), range(3)], (0.1,)), "states says 2"),
        (lambda: ask.StateFlip(2, ()), "for all attributes or for each"),
        (lambda: ask.StateFlip(2, (0.1, 0.5)), "attribute 2"),
        (lambda: PerCoordinate([]), "one for each attribute"),
        (lambda: PerCoordinate([ask.Warner(0.8)]), "finite numbers"),
        (lambda: PerCoordinate([3]), "a channel for one attribute"),
        (lambda: PerCoordinate([ask.FiniteChannel([[0.8, 0.3], [0.1, 0.5], [0.1, 0.2]], [0, 1], [0, 1, 2])]), "square"),
        (lambda: PerCoordinate(ask.FiniteChannel([[1.0, 0.3], [0.0, 0.7]], [0, 1])), "never reported as 1"),
        (
            lambda: PerCoordinate(ask.FiniteChannel(np.array([[4, 2, 3], [2, 4, 3], [2, 2, 2]]) / 8, [0, 1, 2])),
            "inverted",
        ),
    ],
)
def test_what_cannot_be_a_channel_is_refused_with_the_reason(make, words):
    with pytest.raises(ask.InvalidInput, match=words):
        make()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[0, 1], [1, 4]], "4 in row 2, column 2.*4 states, 0 to 3"),
        ([[0, -1]], "-1 in row 1, column 2"),
        ([[0.5, 1]], "0.5 in row 1, column 1"),
        ([[0, math.nan]], "missing value in row 1, column 2"),
        ([["a", "b"]], "table of numbers"),
        ([1, 2, 3], "one row a record"),
        ([[1, 2], [3]], "table of numbers"),
        (None, "row a record|table of numbers|missing"),
    ],
)
def test_states_outside_the_alphabet_are_refused_with_their_place(rows, words):
    with pytest.raises(ask.InvalidInput, match=words):
        ask.StateFlip(4, 0.3).privatize(rows)


def test_laws_are_shared_where_they_are_the_same():
    channel = ask.StateFlip(2, (0.1, 0.2, 0.1))
    assert channel.laws[0] is channel.laws[2]
    assert channel.laws[0] is not channel.laws[1]
    assert [columns.tolist() for _, columns in channel.groups] == [[0, 2], [1]]
    assert isinstance(channel.laws[0], FiniteCoordinate)


def test_the_audit_sees_every_attribute_and_notices_a_wrong_sampler(monkeypatch):
    channel = ask.StateFlip([range(2), range(4), range(2)], (0.2, 0.3, 0.2))
    honest = ask.audit(channel, draws=40_000, error_rate=1e-9)
    assert honest.passed
    assert honest.exact_epsilon == pytest.approx(product_level(channel.laws))
    [design] = honest.designs
    assert design.attribute_epsilon == pytest.approx(math.log(7))
    assert 1.2 < honest.lower_bound <= math.log(7)
    assert "One attribute alone: epsilon 1.94591" in str(honest)
    assert "The whole row of 3 attributes: epsilon 4.7185" in str(honest)
    # Attribute 2 is drawn with the wrong table: less private than declared.
    wrong = ask.StateFlip([range(2), range(4), range(2)], (0.2, 0.2, 0.2))
    rng = np.random.default_rng(3)
    monkeypatch.setattr(type(channel), "privatize", lambda self, truth: wrong.simulate(truth, rng))
    found = ask.audit(channel, draws=40_000, error_rate=1e-9)
    assert not found.passed
    assert any("checks failed" in problem for problem in found.designs[0].problems)


def test_the_audit_notices_attributes_that_share_their_chance(monkeypatch):
    channel = ask.StateFlip(2, 0.3, dim=4)

    def shared(self, truth):
        flipped = np.random.default_rng(1).random((len(truth), 1)) < 0.3
        return np.where(flipped, 1 - truth, truth)

    monkeypatch.setattr(type(channel), "privatize", shared)
    found = ask.audit(channel, draws=20_000, error_rate=1e-9)
    assert any("and the next are both kept" in problem for problem in found.designs[0].problems)
