"""A channel for numbers as an audit sees it: truths to try, reports about them, and what these should be worth."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.layouts import Bits, Fields, Reports
from askance.channels.rows.per_value_flip import PerValueFlip
from askance.channels.rows.priv_unit import PrivUnit
from askance.channels.rows.private_number import PrivateNumber
from askance.channels.rows.private_row import PrivateRow
from askance.channels.rows.triple_release import TripleRelease
from askance.channels.rows.vectors import RowMechanism, VectorChannel
from askance.channels.rows.window_release import WindowRelease

_RANDOM_TRUTHS = 2
_MOST_BINS = 256  # a finer look would need more draws to learn from than it gains


@dataclass(frozen=True)
class AuditedRows:
    """What can be asked of any channel for numbers.

    Parameters
    ----------
    channel : RowMechanism or PrivateRow
    """

    channel: RowMechanism | PrivateRow

    # -- truths --------------------------------------------------------------------------------------

    @cached_property
    def _limits(self) -> tuple[Floats, Floats]:
        if isinstance(self.channel, PrivateRow):
            bounds = self.channel.bounds
            return np.array(bounds.lower), np.array(bounds.upper)
        low, high = self.channel.range
        return np.full(self.channel.dim, low), np.full(self.channel.dim, high)

    @cached_property
    def truths(self) -> dict[str, Floats]:
        """Rows to try, by name: those that are farthest apart first, random ones last."""
        low, high = self._limits
        width = len(low)
        rng = np.random.default_rng()
        tried = {"all lowest": low, "all highest": high, "in the middle": low / 2 + high / 2}
        if width > 1:
            tried["highest and lowest by turns"] = np.where(np.arange(width) % 2, low, high)
        for number in range(_RANDOM_TRUTHS):
            share = rng.random(width)
            tried[f"random row {number + 1}"] = (1 - share) * low + share * high
        most = self.channel.max_ones if isinstance(self.channel, PerValueFlip) else None
        if most is not None and most < width:
            tried = {name: row * (np.arange(width) < most) for name, row in tried.items()}
            tried["highest and lowest by turns"] = high * (np.arange(width) >= width - most)
        return tried

    @property
    def extreme_truths(self) -> tuple[str, ...]:
        """The truths among which a pair is looked for that reports tell apart."""
        return tuple(list(self.truths)[:-_RANDOM_TRUTHS])

    # -- reports -------------------------------------------------------------------------------------

    def privatize(self, rows: Floats) -> Reports:
        """Draw reports as for real answers, and check their form."""
        return self.channel.encode_reports(self.channel.privatize(rows))

    @cached_property
    def _states(self) -> NDArray[np.int64]:
        """How many values each field of a report has."""
        layout = self.channel.layout
        if isinstance(layout, Bits):
            return np.full(layout.count, 2)
        return np.array(layout.states if isinstance(layout, Fields) else (1,))

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
        hidden = self.channel._hidden if isinstance(self.channel, PrivateRow) else self.channel
        proposals = hidden.rounds * hidden.proposals * (hidden.dim + 1) if isinstance(hidden, PrivUnit) else 0
        return proposals + 3 * len(self.quantities) + 6 * len(self.bins)

    # -- what reports are worth ----------------------------------------------------------------------

    @cached_property
    def _names(self) -> list[str]:
        if isinstance(self.channel, PrivateRow):
            return list(self.channel.bounds.names)
        return [f"number {number + 1}" for number in range(self.channel.dim)]

    @cached_property
    def quantities(self) -> list[str]:
        """What is estimated from a report, in words."""
        names, channel = self._names, self.channel
        first, second = np.triu_indices(len(names))
        products = [f"{names[i]} times {names[j]}" for i, j in zip(first, second, strict=True)]
        if isinstance(channel, TripleRelease):
            return products
        if isinstance(channel, PrivateNumber):
            told = "the number, from -1 to 1 over its bounds"
            return [told, "its square"] if channel.tells_squares else [told]
        return [*names, *products] if isinstance(channel, PrivateRow | WindowRelease) else names

    def estimates(self, reports: Reports) -> Floats:
        """Return n x quantities."""
        channel = self.channel
        if isinstance(channel, PrivateRow):
            return channel.moments(reports)[:, 1:]
        if isinstance(channel, TripleRelease):
            return channel.unbiased_products(reports)
        if isinstance(channel, WindowRelease):
            return np.hstack([channel.unbias(reports), channel.unbiased_products(reports)])
        if isinstance(channel, PrivateNumber):
            parts = [(channel.unbias(reports) - channel.centre) / channel.half]
            parts += [channel.unbias_square(reports)] if channel.tells_squares else []
            return np.column_stack(parts)
        if not isinstance(channel, VectorChannel):
            raise TypeError(f"nothing is known about what reports of {channel!r} are worth")
        return channel.unbias(reports).reshape(len(reports), -1)

    def wanted(self, row: Floats) -> Floats:
        """Return what the estimates should be in the mean, worked out from the row alone."""
        channel = self.channel
        first, second = np.triu_indices(len(row))
        if isinstance(channel, PrivateRow):
            own = np.linalg.solve(channel.to_units, np.concatenate([[1.0], row]))[1:]
            moments = np.concatenate([own, own[first] * own[second]])
            if isinstance(channel._hidden, PrivUnit):  # a long row is shortened, and told as such
                short, _ = channel._hidden.shorten([(moments - channel._offset) / channel._scale])
                moments = channel._offset + channel._scale * short[0]
            return moments
        if isinstance(channel, TripleRelease):
            return row[first] * row[second]
        if isinstance(channel, WindowRelease):
            return np.concatenate([row, row[first] * row[second]])
        if isinstance(channel, PrivateNumber):
            centred = (row - channel.centre) / channel.half
            return np.concatenate([centred, centred**2]) if channel.tells_squares else centred
        return channel.shorten([row])[0][0] if isinstance(channel, PrivUnit) else row
