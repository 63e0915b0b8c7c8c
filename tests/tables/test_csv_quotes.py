"""Quotation marks that are never closed: rows after them are neither lost nor published in a cell of another."""

import csv
import gzip
import io
from concurrent.futures import ThreadPoolExecutor

import pytest

from askance.errors import InvalidInput
from askance.tables.csv_quotes import check_quotes
from askance.tables.data_files import open_data

BODY = "no,Ayr\nyes,Bute\n" * 30
STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }

[covariates.town]
type = "category"
"""


@pytest.mark.parametrize(
    ("rest", "line"),
    [
        ('yes,"Ayr\n' + BODY, 3),  # to the end of the file
        ('yes,"Ayr\n' + BODY + 'no,"Bute"\n', 3),  # to the mark of another cell
        ('yes,"Ayr', 3),  # a file that was cut off
        ('yes,"Ayr\ntown"\nyes,"Bute\n' + BODY, 5),  # after a cell that has two lines and is as it should be
    ],
)
def test_a_mark_that_is_not_closed_is_refused_by_its_line(tmp_path, rest, line):
    text = f"cheated,town\nno,Bute\n{rest}"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("a.csv", "a.csv.gz"):
        with pytest.raises(InvalidInput, match=f"the row that begins in line {line} has a quotation mark"):
            open_data(tmp_path / name)


def test_marks_that_belong_to_a_cell_are_read(tmp_path):
    said = ["Ayr", "the town\nof Ayr", 'the "town"', '5" pipe', "a, b", '"', "x" * 200_000]
    cells = ["Ayr", '"the town\nof Ayr"', '"the ""town"""', '5" pipe', '"a, b"', '""""', "x" * 200_000]
    for end in ("\n", "\r\n"):
        (tmp_path / "a.csv").write_bytes(end.join(["n,town", *(f"1,{cell}" for cell in cells), ""]).encode())
        assert open_data(tmp_path / "a.csv").read(["town"])["town"].to_pylist() == said


def test_files_that_are_read_at_once_are_read_as_one_by_one():
    """The limit on cells is that of the process: one thread set it back while another read, whose file was refused."""
    before, text = csv.field_size_limit(), b"n,town\n" + b'1,"Ayr\n' + b"x" * 200_000 + b'"\n'
    with ThreadPoolExecutor(4) as threads:
        files = [threads.submit(check_quotes, lambda: io.BytesIO(text * 10), ",", "a.csv") for _ in range(20)]
    assert [file.result() for file in files] == [None] * 20
    assert csv.field_size_limit() == before


def test_nobodys_answer_is_published_in_the_cell_of_another(tmp_path, run, monkeypatch):
    # Sixty rows became the town of one person, a public column, true answers and all; the release had two rows.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "truth.csv").write_text('cheated,town\nno,Bute\nyes,"Ayr\n' + BODY)
    code, out, err = run("privatize", "study.toml", "truth.csv", "--out", "release.parquet")
    assert (code, out) == (2, "")
    assert "line 3" in err
    assert "Bute" not in err
    assert not (tmp_path / "release.parquet").exists()
