"""Benchmarks are run by people, not by tests: but what they import is there."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__main__")


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_loads(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    importlib.import_module(f"benchmarks.{name}" if name != "__init__" else "benchmarks")
