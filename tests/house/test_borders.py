"""The borders of packages: what crosses one is on the package's list of names, and nothing private does."""

import ast
import importlib
from pathlib import Path

import pytest

import askance

SOURCE = Path(askance.__file__).parents[1]
FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((SOURCE / "askance").rglob("*.py"))
}
PACKAGES = [name for name, path in FILES.items() if path.name == "__init__.py"]
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def package_of(module):
    return module if module in PACKAGES else module.rpartition(".")[0]


def imports(module):
    """Each name that a module takes from another, with the module that it is taken from."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom) and node.module in FILES:
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("module", FILES)
def test_what_crosses_a_border_is_on_the_list_of_its_package(module):
    for source, name in imports(module):
        home = package_of(source)
        if home not in (package_of(module), "askance") and source not in PACKAGES:
            listed = importlib.import_module(home)
            assert not name.startswith("_"), f"{module} takes {name} from {source}"
            assert name in getattr(listed, "__all__", []), (
                f"{home}/__init__.pyi does not list {name}, which {module} uses"
            )


@pytest.mark.parametrize("package", PACKAGES)
def test_every_listed_name_loads_and_no_module_stands_in_its_way(package):
    listed = importlib.import_module(package)
    for name in getattr(listed, "__all__", []):
        assert hasattr(listed, name)
        assert f"{package}.{name}" not in FILES, f"the module {package}.{name} would hide the name"
