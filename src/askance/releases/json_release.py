"""Releases that are one JSON file: written whole or not at all, known to a ledger by their digest."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from askance.errors import ReleaseError
from askance.files.kinds import FileKind
from askance.files.location import Location, StrPath
from askance.files.targets import check_target, write_text


class JsonRelease(ABC):
    """What such releases have in common: a format and a version, and the way to a file and back."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]
    WHAT: ClassVar[str]
    FOR: ClassVar[str]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""

    @classmethod
    @abstractmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote."""

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    @property
    def digest(self) -> str:
        """SHA-256 of the file, by which a ledger knows it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def write(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Write a JSON file, whole or not at all; only a release of the same kind is ever overwritten."""
        kind = FileKind.of_format(self.FORMAT)
        check_target(Path(path), kind, overwrite=overwrite)
        write_text(Path(path), self.to_json(), kind)

    @classmethod
    def read(cls, path: StrPath) -> Self:
        """Read what :meth:`write` wrote."""
        content = Location.of(path).read_json(cls.WHAT)
        if not isinstance(content, dict) or content.get("format") != cls.FORMAT:
            raise ReleaseError(f"{path} is not {cls.WHAT}")
        if content.get("version") != cls.VERSION:
            raise ReleaseError(
                f"{path} has format version {content.get('version')}", f"version {cls.VERSION}", "Upgrade askance."
            )
        try:
            return cls.from_dict(content)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
            raise ReleaseError(
                f"{path} is damaged ({type(error).__name__}: {error})", remedy="Ask for it again."
            ) from error
