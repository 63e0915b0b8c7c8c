"""Parquet files that notice when a bit of them has changed.

Everything before the footer is covered by checksums of small blocks (CRC-32: every single bit, and every burst of up to
32 bits), which are looked at whenever a block is read, and by SHA-256 of large segments, which ``askance verify`` looks
at. Both are in the footer, and the SHA-256 of the footer is in the footer as well: it is made with zeros in its own
place. So that one digest stands for the whole file, and reading some columns of some rows checks just these.
"""

import base64
import hashlib
import io
import json
import re
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from askance.errors import InvalidInput, ReleaseError
from askance.files.location import Location

SEAL = b"askance-seal"
DIGEST = b"askance-digest"
# Bytes: of a block, so that a column of a few kilobytes does not cost a megabyte to check, and of a segment, so that
# several threads can hash a file, and a file of a terabyte has a footer of some megabytes.
_BLOCK, _SEGMENT = 1 << 16, 1 << 24
_PIECE = 1 << 20  # bytes that are hashed at a time: as many as a core keeps close
_TAIL = 1 << 16  # bytes that are read to find the footer, which mostly fits
_MOST_FOOTER = 1 << 30  # bytes: of a table of a hundred thousand columns, and more than any other
_END = 8  # bytes after the footer: how long it is, and PAR1
_NO_DIGEST = b"sha256:" + b"0" * 64
# How Thrift writes the two texts of a pair: a field of a text (0x18), its length, its bytes.
_PLACE = re.compile(rb"\x18\x0easkance-digest\x18\x47sha256:([0-9a-f]{64})")
_REMEDY = "It was damaged on its way, or changed: copy it again, or ask for it again."


class SealingFile(io.RawIOBase):
    """A file that is written from its beginning to its end, and sums what goes through it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("wb")
        self._crcs: list[int] = []
        self._digests: list[str] = []
        self._crc, self._in_block = 0, 0
        self._sha, self._in_segment = hashlib.sha256(), 0
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        self._size += len(view)
        start = 0
        while start < len(view):
            piece = view[start : start + _BLOCK - self._in_block]
            self._crc = zlib.crc32(piece, self._crc)
            self._sha.update(piece)
            start += len(piece)
            self._in_block += len(piece)
            self._in_segment += len(piece)  # a segment is a whole number of blocks
            if self._in_block == _BLOCK:
                self._end_block()
            if self._in_segment == _SEGMENT:
                self._end_segment()
        return len(view)

    def seal(self, *, part: bool, rows: int) -> dict[bytes, bytes]:
        """Return what the footer says about all that was written so far."""
        size = self._size
        if self._in_block:
            self._end_block()
        if self._in_segment:
            self._end_segment()
        said = {
            "bytes": size,
            "rows": rows,
            "part": part,
            "block": _BLOCK,
            "crc32": base64.b64encode(np.array(self._crcs, dtype="<u4").tobytes()).decode(),
            "segment": _SEGMENT,
            "sha256": self._digests,
        }
        return {SEAL: json.dumps(said).encode(), DIGEST: _NO_DIGEST}

    def _end_block(self) -> None:
        self._crcs.append(self._crc)
        self._crc, self._in_block = 0, 0

    def _end_segment(self) -> None:
        self._digests.append(self._sha.hexdigest())
        self._sha, self._in_segment = hashlib.sha256(), 0

    def close(self) -> None:
        self._file.close()
        super().close()


class SealingWriter:
    """Write a Parquet file, and seal it when it is closed."""

    def __init__(self, path: Path, schema: pa.Schema, *, part: bool, **options: Any) -> None:
        self._path, self._part, self._rows = path, part, 0
        self._file = SealingFile(path)
        self._writer = pq.ParquetWriter(pa.PythonFile(self._file, mode="w"), schema, **options)

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        """Add a row group."""
        self._rows += table.num_rows
        self._writer.write_table(table, row_group_size=row_group_size)

    def close(self) -> None:
        """Write the footer, and the digest into it."""
        self._writer.add_key_value_metadata(self._file.seal(part=self._part, rows=self._rows))
        start = self._file.tell()
        self._writer.close()
        self._file.close()
        with self._path.open("r+b") as file:
            file.seek(start)
            footer = file.read()
            place = _place(footer)
            if place is None:
                raise InvalidInput("names that look like the end of a file", "names of columns without control bytes")
            file.seek(start + place.start(1))
            file.write(_digest(footer, place).encode())

    def abandon(self) -> None:
        """Close the file as it is."""
        self._writer.close()
        self._file.close()


@dataclass(frozen=True)
class Seal:
    """What a footer says about the file before it.

    Parameters
    ----------
    digest : str
        SHA-256 of the footer, which stands for the whole file.
    size : int
        Bytes before the footer.
    rows : int
    part : bool
        Whether the file is one of several that belong together.
    crcs : array
        The checksum of each block.
    digests : tuple of str
        SHA-256 of each segment.
    """

    digest: str
    size: int
    rows: int
    part: bool
    crcs: Any
    digests: tuple[str, ...]


@dataclass(frozen=True)
class End:
    """The end of a Parquet file: its bytes, where they begin, and the seal, if there is one."""

    content: bytes
    start: int
    seal: Seal | None


def read_end(file: pa.NativeFile, name: str) -> End:
    """Read the footer of a Parquet file, and check that it is as it was written."""
    size = file.size()
    start = max(0, size - _TAIL)
    content = bytes(file.read_at(size - start, start))
    if content[-4:] != b"PAR1" or len(content) < _END + 4:
        raise pa.ArrowInvalid(f"{name} does not end like a Parquet file")
    length = int.from_bytes(content[-_END:-4], "little") + _END
    if length > min(size, _MOST_FOOTER):
        raise pa.ArrowInvalid(f"{name} has a footer of {length:,} bytes, and is {size:,} bytes long")
    if length > len(content):
        content = bytes(file.read_at(length, size - length))
    content = content[-length:]
    return End(content, size - length, _read_seal(content, size - length, name))


def _place(footer: bytes) -> re.Match[bytes] | None:
    """Return where the digest of a footer is; nothing if that is in no place or in several."""
    found = list(_PLACE.finditer(footer))
    return found[0] if len(found) == 1 else None


def _digest(footer: bytes, place: re.Match[bytes]) -> str:
    digest = hashlib.sha256(footer[: place.start(1)])
    digest.update(b"0" * 64)
    digest.update(footer[place.end(1) :])
    return digest.hexdigest()


def _read_seal(footer: bytes, size: int, name: str) -> Seal | None:
    place = _place(footer)
    if place is None:
        if SEAL in footer or DIGEST in footer:
            raise ReleaseError(f"the seal of {name} cannot be read", "a file as it was written", _REMEDY)
        return None
    if _digest(footer, place) != place[1].decode():
        raise ReleaseError(f"the footer of {name} is not what its digest was made of", remedy=_REMEDY)
    return _seal_of(footer, place[1].decode(), size, name)


@lru_cache(maxsize=64)  # row groups of a file are read one by one, each time with its footer
def _seal_of(footer: bytes, digest: str, size: int, name: str) -> Seal:
    try:
        said = json.loads((pq.read_metadata(pa.BufferReader(b"PAR1" + footer)).metadata or {})[SEAL])
        crcs = np.frombuffer(base64.b64decode(said["crc32"], validate=True), dtype="<u4")
        seal = Seal(digest, said["bytes"], said["rows"], said["part"], crcs, tuple(said["sha256"]))
        blocks, segments = -(-size // _BLOCK), -(-size // _SEGMENT)
        sizes = (said["block"], said["segment"], seal.size, len(crcs), len(seal.digests))
        if sizes == (_BLOCK, _SEGMENT, size, blocks, segments):
            return seal
    except (LookupError, TypeError, ValueError, pa.ArrowException):
        pass
    raise ReleaseError(f"the seal of {name} does not fit the file", remedy=_REMEDY)


class CheckedFile(io.RawIOBase):
    """A sealed file of which nothing is read that was not checked."""

    def __init__(self, file: pa.NativeFile, end: End, seal: Seal, name: str) -> None:
        super().__init__()
        self._file, self._end, self._seal, self._name = file, end, seal, name
        self._checked = np.zeros(len(seal.crcs), dtype=bool)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._end.start + len(self._end.content)}[whence]
        self._at = start + offset
        return self._at

    def read(self, size: int = -1) -> Any:
        whole = self._end.start + len(self._end.content)
        stop = whole if size is None or size < 0 else min(self._at + size, whole)
        start, self._at = self._at, max(stop, self._at)
        if start >= self._end.start:
            return self._end.content[start - self._end.start : stop - self._end.start]
        if stop <= self._end.start:
            return self._rows(start, stop)
        return bytes(self._rows(start, self._end.start)) + self._end.content[: stop - self._end.start]

    def _rows(self, start: int, stop: int) -> Any:
        first, last = start // _BLOCK, -(-stop // _BLOCK)
        if self._checked[first:last].all():
            return self._file.read_at(stop - start, start)
        begin = first * _BLOCK
        view = memoryview(self._file.read_at(min(last * _BLOCK, self._end.start) - begin, begin))
        for block in range(first, last):
            place = (block - first) * _BLOCK
            if zlib.crc32(view[place : place + _BLOCK]) != self._seal.crcs[block]:
                at = f"between bytes {block * _BLOCK:,} and {min((block + 1) * _BLOCK, self._end.start):,}"
                raise ReleaseError(f"{self._name} is damaged {at}", remedy=_REMEDY)
        self._checked[first:last] = True
        return view[start - begin : stop - begin]


@contextmanager
def checked_parquet(place: Location, **options: Any) -> Iterator[tuple[pq.ParquetFile, Seal | None]]:
    """Open a Parquet file for the time of a ``with`` block: what is read of a sealed one is checked."""
    with place.opened() as file:
        end = read_end(file, str(place))
        source = file
        if end.seal is not None:
            source = pa.PythonFile(CheckedFile(file, end, end.seal, str(place)), mode="r")
        try:
            opened = pq.ParquetFile(source, **options)
        except UnicodeDecodeError as error:  # of a name in a damaged footer without a seal
            raise pa.ArrowInvalid(str(error)) from None
        with opened as parquet:
            yield parquet, end.seal


def check_segments(place: Location, threads: int) -> Seal | None:
    """Read a whole file and compare its SHA-256 digests; return its seal, if it has one."""
    with place.opened() as file:
        end = read_end(file, str(place))
        seal = end.seal
        if seal is None:
            return None

        def check(number: int) -> None:
            start, digest = number * _SEGMENT, hashlib.sha256()
            stop = min(start + _SEGMENT, end.start)
            for at in range(start, stop, _PIECE):
                digest.update(file.read_at(min(_PIECE, stop - at), at))
            if digest.hexdigest() != seal.digests[number]:
                raise ReleaseError(f"{place} is damaged after byte {start:,}", remedy=_REMEDY)

        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(check, range(len(seal.digests))):
                pass
        return seal
