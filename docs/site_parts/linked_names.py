"""Names of classes lead to their pages: in type hints, in docstrings, and wherever a page writes one as code."""

import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from site_parts.reference_pages import SOURCE, entries

# `Warner`, `Warner(0.8)`, `ask.plan(...)`: a function only where its module is named, since commands have such names.
WRITTEN = re.compile(r"(?P<module>(?:ask|askance)\.)?(?P<name>[A-Za-z_]\w*)(?:\(.*\))?", re.S)


@cache
def addresses(srcdir: str) -> dict[str, str]:
    """Return the address of every documented name that only one thing has."""
    listed = entries((Path(srcdir) / f"{SOURCE}.md").read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for entry in sorted(listed, key=lambda entry: entry.address.count(".")):  # what askance itself lists comes first
        found.setdefault(entry.name, entry.address)
    return found


@cache
def homes(srcdir: str) -> dict[str, str]:
    """Return where a class is documented by where it is defined: type hints name the latter."""
    found = {}
    for address in addresses(srcdir).values():
        module, _, name = address.rpartition(".")
        value = getattr(importlib.import_module(module), name)
        found[f"{value.__module__}.{value.__qualname__}"] = address
    return found


class LinkWrittenNames(SphinxTransform):
    """Make a link of every class that a page names as code, outside of headings and other links."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        known, own = addresses(str(self.app.srcdir)), self.env.docname.rpartition("/")[2]
        for literal in list(self.document.findall(nodes.literal)):
            written = WRITTEN.fullmatch(literal.astext())
            if written is None or isinstance(literal.parent, nodes.title | nodes.reference | pending_xref):
                continue
            address = known.get(written["name"])
            if address is None or address == own or not (written["module"] or written["name"][0].isupper()):
                continue
            link = pending_xref("", refdomain="py", reftype="obj", reftarget=address, refexplicit=True, refwarn=True)
            literal.replace_self(link)
            link += literal


def _find(app: Sphinx, env: Any, node: pending_xref, content: nodes.Node) -> nodes.Node | None:
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    address = homes(str(app.srcdir)).get(target) or addresses(str(app.srcdir)).get(target.rpartition(".")[2])
    if address is None or address == target:
        return None
    python = env.get_domain("py")
    return python.resolve_xref(env, node["refdoc"], app.builder, "obj", address, node, content)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(LinkWrittenNames)
    app.connect("missing-reference", _find)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
