"""Channels that report some numbers of a row: which ones is drawn at random, whatever their values."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.layouts import Fields, Reports
from askance.channels.rows.report_views import Cells, ReportView, given_view, named_view, some_of
from askance.channels.rows.vectors import VectorChannel
from askance.errors import InvalidInput


class SubsetChannel(VectorChannel):
    """A report names k coordinates in ascending order, then gives a code for each; only codes where k is all."""

    @property
    @abstractmethod
    def _numbers(self) -> int:
        """k, how many numbers a report is about."""

    @property
    @abstractmethod
    def _codes(self) -> int:
        """How many codes a number has."""

    @property
    def _always(self) -> tuple[int, ...]:
        """The coordinates that every report is about."""
        return ()

    @property
    def _reports_all(self) -> bool:
        return self._numbers == self.dim

    @cached_property
    def layout(self) -> Fields:
        codes = (self._codes,) * self._numbers
        return Fields(codes if self._reports_all else (self.dim,) * self._numbers + codes)

    def encode_reports(self, reports: Any, design: Any = None) -> Reports:
        """Check reports, or unpack those of a file."""
        checked = super().encode_reports(reports, design)
        for a in range(1, 0 if self._reports_all else self._numbers):
            ascending = checked[:, a] > checked[:, a - 1]
            if not ascending.all():
                raise InvalidInput(
                    f"report {int(np.argmin(ascending)) + 1} does not name its coordinates in ascending order",
                    "different coordinates, each once",
                    "Pass what privatize or simulate returned.",
                )
        return checked

    def _views_of_each(self, names: Sequence[str], table: Cells, laws: Floats, windows: int) -> tuple[ReportView, ...]:
        """Views of the single numbers, by the cell of each code in ``table``; the first cells are windows'."""
        codes = [f"codes of {name}" for name in names]
        places = some_of(self.dim)
        if self._reports_all:
            return tuple(given_view(codes[place], place, table, laws, windows) for place in places)
        single, _ = self.inclusion()
        return tuple(named_view(codes[j], j, float(single[j]), self._numbers, table, laws, windows) for j in places)

    def inclusion(self) -> tuple[Floats, Floats]:
        """Return the probability that a report is about number j, and that it is about both i and j."""
        free, others = self._numbers - len(self._always), self.dim - len(self._always)
        fixed = np.zeros(self.dim, dtype=bool)
        fixed[list(self._always)] = True
        single = np.where(fixed, 1.0, free / max(others, 1))
        of_two_others = free * (free - 1) / max(others * (others - 1), 1)
        both = np.where(np.logical_or.outer(fixed, fixed), np.multiply.outer(single, single), of_two_others)
        np.fill_diagonal(both, single)
        return single, both

    def _numbers_and_codes(self, reports: Reports) -> tuple[NDArray[np.int64], Reports]:
        """Return which numbers checked reports are about, and their codes, both n x k."""
        k = self._numbers
        rows = reports.reshape(-1, len(self.layout.states))
        if self._reports_all:
            return np.broadcast_to(np.arange(self.dim), rows.shape), rows
        return rows[:, :k].astype(np.int64), rows[:, k:]

    # -- the law of reports, of a few possible truths ------------------------------------------------

    @property
    def _subsets(self) -> int:
        """How many sets of coordinates there are; all are equally likely."""
        return math.comb(self.dim - len(self._always), self._numbers - len(self._always))

    @property
    def report_count(self) -> int:
        """How many different reports there are."""
        return self._subsets * int(self._codes**self._numbers)

    def every_report(self) -> Reports:
        """All reports, one a row."""
        free = [j for j in range(self.dim) if j not in self._always]
        chosen = combinations(free, self._numbers - len(self._always))
        codes = list(product(range(self._codes), repeat=self._numbers))
        rows = [(*which, *each) for which in (sorted((*self._always, *some)) for some in chosen) for each in codes]
        made = np.array(rows, dtype=self.layout.dtype)[:, self._numbers if self._reports_all else 0 :]
        return made[:, 0] if made.shape[1] == 1 else made

    def report_names(self) -> list[str]:
        """The names of :meth:`every_report`: the numbers that each is about, and their codes."""
        which, codes = self._numbers_and_codes(self.every_report())
        about, said = ([",".join(map(str, row)) for row in table.tolist()] for table in (which, codes))
        return [f"{numbers}={code}" for numbers, code in zip(about, said, strict=True)]

    def _products(self, reports: Any, rows: Floats, law_of: Callable[[Floats], Floats]) -> Floats:
        """Return the product over the numbers of a report of P(code | number), n x rows.

        ``law_of`` gives P(code | z), numbers x codes. Rows of a few values, such as zeros and ones, ask for few laws.
        """
        values, place = np.unique(rows, return_inverse=True)
        place = place.reshape(rows.shape)
        laws = law_of(values)
        which, codes = self._numbers_and_codes(self.encode_reports(reports))
        found = np.ones((len(codes), len(rows)))
        for a in range(which.shape[1]):
            found *= laws[place.T[which[:, a]], codes[:, [a]].astype(np.int64)]
        return found

    def _spread_out(self, reports: Any, values: Floats) -> Floats:
        """Return n x dim: the value of a code over the probability that its number is reported, else zero."""
        which, codes = self._numbers_and_codes(self.encode_reports(reports))
        single, _ = self.inclusion()
        dense = np.zeros((len(codes), self.dim))
        np.put_along_axis(dense, which, values[codes] / single[which], axis=1)
        return dense
