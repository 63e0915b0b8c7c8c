"""Annotated regions on disk: both formats keep everything, and what cannot be is refused by the sentence's number."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import askance as ask
from askance.releases.region_release import is_region_release
from askance.tables.counted_region import CountedRegion

GOLDEN = Path(__file__).parents[1] / "golden"
SENTENCES = [["the", "quick", "fox"], ["it", "runs"], ["naïve"]]
TAGS = ["DT", "JJ", "NN", "PR", "VB"]
REGIONS = [
    {"sentence": 0, "start": 1, "width": 2, "counts": {"JJ": 1, "NN": 1}},
    {"sentence": 0, "start": 0, "width": 3, "counts": {"NN": 1}, "tags": ["NN", "VB"]},
    {"sentence": 1, "labels": ["PR", "VB"]},
    {"sentence": 2, "start": 0, "width": 1, "counts": {}, "tags": ["VB"]},
]


def told(release):
    return [region.to_dict() for region in release.regions], release.tags, release.sentences


@pytest.mark.parametrize("name", ["regions.jsonl", "regions.parquet"])
@pytest.mark.parametrize("sentences", [SENTENCES, None])
def test_what_is_written_is_read(tmp_path, name, sentences):
    channel = ask.RegionCounts(TAGS, 2)
    release = ask.RegionRelease.of(REGIONS, sentences, TAGS, channel)
    release.write(tmp_path / name)
    again = ask.RegionRelease.read(tmp_path / name)
    assert told(again) == told(release)
    assert [region.to_dict() for region in again.regions] == REGIONS
    assert again.channel == channel
    assert is_region_release(tmp_path / name)
    with pytest.raises(ask.ReleaseError, match="exists already"):
        release.write(tmp_path / name)
    release.write(tmp_path / name, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_other_files_are_not_taken_for_regions(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "junk.parquet").write_text("junk")
    assert not is_region_release(tmp_path / "other.parquet")
    assert not is_region_release(tmp_path / "junk.parquet")
    assert not is_region_release(tmp_path / "absent.parquet")
    assert not is_region_release("table.csv")


def test_a_tool_may_write_regions_alone_and_words_in_the_same_line(tmp_path):
    lines = [
        {"sentence": 0, "words": SENTENCES[0], "start": 0, "width": 3, "counts": {"DT": 1, "JJ": 1, "NN": 1}},
        {"sentence": 1, "words": SENTENCES[1], "labels": ["PR", "VB"]},
    ]
    (tmp_path / "tool.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    release = ask.RegionRelease.read(tmp_path / "tool.jsonl")
    assert release.tags == ("DT", "JJ", "NN", "PR", "VB")
    assert release.sentences == tuple(map(tuple, SENTENCES[:2]))
    assert release.channel is None


def test_simulated_regions_pass_and_numpy_integers_are_whole():
    tags = [["DT", "JJ", "NN"], ["PR", "VB"], ["JJ"]]
    regions = ask.RegionCounts(TAGS, 2).simulate(tags, np.random.default_rng(0))
    regions[0]["start"] = np.int64(regions[0]["start"])
    assert len(ask.RegionRelease.of(regions, SENTENCES, TAGS).regions) == 3


GOOD = {"sentence": 1, "start": 0, "width": 2, "counts": {"PR": 1, "VB": 1}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": {"PR": 2, "VB": 1}}, "sentence 1: 3 tags were counted in a window of 2"),
        ({"counts": {"PR": 3, "VB": -1}}, "sentence 1: -1 as the count of 'VB'"),
        ({"counts": {"PR": 1.0, "VB": 1}}, "sentence 1: 1.0 as the count"),
        ({"counts": {"PR": True, "VB": 1}}, "sentence 1: True as the count"),
        ({"counts": {"PR": 1}}, "sentence 1: all 5 tags were asked for, and 1 were counted"),
        ({"counts": {"PR": 1}, "tags": TAGS}, "sentence 1: all 5 tags were asked for"),
        ({"counts": {"ZZ": 2}}, "sentence 1: the tag 'ZZ'"),
        ({"tags": ["PR", "VB", "ZZ"]}, "sentence 1: the tag 'ZZ'"),
        ({"tags": ["PR"]}, "sentence 1: a count of 'VB', which was not asked for"),
        ({"tags": ["PR", "PR", "VB"]}, "sentence 1: .*differ"),
        ({"tags": []}, "sentence 1: no tags"),
        ({"counts": [1, 1]}, "sentence 1: counts="),
        ({"start": 1}, "sentence 1: a window of the tokens 1 to 2"),
        ({"start": -1}, "sentence 1: start=-1"),
        ({"start": None}, "sentence 1: start=None"),
        ({"width": 0}, "sentence 1: width=0"),
        ({"width": 3, "counts": {"PR": 3}}, "sentence 1: a window of the tokens 0 to 2"),
        ({"sentence": 3}, "a region of sentence 3; expected sentences 0 to 2"),
        ({"sentence": -1}, "sentence -1"),
        ({"sentence": "1"}, "sentence '1'"),
        ({"labels": ["PR", "VB"]}, "sentence 1: labels together with counts"),
        ({"wide": 2}, "sentence 1: the key 'wide'"),
    ],
)
def test_impossible_regions_are_refused_by_sentence(change, message):
    with pytest.raises(ask.InvalidInput, match=message):
        ask.RegionRelease.of([*REGIONS, GOOD | change], SENTENCES, TAGS)


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["PR"], "sentence 1: 1 labels for 2 words"), (["PR", "ZZ"], "'ZZ'"), ([], "no labels"), ("PR", "labels=")],
)
def test_impossible_labels_are_refused_by_sentence(labels, message):
    with pytest.raises(ask.InvalidInput, match=message):
        ask.RegionRelease.of([{"sentence": 1, "labels": labels}], SENTENCES, TAGS)


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ([["a"], []], "sentence 1: no words"),
        ([["a"], "a b"], "sentence 1: words='a b'"),
        ([["a"], ["b", 3]], "sentence 1: 3 among the words"),
        ([["a"], [""]], "sentence 1"),
        ([], "no sentences"),
        ("a b", "sentences="),
    ],
)
def test_bad_sentences_are_refused_by_number(sentences, message):
    with pytest.raises(ask.InvalidInput, match=message):
        ask.RegionRelease.of([GOOD | {"sentence": 0}], sentences, TAGS)


def test_nothing_and_nonsense_are_refused():
    for regions in ([], "regions", {"sentence": 0}, 3, [3]):
        with pytest.raises(ask.InvalidInput):
            ask.RegionRelease.of(regions, SENTENCES, TAGS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1 is not JSON"),
        ("[]", "line 1 is no JSON object"),
        ('{"sentence": 0, "start": 0, "width": 1, "counts": {"A": 2}}', "sentence 0: 2 tags"),
        ('{"format": "other"}', "'other'"),
        ('{"format": "askance-regions", "version": 9}', "Upgrade"),
        ('{"sentence": 1, "words": ["a"], "labels": ["A"]}', "no words of sentence 0"),
        ('{"sentence": 0, "words": ["a"]}\n' * 2, "each sentence once"),
        ('{"words": ["a"]}', "sentence None"),
        ("", "no regions"),
        ('{"sentence": 0, "start": 0, "width": 2, "counts": {"A": 2, "A": 1, "B": 1}}', "line 1: 'A' more than once"),
        ('{"sentence": false, "words": ["a"]}', "words of sentence False"),
        ('{"sentence": 0, "words": ["\\ud800", "b"], "labels": ["A", "B"]}', "sentence 0: .* among the words"),
        ('{"sentence": 0, "start": 0, "width": 1, "counts": {"\\ud800": 1}}', "sentence 0: the tag"),
        ('{"sentence": 0, "start": 0, "width": 2, "counts": {"A": 1}, "tags": ["A"]}', "1 tags: 'A'.*first line"),
        ('{"sentence": 0, "labels": ["A", "A\\u0000"]}', "the tag 'A"),
    ],
)
def test_damaged_files_are_refused_with_their_name(tmp_path, text, message):
    path = tmp_path / "regions.jsonl"
    path.write_text(text)
    with pytest.raises(ask.ReleaseError, match=message) as refused:
        ask.RegionRelease.read(path)
    assert "regions.jsonl" in str(refused.value)


def test_parquet_with_other_counts_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    frame = {"sentence": [0], "start": [0], "width": [3]}
    kind = pa.map_(pa.string(), pa.int64())
    for counts, message in (
        (pa.array([3]), "counts=3"),
        (pa.array([[3]]), "row 0: counts"),
        (pa.array([[("A", 1), ("A", 2)]], kind), "row 0: .*'A' more than once"),
    ):
        path = tmp_path / "regions.parquet"
        pq.write_table(pa.table(frame | {"counts": counts}), path)
        with pytest.raises(ask.ReleaseError, match=message):
            ask.RegionRelease.read(path)


def test_files_that_are_not_there_or_not_text(tmp_path):
    with pytest.raises(ask.ReleaseError, match="there is no file"):
        ask.RegionRelease.read(tmp_path / "absent.jsonl")
    with pytest.raises(ask.ReleaseError, match="there is no file"):
        ask.RegionRelease.read(tmp_path / "absent.parquet")
    (tmp_path / "junk.parquet").write_text("junk")
    with pytest.raises(ask.ReleaseError, match=r"junk\.parquet"):
        ask.RegionRelease.read(tmp_path / "junk.parquet")
    (tmp_path / "latin.jsonl").write_bytes(b'{"sentence": 0, "labels": ["\xe4"]}\n')
    with pytest.raises(ask.ReleaseError, match="UTF-8"):
        ask.RegionRelease.read(tmp_path / "latin.jsonl")


def test_what_was_checked_is_not_checked_again(tmp_path, monkeypatch):
    release = ask.RegionRelease.of(REGIONS, SENTENCES, TAGS)
    release.write(tmp_path / "regions.jsonl")
    checks, whole = [], CountedRegion.check
    monkeypatch.setattr(CountedRegion, "check", lambda self, *given: checks.append(self) or whole(self, *given))
    again = ask.read_release(tmp_path / "regions.jsonl")
    assert len(checks) == len(REGIONS)
    assert ask.RegionRelease.of(again) is again
    assert ask.RegionRelease.of(again, tags=TAGS) is again
    assert len(checks) == len(REGIONS)
    with pytest.raises(ask.InvalidInput, match="sentence"):
        ask.RegionRelease.of(again, [["one"]])


# -- read for ever: run this module to write the newest anew -----------------------------------------------------------


def golden():
    return ask.RegionRelease.of(REGIONS, SENTENCES, TAGS, ask.RegionCounts(TAGS, 2))


@pytest.mark.parametrize("name", ["regions-v1.jsonl", "regions-v1.parquet"])
def test_golden_regions_are_read(name):
    release = ask.read_release(GOLDEN / name)
    assert told(release) == told(golden())
    assert release.channel == golden().channel


if __name__ == "__main__":
    for file in ("regions-v1.jsonl", "regions-v1.parquet"):
        golden().write(GOLDEN / file, overwrite=True)
