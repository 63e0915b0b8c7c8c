"""What a list experiment collects: how many items of a list are true, from people with and without one item more."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askance.arrays import Flags, Floats, Integers
from askance.channels.alphabet import listed
from askance.channels.columns import as_column, plain_values
from askance.errors import InvalidInput
from askance.learning.face.sample_weights import checked_weights
from askance.learning.surveys.survey_sample import SurveySample

_LONG_LIST = {1: True, "treatment": True, "treated": True}
_SHORT_LIST = {0: False, "control": False}


@dataclass(frozen=True, eq=False)
class ListCounts:
    """Counts of a list experiment.

    Parameters
    ----------
    counts : array of int, n x lists
        How many items each person said are true; of a double list, one column a list.
    treated : array of bool, n
        Who had the sensitive item in the (first) list. Of a double list the others had it in the second.
    items : int
        How many items the list has without the sensitive one.
    direct : array of bool, n, optional
        Who said yes when asked directly, too.
    weights : array, n, optional
    sample : SurveySample, optional
        Clusters and strata of the people.
    """

    counts: Integers
    treated: Flags
    items: int
    direct: Flags | None = None
    weights: Floats | None = None
    sample: SurveySample | None = None

    @classmethod
    def of(
        cls,
        counts: Any,
        treatment: Any,
        items: int | None,
        direct: Any = None,
        sample_weight: Any = None,
        strata: Any = None,
        cluster: Any = None,
    ) -> "ListCounts":
        """Check counts and groups; refuse counts that the lists cannot give."""
        if isinstance(items, bool) or not isinstance(items, int | np.integer) or items < 1:
            raise InvalidInput(
                f"items={items!r}",
                "how many items the list has without the sensitive one: a whole number of at least 1",
            )
        table = _whole_numbers(counts)
        treated = _groups(treatment)
        if len(table) != len(treated):
            raise InvalidInput(f"{len(table)} counts and {len(treated)} groups", "a group for each count")
        said = None if direct is None else _yes_or_no(direct, "direct answers")
        if said is not None and len(said) != len(treated):
            raise InvalidInput(f"{len(table)} counts and {len(said)} direct answers", "as many of both")
        sizes = int(treated.sum()), int((~treated).sum())
        if min(sizes) < 2:
            raise InvalidInput(
                f"{sizes[0]} people with the sensitive item and {sizes[1]} without",
                "at least two of both: only their difference tells how many say yes",
            )
        sample = SurveySample.of(len(table), strata, cluster)
        found = cls(table, treated, int(items), said, checked_weights(sample_weight, table), sample)
        found._refuse_impossible()
        return found._of_positive_weight()

    @property
    def lists(self) -> int:
        """One, or two for a double list."""
        return int(self.counts.shape[1])

    def long_list(self, number: int) -> Flags:
        """Who had the sensitive item in the list of that number."""
        return self.treated if number == 0 else ~self.treated

    def _refuse_impossible(self) -> None:
        for number in range(self.lists):
            for long, name in ((False, "without the sensitive item"), (True, "with it")):
                most = self.items + long
                rows = np.flatnonzero((self.long_list(number) == long) & (self.counts[:, number] > most))
                if len(rows):
                    largest = int(self.counts[rows, number].max())
                    raise InvalidInput(
                        f"{len(rows)} counts above {most} among people {name}, up to {largest} (first in row "
                        f"{rows[0]})",
                        f"at most {most}: the list has {most} items there",
                        "Check items=, and that treatment is 1 for those who had the sensitive item.",
                    )

    def _of_positive_weight(self) -> "ListCounts":
        if self.weights is None or self.weights.min() > 0:
            return self
        kept = self.weights > 0
        return replace(
            self,
            counts=self.counts[kept],
            treated=self.treated[kept],
            direct=None if self.direct is None else self.direct[kept],
            weights=self.weights[kept],
            sample=None if self.sample is None else self.sample.of_rows(kept),
        )


def _whole_numbers(counts: Any) -> Integers:
    try:
        table = np.asarray(counts, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            "counts that are not numbers", "how many items of the list are true, for each person"
        ) from None
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[1] not in (1, 2) or not len(table):
        raise InvalidInput(f"counts of shape {np.shape(counts)}", "a count for each person, or two of a double list")
    odd = ~np.isfinite(table) | (table != np.floor(table)) | (table < 0)
    if odd.any():
        row, column = map(int, np.argwhere(odd)[0])
        raise InvalidInput(
            f"{int(odd.sum())} counts that are missing or no whole number of at least 0 (first "
            f"{table[row, column]:g} in row {row})",
            "a whole number for each person",
            "Drop people who gave no count.",
        )
    return table.astype(np.int64)


def _groups(treatment: Any) -> Flags:
    if treatment is None:
        raise InvalidInput("no treatment", "1 for each person whose list had the sensitive item, 0 for the others")
    return _yes_or_no(treatment, "treatment", _LONG_LIST | _SHORT_LIST, "one sensitive item at a time")


def _yes_or_no(values: Any, what: str, words: dict[Any, bool] | None = None, hint: str = "") -> Flags:
    known = words or {1: True, "yes": True, 0: False, "no": False}
    column = plain_values(as_column(values, what))
    strangers = [value for value in dict.fromkeys(column) if value not in known]
    if strangers:
        names = listed([*dict.fromkeys(map(str, known))], 8)
        raise InvalidInput(f"{what} of {listed(strangers, 5)}", f"{names}{f', {hint}' if hint else ''}")
    return np.array([known[value] for value in column], dtype=bool)
