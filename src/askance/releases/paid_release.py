"""The order in which a release of private labels is made: decided, paid for, drawn, written down."""

import os
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from askance.entropy.bits import BitSource, system_bits
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.budget import Budget
from askance.mechanisms.ledger import Ledger
from askance.releases.json_release import JsonRelease

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
        return task.release(system_bits())
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    entry = book.spend(task.cost.epsilon, task.cost.delta, what=task.describe(), people=task.people, losses=task.losses)
    release = task.release(system_bits())
    book.record(entry, release.digest)
    return release
