"""One page for each class and function of ``api.md``, and tables that lead to them in its place.

``api.md`` stays the one list of what is documented: it can be read, searched and tested without a build. Before pages
are read, each of its ``auto...`` entries becomes a page of its own in ``reference/generated/``, which git ignores.
"""

import re
from pathlib import Path
from typing import NamedTuple

from sphinx.application import Sphinx

SOURCE = "api"
FOLDER = "reference/generated"
ENTRY = re.compile(r"^\.\. auto(?P<kind>class|function|exception):: (?P<address>\S+)\n(?P<options>(?:   :.*\n)*)", re.M)
BLOCK = re.compile(r"^```\{eval-rst\}\n(?P<text>.*?)^```$", re.M | re.S)


class Entry(NamedTuple):
    """What is documented, and which of its members."""

    kind: str
    address: str
    options: str

    @property
    def name(self) -> str:
        return self.address.rpartition(".")[2]

    def page(self) -> str:
        """Return the page; it stands in no table of contents, so its first line leads back."""
        lead = f":orphan:\n\n{self.name}\n{'=' * len(self.name)}\n\n:doc:`Python reference </{SOURCE}>`\n\n"
        return f"{lead}.. auto{self.kind}:: {self.address}\n{self.options}"


def entries(text: str) -> list[Entry]:
    """Return the entries of the reference, in its order."""
    return [Entry(**found.groupdict()) for found in ENTRY.finditer(text)]


def tables(text: str) -> str:
    """Return the reference with a table of names and first sentences where it has lists of entries."""

    def table(block: re.Match[str]) -> str:
        listed = entries(block["text"])
        if not listed:
            return block[0]
        rows = "".join(f"   ~{entry.address}\n" for entry in listed)
        rest = ENTRY.sub("", block["text"])
        return f"```{{eval-rst}}\n{rest}\n.. currentmodule:: None\n\n.. autosummary::\n   :nosignatures:\n\n{rows}```"

    return BLOCK.sub(table, text)


def _write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    text = (Path(app.srcdir) / f"{SOURCE}.md").read_text(encoding="utf-8")
    pages = {folder / f"{entry.address}.rst": entry.page() for entry in entries(text)}
    for old in set(folder.glob("*.rst")) - set(pages):
        old.unlink()
    for path, page in pages.items():
        # An unchanged page keeps its date, and is not built again.
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def _show_tables(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == SOURCE:
        source[0] = tables(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _show_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
