"""The order in which a release of private labels is made: decided, paid for, drawn, written down."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from askance.entropy.bits import BitSource, system_bits
from askance.errors import AskanceError, AskanceWarning, ReleaseError
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.budget import Budget
from askance.mechanisms.ledger import Ledger
from askance.releases.json_release import JsonRelease

_WITHOUT = (
    "A release without a ledger: nobody counts what releases about the same people cost together, and their levels add "
    "up. Make a budget once, ledger = ask.Ledger.create(path, epsilon, data_set=name), and pass ledger=ledger (and the "
    "identifiers of the people) to every release about them. This is said once."
)
_warned: list[bool] = []  # whether this process has been told
Released = TypeVar("Released", bound=JsonRelease, covariant=True)


class Task(Protocol[Released]):
    """A release that is fully checked and decided, and not yet drawn."""

    @property
    def cost(self) -> Budget:
        """What it costs."""

    @property
    def losses(self) -> Sequence[PrivacyLoss]:
        """What its mechanisms give away."""

    @property
    def people(self) -> Any:
        """The identifiers of those whose labels these are, for the ledger; None if nobody said."""

    def describe(self) -> str:
        """Say what is released, for the ledger: nothing private."""

    def release(self, source: BitSource) -> Released:
        """Draw the noise."""


def paid_release(task: Task[Released], ledger: Ledger | str | os.PathLike[str] | None) -> Released:
    """Draw a release with the operating system's entropy; if there is a ledger, once it has paid.

    The budget is spent before any noise is drawn, and stays spent whatever happens afterwards.
    """
    if ledger is None:
        _warn_once()
        return task.release(system_bits())
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    entry = book.spend(task.cost.epsilon, task.cost.delta, what=task.describe(), people=task.people, losses=task.losses)
    release = task.release(system_bits())
    book.record(entry, release.digest)
    return release


def _warn_once() -> None:
    """Say what a ledger is for, the first time that a process releases something without one."""
    if not _warned:
        _warned.append(True)
        warnings.warn(_WITHOUT, AskanceWarning, stacklevel=4)


@contextmanager
def spent_all_the_same(out: str | os.PathLike[str], entry: int | None) -> Iterator[None]:
    """Say of whatever fails after it was paid for that it stays paid for."""
    if entry is None:
        yield
        return
    remedy = f"Entry {entry} of the ledger stays spent: what was drawn may have been seen. A new one costs again."
    try:
        yield
    except AskanceError as error:
        raise ReleaseError(str(error).rstrip("."), remedy=remedy) from error
    except OSError as error:
        raise ReleaseError(f"cannot write {out} ({error.strerror or error})", remedy=remedy) from error


@contextmanager
def nothing_handed_on() -> Iterator[None]:
    """Say nothing about ledgers: what is released inside is looked at and thrown away.

    Whether this process has been told stays as it was, so that its first real release is still warned of.
    """
    before = list(_warned)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AskanceWarning)
            yield
    finally:
        _warned[:] = before
