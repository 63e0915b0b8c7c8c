"""What was spent on whom: the budget of a ledger is that of every single person.

A release gives nothing away about somebody whom it is not about. So of all entries only those count that are about a
person, and the budget is kept if it is kept for everybody: the filter is asked about every past that somebody has. Its
theorem holds for two data sets that differ in this person: all other releases have the same law for both. Whom an entry
is about is public, and known before it is drawn. An entry of which nobody said whom it is about counts for everybody,
those included whom the ledger has not seen yet.
"""

from collections import Counter
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askance.errors import BudgetSpent
from askance.mechanisms.accounting.composition import Composition
from askance.mechanisms.accounting.filters import PrivacyFilter, Spend, SumsFilter
from askance.mechanisms.budget import NOTHING, Budget
from askance.mechanisms.ledger_entries import LedgerEntry, read_entries
from askance.mechanisms.ledger_file import LedgerState
from askance.mechanisms.ledger_people import KnownPeople, StoredGroup, distinct_pasts

_MOST_PASTS = 300  # that are looked at one by one, a second or so; beyond, one that is worse than all of them
_MOST_SORTED = 100_000  # pasts of which the worst are looked for, in another second
_NOTHING_LEFT = 1e-9  # a level that is not worth a release


class _Kind(NamedTuple):
    """Entries that cost the same: only their number matters."""

    spend: Spend
    panel: str | None


@dataclass(frozen=True, eq=False)
class Accounts:
    """The past of everybody whom a ledger knows, and of somebody whom it does not know."""

    entries: tuple[LedgerEntry, ...]
    people: KnownPeople

    @classmethod
    def of(cls, state: LedgerState, group: StoredGroup | None = None) -> Self:
        """Read what a ledger says, and know the people of a group, too."""
        return cls(read_entries(state), state.people if group is None else state.people.with_group(group))

    def worst_pasts(self, group: int | None = None) -> list[list[Spend]]:
        """Return what was spent on the people of a group: pasts of which no other has all and more.

        Of everybody, somebody included whom the ledger does not know, if there is no group.
        """
        codes, pasts = self._pasts
        if group is None:
            pasts = np.vstack([pasts, self._of_a_stranger])
        else:
            pasts = pasts[np.unique(codes[self.people.members(group)])]
        return [self._spends(past) for past in _largest(self._once(pasts))]

    def spent(self) -> Budget:
        """Return the most that was spent on one person, by addition."""
        return _most_spent(self.worst_pasts())

    def total(self, delta: float) -> float:
        """Return the level epsilon of all that was spent on one person, from the laws of the losses."""
        return max(_composed(past, delta) for past in self.worst_pasts())

    def sizes(self) -> list[tuple[int, Budget]]:
        """Return how many people have which past, and what it cost by addition; those who spent most come first."""
        codes, pasts = self._pasts
        sums = [_most_spent([self._spends(past)]) for past in self._once(pasts)]
        found = zip(np.bincount(codes, minlength=len(pasts)).tolist(), sums, strict=True)
        return sorted(found, key=lambda item: (item[1].epsilon, item[1].delta), reverse=True)

    def check_budget(self, rule: PrivacyFilter, entry: LedgerEntry, owner: str) -> None:
        """Refuse an entry if the rule is broken for one of those whom it is about.

        Raises
        ------
        BudgetSpent
            It says how much is left for these people.
        """
        after = replace(self, entries=(*self.entries, entry)).worst_pasts(entry.group)
        if all(rule.allows(past) for past in after):
            return
        before = self.worst_pasts(entry.group)
        sums = rule.kind == SumsFilter.kind
        by_rule = "" if sums else f" by the filter {rule.kind}"
        raise BudgetSpent(
            f"{entry.level} for {entry.what}; {owner} has {remaining(rule, before)} left of {rule.budget}{by_rule}"
            f"{_for_whom(entry)}",
            remedy=f"Nothing was spent. {_advice(rule, after) if sums else ''}"
            "What was released about these people stays released: a new ledger would not give them a new budget.",
        )

    @cached_property
    def _kind_of_each(self) -> list[_Kind]:
        return [_Kind(entry.spend, entry.panel) for entry in self.entries]

    @cached_property
    def _kinds(self) -> dict[_Kind, int]:
        return {kind: place for place, kind in enumerate(dict.fromkeys(self._kind_of_each))}

    @cached_property
    def _groups(self) -> list[tuple[int | None, int]]:
        """Whom each entry is about, and its kind."""
        return [(entry.group, self._kinds[kind]) for entry, kind in zip(self.entries, self._kind_of_each, strict=True)]

    @cached_property
    def _of_a_stranger(self) -> NDArray[np.int64]:
        """How many entries of each kind are about everybody."""
        found = Counter(kind for group, kind in self._groups if group is None)
        return np.array([found[kind] for kind in range(len(self._kinds))], dtype=np.int64)

    @cached_property
    def _pasts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The past of each known person, by number; and how many entries of each kind are in a past."""
        touched = [(self.people.members(group), kind) for group, kind in self._groups if group is not None]
        codes, pasts = distinct_pasts(touched, len(self.people), len(self._kinds))
        return codes, pasts + self._of_a_stranger

    def _once(self, pasts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Waves of one panel count once."""
        panel = np.array([kind.panel is not None for kind in self._kinds], dtype=bool)
        return np.where(panel, np.minimum(pasts, 1), pasts)

    def _spends(self, past: NDArray[np.int64]) -> list[Spend]:
        return [kind.spend for kind, times in zip(self._kinds, past.tolist(), strict=True) for _ in range(times)]


def remaining(rule: PrivacyFilter, pasts: list[list[Spend]]) -> Budget:
    """Return what is left for all who have one of several pasts.

    Of the sums what is left of both numbers; with another filter, the largest epsilon of one more release.
    """
    if rule.kind == SumsFilter.kind:
        return rule.budget - _most_spent(pasts)
    left = min(rule.largest_level(past) for past in pasts)
    # Nine digits, rounded down: so much is allowed indeed.
    return Budget.of(Context(prec=9, rounding=ROUND_FLOOR).create_decimal(left)) if left > _NOTHING_LEFT else NOTHING


def _for_whom(entry: LedgerEntry) -> str:
    if entry.people is None:
        return " for everybody"
    known = entry.people - (entry.new or 0)
    if not known or known == entry.people:
        return f" for these {entry.people:,} people"
    return f" for these {entry.people:,} people, of whom it knows {known:,}"


def _advice(rule: PrivacyFilter, pasts: list[list[Spend]]) -> str:
    """Say so if another filter would have allowed it: for the next data set."""
    delta = float(rule.budget.delta)
    if not delta or len(pasts) > 1 or len(pasts[0]) < 3:  # one composition takes a tenth of a second
        return ""
    total = _composed(pasts[0], delta)
    if total > rule.budget.epsilon:
        return ""
    return (
        f"By the laws of their losses all of these would cost epsilon {total:.4g}: for many small releases about other "
        "people, make a ledger with filter='gdp', 'renyi' or 'either' from the beginning. "
    )


def _most_spent(pasts: list[list[Spend]]) -> Budget:
    """The largest epsilon and the largest delta of several pasts, by addition."""
    sums = [sum((spend.level for spend in past), start=NOTHING) for past in pasts]
    return Budget(max(each.epsilon for each in sums), max(each.delta for each in sums))


def _composed(spends: list[Spend], delta: float) -> float:
    losses = [loss for spend in spends for loss in spend.losses]
    return Composition.of(losses).epsilon(delta) if losses else 0.0


def _largest(pasts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out pasts of which another has all and more. If too many are left, take one that has all of each."""
    distinct = np.unique(pasts, axis=0)
    everything: NDArray[np.int64] = pasts.max(axis=0)[None]
    if len(distinct) > _MOST_SORTED:
        return everything
    kept = np.empty((0, pasts.shape[1]), dtype=np.int64)
    for past in distinct[np.argsort(-distinct.sum(axis=1), kind="stable")]:
        if not (kept >= past).all(axis=1).any():
            kept = np.vstack([kept, past])
            if len(kept) > _MOST_PASTS:
                return everything
    return kept
