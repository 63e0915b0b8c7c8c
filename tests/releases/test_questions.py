"""What studies and releases ask of a channel: the same of every channel that can hide the answers to a question."""

import numpy as np
import pytest

import askance as ask
from askance.channels.alphabet import Alphabet
from askance.channels.attributes import FiniteCoordinate, PerCoordinate
from askance.channels.question_channel import QuestionChannel
from askance.channels.rows.bounds import Bounds
from askance.channels.specs import EVERY_CHANNEL
from askance.entropy.bits import system_bits
from askance.releases import Question, RowReports, privatize_table, read_row_reports
from channel_examples import DESIGNS, EXAMPLES, SEQUENCES, some_truth

ROWS = 40
CHOICES = {name: channel for name, channel in EXAMPLES.items() if name != "finite-mixed-labels"}  # no column holds them
OTHERS = {
    "designs": DESIGNS,
    **SEQUENCES,
    "number": ask.PrivateNumber(-3, 5, 2.0),
    "row": ask.PrivateRow({"age": (0, 1), "the income": (0, 9)}, 8.0, outcome="age"),
    "long rows": ask.PrivateRow({"age": (0, 1), "income": (0, 9)}, 4.0, "unit", radius=0.5),
    "bits": ask.StateFlip(2, 0.2, dim=11),
    "states": ask.StateFlip([0.0, 0.5, 2.0], [0.1, 0.2], dim=2),
    "one state": ask.StateFlip(3, 0.1, dim=1),
    "gaussian": ask.GaussianNoise(0.5, bounds=(0, 1), dim=3),
    "laplace": ask.LaplaceNoise(0.5, dim=2),
    "a law each": PerCoordinate([ask.StateFlip(4, 0.2), ask.GaussianNoise(0.5), ask.Warner(0.8, classes=(1, 0))]),
    "a law for all": PerCoordinate(ask.FiniteChannel([[0.8, 0.3], [0.2, 0.7]], [2, 1]), 3),
}
CHANNELS = CHOICES | OTHERS


def question(channel):
    return Question("q", channel, "a question?", "g" if channel.needs_design else None)


def answers(channel, rows=ROWS, seed=0):
    """True answers as a table of a study has them."""
    rng = np.random.default_rng(seed)
    if channel.hides == "labels":
        table = {"q": [channel.classes[i] for i in rng.integers(len(channel.classes), size=rows)]}
        return table | ({"g": rng.choice(list(channel.designs), rows)} if channel.needs_design else {})
    if channel.hides == "sequences":
        designs = {"g": rng.choice(list(channel.designs), rows)} if channel.needs_design else {}
        return {"q": some_truth(channel, rows, rng)} | designs
    if channel.hides == "numbers":
        return {name: rng.uniform(0, 1, rows) for name in channel.sources("q")}
    columns = [rng.choice(law.values, rows) if law.is_finite else rng.random(rows) for law in channel.laws]
    return {"q": np.column_stack(columns).tolist()}


def test_every_kind_that_can_hide_a_question_has_an_example():
    kinds = {kind for kind in EVERY_CHANNEL if issubclass(kind, QuestionChannel)}
    assert {type(channel) for channel in CHANNELS.values()} == kinds


@pytest.mark.parametrize("name", CHANNELS)
def test_what_is_stored_is_what_was_drawn(name):
    channel = CHANNELS[name]
    truth = answers(channel)
    given = truth["q"] if "q" in truth else np.column_stack(list(truth.values()))
    prepared = channel.prepare(given, truth["g"]) if channel.needs_design else channel.prepare(given)
    codes = channel.draw(prepared.values, system_bits())
    column = channel.store(codes)
    assert column.type == channel.arrow_type
    design = {"design": truth["g"]} if channel.needs_design else {}
    np.testing.assert_array_equal(channel.encode_reports(column, **design), codes)
    shown = channel.decode_reports(codes)
    np.testing.assert_array_equal(channel.encode_reports(shown, **design), codes)


@pytest.mark.parametrize("name", CHANNELS)
def test_a_study_file_says_all_about_the_question(name):
    study = ask.Study((question(CHANNELS[name]),))
    if isinstance(CHANNELS[name], ask.Memoised):
        with pytest.raises(ask.InvalidInput, match="privatize_waves"):
            study.to_toml()
    else:
        assert ask.Study.parse(study.to_toml()) == study


@pytest.mark.parametrize("name", CHANNELS)
def test_a_release_holds_reports_and_nothing_else(name, tmp_path):
    channel = CHANNELS[name]
    study = ask.Study((question(channel),))
    release = privatize_table(study, answers(channel) | {"name": ["Ada"] * ROWS})
    assert release.columns == ["q", *(["g"] if channel.needs_design else [])]
    assert release.schema.field("q").type == channel.arrow_type
    assert release.num_rows == ROWS
    table = release.write(tmp_path / "r.parquet").to_table()
    assert table.column("q").combine_chunks().equals(release.to_table().column("q").combine_chunks())
    # What privatizing trusts is what a stranger's table is checked to be.
    assert ask.Release.from_table(table, study.header()).to_table().equals(release.to_table())


@pytest.mark.parametrize("channel", [ask.WindowRelease(3, 2.0), ask.RowChannel(ask.StateFlip(2, 0.1)), "warner"])
def test_other_channels_hide_no_question(channel):
    with pytest.raises(ask.InvalidInput, match=r"the channel of 'q' is .*a channel such as Warner"):
        Question("q", channel)


def test_columns_are_for_attributes_only():
    with pytest.raises(ask.InvalidInput, match=r"'a', 'b'.*hides attributes one by one"):
        Question("q", ask.Warner(0.8), columns=["a", "b"])
    assert Question("q", ask.StateFlip(2, 0.1), columns=["a", "b"]).channel.width == 2
    with pytest.raises(ask.InvalidInput, match="how many attributes"):
        Question("q", ask.StateFlip(2, 0.1))


# -- once, at the door -----------------------------------------------------------------------------------------------


def counted(monkeypatch, owner, name):
    """Count how often a method is called."""
    calls, whole = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda self, *given, **named: calls.append(1) or whole(self, *given, **named))
    return calls


def test_an_answer_is_looked_up_once(monkeypatch):
    looked_up = counted(monkeypatch, Alphabet, "encode")
    for channel in (ask.Warner(0.8), DESIGNS):
        privatize_table(ask.Study((question(channel),)), answers(channel))
    assert looked_up == []  # the column was converted to codes, and these are drawn from


def test_a_picture_is_encoded_once_on_its_way_to_the_file_and_never_on_its_way_back(monkeypatch):
    channel, label = ask.StateFlip([0.0, 0.5, 1.0], 0.2, dim=5), ask.Warner(0.8)
    encoded = counted(monkeypatch, FiniteCoordinate, "encode")
    study = ask.Study((question(channel), Question("label", label)))
    release = privatize_table(study, answers(channel) | {"label": ["no", "yes"] * (ROWS // 2)})
    assert len(encoded) == 1
    reports = read_row_reports(release)
    assert isinstance(reports, RowReports)
    assert len(encoded) == 1
    assert reports.feature_codes.dtype == np.uint8
    assert set(np.unique(reports.features)) <= {0.0, 0.5, 1.0}


def test_a_row_is_clipped_once_and_counted(monkeypatch):
    clipped = counted(monkeypatch, Bounds, "clip")
    channel = OTHERS["row"]
    truth = answers(channel) | {"age": np.roll(np.linspace(-1, 1, ROWS), 5)}
    privatize_table(ask.Study((question(channel),)), truth)
    assert len(clipped) == 1
