"""The dossier on privacy: the whole person first, nothing unprotected left out, nothing wrong unsaid."""

import datetime
import json

import pyarrow as pa
import pytest

import askance as ask
from askance.cli.app import main
from askance.errors import InvalidInput
from askance.releases import Covariate, Header, Question
from askance.reports import dossier_page, write_dossier
from askance.workflows.singled_out import singled_out
from html_pages import ReadPage

STUDY = """
[study]
title = "Cheating <in> exams"
[questions.cheated]
text = "Have you | ever cheated?"
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
[questions.tax]
choices = ["no", "yes"]
design_column = "group"
designs.cards = { design = "warner", p = 0.7 }
designs.dice = { design = "forced-response", p_no = 0.15, p_yes = 0.15 }
[covariates.age]
type = "number"
"""
PRIVACY = """
[privacy]
controller = "the institute"
purpose = "to know how common it is"
retention = "two years"
delete_by = 2026-01-01
"""


def run(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, words)))
    return ended.value.code


@pytest.fixture
def files(tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY + PRIVACY)
    rows = pa.table(
        {
            "cheated": ["no", "yes", "no", "no"],
            "tax": ["no", "yes", "yes", "no"],
            "group": ["cards", "dice", "cards", "cards"],
            "age": [30.0, 30.0, 30.0, 61.0],
        }
    )
    ask.Release.from_table(rows, ask.Study.read(study).header()).write(tmp_path / "release.parquet")
    return study, tmp_path / "release.parquet"


def test_the_whole_person_comes_first_and_everything_open_is_named(files):
    study, release = files
    dossier = ask.make_dossier(study, release, today=datetime.date(2025, 1, 1))
    assert dossier.guarantee.epsilon == pytest.approx(1.3862943611 + 1.7346010553)
    assert dossier.unprotected == ("group", "age")
    assert dossier.passed
    assert dossier.alerts == ()
    for text in (str(dossier), dossier.to_markdown(), ReadPage(dossier_page(dossier)).text):
        # Whatever stands before the first section is the headline.
        head = text[: text.index("1. What is promised")]
        assert "all 2 answers of one person together" in head
        assert "3.12" in head
        assert "group, age" in head
        for said in ("the institute", "two years", "2 (50.0%) are alone", "to know how common it is", "sha256"):
            assert said in text
    page = ReadPage(dossier_page(dossier))
    page.check_needs_nothing_from_elsewhere()
    assert "<in>" not in page.source


def test_retention_that_has_passed_is_an_alert(files):
    last, next_day = datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)
    assert ask.make_dossier(files[0], today=last).alerts == ()
    assert "that day has passed" in ask.make_dossier(files[0], today=next_day).alerts[0]


def test_what_the_study_file_does_not_say_is_named():
    text = str(ask.make_dossier(ask.Study.parse(STUDY)))
    assert text.count("not stated in the study file") == 5
    assert "---:" not in ask.make_dossier(ask.Study.parse(STUDY)).to_markdown()  # sentences begin at the left
    assert "table [privacy]" in text


def test_answers_that_reports_reveal_are_unprotected_and_an_alert():
    study = ask.Study.parse(STUDY.replace('"warner", p = 0.8', '"identity"'))
    dossier = ask.make_dossier(study)
    assert dossier.unprotected == ("group", "age", "cheated")
    assert "no privacy guarantee" in dossier.alerts[0]
    assert "No privacy guarantee" in dossier_page(dossier)
    assert json.loads(json.dumps(dossier.to_dict(), allow_nan=False))["guarantee"]["epsilon"] == "infinite"


def test_what_the_promise_does_not_cover_is_said():
    """It said that nobody could read an answer whatever else they know: of a birthday, that is not so."""
    text = " ".join(
        str(ask.make_dossier(ask.Study.parse(STUDY.replace('"warner", p = 0.8', '"crosswise", p = 0.25')))).split()
    )
    assert "but how chance fell" in text
    assert "who knows the birthday that decides can read the answer" in text
    assert "docs/mechanisms/crosswise.md (cheated)" in text
    assert "keeps the order of the table" in text
    assert "Signed off" in text


def test_noise_without_bounds_is_an_alert_that_says_why():
    """It said that some reports rule out some truths, which no noise does."""
    body = 'columns = ["smoker", "height"]\nchannels = [{ design = "state-flip", states = 2, flip = 0.2 }, '
    body += '{ design = "gaussian-noise", sigma = 9.0 }]'
    dossier = ask.make_dossier(ask.Study.parse(f"[questions.body]\n{body}"))
    assert "no public bounds" in dossier.alerts[0]
    text = " ".join(str(dossier).split())
    assert "Number 1: Each attribute has one of 2 states" in text
    assert "Number 2: Each attribute is reported with normal noise" in text
    assert "in order, smoker, height." in text


def test_a_release_with_texts_alone_does_not_ask_for_a_release(tmp_path):
    study = ask.Study.parse(
        '[questions.q]\nchoices = ["no", "yes"]\nchannel = { design = "warner", p = 0.8 }\n'
        '[covariates.words]\ntype = "words"'
    )
    rows = pa.table({"q": ["no", "yes"], "words": [["a"], ["b", "c"]]})
    ask.Release.from_table(rows, study.header()).write(tmp_path / "r.parquet")
    asked_for = "counted where a release is given"
    assert asked_for in ask.make_dossier(study).to_markdown()
    assert asked_for not in ask.make_dossier(study, tmp_path / "r.parquet").to_markdown()


def test_a_release_of_another_study_is_refused(files, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(STUDY.replace("0.8", "0.81"))
    with pytest.raises(InvalidInput, match="not a release of this study"):
        ask.make_dossier(other, files[1])
    assert run("dossier", other, files[1]) == 2
    with pytest.raises(InvalidInput, match="ledger without a release"):
        ask.make_dossier(files[0], ledger="book.db")


def test_a_release_of_totals_is_sent_to_where_it_is_looked_at(files, tmp_path):
    ask.release_counts([30, 70], epsilon=1.0).write(tmp_path / "counts.json")
    with pytest.raises(InvalidInput, match="askance verify says what protects totals"):
        ask.make_dossier(files[0], tmp_path / "counts.json")


def test_an_audit_is_made_and_a_channel_that_fails_is_an_alert(files, monkeypatch):
    dossier = ask.make_dossier(files[0], audit=True, draws=2000)
    assert dossier.account["audit"].keys() == {"cheated", "tax"}
    assert "Every channel was audited" in str(dossier)
    # A sampler that does not hide anything: what it draws is the truth.
    monkeypatch.setattr(ask.Warner, "privatize", lambda self, truth: truth, raising=False)
    wrong = ask.make_dossier(files[0], audit=True, draws=2000)
    assert not wrong.passed
    assert any("FAILED its audit" in alert for alert in wrong.alerts)


def test_a_release_with_a_changed_byte_is_refused(files, capsys):
    study, release = files
    content = bytearray(release.read_bytes())
    place = content.index(b"cards")
    content[place] ^= 1
    release.write_bytes(content)
    assert run("dossier", study, release) == 2
    assert "is damaged" in capsys.readouterr().err


def test_the_command_writes_pages_and_markdown_and_nothing_over_strangers(files, tmp_path, capsys):
    study, release = files
    for name in ("dossier.html", "dossier.md"):
        out = tmp_path / name
        assert run("dossier", study, release, "--out", out) == 0
        assert run("dossier", study, release, "--out", out) == 2
        assert run("dossier", study, release, "--out", out, "--overwrite") == 0
    assert run("dossier", study, "--out", tmp_path / "dossier.pdf") == 2
    assert run("dossier", study, "--out", study, "--overwrite") == 2
    (tmp_path / "notes.md").write_text("mine")
    assert run("dossier", study, "--out", tmp_path / "notes.md", "--overwrite") == 2
    assert run("dossier", study, "--draws", 10) == 2
    capsys.readouterr()
    assert run("dossier", study, release, "--json") == 0
    assert json.loads(capsys.readouterr().out)["unprotected"] == ["group", "age"]
    with pytest.raises(InvalidInput, match=r"\.html or \.md"):
        write_dossier(tmp_path / "x.txt", ask.make_dossier(study))


def test_a_ledger_is_looked_at(files, tmp_path, capsys):
    study, release = files
    book = ask.Ledger.create(tmp_path / "book.db", 4, data_set="the exam")
    assert run("dossier", study, release, "--ledger", book.path) == 1
    printed = capsys.readouterr().out
    assert "ALERT: The release fails its check of ledger" in printed
    assert "has no entry for this release" in printed


def test_people_are_singled_out_across_parts():
    header = Header((Question("q", ask.Warner(0.8)),), (Covariate("age"), Covariate("words", "words")))
    rows = pa.table({"q": ["no"] * 6, "age": [1.0, 1.0, 2.0, 1.0, 1.0, 1.0], "words": [["a"]] * 6})
    release = ask.Release.from_table(rows, header)
    parts = tuple(piece for part in release.parts for piece in part.split(2))
    found = singled_out(ask.Release(header, parts))
    assert (found.rows, found.alone, found.few, found.columns) == (6, 1, 1, ("age",))
    none = Header((Question("q", ask.Warner(0.8)),))
    assert singled_out(ask.Release.from_table(rows.select(["q"]), none)) is None
