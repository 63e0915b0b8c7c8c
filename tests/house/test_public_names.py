"""The public face: every name imports, is documented with an example that runs, and costs nothing until used."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import askance

HEAVY = {"numba", "sklearn", "pyarrow", "matplotlib", "pandas", "formulaic", "polars"} | {"scipy.stats"}
MODULES = ["askance"] + [
    module.name
    for module in pkgutil.walk_packages(askance.__path__, "askance.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", askance.__all__)
def test_every_public_name_imports(name):
    assert getattr(askance, name) is not None
    assert name in dir(askance)


@pytest.mark.parametrize("name", [name for name in askance.__all__ if name != "__version__"])
def test_every_public_name_is_documented_with_an_example(name):
    value = getattr(askance, name)
    text = value.__doc__
    assert text
    assert text.strip()
    if not (inspect.isclass(value) and issubclass(value, BaseException)):
        assert ">>>" in text, f"the docstring of {name} has no runnable example"


def test_every_module_imports():
    for module in MODULES:
        importlib.import_module(module)


def has_examples(module):
    path = Path(askance.__file__).parents[1].joinpath(*module.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ">>>" in source.read_text(encoding="utf-8")


# To search a module for examples takes longer than to run most of them, and three of four modules have none.
@pytest.mark.parametrize("module", [module for module in MODULES if has_examples(module)])
def test_examples_in_docstrings_run(module):
    with np.printoptions(legacy=False):
        result = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        askance.Nonsense  # noqa: B018
    assert not hasattr(askance, "Nonsense")


def imported_by(statement):
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("statement", ["import askance", "import askance.cli.app"])
def test_heavy_imports_wait_until_they_are_needed(statement):
    assert imported_by(statement) & HEAVY == set()


def test_the_check_of_imports_would_notice_one():
    assert "numba" in imported_by("import askance; askance.Warner(0.8).privatize(['no'])")
