"""One contract for every kind of release, and one door for all of them."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import askance as ask
from askance.releases import KINDS, open_release, privatize_table

STUDY = ask.Study.parse(
    """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
"""
)
REGIONS = [{"sentence": 0, "start": 1, "width": 2, "counts": {"JJ": 1, "NN": 1}}]

# One or more of every kind, with names of files that it may have.
EXAMPLES = [
    (privatize_table(STUDY, {"cheated": ["no", "yes", "no"]}), "survey.parquet", "survey"),
    (ask.RegionRelease.of(REGIONS, [["the", "quick", "fox"]]), "r.jsonl", "r.ndjson", "r.parquet", "regions"),
    (ask.RegionRelease.of(REGIONS, channel=ask.RegionCounts(["JJ", "NN"], 2)), "r.jsonl", "r.parquet", "regions"),
    (ask.release_counts([[3, 7], [5, 5]], 1.0), "counts.json", "counts"),
    (ask.release_mean_operator(np.eye(4), [1, -1, 1, 1], 1.0), "mu.json", "mu"),
]
BY_NAME = [(release, name) for release, *names in EXAMPLES for name in names]


def test_every_kind_is_known_to_the_reader_and_has_an_example():
    named = {getattr(ask, name) for name in dir(ask) if name.endswith("Release")}
    channels = {ask.CoordinateRelease, ask.TripleRelease, ask.WindowRelease}
    assert named - channels == set(KINDS) == {type(release) for release, *_ in EXAMPLES}


@pytest.mark.parametrize(("release", "name"), BY_NAME)
def test_what_is_written_is_read_as_what_it_was(release, name, tmp_path):
    release.write(tmp_path / name)
    again = ask.read_release(tmp_path / name)
    assert type(again) is type(release) is type(type(release).read(tmp_path / name))
    assert again.to_dict() == release.to_dict()
    assert again.guarantee == release.guarantee


@pytest.mark.parametrize(("release", "name"), BY_NAME)
def test_what_is_there_is_replaced_only_when_that_is_said(release, name, tmp_path):
    release.write(tmp_path / name)
    with pytest.raises(ask.ReleaseError, match="exists already"):
        release.write(tmp_path / name)
    release.write(tmp_path / name, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("release", [release for release, *_ in EXAMPLES])
def test_a_release_says_what_it_is(release):
    said = json.loads(json.dumps(release.to_dict(), allow_nan=False))
    version = release.VERSION if getattr(release, "shape", "") is not None else 2  # features as they are, as before
    assert (said["format"], said["version"], said["askance"]) == (release.FORMAT, version, ask.__version__)
    assert isinstance(release.guarantee, ask.Guarantee)
    assert release.guarantee.epsilon > 0


@pytest.mark.parametrize("release", [release for release, *_ in EXAMPLES])
@pytest.mark.parametrize("wanted", KINDS)
def test_one_kind_in_place_of_another_is_refused_with_who_learns_from_it(release, wanted, tmp_path):
    release.write(tmp_path / "r")
    for given in (release, tmp_path / "r"):
        if type(release) is wanted:
            assert type(open_release(given, wanted)) is wanted
            continue
        with pytest.raises(ask.InvalidInput, match=release.WHAT) as refused:
            open_release(given, wanted)
        assert wanted.WHAT in str(refused.value)
        assert release.FOR in str(refused.value)


def test_what_is_no_path_is_refused():
    with pytest.raises(ask.InvalidInput, match="a DataFrame; expected a release of reports, or the path of one"):
        open_release(pd.DataFrame(), ask.Release)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "is not a JSON file"),
        ("a.json", "{}", "JSON that does not say what it is"),
        ("a.json", '{"format": "askance-model"}', "'askance-model'.*load_model reads it"),
        ("a.json", '{"format": "other", "x":\n 1}', "'other'"),
        ("a.json", '{"format": "askance-counts", "version": 99}', "format version 99.*Upgrade"),
        ("a.json", '{"format": "askance-counts", "version": 1}', "is damaged"),
        ("a.json", '{"format": ["a"]}', "format"),
        ("a.json", "[1, 2]", "does not begin like one"),
        ("a.json", "", "it is empty"),
        ("a.csv", "cheated,age\nno,12\n", "does not begin like one"),
        ("a.jsonl", "{}", "no regions"),
        ("study.toml", "[questions]", "is a study file.*Study.read"),
        ("l.ledger", None, "is a ledger.*Ledger"),
    ],
)
def test_strangers_files_are_refused_by_name(name, content, message, tmp_path):
    path = tmp_path / name
    if content is None:
        ask.Ledger.create(path, 1, data_set="d")
    else:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ask.ReleaseError, match=message) as refused:
        ask.read_release(path)
    assert name in str(refused.value)


def test_a_mark_at_the_beginning_and_one_line_are_no_hindrance(tmp_path):
    release = ask.release_counts([3, 7], 1.0)
    (tmp_path / "counts").write_text("\ufeff" + json.dumps(release.to_dict()), encoding="utf-8")
    assert ask.read_release(tmp_path / "counts").to_dict() == release.to_dict()


def test_every_kind_is_read_from_an_address(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for release, name, *_ in EXAMPLES:
        release.write(tmp_path / name)
        memory.put(str(tmp_path / name), f"/every/{name}")
        assert ask.read_release(f"memory://every/{name}").to_dict() == release.to_dict()
        (tmp_path / name).unlink()
    with pytest.raises(ask.ReleaseError, match="there is no release at memory://every/none"):
        ask.read_release("memory://every/none")
    shutil.rmtree(tmp_path)
    memory.rm("/every", recursive=True)
