"""What a ledger was spent on: its events, read."""

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from askance.errors import InvalidInput, ReleaseError
from askance.mechanisms.accounting.composition import Composition
from askance.mechanisms.accounting.filters import Spend
from askance.mechanisms.accounting.level_loss import LevelLoss
from askance.mechanisms.accounting.loss_specs import loss_from_dict
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.budget import NOTHING, Budget
from askance.mechanisms.ledger_chain import Event
from askance.mechanisms.ledger_file import LedgerState

_SAME = 1e-12  # relative: a level that is exceeded by less is exceeded by rounding errors only
_ROUNDING = 1e-5  # relative: by how much a computed delta may exceed that for which noise was calibrated


@dataclass(frozen=True)
class LedgerEntry:
    """Something that was paid for.

    Parameters
    ----------
    number : int
    time : str
        When it was spent, in universal time.
    what : str
        What for.
    epsilon, delta : str
        The level, in exact decimal digits.
    release : str, optional
        SHA-256 of the release that came of it. None if the process ended before it was made: spent all the same.
    losses : tuple of PrivacyLoss
        The mechanisms; the worst ones of that level if none was recorded.
    people : int, optional
        How many people it was about. None if nobody said who they are: then it counts for everybody.
    new : int, optional
        How many of them the ledger had not known before.
    group : int, optional
        Which group of people that is, in the ledger.
    panel : str, optional
        The panel of which it was a wave: all waves of a panel cost a person as much as one.
    """

    number: int
    time: str
    what: str
    epsilon: str
    delta: str
    release: str | None
    losses: tuple[PrivacyLoss, ...] = ()
    people: int | None = None
    new: int | None = None
    group: int | None = None
    panel: str | None = None

    @property
    def level(self) -> Budget:
        """The level as numbers."""
        return Budget.of(self.epsilon, self.delta)

    @property
    def spend(self) -> Spend:
        """The level, and the losses of which it consists."""
        return Spend(self.level, self.losses)

    @property
    def whom(self) -> str:
        """Whom it was about, in words."""
        if self.people is None:
            return "everybody"
        new = {0: "", self.people: ", all new"}.get(self.new or 0, f", {self.new or 0:,} new")
        return f"{self.people:,} {'person' if self.people == 1 else 'people'}{new}"

    @property
    def remark(self) -> str:
        """What to think of before believing that these people have a budget of their own; nothing if they are known."""
        if self.people is None:
            return (
                "Nobody said who the people are, so it counts for everybody. With identifiers it counts for these only."
            )
        if self.new == self.people and (self.group or 1) > 1:
            return (
                f"The ledger knows none of these {self.people:,} people by their identifiers: they have a budget of "
                "their own. If they are people whom it knows under other identifiers, that budget is counted twice."
            )
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        names = ("number", "time", "what", "epsilon", "delta", "release")
        return {name: getattr(self, name) for name in names}


def read_entries(state: LedgerState) -> tuple[LedgerEntry, ...]:
    """Read the entries of a ledger from its events."""
    try:
        releases = {event.entry: event.facts["release"] for event in state.events if event.kind == "record"}
        return tuple(_entry(event, releases.get(event.entry)) for event in state.events if event.kind == "spend")
    except (KeyError, TypeError, ValueError) as error:
        raise ReleaseError(f"a ledger with an entry that cannot be read ({error})") from None


def _entry(event: Event, release: str | None) -> LedgerEntry:
    facts = event.facts
    level = facts["epsilon"], facts["delta"]
    losses = _losses(json.dumps(facts["losses"])) if "losses" in facts else (LevelLoss.of(*level),)
    about = facts.get("group") or {}
    people, new, group = (about.get(name) for name in ("people", "new", "number"))
    return LedgerEntry(
        event.entry, event.time, facts["what"], *level, release, losses, people, new, group, facts.get("panel")
    )


@lru_cache(maxsize=1024)
def _losses(text: str) -> tuple[PrivacyLoss, ...]:
    return tuple(loss_from_dict(spec) for spec in json.loads(text))


def check_losses(cost: Spend) -> None:
    """Refuse a level that the losses exceed."""
    if not cost.losses:
        raise InvalidInput("no losses", "at least one, or None")
    epsilon, delta = float(cost.level.epsilon) * (1 + _SAME), float(cost.level.delta)
    if all(isinstance(loss, LevelLoss) for loss in cost.losses):
        kept = sum((loss.level for loss in cost.losses), start=NOTHING).within(cost.level)  # type: ignore[attr-defined]
    elif all(loss.infinite == 0 for loss in cost.losses) and math.fsum(loss.epsilon for loss in cost.losses) <= epsilon:
        kept = True
    elif len(cost.losses) == 1:
        kept = float(cost.losses[0].delta(np.array([epsilon]))[0]) <= delta * (1 + _ROUNDING)
    else:
        kept = Composition.of(cost.losses).delta(epsilon) <= delta * (1 + _ROUNDING)
    if not kept:
        raise InvalidInput(f"privacy losses above {cost.level}", "the level that the mechanisms really have")
