"""A page says of what it was made, when, and by which program."""

import hashlib

import pyarrow as pa
import pytest

import askance as ask
from askance.cli.app import main
from askance.workflows.program import program_digest
from html_pages import ReadPage

STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
[privacy]
purpose = "to know how common it is"
delete_by = 2090-01-01
"""


def page(folder, *words):
    with pytest.raises(SystemExit) as ended:
        main(["fit", *map(str, words), "--report", str(folder / "page.html"), "--overwrite"])
    assert ended.value.code == 0
    return ReadPage((folder / "page.html").read_text(encoding="utf-8")).text


def test_a_page_has_the_digests_that_a_dossier_has(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    release = tmp_path / "release.parquet"
    rows = pa.table({"cheated": ["no"] * 60 + ["yes"] * 40})
    ask.Release.from_table(rows, ask.Study.read(study).header()).write(release)
    alone, beside = page(tmp_path, release), page(tmp_path, release, "--study", study)
    dossier = " ".join(str(ask.make_dossier(study, release)).split())
    for text in (alone, beside, dossier):
        assert ask.read_release(release).digest in text
        assert program_digest() in text
    for text in (beside, dossier):
        assert hashlib.sha256(study.read_bytes()).hexdigest() in text
        assert "to know how common it is" in text
        assert "2090-01-01" in text
    assert "askance dossier STUDY.toml" in alone


def test_a_table_is_known_by_its_bytes(tmp_path):
    study, table = tmp_path / "study.toml", tmp_path / "answers.csv"
    study.write_text(STUDY)
    table.write_text("cheated\n" + "no\n" * 60 + "yes\n" * 40)
    assert hashlib.sha256(table.read_bytes()).hexdigest() in page(tmp_path, table, "--study", study)
