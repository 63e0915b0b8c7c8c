"""What the build writes into the package about where it comes from: a page without a link that leads nowhere.

README.md names files beside it. On a package index nothing lies beside it: there, links lead to the repository, whose
address is given when the package is built (``make dist REPOSITORY=https://...``). A build that knows no address, as
everybody's own, leaves words in place of links.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESS = "ASKANCE_REPOSITORY"
# Groups may be nested, as on GitLab. A password would be published, and beside a branch there are no files.
_REPOSITORY = re.compile(r"https://[\w.:-]+(?!.*/(?:-|tree|blob)/)(?:/[\w.~-]+){2,}")
_FENCED = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)  # code, in which brackets are no links
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"[a-z]+:|#", re.IGNORECASE)
_PAGES = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}


class PackageIndexPage(MetadataHookInterface):
    """Fills in the description and the addresses of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add ``readme`` and, where the repository is known, ``urls``."""
        repository = os.environ.get(ADDRESS, "").rstrip("/").removesuffix(".git")
        if repository and not _REPOSITORY.fullmatch(repository):
            shown = re.sub(r"//.*@", "//...@", repository)
            raise ValueError(f"{ADDRESS}={shown!r}; expected https://HOST/OWNER/NAME, without user, branch or query")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        page = page_text(text, repository, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
        metadata["urls"] = {}
        if repository:
            pages = {name: _file(repository, f"v{metadata['version']}", path) for name, path in _PAGES.items()}
            metadata["urls"] = {"Repository": repository, **pages, "Issues": f"{repository}/issues"}


def page_text(text: str, repository: str, tag: str) -> str:
    """Return Markdown whose links lead to files of a repository, or are words where there is none."""

    def absolute(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        if _ELSEWHERE.match(target):
            return link[0]
        if not repository:
            return "" if picture else words
        return f"{picture}[{words}]({_file(repository, tag, target, 'raw' if picture else 'blob')})"

    return "".join(part if part.startswith("```") else _LINK.sub(absolute, part) for part in _FENCED.split(text))


def _file(repository: str, tag: str, path: str, kind: str = "blob") -> str:
    """Where GitHub and GitLab show a file of a tagged version."""
    return f"{repository}/{kind}/{tag}/{path}"
