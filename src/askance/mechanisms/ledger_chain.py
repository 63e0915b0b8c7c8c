"""What happened to a ledger, each event sealed by a hash of itself and of all before it.

Who changes an old event must change every hash after it. Who cuts off the last events, or puts back an older copy of
the file, leaves no trace in the file itself: that is what a receipt is for, the head of the chain at some moment, kept
somewhere else.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from askance.errors import InvalidInput, ReleaseError

FORMAT = "askance-ledger-receipt"
VERSION = 1  # of the format of receipts
_REMEDY = "Ask who holds the file; an untouched copy goes on from where it was."


@dataclass(frozen=True)
class Event:
    """Something that was spent, or the release that came of it.

    Parameters
    ----------
    sequence : int
        1, 2, ... in the order of what happened.
    kind : {"spend", "record"}
    entry : int
        The number of the spend.
    time : str
    content : str
        All about it, as JSON.
    seal : str
        The hash of this event and of all before it.
    """

    sequence: int
    kind: str
    entry: int
    time: str
    content: str
    seal: str

    @property
    def facts(self) -> dict[str, Any]:
        """What the content says."""
        facts: dict[str, Any] = json.loads(self.content)
        return facts

    @classmethod
    def after(cls, head: str, sequence: int, kind: Literal["spend", "record"], entry: int, **facts: Any) -> Self:
        """Return the event that comes now."""
        return cls.sealed(head, sequence, kind, entry, now(), json.dumps(facts, sort_keys=True))

    @classmethod
    def sealed(cls, head: str, sequence: int, kind: str, entry: int, time: str, content: str) -> Self:
        """Return an event with its seal."""
        return cls(sequence, kind, entry, time, content, seal(head, sequence, kind, entry, time, content))


def seal(*parts: str | int | None) -> str:
    """Return the SHA-256 of some parts, unambiguously written one after the other."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode("ascii")).hexdigest()


def check_chain(start: str, events: Sequence[Event], where: str) -> None:
    """Refuse events of which one is not sealed by those before it."""
    head = start
    for number, event in enumerate(events, start=1):
        expected = Event.sealed(head, number, event.kind, event.entry, event.time, event.content)
        if event != expected:
            raise ReleaseError(
                f"{where} was changed: event {number} does not follow from those before it", remedy=_REMEDY
            )
        head = event.seal


@dataclass(frozen=True)
class Receipt:
    """The head of a ledger at some moment, to be kept where the ledger is not.

    Parameters
    ----------
    data_set, created : str
        Which ledger it is.
    events : int
        How many events there were.
    head : str
        The seal of the last of them.
    time : str
        When the receipt was made.
    """

    data_set: str
    created: str
    events: int
    head: str
    time: str

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {"format": FORMAT, "version": VERSION} | asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote."""
        if not isinstance(fields, Mapping) or fields.get("format") != FORMAT:
            raise InvalidInput("something that is no receipt of a ledger", "what askance ledger receipt wrote")
        if fields.get("version") != VERSION:
            raise InvalidInput(
                f"a receipt of version {fields.get('version')!r}", f"version {VERSION}", "Upgrade askance."
            )
        values = {name: fields.get(name) for name in ("data_set", "created", "events", "head", "time")}
        texts = [values[name] for name in ("data_set", "created", "head", "time")]
        number = values["events"]
        if not all(isinstance(text, str) for text in texts) or type(number) is not int or number < 0:
            raise InvalidInput("a receipt with parts that are missing or damaged", "what askance ledger receipt wrote")
        return cls(**values)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a receipt from a file."""
        try:
            fields = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ReleaseError(f"cannot read {path} ({error.strerror or error})") from error
        except ValueError:
            raise InvalidInput(
                f"{path}, which is no receipt of a ledger", "what askance ledger receipt wrote"
            ) from None
        return cls.from_dict(fields)

    def check(self, start: str, events: Sequence[Event], where: str) -> None:
        """Refuse a ledger that does not go on from where this receipt was made."""
        head = events[self.events - 1].seal if 0 < self.events <= len(events) else start
        if len(events) < self.events or head != self.head:
            raise ReleaseError(
                f"{where} is not the ledger that this receipt of {self.time} is for, or it was set back: the receipt "
                f"knows of {self.events} event{'s' * (self.events != 1)}, the ledger has {len(events)}",
                remedy=_REMEDY,
            )


def now() -> str:
    """Return universal time, as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")
