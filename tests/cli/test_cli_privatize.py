"""The commands ``askance privatize`` and ``askance audit``: on real files."""

import gzip
import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import askance as ask
from askance.cli.app import main
from askance.cli.output import strict
from askance.releases.privatizing import privatize_file, privatize_table
from askance.tables import data_files

EXECUTABLE = Path(sys.executable).parent / "askance"
ROWS = 1000


def answers(rows: int = ROWS) -> dict[str, list[Any]]:
    """True answers, with a column that must not leave."""
    numbers = range(rows)
    return {
        "name": [f"person {i}" for i in numbers],
        "cheated": ["no" if i % 4 else "yes" for i in numbers],
        "drugs": [("never", "once", "often")[i % 3] for i in numbers],
        "tax": [("no", "yes")[i % 2] for i in numbers],
        "group": [("cards", "dice")[i // 2 % 2] for i in numbers],
        "age": [18 + i % 60 for i in numbers],
        "school": [("north", "south")[i // 4 % 2] for i in numbers],
    }


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(ask.Study.template())
    pyarrow.csv.write_csv(pa.table(answers()), tmp_path / "data.csv")
    return tmp_path


class Outcome:
    """What a command left: exit code, standard output, standard error."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return run


def change(place: Path, **columns: Any) -> Path:
    """Write the data anew with some columns changed (None removes one)."""
    rows = {name: values for name, values in (answers() | columns).items() if values is not None}
    path = place / "changed.parquet"
    pq.write_table(pa.table(rows), path)
    return path


def altered(name: str, row: int, value: object) -> dict[str, list[Any]]:
    values = list(answers()[name])
    values[row] = value
    return {name: values}


# -- what leaves, and what does not ------------------------------------------------------------------


def test_a_release_holds_reports_and_declared_covariates_only(place: Path, run: Any) -> None:
    done = run("privatize", "study.toml", "data.csv", "--out", "r.parquet")
    assert done.code == 0
    release = ask.read_release("r.parquet")
    assert release.num_rows == ROWS
    assert release.columns == ["cheated", "drugs", "tax", "group", "age", "school"]
    assert release.to_table(["age", "school", "group"]).to_pydict() == {
        name: answers()[name] for name in ("age", "school", "group")
    }
    assert b"person 17" not in Path("r.parquet").read_bytes()
    # 250 of 1000 cheated; P(yes) = 0.2 + 0.6 * 0.25 = 0.35. The bounds are six standard errors: 2e-9.
    said_yes = release.to_table(["cheated"])["cheated"].to_pylist().count("yes")
    assert abs(said_yes - 350) < 6 * math.sqrt(ROWS * 0.35 * 0.65)


def test_it_says_what_was_done_in_plain_words(place: Path, run: Any) -> None:
    done = run("privatize", "study.toml", "data.csv", "--out", "r.parquet")
    assert "1,000 rows written to r.parquet" in done.out
    assert "Have you ever cheated in an exam?" in done.out
    assert "epsilon 1.386, protects one answer" in done.out
    assert "epsilon 4.121, protects all 3 answers of one person" in done.out
    assert "at most 98.4% sure" in done.out
    assert "levels of the questions add up" in done.out
    assert "Published as they are, without protection: group, age, school." in done.out
    assert "the study does not declare them: name." in done.out
    assert done.err == ""


def test_json_is_strict_and_complete(place: Path, run: Any) -> None:
    done = run("privatize", "study.toml", "data.csv", "--out", "r.parquet", "--json")
    fields = json.loads(done.out)
    assert fields["rows"] == ROWS
    assert fields["dropped_columns"] == ["name"]
    assert fields["warnings"] == []
    assert fields["header"]["guarantee"]["epsilon"] == pytest.approx(4.1208, abs=1e-3)


def test_an_answer_without_protection_is_told_loudly(place: Path, run: Any) -> None:
    study = ask.Study.template().replace('"forced-response", p_no = 0.15, p_yes = 0.15', '"identity"')
    Path("study.toml").write_text(study)
    done = run("privatize", "study.toml", "data.csv", "--out", "r.parquet", "--json")
    assert done.code == 0
    assert "WARNING: the answers to 'tax' have no privacy guarantee under the design dice" in done.err
    fields = json.loads(done.out)
    assert len(fields["warnings"]) == 1
    assert fields["header"]["guarantee"]["epsilon"] == "infinite"


def test_reports_differ_from_run_to_run(place: Path, run: Any) -> None:
    # Two runs agree on 1000 answers with probability (0.8^2 + 0.2^2)^1000, about 1e-168.
    for name in ("a", "b"):
        run("privatize", "study.toml", "data.csv", "--out", name)
    first, second = (ask.read_release(name).to_table(["cheated"]) for name in ("a", "b"))
    assert not first.equals(second)


# -- where data come from ----------------------------------------------------------------------------


def written(place: Path, form: str) -> Path:
    table = pa.table(answers())
    if form == "parquet":
        pq.write_table(table, place / "d.parquet", row_group_size=300)
        return place / "d.parquet"
    if form == "dictionary":
        encoded = table.set_column(1, "cheated", table["cheated"].dictionary_encode())
        pq.write_table(encoded, place / "d.parquet")
        return place / "d.parquet"
    if form.startswith("folder"):
        folder = place / "folder"
        folder.mkdir()
        (folder / "_SUCCESS").touch()
        for number in range(2):
            part = table.slice(number * 500, 500)
            if form == "folder of csv":
                pyarrow.csv.write_csv(part, folder / f"{number}.csv")
            else:
                pq.write_table(part, folder / f"{number}.parquet")
        return folder
    path = place / "d.csv"
    pyarrow.csv.write_csv(table, path)
    text = path.read_text().replace('"', "")
    if form == "semicolons":
        path.write_text(text.replace(",", ";"))
    elif form == "byte order mark":
        path.write_text("\ufeff" + text, encoding="utf-8")
    elif form == "windows":
        path.write_bytes(text.replace("\n", "\r\n").encode())
    elif form == "gzip":
        path = place / "d.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
    elif form == "other order":
        pyarrow.csv.write_csv(table.select(table.column_names[::-1]), path)
    elif form == "lines within quotes":
        path.write_text(text.replace("person 3,", '"person\n3, the ""great""",'))
    return path


@pytest.mark.parametrize(
    "form",
    [
        "csv",
        "parquet",
        "dictionary",
        "folder of csv",
        "folder of parquet",
        "semicolons",
        "byte order mark",
        "windows",
        "gzip",
        "other order",
        "lines within quotes",
    ],
)
def test_every_form_of_data_gives_the_same_covariates(place: Path, form: str) -> None:
    done = privatize_file(ask.Study.read("study.toml"), written(place, form), place / "r.parquet")
    assert done.dropped_columns == ("name",)
    published = done.release.to_table(["age", "school", "group"]).to_pydict()
    assert published == {name: answers()[name] for name in published}


def test_rows_are_streamed_and_progress_reaches_the_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "_BLOCK_BYTES", 4096)
    seen: list[tuple[int, int]] = []
    study = ask.Study.read("study.toml")
    privatize_file(study, "data.csv", "r", rows_per_part=300, progress=lambda done, total: seen.append((done, total)))
    size = Path("data.csv").stat().st_size
    assert len(seen) > 5
    assert seen == sorted(seen)
    assert seen[-1] == (size, size)
    assert [part.num_rows for part in ask.read_release("r").partitions()] == [300, 300, 300, 100]


def test_choices_that_are_numbers_or_truth_values_are_read_from_text() -> None:
    study = ask.Study.parse(
        '[questions.n]\nchoices = [0, 1, 2]\nchannel = { design = "identity" }\n'
        '[questions.b]\nchoices = [false, true]\nchannel = { design = "identity" }\n'
    )
    table = {"n": ["0", "2.0", " 1"], "b": ["true", "False", "1"]}
    assert privatize_table(study, table).to_table().to_pydict() == {"n": [0, 2, 1], "b": [True, False, True]}


def test_a_table_in_memory_is_privatised_by_the_declared_law() -> None:
    study = ask.Study.parse('[questions.q]\nchoices = ["no", "yes"]\nchannel = { design = "mangat", p = 0.7 }')
    carriers = np.arange(10_500) % 21 == 0
    release = privatize_table(study, {"q": np.where(carriers, "yes", "no")})
    reports = np.array(release.to_table()["q"].to_pylist())
    assert Counter(reports[carriers].tolist()) == {"yes": 500}  # carriers always say yes
    # Real entropy: six standard errors, 2e-9.
    assert abs((reports[~carriers] == "no").mean() - 0.7) < 6 * math.sqrt(0.7 * 0.3 / 10_000)


# -- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "messages"),
    [
        (altered("cheated", 700, "maybe"), ["column 'cheated', row 701: 'maybe' is not one of 'no', 'yes'"]),
        (altered("cheated", 0, None), ["column 'cheated', row 1: the value is missing"]),
        (altered("group", 5, "coin"), ["column 'group', row 6: 'coin' is not one of 'cards', 'dice'"]),
        (altered("age", 3, None), ["column 'age', row 4: the value is missing"]),
        ({"age": [math.inf] * ROWS}, ["column 'age', row 1: inf is not a finite number"]),
        ({"age": ["old"] * ROWS}, ["'old' is not a finite number"]),
        (altered("school", 9, "west"), ["column 'school', row 10: 'west' is not one of 'north', 'south'"]),
        (
            altered("cheated", 999, "x") | altered("drugs", 2, "y") | altered("age", 50, None),
            ["'cheated', row 1000: 'x'", "'drugs', row 3: 'y'", "'age', row 51"],
        ),
        ({"tax": None}, ["has no column 'tax'"]),
        ({"tax": None, "Tax": ["no"] * ROWS}, ["has no column 'tax'", "Did you mean 'Tax'?"]),
        ({"cheated": [0.5] * ROWS}, ["column 'cheated', row 1: 0.5 is not one of"]),
        ({"cheated": [["no"]] * ROWS}, ["column 'cheated', row 1"]),
    ],
)
def test_faults_are_told_by_column_and_row_and_nothing_is_written(
    place: Path, run: Any, columns: dict[str, Any], messages: list[str]
) -> None:
    before = {*os.listdir(place), "changed.parquet"}
    done = run("privatize", "study.toml", change(place, **columns), "--out", "r.parquet")
    assert done.code == 2
    assert done.out == ""
    for message in messages:
        assert message in done.err
    assert set(os.listdir(place)) == before


def test_rows_are_counted_over_the_whole_file(place: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "_BLOCK_BYTES", 2048)
    lines = Path("data.csv").read_text().splitlines()
    lines[901] = lines[901].replace('"no"', '"perhaps"').replace('"yes"', '"perhaps"')
    Path("data.csv").write_text("\n".join(lines))
    done = run("privatize", "study.toml", "data.csv", "--out", "r.parquet")
    assert done.code == 2
    assert "row 901: 'perhaps'" in done.err


def test_in_a_folder_the_file_is_named(place: Path, run: Any) -> None:
    folder = written(place, "folder of csv")
    second = folder / "1.csv"
    second.write_text(second.read_text().replace('"often"', '"weekly"', 1))  # person 500, the file's first
    done = run("privatize", "study.toml", folder, "--out", "r.parquet")
    assert "column 'drugs', row 1 of 1.csv: 'weekly'" in done.err


def test_missing_covariates_pass_where_the_study_allows_them(place: Path) -> None:
    done = privatize_file(
        ask.Study.read("study.toml"), change(place, **altered("school", 4, None)), place / "r.parquet"
    )
    assert done.release.to_table(["school"])["school"].null_count == 1
    optional_age = ask.Study.template().replace('type = "number"', 'type = "number"\nmissing = true')
    for absent in ("", "NA", "nan", None):
        data = change(place, age=[*map(str, answers()["age"][:-1]), absent])
        done = privatize_file(ask.Study.parse(optional_age), data, place / "r.parquet", overwrite=True)
        assert done.release.to_table(["age"])["age"].null_count == 1


BROKEN_DATA = [
    (b"", "is empty"),
    (b"\n\n", "is empty"),
    (b"PK\x03\x04 and so on", "spreadsheet"),
    (b"PAR1 and no more", "cannot be read"),
    (b"\x00\x01\x02\x00", "neither text nor Parquet"),
    (b"cheated\nno\n", "has no column 'drugs', 'tax', 'group', 'age', 'school'"),
    (b"cheated,drugs,tax,group,age,school\n", "has no rows"),
    (
        b"cheated,drugs,tax,group,age,school\nno,never,no,cards,20,north\nno,never\n",
        "line 3 has 2 fields where the header line has 6",
    ),
    (b"cheated,drugs,tax,group,age,school\nno,never,no,cards,20,n\xf6rth\n", "not text in UTF-8"),
    (b"cheated,cheated,drugs,tax,group,age,school\nno,no,never,no,cards,20,north\n", "two columns called 'cheated'"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN_DATA)
def test_broken_data_are_refused(place: Path, run: Any, content: bytes, message: str) -> None:
    Path("data.csv").write_bytes(content)
    done = run("privatize", "study.toml", "data.csv", "--out", "r.parquet")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert sorted(os.listdir(place)) == ["data.csv", "study.toml"]


def test_a_release_is_not_privatised_twice(place: Path, run: Any) -> None:
    run("privatize", "study.toml", "data.csv", "--out", "r.parquet")
    done = run("privatize", "study.toml", "r.parquet", "--out", "rr.parquet")
    assert done.code == 2
    assert "reports already" in done.err


def test_the_data_are_never_replaced_by_their_release(place: Path, run: Any) -> None:
    before = Path("data.csv").read_bytes()
    done = run("privatize", "study.toml", "data.csv", "--out", "data.csv", "--overwrite")
    assert done.code == 2
    assert "would replace the data" in done.err
    assert Path("data.csv").read_bytes() == before


def test_an_earlier_release_stays_unless_overwriting_is_asked_for(place: Path, run: Any) -> None:
    assert run("privatize", "study.toml", "data.csv", "--out", "r.parquet").code == 0
    before = Path("r.parquet").read_bytes()
    done = run("privatize", "study.toml", "data.csv", "--out", "r.parquet")
    assert done.code == 2
    assert "--overwrite" in done.err
    bad = change(place, **altered("cheated", 500, "x"))
    assert run("privatize", "study.toml", bad, "--out", "r.parquet", "--overwrite").code == 2
    assert Path("r.parquet").read_bytes() == before
    assert run("privatize", "study.toml", "data.csv", "--out", "r.parquet", "--overwrite").code == 0
    assert Path("r.parquet").read_bytes() != before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("privatize", "nowhere.toml", "data.csv", "--out", "r"), "no study file nowhere.toml"),
        (("privatize", "study.toml", "nowhere.csv", "--out", "r"), "no data file nowhere.csv"),
        (("privatize", "study.toml", "data.csv", "--out", "nowhere/r"), "no folder nowhere"),
        (("privatize", "data.csv", "data.csv", "--out", "r"), "not valid TOML"),
        (("privatize", "study.toml", "data.csv"), "--out"),
        (("privatize", "study.toml", "data.csv", "--out", "r", "--seed", "1"), "--seed"),
        (("privatize", "study.toml", "data.csv", "--out", "r", "--rows-per-part", "0"), "rows-per-part"),
        (("audit", "nowhere"), "nothing at nowhere"),
        (("audit", "data.csv"), "not valid TOML"),
        (("audit", "."), "data.csv cannot be read as Parquet"),
        (("audit", "study.toml", "--draws", "5"), "draws=5"),
        (("audit", "study.toml", "--error-rate", "2"), "--error-rate"),
        (("audit", "study.toml", "--error-rate", "0"), "error_rate=0"),
        (("telepathy",), "telepathy"),
    ],
)
def test_what_cannot_be_done_ends_with_2_and_a_message(
    place: Path, run: Any, arguments: tuple[str, ...], message: str
) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_folder_without_permission_is_told(place: Path, run: Any) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser may write everywhere")
    locked = place / "locked"
    locked.mkdir(mode=0o500)
    done = run("privatize", "study.toml", "data.csv", "--out", locked / "r")
    assert done.code == 2
    assert "locked" in done.err


# -- audit -------------------------------------------------------------------------------------------


def test_audit_of_a_study_and_of_its_release(place: Path, run: Any) -> None:
    # An honest audit fails with probability 1e-9 at most.
    run("privatize", "study.toml", "data.csv", "--out", "r.parquet")
    for what in ("study.toml", "r.parquet"):
        done = run("audit", what, "--draws", "20000", "--error-rate", "1e-9")
        assert done.code == 0
        for word in ("cheated", "drugs", "cards: Warner", "dice: Forced", "1.38629", "All channels passed", "1e-09"):
            assert word in done.out


def test_audit_as_json(place: Path, run: Any) -> None:
    done = run("audit", "study.toml", "--draws", "20000", "--error-rate", "1e-9", "--json")
    fields = json.loads(done.out)
    assert fields["passed"] is True
    assert list(fields["questions"]) == ["cheated", "drugs", "tax"]
    assert fields["questions"]["cheated"]["exact_epsilon"] == pytest.approx(math.log(4))


def test_audit_of_a_sabotaged_channel_ends_with_1(place: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # A sampler that never lies about "yes", where the table says it should one time in five.
    honest = ask.Warner.privatize
    monkeypatch.setattr(
        ask.Warner,
        "privatize",
        lambda self, truth: np.where(np.asarray(truth) == "yes", "yes", honest(self, truth)),
    )
    done = run("audit", "study.toml", "--draws", "20000", "--error-rate", "1e-9")
    assert done.code == 1
    assert "FAILED" in done.out
    assert "report 'yes' for the truth 'yes': declared 0.8, observed 1" in done.out


# -- the executable ----------------------------------------------------------------------------------


def execute(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([EXECUTABLE, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_installed_command_runs_end_to_end(place: Path) -> None:
    done = execute("privatize", "study.toml", "data.csv", "--out", "r.parquet", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1,000 rows written" in done.stdout
    refused = execute("privatize", "study.toml", "data.csv", "--out", "r.parquet", cwd=place)
    assert refused.returncode == 2
    assert refused.stderr.startswith("askance: r.parquet exists already")
    assert refused.stdout == ""


@pytest.mark.parametrize("out", ["study.toml", "data.csv", "notes.txt"])
def test_overwrite_never_destroys_anything_but_a_release(
    out: str, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text(
        '[questions.q]\nchoices = ["no", "yes"]\nchannel = {design = "warner", p = 0.8}\n'
    )
    (tmp_path / "data.csv").write_text("q\nno\nyes\n")
    (tmp_path / "notes.txt").write_text("precious")
    before = (tmp_path / out).read_bytes()
    monkeypatch.chdir(tmp_path)
    assert run("privatize", "study.toml", "data.csv", "--out", out, "--overwrite").code == 2
    assert (tmp_path / out).read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["data.csv", "notes.txt", "study.toml"]


def test_version_and_unknown_words(tmp_path: Path) -> None:
    assert execute("--version", cwd=tmp_path).stdout == f"askance {ask.__version__}\n"
    assert execute("telepathy", cwd=tmp_path).returncode == 2
    assert execute("audit", "--telepathy", cwd=tmp_path).returncode == 2


def test_help_names_every_command(tmp_path: Path) -> None:
    shown = execute("--help", cwd=tmp_path)
    for command in ("privatize", "fit", "audit", "demo", "reproduce"):
        assert command in shown.stdout


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, askance.cli.app\n"
        "heavy = 'numpy pyarrow numba scipy sklearn pandas matplotlib formulaic rich.table'.split()\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_strict_json_has_no_nan_and_no_infinity() -> None:
    odd = {"a": [math.nan, math.inf, -math.inf, np.float64(1.5)], "b": np.array([1, 2]), 3: (True, None)}
    assert strict(odd) == {"a": [None, "infinite", "-infinite", 1.5], "b": [1, 2], "3": [True, None]}
