"""Releases: what is written is read back, however it is cut; what is foreign or damaged is refused.

Run this module (``PYTHONPATH=tests python tests/releases/test_release.py``) to write the golden file of
the current version anew.
"""

import json
import math
import os
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import askance as ask
from askance.releases.header import Covariate, Header, Question, whole_person
from askance.releases.writer import ROW_GROUP_ROWS, ReleaseWriter

GOLDEN = Path(__file__).parents[1] / "golden" / "release-v1.parquet"

GOLDEN_ROWS = {
    "cheated": ["no", "yes", "no", "yes"],
    "cigarettes": [0, 2, 1, 0],
    "tax": ["no", "no", "yes", "no"],
    "group": ["cards", "direct", "cards", "direct"],
    "age": [19.0, 20.5, None, 44.0],
    "school": ["north", "south", "north", "west"],
}


def header() -> Header:
    return Header(
        questions=(
            Question("cheated", ask.Warner(0.8), "Have you ever cheated in an exam?"),
            Question("cigarettes", ask.RandomizedResponse([0, 1, 2], epsilon=1.0)),
            Question(
                "tax",
                ask.DesignPerRow({"cards": ask.Warner(0.7), "direct": ask.Identity(["no", "yes"])}),
                design_column="group",
            ),
        ),
        covariates=(Covariate("age", "number", missing=True), Covariate("school", "category")),
        study="exam",
        title="Exams",
    )


def release(rows: int = 4) -> ask.Release:
    table = pa.table(GOLDEN_ROWS)
    return ask.Release.from_table(table.take(pa.array([i % 4 for i in range(rows)], pa.int64())), header())


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    written = release().write(tmp_path / "r.parquet")
    assert written.to_table().equals(release().to_table())
    assert written.to_table().to_pydict() == GOLDEN_ROWS
    assert written.header == header()
    assert written.num_rows == 4
    assert written.columns == list(GOLDEN_ROWS)
    assert written.channel("cheated") == ask.Warner(0.8)
    assert written.question("tax").design_column == "group"


def test_the_golden_file_of_version_1_is_read_for_ever() -> None:
    golden = ask.read_release(GOLDEN)
    assert golden.to_table().to_pydict() == GOLDEN_ROWS
    assert golden.header.same_study(header())
    assert golden.header.askance == "0.1.0"
    raw = json.loads(pq.read_metadata(GOLDEN).metadata[b"askance"])
    assert raw["format"] == "askance-release"
    assert raw["version"] == 1


def test_reports_come_back_as_dictionaries_and_covariates_as_they_are(tmp_path: Path) -> None:
    table = release().write(tmp_path / "r.parquet").to_table()
    assert pa.types.is_dictionary(table["cheated"].type)
    assert table["cigarettes"].type == pa.int64()
    assert table["age"].type == pa.float64()
    assert table["school"].type == pa.string()


@pytest.mark.parametrize("rows_per_part", [None, 1, 3, 7, 100])
@pytest.mark.parametrize("max_rows", [None, 1, 2, 5])
def test_partitions_hold_every_row_once_in_order(
    tmp_path: Path, rows_per_part: int | None, max_rows: int | None
) -> None:
    whole = release(20)
    parts = whole.write(tmp_path / "r", rows_per_part=rows_per_part).partitions(max_rows)
    assert max_rows is None or max(part.num_rows for part in parts) <= max_rows
    tables = [pickle.loads(pickle.dumps(part)).read(["age", "cheated"]) for part in parts]
    assert [table.num_rows for table in tables] == [part.num_rows for part in parts]
    assert pa.concat_tables(tables).equals(whole.to_table(["age", "cheated"]))


def test_memory_partitions_are_picklable_and_split() -> None:
    parts = release(10).partitions(4)
    assert [part.num_rows for part in parts] == [4, 4, 2]
    again = pickle.loads(pickle.dumps(parts))
    assert pa.concat_tables([part.read(["cheated"]) for part in again]).equals(release(10).to_table(["cheated"]))


def test_row_groups_are_bounded_and_small_batches_are_gathered(tmp_path: Path) -> None:
    rows = 2 * ROW_GROUP_ROWS + 10
    big = Header((Question("q", ask.RandomizedResponse([0, 1, 2], epsilon=1.0)),))
    table = pa.table({"q": pa.array([i % 3 for i in range(rows)])})
    with ReleaseWriter(tmp_path / "r.parquet", big) as writer:
        for start in range(0, rows, 10_000):
            writer.write(table.slice(start, 10_000))
    parts = ask.read_release(tmp_path / "r.parquet").partitions()
    assert [part.num_rows for part in parts] == [ROW_GROUP_ROWS, ROW_GROUP_ROWS, 10]
    assert ask.read_release(tmp_path / "r.parquet").to_table().equals(table)


def test_bytes_of_numbers_stand_beside_their_like_and_are_read_as_they_were(tmp_path: Path) -> None:
    written = release(10).write(tmp_path / "r.parquet")
    group = pq.read_metadata(tmp_path / "r.parquet").row_group(0)
    found = {group.column(i).path_in_schema: group.column(i).encodings for i in range(group.num_columns)}
    assert {name for name, encodings in found.items() if "BYTE_STREAM_SPLIT" in encodings} == {"age"}
    assert written.to_table().equals(release(10).to_table())


def test_a_release_without_rows_is_still_a_release(tmp_path: Path) -> None:
    empty = release(0)
    for rows_per_part in (None, 5):
        written = empty.write(tmp_path / f"{rows_per_part}", rows_per_part=rows_per_part)
        assert written.num_rows == 0
        assert written.to_table().schema.equals(empty.schema)


def test_the_person_gets_the_sum_of_the_questions() -> None:
    warner = ask.Warner(0.75).guarantee
    both = whole_person([warner, ask.Warner(0.9).guarantee])
    assert both.epsilon == pytest.approx(math.log(3) + math.log(9))
    assert "2 answers" in both.protects
    assert whole_person([warner]) == warner
    assert math.isinf(header().guarantee.epsilon)  # one group is asked directly


def test_the_header_is_strict_json() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    (raw,) = header().to_metadata().values()
    fields = json.loads(raw, parse_constant=refuse)
    assert fields["version"] == Header.VERSION
    assert fields["askance"] == ask.__version__
    assert fields["questions"]["cheated"]["guarantee"]["epsilon"] == pytest.approx(math.log(4))
    assert fields["questions"]["tax"]["design_column"] == "group"
    assert fields["guarantee"]["epsilon"] == "infinite"
    assert "add up" in fields["guarantee"]["composition"]


def test_the_only_question_needs_no_name() -> None:
    one = Header((Question("cheated", ask.Warner(0.8)),))
    assert one.question().name == "cheated"
    with pytest.raises(ask.InvalidInput, match="cheated, cigarettes, tax"):
        release().question()
    with pytest.raises(ask.InvalidInput, match=r"no question 'taxes'.*cheated, cigarettes, tax"):
        release().channel("taxes")


# -- tables that do not fit their header -------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cheated": ["no", "yes", "maybe", "no"]}, r"column 'cheated', row 3: 'maybe' is not one of 'no', 'yes'"),
        ({"cheated": ["no", None, "yes", "no"]}, r"column 'cheated', row 2: the value is missing"),
        ({"cigarettes": [0, 1, 2, 3]}, r"row 4: 3 is not one of 0, 1, 2"),
        ({"age": [1.0, 2.0, 3.0, math.inf]}, r"column 'age', row 4: inf is not a finite number"),
        ({"school": ["a", "b", "", "c"]}, r"column 'school', row 3: the value is missing"),
        ({"group": ["cards", "direct", "dice", "cards"]}, r"column 'group', row 3: 'dice'"),
        ({"name": ["a", "b", "c", "d"]}, "'name'.*what is not declared is not published"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(change: dict[str, list[object]], message: str) -> None:
    with pytest.raises(ask.InvalidInput, match=message):
        ask.Release.from_table(pa.table(GOLDEN_ROWS | change), header())


def test_a_missing_column_is_named_with_its_nearest() -> None:
    rows = {name if name != "school" else "shcool": values for name, values in GOLDEN_ROWS.items()}
    with pytest.raises(ask.InvalidInput, match=r"no column 'school'.*Did you mean 'shcool'"):
        ask.Release.from_table(pa.table(rows), header())


def test_frames_are_accepted() -> None:
    import pandas as pd
    import polars as pl

    for frame in (pd.DataFrame(GOLDEN_ROWS), pl.DataFrame(GOLDEN_ROWS), GOLDEN_ROWS):
        assert ask.Release.from_table(frame, header()).to_table().to_pydict() == GOLDEN_ROWS


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (lambda: Question("", ask.Warner(0.8)), "name that is not empty"),
        (lambda: Question("q", "warner"), "Warner"),
        (lambda: Question("q", ask.DesignPerRow({"a": ask.Warner(0.8)})), "no design_column"),
        (lambda: Question("q", ask.Warner(0.8), design_column="g"), "one design"),
        (lambda: Question("q", ask.Identity(["a", 1])), "several kinds"),
        (lambda: Covariate("age", "int"), "number or category"),
        (lambda: Covariate("age", "number", (1, 2)), "category"),
        (lambda: Header(()), "no questions"),
        (lambda: Header((Question("q", ask.Warner(0.8)),), (Covariate("q"),)), "'q' is declared more than once"),
    ],
)
def test_impossible_declarations_are_refused(question: object, message: str) -> None:
    with pytest.raises(ask.InvalidInput, match=message):
        question()  # type: ignore[operator]


# -- files that are not releases ---------------------------------------------------------------------


def damaged(tmp_path: Path, kind: str) -> Path:
    """Make something that is no release, or no longer one."""
    path = tmp_path / "r.parquet"
    if kind == "missing":
        return path
    if kind == "empty folder":
        path.mkdir()
        (path / "_SUCCESS").touch()
        return path
    release().write(path)
    whole = path.read_bytes()
    table, metadata = pq.read_table(path), pq.read_metadata(path).metadata
    if kind == "cut off":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("cheated,age\nno,12\n")
    elif kind == "foreign":
        pq.write_table(table.replace_schema_metadata(None), path)
    elif kind == "other columns":
        pq.write_table(table.drop_columns(["age"]).replace_schema_metadata(table.schema.metadata), path)
    elif kind == "other types":
        with_text = table.set_column(4, "age", pa.array(["1", "2", "3", "4"]))
        pq.write_table(with_text.replace_schema_metadata(table.schema.metadata), path)
    else:
        fields = json.loads(metadata[b"askance"])
        if kind == "future":
            fields["version"] = 99
        elif kind == "half a header":
            del fields["questions"]["tax"]["channel"]
        elif kind == "false promise":
            fields["questions"]["cheated"]["guarantee"]["epsilon"] = 0.1
        elif kind == "unknown channel":
            fields["questions"]["cheated"]["channel"] = {"channel": "telepathy"}
        raw = b"{" if kind == "no JSON" else json.dumps(fields).encode()
        pq.write_table(table.replace_schema_metadata({b"askance": raw}), path)
    return path


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", "there is no release at"),
        ("empty folder", "has no part files"),
        ("cut off", "its end is missing"),
        ("empty", "it is empty"),
        ("text", "does not begin like one"),
        ("foreign", "without an askance header.*askance privatize"),
        ("other columns", "column 'age'.*missing"),
        ("other types", "column 'age'.*string.*double"),
        ("future", "version 99.*[Uu]pgrade askance"),
        ("half a header", "damaged"),
        ("false promise", "promises epsilon 0.1"),
        ("unknown channel", "telepathy"),
        ("no JSON", "damaged"),
    ],
)
def test_what_is_no_release_is_refused_by_name(tmp_path: Path, kind: str, message: str) -> None:
    path = damaged(tmp_path, kind)
    with pytest.raises(ask.ReleaseError, match=message) as caught:
        ask.read_release(path)
    assert "r.parquet" in str(caught.value)


def test_a_folder_is_one_study(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    release(3).write(folder / "a.parquet")
    release(2).write(folder / "b.parquet")
    (folder / ".b.parquet.crc").touch()
    (folder / "_SUCCESS").touch()
    (folder / "c.tmp").touch()
    assert ask.read_release(folder).num_rows == 5
    other = Header((Question("cheated", ask.Warner(0.9)),))
    ask.Release.from_table({"cheated": ["no"]}, other).write(folder / "c.parquet")
    with pytest.raises(ask.ReleaseError, match=r"c\.parquet differs from that of a\.parquet"):
        ask.read_release(folder)
    (folder / "c.parquet").unlink()
    (folder / "notes.txt").write_text("hello")
    with pytest.raises(ask.ReleaseError, match=r"notes\.txt"):
        ask.read_release(folder)


def test_parts_of_two_versions_of_askance_belong_together(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    release(3).write(folder / "a.parquet")
    older = Header(header().questions, header().covariates, "exam", "Exams", askance="0.0.9")
    ask.Release.from_table(release(2).to_table(), older).write(folder / "b.parquet")
    assert ask.read_release(folder).num_rows == 5


def test_a_part_that_vanishes_after_opening_is_told_by_name(tmp_path: Path) -> None:
    opened = release().write(tmp_path / "r.parquet")
    (tmp_path / "r.parquet").unlink()
    with pytest.raises(ask.ReleaseError, match=r"r\.parquet cannot be read"):
        opened.to_table()


# -- writing whole or not at all ---------------------------------------------------------------------


@pytest.mark.parametrize("rows_per_part", [None, 2])
def test_a_failure_leaves_what_was_there(tmp_path: Path, rows_per_part: int | None) -> None:
    path = tmp_path / "r"
    release(4).write(path, rows_per_part=rows_per_part)

    def fail_half_way() -> None:
        with ReleaseWriter(path, header(), overwrite=True, rows_per_part=rows_per_part) as writer:
            writer.write(release(10).to_table())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert os.listdir(tmp_path) == ["r"]
    assert ask.read_release(path).num_rows == 4


def test_nothing_is_there_before_the_end(tmp_path: Path) -> None:
    with ReleaseWriter(tmp_path / "r.parquet", header()) as writer:
        writer.write(release().to_table())
        assert not (tmp_path / "r.parquet").exists()
    assert os.listdir(tmp_path) == ["r.parquet"]


@pytest.mark.parametrize("before", [None, 2])
@pytest.mark.parametrize("after", [None, 3])
def test_overwriting_must_be_asked_for(tmp_path: Path, before: int | None, after: int | None) -> None:
    release(4).write(tmp_path / "r", rows_per_part=before)
    with pytest.raises(ask.ReleaseError, match=r"exists already.*overwrite"):
        release(8).write(tmp_path / "r", rows_per_part=after)
    assert ask.read_release(tmp_path / "r").num_rows == 4
    assert release(8).write(tmp_path / "r", rows_per_part=after, overwrite=True).num_rows == 8
    assert os.listdir(tmp_path) == ["r"]


def test_a_folder_that_is_no_release_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "photographs"
    folder.mkdir()
    (folder / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(ask.ReleaseError, match="expected a release of reports"):
        release().write(folder, overwrite=True)
    assert (folder / "holiday.jpg").read_bytes() == b"x"


def test_a_folder_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(ask.ReleaseError, match="no folder"):
        release().write(tmp_path / "nowhere" / "r.parquet")


def test_rows_of_another_shape_are_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ask.InvalidInput, match="columns"),
        ReleaseWriter(tmp_path / "r.parquet", header()) as writer,
    ):
        writer.write(release().to_table(["age"]))
    assert os.listdir(tmp_path) == []


def test_columns_are_asked_for_by_name() -> None:
    with pytest.raises(ask.InvalidInput, match="no column 'agee'"):
        release().to_table(["agee"])
    with pytest.raises(ask.InvalidInput, match="max_rows=0"):
        release().partitions(0)


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    release().write(GOLDEN, overwrite=True)
    print(f"wrote {GOLDEN}")
