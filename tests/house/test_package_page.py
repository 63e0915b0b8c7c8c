"""The page on a package index: no link of it leads nowhere."""

import os
import re
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import askance as ask

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://example.org/people/askance"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def built(folder, repository):
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | {"ASKANCE_REPOSITORY": repository}, capture_output=True, text=True
    )


def metadata(folder):
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(packed.read(name))


def prose(page):
    return "".join(re.split(r"^```.*?^```$", page, flags=re.MULTILINE | re.DOTALL))


def test_every_link_and_picture_leads_to_a_file_of_the_repository(tmp_path):
    done = built(tmp_path, REPOSITORY)
    assert done.returncode == 0, done.stderr
    told = metadata(tmp_path)
    page, readme = told.get_payload(), (ROOT / "README.md").read_text(encoding="utf-8")
    links = LINK.findall(prose(page))
    assert len(links) == len(LINK.findall(prose(readme))) > 10
    addresses = dict(one.split(", ") for one in told.get_all("Project-URL"))
    assert set(addresses) == {"Repository", "Documentation", "Changelog", "Issues"}
    for link in [*links, addresses["Documentation"], addresses["Changelog"]]:
        tagged = re.fullmatch(rf"{REPOSITORY}/(blob|raw)/v{re.escape(ask.__version__)}/(.+)", link)
        assert tagged, link
        assert (ROOT / tagged[2]).is_file(), link
        assert (tagged[1] == "raw") == link.endswith(".png")
    unchanged = re.findall(r"^```.*?^```$", readme, flags=re.MULTILINE | re.DOTALL)
    assert [code for code in unchanged if code not in page] == []


def test_a_build_that_knows_no_address_has_words_in_place_of_links(tmp_path):
    assert built(tmp_path, "").returncode == 0
    told = metadata(tmp_path)
    page = prose(told.get_payload())
    assert (LINK.findall(page), told.get_all("Project-URL")) == ([], None)
    assert "the survey\nguide, planning." in page  # a link in the README, which ends in ...](docs/planning.md).


def test_an_address_to_clone_from_is_one_to_read_at(tmp_path):
    assert built(tmp_path, f"{REPOSITORY}.git/").returncode == 0
    assert f"Repository, {REPOSITORY}" in metadata(tmp_path).get_all("Project-URL")


WRONG = (
    "example.org/askance",
    "https://example.org",
    "https://example.org/askance",
    "http://example.org/a/b",
    "https://user:password@example.org/a/b",
    "https://example.org/a/b/tree/main",
    "https://example.org/a/b?tab=readme",
)


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_address_of_a_repository_is_refused(tmp_path, wrong):
    done = built(tmp_path, wrong)
    assert done.returncode != 0
    assert "expected https://HOST/OWNER/NAME" in done.stderr + done.stdout
    assert "password" not in done.stderr + done.stdout
    assert not list(tmp_path.iterdir())
