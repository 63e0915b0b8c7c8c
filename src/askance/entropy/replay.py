"""Random bytes that can be handed out again: for audits, and for nothing else.

Draw reports twice from the same bytes, and they must be the same; change one label, and nothing but that label's part
may change. What differs was decided by something else than the bytes: that is how a channel that tells the truth about
one person in a thousand is found at once.

A :class:`Tape` cannot be used to seed real reports:

- its bytes are never given from outside: they come from the operating system when the tape is made, or are one byte
  again and again;
- it cannot be copied, pickled or read;
- :class:`Replay`, which makes ``system_bits`` hand out a tape, refuses to be used by anything but the audits of
  ``askance.planning.auditing``, holds in one thread only, and ends at a fork.
"""

from inspect import currentframe
from types import TracebackType
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from askance.entropy.bits import BLOCK_BYTES, KeyStream, caller, play
from askance.errors import AskanceError, InvalidInput

_AUDITS = "askance.planning.auditing"
_MOST_BLOCKS = 4096  # 256 MiB of bytes: a draw that asks for more never ends


class TapeEnded(AskanceError):
    """A draw asked for more bytes than a tape has: with one byte again and again, some draws never end."""


class Tape:
    """Random bytes, the same each time that it is played.

    Parameters
    ----------
    byte : int, optional
        Repeat this byte; bytes of the operating system, drawn once, if not given.
    most_blocks : int
        How many blocks there are at most.
    """

    rng = None

    def __init__(self, byte: int | None = None, most_blocks: int = _MOST_BLOCKS) -> None:
        self._byte, self._most = byte, most_blocks
        self._stream = KeyStream()
        self._blocks: list[NDArray[np.uint8]] = []
        self._next = 0

    @property
    def was_read(self) -> bool:
        """Whether any bytes were asked for since the tape was rewound."""
        return self._next > 0

    def rewind(self) -> None:
        """Begin again with the first byte."""
        self._next = 0

    def block(self) -> NDArray[np.uint8]:
        """Return the next ``BLOCK_BYTES`` bytes."""
        if self._next >= self._most:
            raise TapeEnded(f"a draw that needs more than {self._most} blocks of random bytes")
        self._next += 1
        if self._byte is not None:
            return np.frombuffer(bytes([self._byte]) * BLOCK_BYTES, dtype=np.uint8)
        if self._next > len(self._blocks):  # nobody may write to it, or a draw that is repeated would be another
            self._blocks.append(np.frombuffer(self._stream.block().tobytes(), dtype=np.uint8))
        return self._blocks[self._next - 1]

    def __reduce__(self) -> NoReturn:
        raise InvalidInput("a copy of a tape of random bytes", "bytes that exist once")


class Replay:
    """While it lasts, the operating system's entropy is a tape, in this thread.

    Examples
    --------
    >>> import askance as ask
    >>> from askance.entropy.replay import Replay, Tape
    >>> with Replay(Tape()):  # doctest: +ELLIPSIS
    ...     ask.Warner(0.8).privatize(["yes"])
    Traceback (most recent call last):
    ...
    askance.errors.InvalidInput: a replay of random bytes in ...; expected an audit: askance.audit(channel)...
    """

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def __enter__(self) -> Tape:
        who = caller(currentframe())
        if who != _AUDITS and not who.startswith(f"{_AUDITS}."):
            raise InvalidInput(
                f"a replay of random bytes in {who}",
                "an audit: askance.audit(channel)",
                "Real reports are drawn from the operating system's entropy, and simulations take a generator.",
            )
        self._tape.rewind()
        play(self._tape)
        return self._tape

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        play(None)
