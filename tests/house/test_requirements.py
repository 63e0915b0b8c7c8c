"""Lowest versions that are declared, and the ones that everything is tested with, agree."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def numbers(version):
    return tuple(int(part) for part in re.findall(r"\d+", version))


def test_lowest_versions_are_pinned_from_what_is_declared():
    said = subprocess.run(
        [sys.executable, ROOT / "requirements" / "lowest.py"], capture_output=True, text=True, check=True
    )
    lowest = dict(re.sub(r"\[.*\]", "", line).split("==") for line in said.stdout.splitlines())
    del lowest["httpx"]  # which old versions of starlette test with: dev.txt has its successor
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert {one.partition(">=")[0] for one in declared} <= set(lowest)
    pins = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8").splitlines()
    pinned = {name.lower(): version for name, version in (pin.split("==") for pin in pins)}
    for name, version in lowest.items():
        assert numbers(version) <= numbers(pinned[name.lower()]), name
