"""A built page loads nothing over the network: it reads the same on a train, and tells nobody who reads it."""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

ADDRESS = r"[\"']?((?:https?:)?//[^\"') >]+)"
LOADING = re.compile(
    rf"<(?:script|img|iframe|source|video|audio|embed|object)\b[^>]*\b(?:src|srcset|data)={ADDRESS}"
    rf"|<link\b[^>]*\bhref={ADDRESS}"
    rf"|(?:@import\s+|url\(){ADDRESS}"
)


def loaded_from_elsewhere(text: str) -> list[str]:
    """Return the addresses on the network that a page or a style sheet loads without being asked; links are not."""
    return ["".join(filter(None, found.groups())) for found in LOADING.finditer(text)]


def _check(app: Sphinx, failed: Exception | None) -> None:
    if failed or app.builder.format != "html":
        return
    for path in [*Path(app.outdir).rglob("*.html"), *Path(app.outdir, "_static").rglob("*.css")]:
        for address in loaded_from_elsewhere(path.read_text(encoding="utf-8")):
            logging.getLogger(__name__).warning("%s loads %s", path.relative_to(app.outdir), address)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
