"""A dossier on disk: a page or Markdown, whole or not at all."""

import os
from pathlib import Path

from askance.errors import InvalidInput
from askance.files.kinds import DOSSIER, REPORT, FileKind
from askance.files.targets import check_target, write_text
from askance.reports.dossier import Dossier
from askance.reports.dossier_html import dossier_page

_KINDS = {".html": REPORT, ".htm": REPORT, ".md": DOSSIER}


def dossier_kind(path: Path) -> FileKind:
    """Return what will be written at a path, by its ending."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise InvalidInput(f"a dossier called {path}", "a name that ends with .html or .md")
    return kind


def write_dossier(path: str | os.PathLike[str], dossier: Dossier, *, overwrite: bool = False) -> Path:
    """Write a dossier as one HTML file (``.html``) or as Markdown (``.md``).

    Parameters
    ----------
    path : path
    dossier : Dossier
    overwrite : bool
        Replace an earlier dossier; refused otherwise.

    Examples
    --------
    >>> import os, tempfile
    >>> import askance as ask
    >>> from askance.reports import write_dossier
    >>> path = os.path.join(tempfile.mkdtemp(), "dossier.md")
    >>> written = write_dossier(path, ask.make_dossier(ask.Study.parse(ask.Study.template())))
    >>> written.read_text(encoding="utf-8").partition(chr(10))[0]
    '# Privacy dossier: Cheating in exams'
    """
    target = Path(path)
    kind = dossier_kind(target)
    check_target(target, kind, overwrite=overwrite)
    write_text(target, dossier_page(dossier) if kind is REPORT else dossier.to_markdown(), kind)
    return target
