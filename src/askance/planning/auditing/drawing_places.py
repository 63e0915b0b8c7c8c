"""The same truths hidden again: in the next call, by another thread, and in a forked process.

Random bits that are used twice are the worst mistake that a sampler can make, and each of these is a way to make it.
"""

import io
import os
import select
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from askance.arrays import Floats

_SECONDS = 30.0  # after which a child that says nothing is given up: drawing takes a fraction of one
_PIECE = 1 << 16  # bytes that a pipe holds


def in_another_thread(draw: Callable[[], Floats]) -> Floats | None:
    """Draw in a thread of its own; None if that failed."""
    found: list[Floats] = []

    def work() -> None:
        found.append(draw())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0] if found else None


def in_a_child(draw: Callable[[], Floats]) -> Floats | None:
    """Draw in a forked process; None where there are none, or if it did not answer."""
    if not hasattr(os, "fork"):
        return None
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child draws and ends: it takes no lock that another thread may hold
        child = os.fork()
    if child == 0:
        _answer(draw, reader, writer)
    os.close(writer)
    try:
        answer = _read(reader)
    finally:
        os.close(reader)
        _end(child)
    try:
        return np.asarray(np.load(io.BytesIO(answer), allow_pickle=False))
    except (ValueError, EOFError, OSError):
        return None


def _answer(draw: Callable[[], Floats], reader: int, writer: int) -> Any:
    """What the child does; it never returns."""
    try:
        os.close(reader)
        kept = io.BytesIO()
        np.save(kept, draw(), allow_pickle=False)
        answer = memoryview(kept.getvalue())
        while answer:
            answer = answer[os.write(writer, answer) :]
    finally:
        os._exit(0)


def _read(reader: int) -> bytes:
    pieces: list[bytes] = []
    until = time.monotonic() + _SECONDS
    while (left := until - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
        piece = os.read(reader, _PIECE)
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces)


def _end(child: int) -> None:
    ended, _ = os.waitpid(child, os.WNOHANG)
    if not ended:
        time.sleep(0.01)
        ended, _ = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, 9)
        os.waitpid(child, 0)
