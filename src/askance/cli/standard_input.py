"""A table on standard input: ``-`` in the place of a file."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

_MEMORY = Path("/dev/shm")  # a file there is never on a disk: the answers may be private
_PARQUET = b"PAR1"
_WRITTEN = ("--out", "--output", "--report", "--save", "--plot", "--units")  # options that name what is written
_files: list[str] = []  # what stands in place of - while a command runs: messages name none of it


@contextmanager
def standard_input(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Give the arguments with a file in place of ``-``: what comes on standard input, which is read once and whole.

    Files are read more than once, and by name. This one is readable by its owner alone, and gone at the end.
    """
    from askance.errors import InvalidInput

    written = [f"{option}=-" for option in _WRITTEN]
    for option, value in (*pairwise(arguments), *(one.split("=") for one in arguments if one in written)):
        if value == "-" and option in _WRITTEN:
            raise InvalidInput(
                f"{option} -", "the name of a file", "A - is standard input; text goes to standard output without it."
            )
    if "-" not in arguments:
        yield list(arguments)
        return
    if list(arguments).count("-") > 1:
        raise InvalidInput("- more than once", "one table on standard input, and files for the rest")
    if sys.stdin.isatty():
        raise InvalidInput("- and nothing on standard input", "a table, as in: cat table.csv | askance ...")
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    with tempfile.TemporaryDirectory(prefix="askance-", dir=_MEMORY if usable else None) as folder:
        start = sys.stdin.buffer.read(len(_PARQUET))
        path = Path(folder) / f"standard-input{'.parquet' if start == _PARQUET else '.csv'}"
        with path.open("wb") as file:
            file.write(start)
            shutil.copyfileobj(sys.stdin.buffer, file)
        _files.append(str(path))
        try:
            yield [str(path) if argument == "-" else argument for argument in arguments]
        finally:
            _files.remove(str(path))


def as_written(word: object) -> str:
    """Return a word of the command as it was written: ``-`` for the file in its place."""
    return "-" if str(word) in _files else str(word)


def without_places(message: str) -> str:
    """Return a message with "standard input" in place of a file that nobody has named."""
    for path in _files:
        message = message.replace(path, "standard input")
    return message
