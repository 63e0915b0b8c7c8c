"""Which part files belong to a folder: a part that is lost, added, exchanged or renamed is noticed.

The manifest is a file among the parts, whose name begins with an underscore, as names of files beside the data do.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import askance
from askance.channels.alphabet import listed
from askance.errors import InvalidInput, ReleaseError
from askance.files.location import UNREADABLE, Location
from askance.releases.restated import check_restated, content_digest, once_each
from askance.releases.sealed_parquet import Seal, read_end

NAME = "_manifest.json"
FORMAT = "askance-manifest"
VERSION = 1  # of the format of manifests
_REMEDY = "Copy the whole folder again, or ask for it again."


def write_manifest(folder: Path) -> None:
    """Write down which sealed files are in a folder, when all of them are there."""
    seals = {}
    for path in sorted(folder.iterdir()):
        place = Location.of(path)
        with place.opened() as file:
            seals[path.name] = read_end(file, str(place)).seal
    content = {"format": FORMAT, "version": VERSION, "askance": askance.__version__, "parts": _said(seals)}
    text = json.dumps(content | {"digest": content_digest(content)}, indent=1, ensure_ascii=False)
    (folder / NAME).write_text(text + "\n", encoding="utf-8", newline="\n")


def check_manifest(folder: Location, seals: Mapping[str, Seal | None]) -> None:
    """Refuse a folder whose files are not those of its manifest; and parts without their manifest."""
    parts = [name for name, seal in seals.items() if seal is not None and seal.part]
    try:
        present = NAME in [entry.name for entry in folder.entries()]
    except UNREADABLE:
        present = False
    if not present:
        if parts:
            raise ReleaseError(f"the folder {folder} has parts of a release and no {NAME}", "both", _REMEDY)
        return
    said = _read(folder.entry(NAME))
    lost = [name for name in said if name not in seals]
    added = [name for name in seals if name not in said]
    if lost or added:
        words = [f"lacks {listed(lost)}"] * bool(lost) + [f"has {listed(added)} besides"] * bool(added)
        raise ReleaseError(f"the folder {folder} {' and '.join(words)}", f"the {len(said)} files of {NAME}", _REMEDY)
    try:
        check_restated(said, _said(seals))
    except InvalidInput as error:
        raise ReleaseError(f"a file in {folder} is not the one of {NAME}: {error}", remedy=_REMEDY) from None


def digest_of_parts(seals: Mapping[str, Seal | None]) -> str | None:
    """Return what stands for all files of a folder; None if one of them has no seal."""
    if any(seal is None for seal in seals.values()):
        return None
    lines = sorted(f"{name}\0{seal.digest}\n" for name, seal in seals.items() if seal is not None)
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _said(seals: Mapping[str, Seal | None]) -> dict[str, Any]:
    return {
        name: {"digest": seal.digest, "rows": seal.rows} if seal is not None else None for name, seal in seals.items()
    }


def _read(place: Location) -> dict[str, Any]:
    try:
        content = json.loads(place.read("the manifest of a folder"), object_pairs_hook=once_each)
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise ReleaseError(f"{place} is not a manifest of version {VERSION}", remedy="Upgrade askance.")
        if content["digest"] == content_digest(content):
            return dict(content["parts"])
    except (LookupError, TypeError, ValueError, RecursionError):
        pass
    raise ReleaseError(f"{place} is damaged", remedy=_REMEDY)
