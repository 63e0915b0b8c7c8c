"""Where files are: on this machine, or anywhere that fsspec reaches (``s3://``, ``gs://``, ``memory://``...).

Both look the same to the rest of askance, through Arrow's file systems. fsspec is imported for addresses only.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from askance.errors import AskanceError, InvalidInput, ReleaseError

StrPath = str | os.PathLike[str]

UNREADABLE = (pa.ArrowException, OSError)  # what reading raises when a file is not there, not whole, or not ours

# At least two letters, so that the C: of a Windows path is none.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


@dataclass(frozen=True)
class Location:
    """A file or a folder, by its path or address.

    Examples
    --------
    >>> Location.of("memory://survey/").entry("part-0.parquet")
    Location(text='memory://survey/part-0.parquet')
    """

    text: str

    @classmethod
    def of(cls, path: StrPath) -> Self:
        """Return where a path or an address points to."""
        text = os.fspath(path)
        if not cls(text).is_address:
            return cls(str(Path(text)))
        return cls(text if text.endswith("://") else text.rstrip("/"))

    @property
    def is_address(self) -> bool:
        """Whether it takes fsspec to get there."""
        return bool(_ADDRESS.match(self.text))

    def __str__(self) -> str:
        return self.text

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.text.partition("::")[0].replace(os.sep, "/").rpartition("/")[2]

    def entry(self, name: str) -> Self:
        """Return the place of something within this folder."""
        if not self.is_address:
            return type(self)(str(Path(self.text) / name))
        # In an address such as zip://inner::s3://outer.zip the path comes first.
        folder, chain, outer = self.text.partition("::")
        return type(self)(f"{folder}/{name}{chain}{outer}")

    def absolute(self) -> str:
        """Return a text that means the same place in another process."""
        return self.text if self.is_address else os.path.abspath(self.text)

    def info(self) -> pafs.FileInfo:
        """Return whether it is a file, a folder or nothing, and its size."""
        with self._system() as (system, path):
            return system.get_file_info(path)

    def entries(self) -> "list[Location]":
        """Return what is in the folder, in the order of the names."""
        with self._system() as (system, path):
            found = system.get_file_info(pafs.FileSelector(path))
        return [self.entry(name) for name in sorted(entry.base_name for entry in found)]

    def first_bytes(self, count: int) -> bytes:
        """Return how the file begins."""
        with self._system() as (system, path), system.open_input_file(path) as file:
            return bytes(file.read(count))

    def read(self, wanted: str) -> bytes:
        """Return the whole file; ``wanted`` is what messages say it should be."""
        try:
            if not self.is_address:
                return Path(self.text).read_bytes()
            with self._system() as (system, path), system.open_input_file(path) as file:
                return bytes(file.read())
        except UNREADABLE as error:
            reason = getattr(error, "strerror", None) or first_line(error)
            why = "there is no file" if isinstance(error, FileNotFoundError) else f"cannot read ({reason})"
            raise ReleaseError(f"{why} {self}", wanted) from None

    def read_json(self, wanted: str) -> Any:
        """Return what a JSON file holds; ``wanted`` is what messages say it should be."""
        try:
            return json.loads(self.read(wanted))
        except (ValueError, RecursionError):  # not UTF-8, not JSON, or such as nobody writes
            raise ReleaseError(f"{self} is not a JSON file", wanted) from None

    @contextmanager
    def opened(self) -> Iterator[pa.NativeFile]:
        """Open a file for reading at any place, for the time of a ``with`` block."""
        with self._system() as (system, path), system.open_input_file(path) as file:
            yield file

    @contextmanager
    def parquet(self, **options: Any) -> Iterator[pq.ParquetFile]:
        """Open a Parquet file for the time of a ``with`` block."""
        with self._system() as (system, path), pq.ParquetFile(path, filesystem=system, **options) as file:
            yield file

    @contextmanager
    def _system(self) -> Iterator[tuple[pafs.FileSystem, str]]:
        if not self.is_address:
            yield pafs.LocalFileSystem(), self.text
            return
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise InvalidInput(
                f"{self} is an address, and fsspec, which reads from addresses, is not installed",
                remedy="Install it: pip install fsspec",
            ) from None
        try:
            system, path = url_to_fs(self.text)
            yield pafs.PyFileSystem(pafs.FSSpecHandler(system)), path
        except (*UNREADABLE, AskanceError):
            raise
        except Exception as error:  # every remote file system has errors of its own
            raise OSError(f"{type(error).__name__}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says: Arrow tells long stories."""
    return str(error).partition("\n")[0]
