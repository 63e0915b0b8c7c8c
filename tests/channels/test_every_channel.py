"""Laws that every channel keeps, whatever it hides: a new kind without an example fails here."""

import copy
import inspect
import json
import math
import pickle
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pyarrow as pa
import pytest

import askance
from askance import AskanceWarning, Guarantee, InvalidInput, Unidentifiable, channel_from_spec, channels
from askance.channels.base import LabelChannel
from askance.channels.channel import Channel
from askance.channels.question_channel import QuestionChannel
from askance.channels.report_columns import NumberReports
from askance.channels.specs import EVERY_CHANNEL
from askance.channels.value import ChannelValue
from askance.entropy.bits import GeneratorBits
from channel_examples import ATTRIBUTES, EVERY_EXAMPLE, NUMBERS, some_design, some_truth
from frame_libraries import LIBRARIES, as_frame

EVERY = pytest.mark.parametrize("channel", EVERY_EXAMPLE.values(), ids=EVERY_EXAMPLE.keys())
DRAWN = {name: channel for name, channel in EVERY_EXAMPLE.items() if isinstance(channel, Channel)}
EVERY_DRAWN = pytest.mark.parametrize("channel", DRAWN.values(), ids=DRAWN.keys())
ROWS = 500


def parts(reports):
    """The arrays that reports are: two of a record, else one."""
    return reports if isinstance(reports, tuple) else (reports,)


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(parts(first), parts(second), strict=True))


# -- every kind is looked at -------------------------------------------------------------------------


def kinds(of=ChannelValue):
    """The classes that say which kind of channel they are, in all modules."""
    for module in walk_packages(channels.__path__, "askance.channels."):
        import_module(module.name)
    for kind in of.__subclasses__():
        yield from kinds(kind)
        if "kind" in vars(kind) and kind.__module__.startswith("askance."):
            yield kind


def test_every_kind_can_be_read_from_a_spec():
    assert set(kinds()) == set(EVERY_CHANNEL)
    assert len({kind.kind for kind in EVERY_CHANNEL}) == len(EVERY_CHANNEL)


@pytest.mark.parametrize("kind", EVERY_CHANNEL)
def test_every_kind_has_an_example_and_a_public_name(kind):
    assert any(type(channel) is kind for channel in EVERY_EXAMPLE.values())
    home = import_module(kind.__module__.rpartition(".")[0])
    assert kind.__name__ in home.__all__


# -- identity ----------------------------------------------------------------------------------------


@EVERY
def test_a_channel_survives_json_pickle_and_copies(channel):
    spec = json.loads(json.dumps(channel.to_spec(), allow_nan=False))
    assert spec["channel"] == channel.kind
    for again in (
        channel_from_spec(spec),
        pickle.loads(pickle.dumps(channel)),
        copy.deepcopy(channel),
        copy.copy(channel),
    ):
        assert type(again) is type(channel)
        assert again == channel
        assert hash(again) == hash(channel)
        assert again.to_spec() == channel.to_spec()
        assert again.guarantee == channel.guarantee


def test_channels_are_equal_only_to_themselves():
    every = list(EVERY_EXAMPLE.values())
    for i, first in enumerate(every):
        assert [first == second for second in every] == [i == j for j in range(len(every))]
        assert first != first.to_spec()
        assert first != repr(first)
    assert len(set(every)) == len(every)


@EVERY
def test_a_short_repr_makes_the_channel_again(channel):
    text = repr(channel)
    assert text.startswith(type(channel).__name__ + "(")
    assert len(text) < 700
    if "..." not in text and "<" not in text:
        names = {kind.__name__: kind for kind in EVERY_CHANNEL}
        assert eval(text, vars(askance) | names) == channel
    else:
        assert len(channel.classes) * len(channel.report_labels) > 16


@EVERY
def test_a_channel_is_a_fixed_value(channel):
    for name in [*channel.parameters(), "kind", "something_else"]:
        with pytest.raises(AttributeError, match="cannot"):
            setattr(channel, name, 3)


# -- what it says ------------------------------------------------------------------------------------


@EVERY
def test_a_guarantee_is_a_level_or_says_that_there_is_none(channel):
    guarantee = channel.guarantee
    assert guarantee.epsilon > 0 or channel.kind == "anchor"  # whose reports say nothing about anybody
    assert 0 <= guarantee.delta < 1
    assert ("no privacy guarantee" in str(guarantee)) == math.isinf(guarantee.epsilon)
    assert guarantee.protects in str(guarantee)
    if math.isinf(guarantee.epsilon):
        assert "no formal privacy guarantee" in guarantee.in_words()
    assert Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict(), allow_nan=False))) == guarantee


@EVERY
def test_a_channel_describes_itself_in_sentences(channel):
    text = channel.describe()
    assert text[0].isupper() or text[0].isdigit()
    assert text.endswith(".")
    assert "\n" not in text


# -- randomness --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EVERY_CHANNEL)
def test_privatize_takes_no_seed_and_simulate_requires_a_generator(kind):
    rng = inspect.signature(kind.simulate).parameters["rng"]
    assert rng.default is inspect.Parameter.empty
    if hasattr(kind, "privatize"):
        taken = list(inspect.signature(kind.privatize).parameters)
        designs = kind.needs_design or kind is askance.PerToken  # a sentence may have a design, too
        assert taken == (["self", "truth", "design"] if designs else ["self", "truth"])


@EVERY
@pytest.mark.parametrize("rng", [None, 7, np.random.RandomState(0)])
def test_simulate_refuses_anything_but_a_generator(channel, rng):
    truth = some_truth(channel, 3, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="numpy Generator"):
        channel.simulate(truth, rng, **some_design(channel, 3))


@EVERY
def test_simulations_are_repeated_by_their_generator(channel):
    truth, design = some_truth(channel, ROWS, np.random.default_rng(1)), some_design(channel, ROWS)
    first, again = (channel.simulate(truth, np.random.default_rng(2), **design) for _ in range(2))
    assert first == again if channel.kind == "region-counts" else same(first, again)


@EVERY_DRAWN
def test_real_reports_differ_between_calls_and_ignore_the_global_seed(channel):
    if channel.guarantee.epsilon > 20 * len(channel.guarantee.per_attribute or [1]):
        pytest.skip("some reports, or all of them, are nearly always the truth")
    truth, design = some_truth(channel, ROWS, np.random.default_rng(3)), some_design(channel, ROWS)
    drawn = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        drawn.append(channel.privatize(truth, **design))
    # At least one report in ten is not the likeliest one: 500 are twice the same with a probability below 1e-40.
    assert not same(*drawn)


# -- from the truth to the report --------------------------------------------------------------------


@EVERY_DRAWN
def test_what_is_reported_is_what_was_drawn(channel):
    truth, design = some_truth(channel, ROWS, np.random.default_rng(4)), some_design(channel, ROWS)
    codes = channel.draw(channel.prepare(truth, **design).values, GeneratorBits(np.random.default_rng(5)))
    reports = channel.simulate(truth, np.random.default_rng(5), **design)
    assert same(channel.encode_reports(reports, **design), codes)
    assert same(channel.decode_reports(codes), reports)


@EVERY_DRAWN
def test_real_reports_are_valid(channel):
    truth, design = some_truth(channel, ROWS, np.random.default_rng(6)), some_design(channel, ROWS)
    codes = channel.encode_reports(channel.privatize(truth, **design), **design)
    assert all(len(part) == ROWS for part in parts(codes))
    if not channel.needs_design:
        with pytest.raises(InvalidInput, match="DesignPerRow"):
            channel.encode_reports(channel.decode_reports(codes), ["cards"] * ROWS)


MIXED_KINDS = ("finite-mixed-labels", "mixed-designs")  # a column of a file has labels of one kind
QUESTIONS = {
    name: channel for name, channel in DRAWN.items() if isinstance(channel, QuestionChannel) and name not in MIXED_KINDS
}


@pytest.mark.parametrize("channel", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_reports_survive_a_file(channel):
    truth, design = some_truth(channel, ROWS, np.random.default_rng(14)), some_design(channel, ROWS)
    codes = channel.draw(channel.prepare(truth, **design).values, GeneratorBits(np.random.default_rng(15)))
    column = channel.store(codes)
    assert column.type == channel.arrow_type
    assert same(channel.encode_reports(column, **design), codes)
    assert same(channel.encode_reports(pa.chunked_array([column[:200], column[200:]]), **design), codes)
    some = {name: names[200:300] for name, names in design.items()}
    assert same(channel.encode_reports(column[200:300], **some), codes[200:300])
    low, high = np.array([*channel.public_bounds("asked").values()]).reshape(-1, 2).T
    assert (channel.hides == "numbers") == bool(len(low))
    assert np.all(low < high)


@EVERY_DRAWN
@pytest.mark.parametrize(
    "truth",
    [None, "yes", [["?", object()]], ([[0.5]], ["nobody", "knows"])],
    ids=["nothing", "a word", "objects", "a ragged record"],
)
def test_what_is_no_truth_is_refused_before_anything_is_drawn(channel, truth):
    rng = np.random.default_rng(7)
    with pytest.raises(InvalidInput):
        channel.simulate(truth, rng, **some_design(channel, 1))
    assert rng.bit_generator.state == np.random.default_rng(7).bit_generator.state


BOUNDED = NUMBERS | {name: ATTRIBUTES[name] for name in ("gauss", "laplace")}


@pytest.mark.parametrize("channel", BOUNDED.values(), ids=BOUNDED.keys())
def test_values_outside_their_bounds_are_clipped_once_and_said_once(channel):
    if channel.hides == "numbers":
        highest = channel.extreme_rows()["all highest"]
    else:
        highest = np.array([law.bounds[1] for law in channel.laws])
    far = np.where(highest > 0, 1e30, 0.0)
    with pytest.warns(AskanceWarning, match="clipped before they were hidden") as said:
        reports = channel.simulate(np.tile(far, (50, 1)), np.random.default_rng(8))
    assert len(said) == 1
    assert same(reports, channel.simulate(np.tile(highest, (50, 1)), np.random.default_rng(8)))
    with pytest.raises(InvalidInput, match="nan"):
        channel.simulate(np.full((50, len(far)), np.nan), np.random.default_rng(8))


@pytest.mark.parametrize("name", MIXED_KINDS)
def test_labels_of_several_kinds_have_no_column(name):
    with pytest.raises(InvalidInput, match="labels of several kinds"):
        DRAWN[name].arrow_type  # noqa: B018


# -- what reports are worth --------------------------------------------------------------------------


def estimates(channel, reports, row, design):
    """Unbiased estimates from reports, and what they are in the mean; None if the truth is not determined."""
    if channel.hides == "numbers":
        return channel.estimates(reports), channel.expected(row)
    if channel.hides == "attributes":
        return channel.unbias(reports), row
    try:
        return channel.unbias(reports, **design), np.array(channel.classes, dtype=object) == row
    except Unidentifiable:
        return None, None


@EVERY_DRAWN
def test_unbiased_estimates_have_the_mean_that_they_should(channel):
    if channel.hides == "records":
        pytest.skip("its parts are examples of their own")
    # At most 300 estimates in each of 55 cases. A normal deviate is beyond 7 with probability 3e-12; the margin is for
    # estimates that a few rare reports decide.
    rng, draws = np.random.default_rng(9), 20_000
    row = some_truth(channel, 1, rng)
    design = some_design(channel, draws)
    found, mean = estimates(channel, channel.simulate(np.repeat(row, draws, axis=0), rng, **design), row[0], design)
    if found is not None:
        error = np.abs(found.mean(axis=0) - mean.astype(float))
        assert np.all(error <= 7 * found.std(axis=0) / math.sqrt(draws) + 1e-5 * np.abs(found).max())
        if channel.hides == "numbers":
            assert len(channel.estimated) == found.shape[1]


@EVERY_DRAWN
def test_tables_of_reports_are_the_likelihood(channel):
    truth, design = some_truth(channel, ROWS, np.random.default_rng(10)), some_design(channel, ROWS)
    reports = channel.simulate(truth, np.random.default_rng(11), **design)
    if channel.hides == "labels":
        assert isinstance(channel, LabelChannel)
        assert np.array_equal(
            channel.likelihood(reports, **design), channel.matrix[channel.encode_reports(reports, **design)]
        )
    open_label = channel.hides == "records" and channel.label is None
    if channel.hides == "sequences":
        flat = channel.encode_reports(reports, **design).flat
        assert np.array_equal(channel.likelihood(reports, **design), channel.device.matrix[flat])
    if channel.hides in ("numbers", "sequences") or channel.needs_design or open_label:
        return
    laws = getattr(getattr(channel, "features", channel), "laws", ())
    if not all(law.is_finite or law.size for law in laws):
        with pytest.raises(InvalidInput, match="noise of size 0"):
            channel.report_columns(reports)
        return
    for column in channel.report_columns(reports):
        if isinstance(column, NumberReports):
            grid = np.linspace(-60, 60, 60_001) * column.law.size
            assert np.trapezoid(np.exp(column.law.log_density(grid)), grid) == pytest.approx(1, abs=1e-5)
            assert column.reports.shape == (ROWS,)
        else:
            assert np.allclose(column.matrix.sum(axis=0), 1)
            assert column.matrix.shape[1] == len(column.values)
            assert np.all(column.matrix[column.codes].max(axis=1) > 0)


def test_labels_that_are_told_as_they_are_have_no_columns():
    channel = askance.RowChannel(askance.StateFlip(2, 0.1))
    with pytest.raises(InvalidInput, match="as they are"):
        channel.report_columns(([[0]], ["a"]))


# -- frames ------------------------------------------------------------------------------------------


def as_arrays(truth):
    """Truths as arrays of one kind, where they are lists or mappings of columns."""
    if isinstance(truth, tuple):
        return tuple(map(as_arrays, truth))
    if isinstance(truth, list) and truth and isinstance(truth[0], list | np.ndarray):
        ragged = np.empty(len(truth), dtype=object)
        ragged[:] = [list(row) for row in truth]
        return ragged
    return np.asarray(truth)


@pytest.mark.parametrize("library", LIBRARIES)
@EVERY_DRAWN
def test_reports_are_of_the_library_that_the_truth_was_of(channel, library):
    truth, design = as_arrays(some_truth(channel, ROWS, np.random.default_rng(0))), some_design(channel, ROWS)
    if any(part.dtype == object and len({*map(type, part.tolist())}) > 1 for part in parts(truth)):
        pytest.skip("text and numbers in one column are no column of a frame")
    if getattr(channel, "categories", None):
        pytest.skip("columns of categories are read from frames in test_row_categories.py")
    frame = as_frame(truth, library, *([channel.names] if hasattr(channel, "names") else []))
    reports = channel.simulate(truth, np.random.default_rng(1), **design)
    framed = channel.simulate(frame, np.random.default_rng(1), **design)
    for plain, given, column in zip(parts(reports), parts(frame), parts(framed), strict=True):
        if library != "pandas" and plain.dtype == object and len({*map(type, plain.tolist())}) > 1:
            assert isinstance(column, np.ndarray)  # which has no column for labels of several kinds
            continue
        assert isinstance(column, LIBRARIES[library])
        if library == "pandas":
            assert column.index.equals(given.index)
        if channel.hides != "sequences":
            np.testing.assert_array_equal(np.asarray(column).reshape(plain.shape), plain)
    assert same(channel.encode_reports(framed, **design), channel.encode_reports(reports, **design))
