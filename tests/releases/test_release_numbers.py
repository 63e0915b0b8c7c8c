"""Releases of hidden numbers: what leaves is packed, explained by the header, and nothing else."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import askance as ask
from askance.releases.header import METADATA_KEY, Covariate, Header, Question
from askance.releases.privatizing import privatize_file, privatize_table

COLUMNS = {"income": (0, 15), "age": (0, 100), "value": (0, 5)}
CHANNELS = {
    "number": ask.PrivateNumber(0, 10_000, 2.0),
    "number-coin": ask.PrivateNumber(-1, 1, 0.3),
    "number-fine": ask.PrivateNumber(0, 1, 12.0, "piecewise"),
    **{name: ask.PrivateRow(COLUMNS, 4.0, name) for name in ("window", "sampled", "coordinate", "per-value", "triple")},
    "unit": ask.PrivateRow(COLUMNS, 1.0, "unit", radius=1.5),
    "outcome": ask.PrivateRow(COLUMNS, 8.0, outcome="value"),
    "paper": ask.PrivateRow(COLUMNS, 4.0, "triple", calibration="paper"),
}
EVERY = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())


def study(channel: ask.PrivateNumber | ask.PrivateRow) -> ask.Study:
    return ask.Study((Question("q", channel, "How much?"),), (Covariate("x"),), "s", "S")


def answers(channel: ask.PrivateNumber | ask.PrivateRow, rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    bounds = {"q": channel.range} if isinstance(channel, ask.PrivateNumber) else COLUMNS
    return {name: rng.uniform(low, high, rows) for name, (low, high) in bounds.items()} | {"x": rng.normal(size=rows)}


@EVERY
def test_a_release_survives_the_disk_and_explains_itself(channel, tmp_path):
    truth = answers(channel, 300)
    release = privatize_table(study(channel), truth | {"name": ["Ada"] * 300})
    assert release.columns == ["q", "x"]
    again = release.write(tmp_path / "r.parquet")
    parts = release.write(tmp_path / "parts", rows_per_part=70)
    assert again.header == release.header
    assert again.channel("q") == channel
    assert again.channel("q").guarantee == channel.guarantee
    first, second, third = (r.to_table() for r in (release, again, parts))
    assert first.equals(second)
    assert first.equals(third)
    np.testing.assert_array_equal(second["x"].to_numpy(), truth["x"])
    codes = channel.encode_reports(second["q"])
    assert pa.chunked_array([channel.layout.to_arrow(codes)]).equals(first["q"])


@EVERY
def test_reports_take_no_more_room_than_their_layout(channel, tmp_path):
    release = privatize_table(study(channel), answers(channel, 100))
    width = release.to_table()["q"].type.bit_width // 8
    assert width <= 9  # three numbers and their six products: a byte each at most


@EVERY
def test_a_study_file_says_the_same(channel):
    one = study(channel)
    assert ask.Study.parse(one.to_toml()) == one


@pytest.mark.filterwarnings("ignore:Moments longer than the radius")
@EVERY
def test_fits_do_not_depend_on_where_the_release_is(channel, tmp_path):
    release = privatize_table(study(channel), answers(channel, 2000))
    parts = release.write(tmp_path / "parts", rows_per_part=300)
    ridge = ask.IndirectRegressor(ridge=1.0)
    here = ridge.fit_release(release, question="q").parameters_
    np.testing.assert_allclose(ridge.fit_release(parts, question="q").parameters_, here, rtol=1e-8)


def test_an_edited_level_is_noticed(tmp_path):
    path = tmp_path / "r.parquet"
    privatize_table(study(CHANNELS["outcome"]), answers(CHANNELS["outcome"], 50)).write(path)
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[METADATA_KEY])
    header["questions"]["q"]["channel"]["epsilon"] = 1.0
    pq.write_table(table.replace_schema_metadata({METADATA_KEY: json.dumps(header).encode()}), path)
    with pytest.raises(ask.ReleaseError, match="it promises epsilon 8"):
        ask.read_release(path)


def test_true_numbers_are_not_taken_for_reports():
    header = study(CHANNELS["number"]).header()
    with pytest.raises(ask.InvalidInput, match="a report as askance packs it"):
        ask.Release.from_table(pa.table({"q": [1.0, 2.0], "x": [0.0, 0.0]}), header)


def test_clipped_values_are_counted_by_column_over_all_chunks(tmp_path):
    channel = CHANNELS["outcome"]
    truth = answers(channel, 1000)
    truth["income"][::10] = 99.0
    truth["value"][3] = -1.0
    pq.write_table(pa.table(truth), tmp_path / "truth.parquet", row_group_size=100)
    done = privatize_file(study(channel), tmp_path / "truth.parquet", tmp_path / "r.parquet")
    assert dict(done.clipped) == {"income": 100, "value": 1}


class TestQuestionAbout:
    header = Header(
        (
            Question("home", CHANNELS["window"]),
            Question("wealth", ask.PrivateRow({"age": (0, 100), "shares": (0, 1)}, 2.0)),
            Question("salary", CHANNELS["number"]),
            Question("cheated", ask.Warner(0.8)),
        )
    )

    @pytest.mark.parametrize(
        ("name", "left", "found"),
        [
            ("home", None, "home"),
            (None, "salary", "salary"),
            (None, "cheated", "cheated"),
            (None, "income", "home"),
            (None, "shares", "wealth"),
            ("wealth", "age", "wealth"),
        ],
    )
    def test_finds_it_by_name_or_by_hidden_column(self, name, left, found):
        assert self.header.question_about(name, left).name == found

    @pytest.mark.parametrize(
        ("name", "left", "message"),
        [
            (None, None, "4 questions and none was named"),
            (None, "age", "hidden by 2 questions; expected one of home, wealth by name"),
            (None, "height", "no question and no hidden column 'height'"),
            ("salary", "income", "the same question in both"),
        ],
    )
    def test_says_what_is_unclear(self, name, left, message):
        with pytest.raises(ask.InvalidInput, match=message):
            self.header.question_about(name, left)

    def test_the_only_question_needs_no_name(self):
        alone = replace(self.header, questions=self.header.questions[:1])
        assert alone.question_about().name == "home"
