"""The borders of packages: what crosses one is on the package's list of names, and nothing private does."""

import ast
import importlib
import inspect
from functools import cache
from pathlib import Path

import pytest

import askance

SOURCE = Path(askance.__file__).parents[1]
FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((SOURCE / "askance").rglob("*.py"))
}
PACKAGES = [name for name, path in FILES.items() if path.name == "__init__.py"]


@cache  # when it is first asked: not by everybody who only collects tests
def tree_of(module):
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


def package_of(module):
    return module if module in PACKAGES else module.rpartition(".")[0]


def imports(module):
    """Each name that a module takes from another, with the module that it is taken from."""
    for node in ast.walk(tree_of(module)):
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
        if not inspect.ismodule(getattr(listed, name)):  # a package that is listed as itself
            assert f"{package}.{name}" not in FILES, f"the module {package}.{name} would hide the name"


# Private by its name, but documented, or without any public door. Of our own names none is here.
NOT_OURS = {
    "_fields": "documented of named tuples",
    "_replace": "documented of named tuples",
    "_source_stamp": "numba has no setting for what makes cached code out of date",
    "_data_name": "numba has no setting for how cached code is named either, nor for the order in which it is written",
    "_load_index": "as _data_name",
    "_save_data": "as _data_name",
    "_save_index": "as _data_name",
    "_active_spark_context": "pyspark does not say otherwise whether another thread has a context",
    "_exit": "documented of os: how a forked child ends",
    "_gateway": "pyspark does not say otherwise whether Java runs already",
}
OWN_OBJECTS = {"self", "cls", "super()", "type(self)"}


def defined_by_classes(tree):
    """The names that classes give their objects: methods, fields, and what is set on an object."""
    for owner in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        for part in ast.walk(owner):
            if isinstance(part, ast.FunctionDef):
                yield part.name
            elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                yield part.attr
            elif isinstance(part, ast.keyword):  # vars(self).update(_given=...)
                yield str(part.arg)
        for part in owner.body:
            targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


@cache
def privates():
    """The private names of each package's objects.

    Functions and constants of a module are left out: one that happens to have the name of a foreign attribute would
    hide that the attribute is foreign.
    """
    found = {package: set() for package in PACKAGES}
    for module in FILES:
        found[package_of(module)] |= {name for name in defined_by_classes(tree_of(module)) if name.startswith("_")}
    return found


@pytest.mark.parametrize("module", FILES)
def test_no_private_attribute_is_read_across_a_border(module):
    own = privates()[package_of(module)]
    elsewhere = set().union(*(names for package, names in privates().items() if package != package_of(module)))
    for node in ast.walk(tree_of(module)):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        if ast.unparse(node.value) in OWN_OBJECTS or node.attr in NOT_OURS:
            continue  # what a class inherits is its own; mypy knows that it is there
        where = f"{module}, line {node.lineno}: {ast.unparse(node)}"
        assert node.attr in own, f"{where} is defined elsewhere: ask by a public name"
        assert node.attr not in elsewhere, f"{where} may be another package's: make it public, or rename it"


def test_every_exception_for_a_private_attribute_is_used():
    read = {node.attr for module in FILES for node in ast.walk(tree_of(module)) if isinstance(node, ast.Attribute)}
    assert set(NOT_OURS) <= read
