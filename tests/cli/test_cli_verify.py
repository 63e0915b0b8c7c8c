"""The command ``askance verify``: every kind of release, with its ledger and its signature."""

import json
import os
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from typer.testing import CliRunner

import askance as ask
from askance.cli.app import app, main
from askance.releases.restated import content_digest

GOLDEN = Path(__file__).parents[1] / "golden"
STUDY = """
[questions.cheated]
choices = ["no", "yes"]
channel = { design = "warner", p = 0.8 }
"""


def write_keys(name):
    key = ed25519.Ed25519PrivateKey.generate()
    Path(f"{name}.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    Path(f"{name}-public.pem").write_bytes(public)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_keys("mine")
    write_keys("other")
    Path("study.toml").write_text(STUDY)
    answers = np.random.default_rng(0).choice(["no", "yes"], 40)
    Path("answers.csv").write_text("id,cheated\n" + "".join(f"{i},{each}\n" for i, each in enumerate(answers)))
    ask.Ledger.create("budget.ledger", 9, data_set="clinic")

    def invoke(*arguments, code=0):
        done = CliRunner().invoke(app, [*map(str, arguments)])
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    return invoke


COUNTS = ("release", "counts", "answers.csv", "--label", "cheated", "--classes", "no,yes", "--epsilon", "1")


def verdicts(output):
    return {each["check"]: each["verdict"] for each in json.loads(output)["checks"]}


def test_counts_with_ledger_and_signature(run):
    run(*COUNTS, "--ledger", "budget.ledger", "--out", "counts.json", "--sign", "mine.pem")
    said = run("verify", "counts.json", "--ledger", "budget.ledger", "--key", "mine-public.pem")
    assert said.count("good") == 5
    assert "nothing is wrong" in said
    assert "entry 1 of 'clinic'" in said
    found = verdicts(run("verify", "counts.json", "--json"))
    assert found == {"format": "good", "digest": "good", "guarantee": "good", "signature": "unknown"}
    assert "signed by another key" in run("verify", "counts.json", "--key", "other-public.pem", code=1)
    content = json.loads(Path("counts.json").read_text())
    content["classes"] = ["yes", "no"]  # a fact: only a signature and the ledger protect it
    Path("counts.json").write_text(json.dumps(content | {"digest": content_digest(content)}))
    found = run("verify", "counts.json", "--ledger", "budget.ledger", "--key", "mine-public.pem", "--json", code=1)
    assert verdicts(found) == dict.fromkeys(("format", "digest", "guarantee"), "good") | {
        "ledger": "wrong", "signature": "wrong",
    }  # fmt: skip
    os.remove("counts.json.sig")
    assert "it is not signed" in run("verify", "counts.json", "--key", "mine-public.pem", code=1)


@pytest.mark.parametrize("parts", [(), ("--rows-per-part", "15")])
def test_reports_with_ledger_and_signature(run, parts):
    paid = ("--ledger", "budget.ledger", "--id", "id", "--sign", "mine.pem")
    run("privatize", "study.toml", "answers.csv", "--out", "r", *parts, *paid)
    asked = ("--ledger", "budget.ledger", "--key", "mine-public.pem", "--json")
    assert set(verdicts(run("verify", "r", *asked)).values()) == {"good"}
    shutil.copytree("r", "again") if parts else shutil.copy("r", "again")
    run("privatize", "study.toml", "answers.csv", "--out", "r", *parts, "--overwrite")
    if parts:
        assert not Path("r/_signature.json").exists()
        shutil.copy("again/part-00001.parquet", "r/part-00001.parquet")  # signed, but not for this folder
        assert "is not the one of _manifest.json" in run("verify", "r", "--key", "mine-public.pem", code=1)
    else:
        assert "not one of this release" in run("verify", "r", "--key", "mine-public.pem", code=1)


def test_a_bit_is_found_wherever_it_is(run):
    run("privatize", "study.toml", "answers.csv", "--out", "r.parquet")
    raw = Path("r.parquet").read_bytes()
    for where in range(0, len(raw), len(raw) // 40):
        Path("r.parquet").write_bytes(raw[:where] + bytes([raw[where] ^ 4]) + raw[where + 1 :])
        run("verify", "r.parquet", code=1)


def test_a_change_that_keeps_every_checksum_is_found(run):
    """A CRC is for accidents: whoever wants to can change bytes and keep it. The digest is not fooled."""
    run("privatize", "study.toml", "answers.csv", "--out", "r.parquet", "--sign", "mine.pem")
    raw = bytearray(Path("r.parquet").read_bytes())
    same_crc = bytes.fromhex("410671db01")  # the polynomial itself, in the order of the bits: a change of no remainder
    for at, change in enumerate(same_crc, start=40):
        raw[at] ^= change
    assert zlib.crc32(raw[:200]) == zlib.crc32(Path("r.parquet").read_bytes()[:200])
    Path("r.parquet").write_bytes(raw)
    assert "is damaged" in run("verify", "r.parquet", "--key", "mine-public.pem", code=1)


@pytest.mark.parametrize("name", ["release-v1.parquet", "release-v1-parts", "regions-v1.jsonl", "regions-v1.parquet"])
def test_what_earlier_versions_wrote_has_no_digest(run, name):
    assert "no digest: written by an earlier version" in run("verify", GOLDEN / name)


def test_earlier_totals_have_no_digest_and_plain_hashes_of_features(run):
    assert "no digest: written by an earlier version" in run("verify", GOLDEN / "counts-v1.json")
    said = run("verify", GOLDEN / "mean-operator-v1-laplace.json")
    assert "no digest" in said
    assert "whoever gets it can test guesses" in said


def test_regions(run):
    regions = [{"sentence": 0, "start": 1, "width": 2, "counts": {"JJ": 1, "NN": 1}}]
    for name in ("r.jsonl", "r.parquet"):
        ask.RegionRelease.of(regions, [["the", "quick", "fox"]]).write(name)
        assert verdicts(run("verify", name, "--json"))["digest"] == "good"


def test_a_part_alone_and_files_without_a_manifest_are_said(run):
    run("privatize", "study.toml", "answers.csv", "--out", "parts", "--rows-per-part", "15")
    assert "one part of a release in several files" in run("verify", "parts/part-00000.parquet")
    Path("folder").mkdir()
    run("privatize", "study.toml", "answers.csv", "--out", "folder/a.parquet")
    assert "no manifest says which files belong together" in run("verify", "folder")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.json"], "there is no release at none.json"),
        (["counts.json", "--ledger", "none.ledger"], "none.ledger"),
        (["counts.json", "--key", "none.pem"], "cannot read the key none.pem"),
        (["counts.json", "--key", "mine.pem"], "is a private key"),
        (["counts.json", "--key", "answers.csv"], "no public key"),
    ],
)
def test_what_cannot_be_checked_ends_with_two(run, arguments, says, capsys):
    ask.release_counts([30, 70], 1).write("counts.json")
    with pytest.raises(SystemExit) as ended:
        main(["verify", *arguments])
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


def test_a_key_that_cannot_sign_spends_nothing(run, capsys):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    Path("rsa.pem").write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    Path("counts.json.sig").write_text("")
    for key, says in (
        ("rsa.pem", "of another kind"),
        ("answers.csv", "no private key"),
        ("none", "cannot read the key"),
    ):
        with pytest.raises(SystemExit):
            main([*COUNTS, "--ledger", "budget.ledger", "--out", "counts.json", "--sign", key])
        assert says in capsys.readouterr().err
    Path("counts.json.sig").write_text("my notes")
    with pytest.raises(SystemExit):
        main([*COUNTS, "--ledger", "budget.ledger", "--out", "counts.json", "--sign", "mine.pem"])
    assert "counts.json.sig holds something that askance did not write" in capsys.readouterr().err
    assert ask.Ledger("budget.ledger").entries == ()
