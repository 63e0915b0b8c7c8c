"""Where responses are kept: invitations that are spent once, reports without a link to them, and tallies of cells.

One batch of responses is one transaction. An invitation is spent, its report inserted and its cell counted in the same
one, or none of the three.
"""

import secrets
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from typing import Any, Self

from askance.errors import AskanceError, InvalidInput

_SECONDS_A_DAY = 24 * 60 * 60
_ID_BYTES = 16  # random: two of a million reports share one with probability 1e-27


class Outcome(Enum):
    """What became of a response."""

    STORED = "stored"
    SPENT = "spent"
    UNKNOWN = "unknown"
    EXPIRED = "expired"
    CLOSED = "closed"


class StoreUnavailable(AskanceError):
    """The database did not take a batch: a full disk, a lost connection. Nothing of it was acknowledged."""


@dataclass(frozen=True)
class Submission:
    """A response on its way into the store: the digest of its invitation, and its cell."""

    digest: bytes
    cell: str


@dataclass(frozen=True)
class Standing:
    """How the collection stands."""

    closed: bool
    invitations: int
    spent: int
    reports: int
    tallied: int
    days: tuple[tuple[int, int], ...]


def today() -> int:
    """Return the day as a number: days since 1970, in universal time."""
    return int(time.time() // _SECONDS_A_DAY)


def migrations(kind: str) -> list[tuple[int, str]]:
    """Return the numbered SQL files of a kind of database, in their order."""
    folder = files("askance.collector").joinpath("migrations", kind)
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), folder.joinpath(name).read_text(encoding="utf-8")) for name in found]


class Store(ABC):
    """A database of responses, as one thread uses it."""

    # -- what a database must say --------------------------------------------------------------------

    @abstractmethod
    def connect(self) -> None:
        """Open the database, and bring its tables up to date."""

    @abstractmethod
    def disconnect(self) -> None:
        """Let go of it, whatever state it is in."""

    @abstractmethod
    def begin(self) -> bool:
        """Begin a transaction that writes; return whether the study is closed, which it stays until the end."""

    @abstractmethod
    def commit(self) -> None:
        """Return when everything since :meth:`begin` is on disk."""

    @abstractmethod
    def rollback(self) -> None:
        """Forget everything since :meth:`begin`."""

    @abstractmethod
    def spend(self, digests: Sequence[bytes], day: int) -> set[bytes]:
        """Spend invitations; return those that were there, unspent and not expired."""

    @abstractmethod
    def unspendable(self, digests: Sequence[bytes], day: int) -> dict[bytes, Outcome]:
        """Return why invitations could not be spent; those that are unknown are left out."""

    @abstractmethod
    def add_invitations(self, digests: Sequence[bytes], expires: int | None) -> None:
        """Add invitations; those that are there stay as they are."""

    @abstractmethod
    def add_reports(self, reports: Sequence[tuple[bytes, str]], day: int, tally: Sequence[tuple[str, int]]) -> None:
        """Insert reports under their identifiers, count the day, and count the cells."""

    @abstractmethod
    def study_digest(self, digest: str) -> str:
        """Return the study that the database belongs to; the given one if it is new."""

    @abstractmethod
    def rows(self, query: str) -> list[Any]:
        """Return what a query that only reads finds."""

    @abstractmethod
    def close_study(self) -> None:
        """Take no more responses, and write the reports anew in random order."""

    @abstractmethod
    def delete_everything(self) -> None:
        """Forget invitations, reports and tallies; the study stays closed."""

    # -- what follows --------------------------------------------------------------------------------

    def standing(self) -> Standing:
        """Count everything, at one moment; days a moment later."""
        closed, invitations, spent, reports, tallied = self.rows(
            "SELECT (SELECT closed FROM study), (SELECT count(*) FROM invitations), "
            "(SELECT count(*) FROM invitations WHERE spent = 1), (SELECT count(*) FROM reports), "
            "(SELECT coalesce(sum(people), 0) FROM tallies)"
        )[0]
        days = self.rows("SELECT day, people FROM days ORDER BY day")
        return Standing(bool(closed), invitations, spent, reports, int(tallied), tuple(days))

    def tallies(self) -> dict[str, int]:
        """Return the number of people in each cell."""
        return dict(self.rows("SELECT cell, people FROM tallies"))

    def cells(self) -> list[str]:
        """Return the cell of each report, in an order that says nothing."""
        return shuffled(cell for (cell,) in self.rows("SELECT cell FROM reports"))

    def open_for(self, digest: str) -> Self:
        """Connect, and refuse a database that belongs to another study."""
        self.connect()
        found = self.study_digest(digest)
        if found != digest:
            self.disconnect()
            raise InvalidInput(
                f"{self} holds responses to another study, or to this one before a question, channel or covariate was "
                "changed",
                "a database of this very study",
                "Restore the study file, or collect into a new database: --store.",
            )
        return self

    def take(self, batch: Sequence[Submission], *, invited: bool = True) -> list[Outcome]:
        """Store a batch in one transaction, and return when it is on disk.

        Parameters
        ----------
        batch : sequence of Submission
        invited : bool
            Whether an invitation must be there already. Otherwise the first response with a token is taken.
        """
        # The same order in every process: two that hold some of the same rows wait for each other, and never in a ring.
        digests = sorted({submission.digest for submission in batch})
        day = today()
        if self.begin():
            earlier = self.unspendable(digests, day)  # whoever never heard that the answer arrived asks again
            self.rollback()
            spent_earlier = {digest for digest, outcome in earlier.items() if outcome is Outcome.SPENT}
            return [Outcome.SPENT if one.digest in spent_earlier else Outcome.CLOSED for one in batch]
        if not invited:
            self.add_invitations(digests, None)
        spent = self.spend(digests, day)
        left = [digest for digest in digests if digest not in spent]
        refused = self.unspendable(left, day) if left else {}
        outcomes, cells = [], []
        for submission in batch:
            if submission.digest in spent:
                spent.discard(submission.digest)  # the first of the batch; whoever comes again was here already
                refused[submission.digest] = Outcome.SPENT
                cells.append(submission.cell)
                outcomes.append(Outcome.STORED)
            else:
                outcomes.append(refused.get(submission.digest, Outcome.UNKNOWN))
        if cells:
            reports = sorted((secrets.token_bytes(_ID_BYTES), cell) for cell in cells)
            self.add_reports(reports, day, sorted(Counter(cells).items()))
        self.commit()
        return outcomes

    def invite(self, digests: Iterable[bytes], expires: int | None) -> None:
        """Add invitations, whole or not at all."""
        if self.begin():
            self.rollback()
            raise InvalidInput("invitations to a study that is closed", "one that still takes responses")
        self.add_invitations(sorted(digests), expires)
        self.commit()


def shuffled(items: Iterable[str]) -> list[str]:
    """Return items in an order drawn with the operating system's entropy."""
    mixed = list(items)
    secrets.SystemRandom().shuffle(mixed)
    return mixed


def new_identifiers(count: int) -> list[bytes]:
    """Return random identifiers in their order, which is that of the table."""
    return sorted(secrets.token_bytes(_ID_BYTES) for _ in range(count))
