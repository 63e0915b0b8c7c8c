"""Names of a package that are loaded when they are first used.

A package lists its public names in ``__init__.pyi``, where type checkers and people read them, and nowhere else::

    from askance.channels.labels.surveys import Warner as Warner

Importing the package loads none of the modules, so that ``import askance`` and the command line start at once.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def public_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the stub beside it."""
    module = sys.modules[package]
    stub = Path(str(module.__file__)).with_suffix(".pyi")
    homes = {
        alias.asname or alias.name: node.module
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(module, name, value)
        return value

    names = sorted(homes)
    return __getattr__, lambda: names, names
