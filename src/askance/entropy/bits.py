"""Where random bits come from: the operating system for people, a seeded generator for simulations.

Both sources hand out blocks of fresh, uniformly distributed bytes. The samplers in
``draws`` cannot tell them apart, so what is tested with a seeded generator is
what runs on real answers.
"""

import os
import threading
from inspect import currentframe
from types import FrameType
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from askance.errors import InvalidInput

BLOCK_BYTES = 1 << 16  # 64 KiB: large enough to amortise the call, small enough to stay in cache
REKEY_BLOCKS = 1 << 14  # a new key from the operating system after every gibibyte


class BitSource(Protocol):
    """Anything that gives fresh random bytes."""

    @property
    def rng(self) -> np.random.Generator | None:
        """The generator behind the bits of a simulation; None where they come from the operating system."""

    def block(self) -> NDArray[np.uint8]:
        """Return ``BLOCK_BYTES`` fresh random bytes; the array may be overwritten by the next call."""


class KeyStream:
    """AES-256 in counter mode, keyed by the operating system.

    A key stream is a cryptographically secure generator whose output costs a fraction of a
    nanosecond per byte. One instance must not be shared between threads; :func:`system_bits` keeps
    one per thread.
    """

    rng = None
    _plain = bytes(BLOCK_BYTES)

    def __init__(self) -> None:
        self._buffer = bytearray(BLOCK_BYTES)
        self._bytes = np.frombuffer(self._buffer, dtype=np.uint8)
        self._bytes.flags.writeable = False  # as a generator's: loops are compiled anew for what may be written to
        self._encryptor: CipherContext
        self._blocks_left = 0

    def _rekey(self) -> None:
        self._encryptor = Cipher(AES256(os.urandom(32)), CTR(os.urandom(16))).encryptor()
        self._blocks_left = REKEY_BLOCKS

    def block(self) -> NDArray[np.uint8]:
        if self._blocks_left == 0:
            self._rekey()
        self._blocks_left -= 1
        self._encryptor.update_into(self._plain, self._buffer)
        return self._bytes


class GeneratorBits:
    """Bits of a numpy Generator: reproducible, for planning and tests, never for real answers."""

    def __init__(self, rng: np.random.Generator) -> None:
        if not isinstance(rng, np.random.Generator):
            raise InvalidInput(
                f"simulate got {rng!r} as its source of randomness",
                "a numpy Generator",
                "Write rng=np.random.default_rng(seed). Real answers need privatize, which takes no seed.",
            )
        self.rng = rng

    def block(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.rng.bytes(BLOCK_BYTES), dtype=np.uint8)


class _PerThread(threading.local):
    stream: KeyStream | None = None
    owner: tuple[int, int] = (0, 0)
    tape: BitSource | None = None


_per_thread = _PerThread()
_forks = 0  # of this process and those it came from, since this module was loaded


def _count_fork() -> None:
    global _forks
    _forks += 1
    _per_thread.tape = None


# A forked child inherits its parent's key: two processes would then draw the same bits, and the
# difference of two respondents' reports would reveal their answers. The pid catches forks made
# outside Python, the counter catches a pid that is used again.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def caller(frame: FrameType | None) -> str:
    """Return the name of the module that called the function of a frame."""
    back = None if frame is None else frame.f_back
    return "a program" if back is None else str(back.f_globals.get("__name__", "a program"))


def play(tape: BitSource | None) -> None:
    """Let this thread draw from a tape, or no longer; only an audit may: see :class:`askance.entropy.Replay`."""
    if caller(currentframe()) != "askance.entropy.replay":
        raise InvalidInput(
            "other bits in place of the operating system's entropy", "askance.entropy.Replay, in an audit"
        )
    _per_thread.tape = tape


def system_bits() -> BitSource:
    """Return this thread's key stream, made anew after a fork."""
    if _per_thread.tape is not None:
        return _per_thread.tape
    owner = (os.getpid(), _forks)
    if _per_thread.stream is None or _per_thread.owner != owner:
        _per_thread.stream = KeyStream()
        _per_thread.owner = owner
    return _per_thread.stream
