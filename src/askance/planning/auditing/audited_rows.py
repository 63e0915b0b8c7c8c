"""A channel for numbers as an audit sees it: truths to try, reports about them, and what these should be worth."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.layouts import Reports
from askance.channels.rows.vectors import NumberChannel

_RANDOM_TRUTHS = 2  # so that a channel which is right for extreme rows only is noticed
_MOST_BINS = 256  # a finer look would need more draws to learn from than it gains


@dataclass(frozen=True)
class AuditedRows:
    """Truths to try, and reports in bins.

    Parameters
    ----------
    channel : NumberChannel
    """

    channel: NumberChannel

    @cached_property
    def truths(self) -> dict[str, Floats]:
        """Rows to try, by name: those that are farthest apart first, random ones last."""
        rng = np.random.default_rng()
        random = {f"random row {number + 1}": self.channel.random_row(rng) for number in range(_RANDOM_TRUTHS)}
        return self.channel.extreme_rows() | random

    @cached_property
    def extreme_truths(self) -> tuple[str, ...]:
        """The truths among which a pair is looked for that reports tell apart."""
        return tuple(self.channel.extreme_rows())

    def privatize(self, rows: Floats) -> Reports:
        """Draw reports as for real answers, and check their form."""
        return self.channel.encode_reports(self.channel.privatize(rows))

    @cached_property
    def _states(self) -> NDArray[np.int64]:
        """How many values each field of a report has."""
        return np.array(self.channel.layout.states)

    @cached_property
    def bins(self) -> NDArray[np.int64]:
        """How many bins each column of :meth:`binned` has."""
        coarse = np.minimum(self._states, _MOST_BINS)
        return np.concatenate([coarse, np.full(int((self._states > _MOST_BINS).sum()), _MOST_BINS)])

    def binned(self, reports: Reports) -> NDArray[np.int64]:
        """Return each field of each report as one of at most 256 bins; of one with more values, its last byte, too."""
        fields = reports.reshape(len(reports), -1).astype(np.int64)
        coarse = fields * np.minimum(self._states, _MOST_BINS) // self._states
        return np.hstack([coarse, fields[:, self._states > _MOST_BINS] % _MOST_BINS])

    @property
    def work(self) -> int:
        """About how many numbers are drawn or made for one report."""
        return self.channel.work + 3 * len(self.channel.estimated) + 6 * len(self.bins)
