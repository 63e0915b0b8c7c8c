"""A bit that changes in a release is noticed, wherever it is; so is a part file that is lost, added or exchanged."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import askance as ask
from askance.releases import Covariate, Header, Question
from askance.releases.sealed_parquet import CheckedFile, read_end

HEADER = Header(
    (Question("cheated", ask.Warner(0.8)), Question("wage", ask.PrivateNumber(0.0, 10.0, 1.0))),
    (Covariate("age"), Covariate("town", "category")),
    "exam",
    "Exams",
)
REGIONS = [{"sentence": 0, "start": 1, "width": 2, "counts": {"JJ": 1, "NN": 1}}]


def release(rows=40):
    rng = np.random.default_rng(3)
    columns = {
        "cheated": rng.choice(["no", "yes"], rows),
        "wage": HEADER.question("wage").channel.simulate(rng.uniform(0, 10, rows), rng),
        "age": rng.uniform(18, 90, rows),
        "town": rng.choice(["Ulm", "Bern"], rows),
    }
    return ask.Release.from_table(pa.table(columns), HEADER)


def content(path):
    """All that a reader learns from a file or folder."""
    read = ask.read_release(path)
    told = read.to_dict()
    if isinstance(read, ask.Release):
        return told, read.num_rows, read.to_table().to_pydict()
    return told, getattr(read, "regions", None), getattr(read, "sentences", None)


def flipped(path, where, bit):
    raw = bytearray(path.read_bytes())
    raw[where] ^= 1 << bit
    other = path.with_name("flipped" + path.suffix)
    other.write_bytes(raw)
    return other


def accepted_flips(path, places):
    """Return the flips that were accepted although they say something else."""
    before = content(path)
    wrong = []
    for where, bit in places:
        try:
            after = content(flipped(path, where, bit))
        except ask.ReleaseError:
            continue
        if after != before:
            wrong.append((where, bit))
    return wrong


def test_of_bits_that_flip_in_a_release_of_reports_none_is_believed(tmp_path):
    path = tmp_path / "r.parquet"
    release().write(path)
    size = path.stat().st_size
    with pa.OSFile(str(path)) as file:
        footer = read_end(file, "r").start
    rng = np.random.default_rng(0)
    anywhere = [(int(rng.integers(size)), int(rng.integers(8))) for _ in range(200)]
    rows = [(where, where % 8) for where in range(0, footer, 7)]
    # Every byte of what Thrift writes at the end: lengths, types, pairs of texts.
    end = [(where, int(rng.integers(8))) for where in range(footer, size, 23)] + [
        (where, bit) for where in range(size - 40, size) for bit in range(8)
    ]
    seal = path.read_bytes().index(b"askance-seal")
    names = [(where, bit) for where in range(seal - 6, seal + 18) for bit in range(8)]
    digest = path.read_bytes().index(b"askance-digest")
    names += [(where, bit) for where in range(digest - 4, digest + 26) for bit in range(8)]
    assert accepted_flips(path, [*anywhere, *rows, *end, *names]) == []


@pytest.mark.parametrize("name", ["r.jsonl", "r.parquet", "counts.json", "mu.json"])
def test_of_bits_that_flip_in_other_releases_none_is_believed(name, tmp_path):
    made = {
        "r": ask.RegionRelease.of(REGIONS, [["the", "quick", "fox"]], channel=ask.RegionCounts(["JJ", "NN"], 2)),
        "counts": ask.release_counts([[3, 7], [5, 5]], 1.0),
        "mu": ask.release_mean_operator(np.eye(4), [1, -1, 1, 1], 1.0, ids=range(4)),
    }
    path = tmp_path / name
    made[path.stem].write(path)
    size = path.stat().st_size
    places = [(where, (where * 5) % 8) for where in range(0, size, max(1, size // 700))]
    assert accepted_flips(path, places) == []


def test_only_what_is_read_is_checked(tmp_path):
    path = tmp_path / "r.parquet"
    release(200_000).write(path)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    opened = ask.read_release(path)  # its footer is whole
    answers = opened.to_table(["cheated"])
    assert answers.num_rows == 200_000
    with pytest.raises(ask.ReleaseError, match="is damaged between bytes"):
        opened.to_table()
    parts = pickle.loads(pickle.dumps(opened.partitions()))  # as they travel to workers
    with pytest.raises(ask.ReleaseError, match="is damaged between bytes"):
        [part.read() for part in parts]


def test_a_checked_file_reads_as_any_file_does(tmp_path):
    path = tmp_path / "r.parquet"
    release(50_000).write(path)
    raw = path.read_bytes()
    rng = np.random.default_rng(1)
    with pa.OSFile(str(path)) as file:
        end = read_end(file, "r")
        checked = CheckedFile(file, end, end.seal, "r")
        assert bytes(checked.read()) == raw
        for _ in range(200):
            start, stop = sorted(rng.integers(0, len(raw) + 1, 2).tolist())
            checked.seek(start)
            assert bytes(checked.read(stop - start)) == raw[start:stop]
            assert checked.tell() == stop
        assert checked.seek(-4, 2) == len(raw) - 4
        assert checked.read(100) == b"PAR1"


def test_what_was_written_by_others_over_a_release_is_not_believed(tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "r.parquet"
    release().write(path)
    table = pq.read_table(path)
    pq.write_table(table, path)  # with the header, and without the seal
    with pytest.raises(ask.ReleaseError, match="seal"):
        ask.read_release(path)


# -- folders ---------------------------------------------------------------------------------------------------------


def folder(tmp_path, name="parts"):
    release().write(tmp_path / name, rows_per_part=10)
    return tmp_path / name


def lose(parts):
    (parts / "part-00002.parquet").unlink()


def add(parts):
    shutil.copy(parts / "part-00001.parquet", parts / "part-00009.parquet")


def rename(parts):
    (parts / "part-00003.parquet").rename(parts / "part-3.parquet")


def swap(parts):
    one, other = parts / "part-00000.parquet", parts / "part-00001.parquet"
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def lose_manifest(parts):
    (parts / "_manifest.json").unlink()


def damage_manifest(parts):
    path = parts / "_manifest.json"
    path.write_text(path.read_text().replace('"rows": 10', '"rows": 11', 1))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lose, r"lacks 'part-00002.parquet'.*the 4 files of _manifest.json"),
        (add, "has 'part-00009.parquet' besides"),
        (rename, "lacks 'part-00003.parquet' and has 'part-3.parquet' besides"),
        (swap, "is not the one of _manifest.json"),
        (lose_manifest, "parts of a release and no _manifest.json"),
        (damage_manifest, "_manifest.json is damaged"),
    ],
)
def test_a_folder_is_all_of_its_parts(harm, says, tmp_path):
    parts = folder(tmp_path)
    whole = ask.read_release(parts)
    assert whole.num_rows == 40
    assert len(whole.digest) == 64
    harm(parts)
    with pytest.raises(ask.ReleaseError, match=says):
        ask.read_release(parts)


def test_a_part_of_another_release_of_the_same_study_is_noticed(tmp_path):
    parts, other = folder(tmp_path), folder(tmp_path, "other")
    assert (parts / "part-00000.parquet").read_bytes() == (other / "part-00000.parquet").read_bytes()  # same rows
    release(41).write(tmp_path / "third", rows_per_part=11)
    shutil.copy(tmp_path / "third" / "part-00001.parquet", parts / "part-00001.parquet")
    with pytest.raises(ask.ReleaseError, match="is not the one of"):
        ask.read_release(parts)


def test_a_folder_is_replaced_with_its_manifest(tmp_path):
    parts = folder(tmp_path)
    release(20).write(parts, rows_per_part=10, overwrite=True)
    assert ask.read_release(parts).num_rows == 20
    (parts / "_manifest.json").write_text("my notes")
    with pytest.raises(ask.ReleaseError, match="something that askance did not write"):
        release(20).write(parts, rows_per_part=10, overwrite=True)


def test_what_earlier_versions_wrote_has_no_digest():
    golden = Path(__file__).parents[1] / "golden"
    for name in ("release-v1.parquet", "release-v1-parts", "release-v1-rows.parquet"):
        assert ask.read_release(golden / name).digest is None


def test_headers_are_forged_in_vain(tmp_path):
    """Whoever makes every digest anew must still say what follows from the channels."""
    said = json.loads(HEADER.to_metadata(sealed=True)[b"askance"])
    assert Header.from_metadata({b"askance": json.dumps(said).encode()}, "r").to_dict() == HEADER.to_dict()
    facts = {"askance", "study", "title"}

    def forge(value, place=()):
        if isinstance(value, dict):
            return [each for name, item in value.items() for each in forge(item, (*place, name))]
        if isinstance(value, list):
            return [each for number, item in enumerate(value) for each in forge(item, (*place, number))]
        if isinstance(value, bool):
            return [(place, not value)]
        return [(place, value * 2 + 1 if isinstance(value, int | float) else "forged")]

    for place, other in forge(said):
        forged = json.loads(json.dumps(said))
        parent = forged
        for step in place[:-1]:
            parent = parent[step]
        parent[place[-1]] = other
        # Names, and channels with their parameters, from which the rest follows.
        if place[0] in facts or place[-1] in ("text", "name", "levels", "missing") or "channel" in place:
            continue
        with pytest.raises(ask.ReleaseError):
            Header.from_metadata({b"askance": json.dumps(forged).encode()}, "r")
    for question, parameter, other in (("cheated", "p", 0.7), ("wage", "epsilon", 0.5)):
        forged = json.loads(json.dumps(said))
        forged["questions"][question]["channel"][parameter] = other
        with pytest.raises(ask.ReleaseError, match="promises epsilon"):
            Header.from_metadata({b"askance": json.dumps(forged).encode()}, "r")
