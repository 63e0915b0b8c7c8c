"""A privacy budget on disk. Every release spends from it before it is drawn, and nothing gives budget back.

A spend is one transaction that begins by taking the write lock, so that of two processes which ask for the last epsilon
one gets it. It is on the disk before the first random bit of the release is drawn: a crash after that leaves it spent.

Every spend records what it is spent on: the mechanism, by its privacy loss. Whether one more is allowed is decided by a
filter, a rule that was fixed before the first (see ``accounting.filters``); what all of them cost is computed when it
is asked for.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from askance.errors import BudgetSpent, InvalidInput, ReleaseError
from askance.mechanisms.accounting.composition import Composition
from askance.mechanisms.accounting.filters import GaussianFilter, PrivacyFilter, Spend, SumsFilter, filter_from_dict
from askance.mechanisms.accounting.level_loss import LevelLoss
from askance.mechanisms.accounting.loss_specs import loss_from_dict
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.budget import NOTHING, Budget, Number, written
from askance.mechanisms.ledger_chain import Event, Receipt, now
from askance.mechanisms.ledger_file import LedgerFile, LedgerState

_NOTHING_LEFT = 1e-9  # a level that is not worth a release
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
    """

    number: int
    time: str
    what: str
    epsilon: str
    delta: str
    release: str | None
    losses: tuple[PrivacyLoss, ...] = ()

    @property
    def level(self) -> Budget:
        """The level as numbers."""
        return Budget.of(self.epsilon, self.delta)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        names = ("number", "time", "what", "epsilon", "delta", "release")
        return {name: getattr(self, name) for name in names}


class Ledger:
    """A budget (epsilon, delta) of one data set, kept in a file that many processes may use.

    Numbers are decimal and exact: three times 0.1 is 0.3. Plain levels of successive releases add up; other filters
    count how much each mechanism really gives away.

    Parameters
    ----------
    path : path
        A ledger that :meth:`create` (or ``askance ledger create``) made.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "budget.ledger")
    >>> ledger = Ledger.create(path, epsilon=0.3, data_set="clinic")
    >>> for _ in range(3):
    ...     _ = ledger.spend(0.1, what="a release")
    >>> print(ledger.remaining)
    epsilon 0
    >>> ledger.spend(0.001, what="one more")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    askance.errors.BudgetSpent: epsilon 0.001 for one more; the ledger of 'clinic' has epsilon 0 left of epsilon 0.3...
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = LedgerFile(Path(path))
        state = self._file.read()
        self.data_set, self.created = state.data_set, state.created
        self.budget = Budget.of(state.epsilon, state.delta)

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._file.path

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: Number,
        delta: Number = 0,
        *,
        data_set: str,
        filter: str | Mapping[str, Any] = "auto",
    ) -> Self:
        """Make a new ledger. A file that is there already is never touched.

        Parameters
        ----------
        path : path
        epsilon, delta : number
            All that may ever be spent on this data set. Give exact decimals as text if a double is too coarse.
        data_set : str
            A name for people. What the data set is to the ledger is fixed by the first release: its row identifiers.
        filter : {"auto", "sums", "gdp", "renyi"} or mapping
            How it is decided whether one more release is allowed. "sums" adds up levels. "gdp" is for many releases
            with normal noise, "renyi" for many small ones of any kind; both need a delta, and also allow what sums of
            pure levels allow. ``{"filter": "renyi", "order": 20}`` chooses the order. "auto" is fixed by the first
            release: "gdp" if that has normal noise and spends at most half of epsilon, else "sums".
        """
        budget = Budget.of(epsilon, delta)
        if not isinstance(data_set, str) or not data_set.strip():
            raise InvalidInput("an empty name for the data set", "a name by which people know it")
        rule = None
        if filter != "auto":
            spec = {"filter": filter} if isinstance(filter, str) else filter
            rule = json.dumps(filter_from_dict(spec, budget).to_dict(), sort_keys=True)
        LedgerFile(Path(path)).create(data_set, written(budget.epsilon), written(budget.delta), rule)
        return cls(path)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """All that was spent, in order."""
        return _entries(self._file.read())

    @property
    def filter(self) -> PrivacyFilter | None:
        """The rule by which it is decided whether one more release is allowed; None before the first fixes it."""
        return self._rule(self._file.read())

    @property
    def spent(self) -> Budget:
        """The sum of the levels of all entries."""
        return sum((entry.level for entry in self.entries), start=NOTHING)

    @property
    def remaining(self) -> Budget:
        """What is left of the sums; with another filter, the largest epsilon that one more release may have."""
        state = self._file.read()
        return self._remaining(self._rule(state) or SumsFilter(self.budget), _spends(state))

    def total(self, delta: float | None = None) -> float:
        """Return the level epsilon of all entries together, from the laws of their privacy losses.

        That is what they would have cost if the whole list had been fixed in advance. If each was chosen after seeing
        those before it, the budget is what is promised.

        Parameters
        ----------
        delta : float, optional
            That of the budget, if not given.
        """
        return self._total(self._file.read(), float(self.budget.delta) if delta is None else delta)

    def spend(
        self,
        epsilon: Number,
        delta: Number = 0,
        *,
        what: str,
        people: str | None = None,
        losses: Sequence[PrivacyLoss] | None = None,
    ) -> int:
        """Take a cost from the budget, or refuse.

        Parameters
        ----------
        epsilon, delta : number
        what : str
            What it is spent on.
        people : str, optional
            Who the data set is about, in a text that shows nothing private, such as a digest of the row identifiers.
            The first that is given is remembered, and others are refused.
        losses : sequence of PrivacyLoss, optional
            The mechanisms of which it consists. If they are not given, nothing but the level is known.

        Returns
        -------
        int
            The number of the entry.

        Raises
        ------
        BudgetSpent
            If less than that is left. Nothing is spent then.
        InvalidInput
            If the ledger belongs to another data set, or the losses are above the level.
        """
        level = Budget.of(epsilon, delta)
        cost = Spend(level, (LevelLoss(level),) if losses is None else tuple(losses))
        _check_losses(cost)
        with self._file.changing() as change:
            state = change.state
            if self._is_of(state, people):
                change.set_people(str(people))
            known, spends = self._rule(state), _spends(state)
            rule = self._first_rule(cost) if known is None else known
            if not rule.allows([*spends, cost]):
                raise self._refusal(rule, spends, cost, what)
            number = 1 + len(spends)
            facts: dict[str, Any] = {"epsilon": written(level.epsilon), "delta": written(level.delta), "what": what}
            if losses is not None:
                facts["losses"] = [loss.to_dict() for loss in cost.losses]
            if known is None:
                facts["rule"] = rule.to_dict()
            change.add(Event.after(state.head, len(state.events) + 1, "spend", number, **facts))
        return number

    def record(self, number: int, release: str) -> None:
        """Note the digest of the release that an entry paid for."""
        with self._file.changing() as change:
            events = change.state.events
            change.add(Event.after(change.state.head, len(events) + 1, "record", number, release=release))

    def receipt(self) -> Receipt:
        """Return the head of the ledger, to be kept elsewhere: a file that is set back will not go on from it."""
        state = self._file.read()
        return Receipt(state.data_set, state.created, len(state.events), state.head, now())

    def check_receipt(self, receipt: Receipt) -> None:
        """Refuse if this ledger does not go on from where a receipt was made."""
        state = self._file.read()
        receipt.check(state.start, state.events, f"the ledger {self.path}")

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able account."""
        state = self._file.read()
        rule, spends, entries = self._rule(state), _spends(state), _entries(state)
        account: dict[str, Any] = {
            "data_set": self.data_set,
            "created": self.created,
            "budget": _pair(self.budget),
            "spent": _pair(sum((spend.level for spend in spends), start=NOTHING)),
            "remaining": _pair(self._remaining(rule or SumsFilter(self.budget), spends)),
            "entries": [entry.to_dict() for entry in entries],
        }
        if state.version == 1:
            return account
        for line, entry in zip(account["entries"], entries, strict=True):
            line["losses"] = [loss.to_dict() for loss in entry.losses]
        total = self._total(state, float(self.budget.delta))
        return account | {
            "filter": None if rule is None else rule.to_dict(),
            "total": {"epsilon": total if math.isfinite(total) else None, "delta": written(self.budget.delta)},
            "events": len(state.events),
            "head": state.head,
        }

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, data_set={self.data_set!r}, {self.remaining} left of {self.budget})"

    def _rule(self, state: LedgerState) -> PrivacyFilter | None:
        if state.version == 1:
            return SumsFilter(self.budget)
        if state.rule is not None:
            return filter_from_dict(_read(state.rule), self.budget)
        if not state.events:
            return None
        return filter_from_dict(state.events[0].facts.get("rule", {"filter": SumsFilter.kind}), self.budget)

    def _first_rule(self, cost: Spend) -> PrivacyFilter:
        """The rule for a ledger that left it open. Nothing was released yet, so nothing private can decide about it."""
        unbounded = any(math.isinf(loss.epsilon) for loss in cost.losses)
        if self.budget.delta and unbounded and 2 * cost.level.epsilon <= self.budget.epsilon:
            return GaussianFilter(self.budget)
        return SumsFilter(self.budget)

    def _remaining(self, rule: PrivacyFilter, spends: Sequence[Spend]) -> Budget:
        if rule.kind == SumsFilter.kind:
            return self.budget - sum((spend.level for spend in spends), start=NOTHING)
        left = rule.largest_level(spends)
        # Nine digits, rounded down: so much is allowed indeed.
        return (
            Budget.of(Context(prec=9, rounding=ROUND_FLOOR).create_decimal(left)) if left > _NOTHING_LEFT else NOTHING
        )

    def _total(self, state: LedgerState, delta: float) -> float:
        losses = [loss for spend in _spends(state) for loss in spend.losses]
        return Composition.of(losses).epsilon(delta) if losses else 0.0

    def _refusal(self, rule: PrivacyFilter, spends: Sequence[Spend], cost: Spend, what: str) -> BudgetSpent:
        left = self._remaining(rule, spends)
        by_rule = "" if rule.kind == SumsFilter.kind else f" by the filter {rule.kind}"
        remedy = "Nothing was spent."
        delta = float(self.budget.delta)
        if rule.kind == SumsFilter.kind and delta and len(spends) > 1:
            total = Composition.of(loss for spend in [*spends, cost] for loss in spend.losses).epsilon(delta)
            if total <= self.budget.epsilon:
                remedy += (
                    f" By the laws of their losses all of these would cost epsilon {total:.4g}: for many small "
                    "releases, make ledgers with filter='gdp' or 'renyi' from the beginning."
                )
        return BudgetSpent(
            f"{cost.level} for {what}; the ledger of {self.data_set!r} has {left} left of {self.budget}{by_rule}",
            remedy=remedy,
        )

    def _is_of(self, state: LedgerState, people: str | None) -> bool:
        """Whether the people are new to the ledger, and are to be remembered."""
        if people is None or people == state.people:
            return False
        if state.people is not None:
            raise InvalidInput(
                f"the ledger {self.path} belongs to another data set: that of {self.data_set!r}, with other rows",
                "the ledger of this data set",
                "Each data set has a budget of its own: make one with askance ledger create.",
            )
        return True


def _check_losses(cost: Spend) -> None:
    """Refuse a level that the losses exceed."""
    if not cost.losses:
        raise InvalidInput("no losses", "at least one, or None")
    epsilon, delta = float(cost.level.epsilon) * (1 + _SAME), float(cost.level.delta)
    if all(isinstance(loss, LevelLoss) for loss in cost.losses):
        kept = sum((loss.level for loss in cost.losses), start=NOTHING).within(cost.level)  # type: ignore[attr-defined]
    elif len(cost.losses) == 1:
        kept = float(cost.losses[0].delta(np.array([epsilon]))[0]) <= delta * (1 + _ROUNDING)
    else:
        kept = Composition.of(cost.losses).delta(epsilon) <= delta * (1 + _ROUNDING)
    if not kept:
        raise InvalidInput(f"privacy losses above {cost.level}", "the level that the mechanisms really have")


@lru_cache(maxsize=1024)
def _losses(text: str) -> tuple[PrivacyLoss, ...]:
    return tuple(loss_from_dict(spec) for spec in json.loads(text))


def _entries(state: LedgerState) -> tuple[LedgerEntry, ...]:
    try:
        releases = {event.entry: event.facts["release"] for event in state.events if event.kind == "record"}
        return tuple(_entry(event, releases.get(event.entry)) for event in state.events if event.kind == "spend")
    except (KeyError, TypeError, ValueError) as error:
        raise ReleaseError(f"a ledger with an entry that cannot be read ({error})") from None


def _entry(event: Event, release: str | None) -> LedgerEntry:
    facts = event.facts
    level = facts["epsilon"], facts["delta"]
    losses = _losses(json.dumps(facts["losses"])) if "losses" in facts else (LevelLoss.of(*level),)
    return LedgerEntry(event.entry, event.time, facts["what"], *level, release, losses)


def _spends(state: LedgerState) -> list[Spend]:
    return [Spend(entry.level, entry.losses) for entry in _entries(state)]


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ReleaseError("a ledger whose filter cannot be read") from None


def _pair(budget: Budget) -> dict[str, str]:
    return {"epsilon": written(budget.epsilon), "delta": written(budget.delta)}
