"""A privacy budget on disk. Every release spends from it before it is drawn, and nothing gives budget back.

A spend is one transaction that begins by taking the write lock, so that of two processes which ask for the last epsilon
one gets it. It is on the disk before the first random bit of the release is drawn: a crash after that leaves it spent.

Every spend records what it is spent on: the mechanism, by its privacy loss. Whether one more is allowed is decided by a
filter, a rule that was fixed before the first (see ``accounting.filters``); what all of them cost is computed when it
is asked for.

The budget is that of every single person. Who they are is told by identifiers, of which the ledger keeps keyed hashes;
see ``ledger_accounts``.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from askance.channels.labels.memoised import Memoised
from askance.errors import InvalidInput, ReleaseError
from askance.mechanisms.accounting.filters import EitherFilter, PrivacyFilter, Spend, SumsFilter, filter_from_dict
from askance.mechanisms.accounting.level_loss import LevelLoss
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.accounting.response_loss import channel_loss
from askance.mechanisms.budget import Budget, Number, rounded_up, written
from askance.mechanisms.ledger_accounts import Accounts, remaining
from askance.mechanisms.ledger_chain import Event, Receipt, now
from askance.mechanisms.ledger_entries import LedgerEntry, check_losses, read_entries
from askance.mechanisms.ledger_file import LedgerFile, LedgerState
from askance.mechanisms.person_keys import person_keys
from askance.printing import html_notes

_MOST_SHOWN = 100  # groups of people with different pasts, in an account


class Ledger:
    """A budget (epsilon, delta) of every person in a data set, kept in a file that many processes may use.

    Numbers are decimal and exact: three times 0.1 is 0.3. Plain levels of successive releases add up; other filters
    count how much each mechanism really gives away. Releases add up for those people who are in both of them, and the
    budget is kept for the person on whom most was spent. Without identifiers everybody is taken to be in.

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
            All that may ever be spent on one person. Give exact decimals as text if a double is too coarse.
        data_set : str
            A name for people. Who is in it is told by the identifiers of each release.
        filter : {"auto", "sums", "gdp", "renyi", "either"} or mapping
            How it is decided whether one more release is allowed. "sums" adds up levels. "gdp" is for many releases
            with normal noise, "renyi" for many small ones of any kind; both need a delta, and also allow what sums of
            pure levels allow. ``{"filter": "renyi", "order": 20}`` chooses the order. "either" allows what "sums" or
            "gdp" allows, each with half of delta: for normal noise and other releases mixed. "auto" is fixed by the
            first release: "either" if that has normal noise and spends at most half of epsilon and of delta, else
            "sums".
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
        return read_entries(self._file.read())

    @property
    def filter(self) -> PrivacyFilter | None:
        """The rule by which it is decided whether one more release is allowed; None before the first fixes it."""
        return self._rule(self._file.read())

    @property
    def spent(self) -> Budget:
        """The most that was spent on one person, by addition."""
        return Accounts.of(self._file.read()).spent()

    @property
    def remaining(self) -> Budget:
        """What is left for everybody; with another filter than sums, the largest epsilon of one more release."""
        state = self._file.read()
        return remaining(self._rule(state) or SumsFilter(self.budget), Accounts.of(state).worst_pasts())

    def total(self, delta: float | None = None) -> float:
        """Return the level epsilon of all entries about one person together, from the laws of their privacy losses.

        That is what they would have cost the person on whom most was spent, if the whole list had been fixed in
        advance. If each was chosen after seeing those before it, the budget is what is promised.

        Parameters
        ----------
        delta : float, optional
            That of the budget, if not given.
        """
        return Accounts.of(self._file.read()).total(float(self.budget.delta) if delta is None else delta)

    def spend(
        self,
        epsilon: Number,
        delta: Number = 0,
        *,
        what: str,
        people: Any = None,
        losses: Sequence[PrivacyLoss] | None = None,
    ) -> int:
        """Take a cost from the budget, or refuse.

        Parameters
        ----------
        epsilon, delta : number
        what : str
            What it is spent on.
        people : array, optional
            The identifiers of those whom it is spent on, each once: text or whole numbers. The ledger keeps keyed
            hashes of them. If they are not given, it is spent on everybody: those whom the ledger knows, and those whom
            it will know. A single text is a name for somebody unknown: everybody, too.
        losses : sequence of PrivacyLoss, optional
            The mechanisms of which it consists. If they are not given, nothing but the level is known.

        Returns
        -------
        int
            The number of the entry.

        Raises
        ------
        BudgetSpent
            If less than that is left for one of these people. Nothing is spent then.
        InvalidInput
            If an identifier is missing or there twice, or the losses are above the level.
        """
        level = Budget.of(epsilon, delta)
        cost = Spend(level, (LevelLoss(level),) if losses is None else tuple(losses))
        check_losses(cost)
        facts = {} if losses is None else {"losses": [loss.to_dict() for loss in cost.losses]}
        return self._book(cost, what, people, None, facts)

    def spend_panel(self, channel: Memoised, *, panel: str, what: str, people: Any = None) -> int:
        """Take one wave of a panel from the budget: all waves together cost what the permanent response costs.

        Call it before each wave. A person who was in an earlier wave of the same panel, by the same channel, pays
        nothing more: that person's device reports on the permanent response that it kept. Whoever draws a new one,
        with :meth:`Memoised.privatize` or :meth:`Memoised.privatize_waves`, is in a new panel.

        Parameters
        ----------
        channel : Memoised
        panel : str
            A name for the permanent responses that are kept.
        what, people
            As for :meth:`spend`.

        Examples
        --------
        >>> import os, tempfile, askance as ask
        >>> ledger = ask.Ledger.create(os.path.join(tempfile.mkdtemp(), "l"), epsilon=2, data_set="diaries")
        >>> diary = ask.Memoised(ask.RandomizedResponse(["no", "yes"], epsilon=1.5), 1.0)
        >>> for week in range(10):
        ...     _ = ledger.spend_panel(diary, panel="drinking", what=f"week {week}", people=["ann", "bob"])
        >>> print(ledger.remaining)
        epsilon 0.5
        """
        # The public door of panels: any other channel draws afresh, and every wave costs.
        if not isinstance(channel, Memoised):
            raise InvalidInput(f"{channel!r:.200}", "a Memoised channel", "Fresh reports are charged by spend.")
        if not isinstance(panel, str) or not panel.strip():
            raise InvalidInput(f"panel={panel!r}", "a name for the permanent responses that are kept")
        guarantee, loss = channel.lasting_guarantee, channel_loss(channel.permanent)
        if not math.isfinite(guarantee.epsilon):
            raise InvalidInput(f"{channel!r:.200}", "a permanent response of a finite level", guarantee.in_words())
        facts = {"losses": [loss.to_dict()]}
        return self._book(Spend(Budget.of(rounded_up(guarantee.epsilon)), (loss,)), what, people, panel, facts)

    def _book(self, cost: Spend, what: str, people: Any, panel: str | None, facts: dict[str, Any]) -> int:
        """Add an entry, or refuse."""
        named = people is not None and not isinstance(people, str)  # a single text names nobody
        # Before others have to wait: hashing a million people takes a second or two.
        key = self._file.read().key
        keys = person_keys(people, key) if named and key else None
        with self._file.changing() as change:
            state = change.state
            if named and (keys is None or state.key != key):
                keys = person_keys(people, _key(state))
            group = None if keys is None else state.people.group_of(keys)
            accounts = Accounts.of(state, group)
            entry = _next_entry(accounts, cost, what, panel)
            if group is not None:
                new = len(group.added) // 8 if group.number > len(state.people.groups) else 0
                people = int(np.count_nonzero(accounts.people.members(group.number)))
                entry = replace(entry, group=group.number, people=people, new=new)
            known = self._rule(state)
            rule = self._first_rule(cost) if known is None else known
            accounts.check_budget(rule, entry, f"the ledger of {self.data_set!r}")
            facts |= {"epsilon": entry.epsilon, "delta": entry.delta, "what": what}
            facts |= {"rule": rule.to_dict()} if known is None else {}
            facts |= {"panel": panel} if panel is not None else {}
            if group is not None:
                about = {"number": group.number, "people": entry.people, "new": entry.new}
                facts |= {"group": about | {"seal": group.seal(_key(state))}}
                if group.number > len(state.people.groups):
                    change.add_people(group)
            change.add(Event.after(state.head, len(state.events) + 1, "spend", entry.number, **facts))
        return entry.number

    def record(self, number: int, release: str) -> None:
        """Note the digest of the release that an entry paid for: of one, once."""
        with self._file.changing() as change:
            events = change.state.events
            paid = [entry for entry in read_entries(change.state) if entry.number == number]
            if not paid:
                raise InvalidInput(f"a release for entry {number!r}", "an entry that was spent")
            if paid[0].release is not None:
                raise InvalidInput(f"another release for entry {number}", "one that was paid for", "Spend on it first.")
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
        rule, accounts = self._rule(state), Accounts.of(state)
        account: dict[str, Any] = {
            "data_set": self.data_set,
            "created": self.created,
            "budget": _pair(self.budget),
            "spent": _pair(accounts.spent()),
            "remaining": _pair(remaining(rule or SumsFilter(self.budget), accounts.worst_pasts())),
            "entries": [entry.to_dict() for entry in accounts.entries],
        }
        if state.version == 1:
            return account
        for line, entry in zip(account["entries"], accounts.entries, strict=True):
            line["losses"] = [loss.to_dict() for loss in entry.losses]
            line |= {"people": entry.people, "new_people": entry.new, "panel": entry.panel}
        total = accounts.total(float(self.budget.delta))
        return account | {
            "filter": None if rule is None else rule.to_dict(),
            "total": {"epsilon": total if math.isfinite(total) else None, "delta": written(self.budget.delta)},
            "known_people": len(accounts.people),
            "pasts": [{"people": people, "spent": _pair(level)} for people, level in accounts.sizes()[:_MOST_SHOWN]],
            "events": len(state.events),
            "head": state.head,
        }

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, data_set={self.data_set!r}, {self.remaining} left of {self.budget})"

    def _repr_html_(self) -> str:
        rows = [(entry.number, entry.time, entry.what, entry.level, entry.whom) for entry in self.entries]
        heads = ("entry", "time", "what", "level", "about")
        return html_notes(f"Ledger of {self.data_set}", [f"{self.remaining} left of {self.budget}"], heads, rows)

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
        small = cost.level.within(Budget(self.budget.epsilon / 2, self.budget.delta / 2))
        return EitherFilter(self.budget) if self.budget.delta and unbounded and small else SumsFilter(self.budget)


def _next_entry(accounts: Accounts, cost: Spend, what: str, panel: str | None) -> LedgerEntry:
    level = (written(cost.level.epsilon), written(cost.level.delta))
    return LedgerEntry(len(accounts.entries) + 1, now(), what, *level, None, cost.losses, panel=panel)


def _key(state: LedgerState) -> bytes:
    if state.key is None:
        raise ReleaseError("a ledger without a key")
    return state.key


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ReleaseError("a ledger whose filter cannot be read") from None


def _pair(budget: Budget) -> dict[str, str]:
    return {"epsilon": written(budget.epsilon), "delta": written(budget.delta)}
