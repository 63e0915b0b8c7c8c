"""Releases that are one JSON file: written whole or not at all, known to a ledger by their digest."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from askance.errors import InvalidInput, ReleaseError
from askance.files.kinds import FileKind
from askance.files.location import Location, StrPath
from askance.files.targets import check_target, write_text
from askance.releases.restated import DIGEST, check_digest, check_restated, content_digest, once_each

# What reading raises where something is missing, of another type, or of a size that nothing can have.
_MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError, RecursionError)


class JsonRelease(ABC):
    """What such releases have in common: a format and a version, and the way to a file and back."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]
    WHAT: ClassVar[str]
    FOR: ClassVar[str]

    @abstractmethod
    def restated(self) -> dict[str, Any]:
        """Return all that there is to say, JSON-able, but the digest of it."""

    @classmethod
    @abstractmethod
    def from_facts(cls, fields: Mapping[str, Any]) -> Self:
        """Read what :meth:`restated` returned. What follows from the rest is recomputed rather than read."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping, with a digest of its content."""
        content = self._content
        return content | {DIGEST: content_digest(content)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote: refused if anything that is said does not follow from the rest."""
        if DIGEST in fields or fields.get("version") != 1:  # what askance 0.1.0 wrote has none
            check_digest(fields)
        release = cls.from_facts(fields)
        content, restated = {name: value for name, value in fields.items() if name != DIGEST}, release.restated()
        if fields.get("version") == 1:
            restated["guarantee"].pop("proof", None)  # which page proves it was not said then
        check_restated(content, restated)
        vars(release)["_content"] = content  # to the last digit, which may be another on another machine
        return release

    @cached_property
    def _content(self) -> dict[str, Any]:
        return self.restated()

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    @property
    def digest(self) -> str:
        """SHA-256 of the content, by which a ledger knows it."""
        return content_digest(self._content)

    def write(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Write a JSON file, whole or not at all; only a release of the same kind is ever overwritten."""
        kind = FileKind.of_format(self.FORMAT)
        check_target(Path(path), kind, overwrite=overwrite)
        write_text(Path(path), self.to_json(), kind)

    @classmethod
    def read(cls, path: StrPath) -> Self:
        """Read what :meth:`write` wrote."""
        content = read_json_object(Location.of(path), cls.WHAT)
        if not isinstance(content, dict) or content.get("format") != cls.FORMAT:
            raise ReleaseError(f"{path} is not {cls.WHAT}")
        version = content.get("version")
        if type(version) is not int or not 1 <= version <= cls.VERSION:
            raise ReleaseError(
                f"{path} has format version {version!r:.40}", f"version 1 to {cls.VERSION}", "Upgrade askance."
            )
        try:
            return cls.from_dict(content)
        except InvalidInput as error:
            raise ReleaseError(f"{path} is damaged, or was changed: {error}") from error
        except _MALFORMED as error:
            raise ReleaseError(
                f"{path} is damaged ({type(error).__name__}: {error})", remedy="Ask for it again."
            ) from error


def read_json_object(place: Location, wanted: str) -> Any:
    """Return what a JSON file holds, in which every name comes once."""
    try:
        return json.loads(place.read(wanted), object_pairs_hook=once_each)
    except InvalidInput as error:
        raise ReleaseError(f"{place} is damaged: {error}") from None
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or such as nobody writes
        raise ReleaseError(f"{place} is not a JSON file", wanted) from None
