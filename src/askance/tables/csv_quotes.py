"""Quotation marks in CSV files: after one that is never closed, all rows that follow are a part of one cell."""

import csv
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from askance.errors import InvalidInput

_BLOCK_BYTES = 1 << 22  # at a time; no cell may be longer
_QUOTE = ord('"')
_LIMIT = threading.Lock()  # on the length of a cell, which the module csv has once for all threads


def check_quotes(opened: Callable[[], BinaryIO], delimiter: str, name: str) -> None:
    """Refuse a file in which a quotation mark is not closed where its cell ends.

    Arrow reads on to the next mark, or to the end: rows are lost, and their private answers stand in a public column.

    Parameters
    ----------
    opened : callable
        Opens the file, at its beginning.
    delimiter : str
    name : str
        What the file is called in a message.

    Examples
    --------
    >>> check_quotes(lambda: io.BytesIO(b'answer,town\\nyes,"Ayr\\nno,Bute\\n'), ",", "a.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.InvalidInput: a.csv cannot be read: the row that begins in line 2 has a quotation mark...
    """
    with opened() as file:
        if not _breaks_lines_in_quotes(file):
            return
    first_line = 1
    try:
        with _long_cells(), opened() as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            for _ in rows:
                first_line = rows.line_num + 1
    except csv.Error:
        raise InvalidInput(
            f"{name} cannot be read: the row that begins in line {first_line:,} has a quotation mark that is not "
            "closed where its cell ends",
            "a mark at both ends of a cell, and two marks for one inside it",
            "Otherwise the rows that follow would be a part of this cell.",
        ) from None


@contextmanager
def _long_cells() -> Iterator[None]:
    with _LIMIT:  # a second thread would set the limit back to that of the first, or while that still reads
        longest = csv.field_size_limit(_BLOCK_BYTES)
        try:
            yield
        finally:
            csv.field_size_limit(longest)


def _breaks_lines_in_quotes(file: BinaryIO) -> bool:
    """Whether a line ends after an odd number of marks: in a cell of several lines, or where something is wrong."""
    inside = 0
    for block in _blocks(file):
        if not inside and b'"' not in block:
            continue
        marks = np.frombuffer(block, np.uint8)
        is_inside = (np.cumsum(marks == _QUOTE, dtype=np.uint32) + inside) & 1
        if is_inside[(marks == ord("\n")) | (marks == ord("\r"))].any():
            return True
        inside = int(is_inside[-1])
    return bool(inside)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK_BYTES):
        yield block
