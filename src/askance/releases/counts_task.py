"""A release of counts that is checked and decided, and not yet paid for or drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from askance.arrays import Floats
from askance.entropy.bits import BitSource
from askance.errors import InvalidInput
from askance.mechanisms.accounting.mechanism_losses import count_loss, counts_loss
from askance.mechanisms.accounting.privacy_loss import PrivacyLoss
from askance.mechanisms.budget import Budget, Number
from askance.mechanisms.counts.count_mechanisms import (
    CountMechanism,
    choose_count_mechanisms,
    cost,
    to_parameters,
)
from askance.mechanisms.counts.count_noise import CountNoise
from askance.mechanisms.counts.dirichlet_draws import PaperDirichlet
from askance.mechanisms.counts.scaled_dirichlet import NAME as PAPER
from askance.mechanisms.counts.scaled_dirichlet import Search
from askance.mechanisms.person_keys import id_texts
from askance.releases.counts_facts import check_count_level, counts_guarantee, of_all_bags, of_one_level
from askance.releases.counts_within import CountGroups, Grouping, consistent_counts, read_groupings
from askance.tables.count_tables import CountTable, read_counts

Mechanism = Literal[
    "auto", "discrete-laplace", "truncated-laplace", "discrete-gaussian", "laplace", "gaussian", "laplace-prior",
    "dirichlet", "scaled-dirichlet-paper",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class CountsTask:
    """A release that is fully checked and decided, and not yet drawn."""

    table: CountTable
    groupings: tuple[Grouping, ...]
    mechanisms: list[CountMechanism]
    predicted: dict[str, float]
    asked: Budget
    cost: Budget
    people: Any
    disjoint: bool

    @classmethod
    def checked(
        cls, counts: Any, epsilon: Number, delta: Number, mechanism: str,
        classes: Any, bags: Any, within: Any, disjoint: bool, people: Any, search: str,
    ) -> Self:  # fmt: skip
        """Check everything that can be wrong before anything is spent."""
        budget = Budget.of(epsilon, delta)
        if mechanism not in get_args(Mechanism):
            raise InvalidInput(f"mechanism={mechanism!r}", f"one of {', '.join(get_args(Mechanism))}")
        if search not in get_args(Search):
            raise InvalidInput(f"search={search!r}", f"one of {', '.join(get_args(Search))}")
        if not isinstance(disjoint, bool):
            raise InvalidInput(f"disjoint={disjoint!r}", "True if nobody is in two bags, else False")
        check_count_level(budget)
        table = read_counts(counts, classes, bags)
        groupings = () if within is None else read_groupings(within, table.bags)
        share = of_one_level(budget, len(groupings) + 1)
        if groupings:
            if not disjoint:
                raise InvalidInput("within= and disjoint=False", "bags that nobody shares: who is in two counts twice")
            check_count_level(share)
        if mechanism == PAPER:
            mechanisms: list[CountMechanism] = [PaperDirichlet.of(row.tolist(), budget, search) for row in table.counts]  # type: ignore[arg-type]
            predicted: dict[str, float] = {}
        else:
            mechanisms, predicted = choose_count_mechanisms(mechanism, table.totals, len(table.classes), share)
        if groupings and not isinstance(mechanisms[0], CountNoise):
            raise InvalidInput(
                f"mechanism={mechanism!r} with within=", "noise that is added, such as 'discrete-laplace'"
            )
        _check_people(people, sum(table.totals), disjoint)
        spent = cost(mechanisms[0].name, budget)
        together = of_all_bags(spent, len(table.bags), disjoint)
        return cls(table, groupings, mechanisms, predicted, spent, together, people, disjoint)

    @property
    def losses(self) -> tuple[PrivacyLoss, ...]:
        """What its mechanisms give away: one for each level, or for each bag where people are in several."""
        if self.disjoint:
            return (counts_loss(self.mechanisms),) * (len(self.groupings) + 1)
        return tuple(map(count_loss, self.mechanisms))

    def describe(self) -> str:
        """Say what is released, for the ledger: nothing private."""
        bags, name = len(self.table.bags), self.mechanisms[0].name
        within = "".join(f", {len(each.groups):,} of {each.level!r}" for each in self.groupings[:-1])
        return f"counts of {sum(self.table.totals):,} labels in {bags:,} bag{'s' * (bags > 1)}{within} ({name})"

    def facts(self, source: BitSource) -> dict[str, Any]:
        """Draw the noise, and return what the release is made of."""
        law, table = self.mechanisms[0], self.table
        raw = self._drawn(table.counts, self.mechanisms, source)
        true, sizes, drawn = table.counts, np.array(table.totals, dtype=np.int64), []
        totals = [sizes]
        for grouping in self.groupings:
            true = grouping.summed(true)
            totals.append(grouping.summed(totals[-1]))
            drawn.append(self._drawn(true, [law], source))
        counts, above = consistent_counts(raw, sizes, self.groupings, drawn)
        within = tuple(
            CountGroups(each.level, each.groups, each.holder, size, noisy, whole)
            for each, size, noisy, whole in zip(self.groupings, totals[1:], drawn, above, strict=True)
        )
        one_law = isinstance(law, CountNoise)  # for bags of all sizes
        texts = [to_parameters(each) for each in ([law] if one_law else self.mechanisms)]
        return {
            "classes": table.classes,
            "bags": table.bags,
            "totals": tuple(table.totals),
            "counts": counts,
            "raw": raw,
            "guarantee": counts_guarantee(law.name, self.cost),
            "mechanism": law.name,
            "how_known": law.how_known,
            "parameters": tuple(texts * (len(self.mechanisms) if one_law else 1)),
            "predicted": self.predicted,
            "asked": self.asked,
            "disjoint": self.disjoint or len(table.bags) == 1,
            "within": within,
        }

    @staticmethod
    def _drawn(counts: Any, mechanisms: Sequence[CountMechanism], source: BitSource) -> Floats:
        if isinstance(mechanisms[0], CountNoise):  # one law for bags of all sizes
            return mechanisms[0].draw(counts, source)
        return np.array([each.draw(row.tolist(), source) for each, row in zip(mechanisms, counts, strict=True)])


def _check_people(people: Any, total: int, disjoint: bool) -> None:
    """Refuse identifiers that are not those of all who are counted; a text names nobody."""
    if people is None or isinstance(people, str):
        return
    known = len(id_texts(people))
    if known > total or (disjoint and known < total):
        raise InvalidInput(f"{known:,} identifiers for {total:,} people", "an identifier for everybody who is counted")
