"""Names of a package that are loaded when they are first used.

A package lists its public names in ``__init__.pyi``, where type checkers and people read them, and nowhere else::

    from askance.channels.labels.surveys import Warner as Warner

Importing the package loads none of the modules, so that ``import askance`` and the command line start at once.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def public_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the stub beside it."""
    module = sys.modules[package]
    # Lines are split by hand: a parser and a path would take longer to load than everything else here.
    with open(f"{module.__file__}i", encoding="utf-8") as stub:
        lines = [line.split() for line in stub]
    homes = {words[3]: words[1] for words in lines if words[:1] == ["from"]}

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        home = import_module(homes[name])
        # A package may be a public name of the package that it is in.
        value = import_module(f"{package}.{name}") if home is module else getattr(home, name)
        setattr(module, name, value)
        return value

    names = sorted(homes)
    return __getattr__, lambda: names, names
