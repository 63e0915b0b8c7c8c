"""Whether reports about numbers can have come from the channel that is said to have made them.

A channel lists the laws that its reports can have, by cells (:class:`~askance.channels.rows.report_views.ReportView`).
Of all their mixtures the one that fits the reports best is found, and what it misses is compared with chance: with n
reports in B cells, n KL(seen || possible) exceeds x with a probability of at most e^-x (e x / (B - 1))^(B - 1),
however few reports there are (Agrawal 2020, Finite-sample concentration of the multinomial in relative entropy).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.channels.rows.report_views import ReportView
from askance.channels.rows.vectors import NumberChannel
from askance.engines.base import Engine
from askance.engines.sources import RecordSource
from askance.errors import InvalidInput
from askance.statistics.base import Records

# Chances of proper reports to be refused, and to be remarked on, over all views together.
CERTAIN, LIKELY = 1e-9, 1e-3
_MOST_ROWS = 50_000  # that are looked at: more would find smaller faults than any that matter
_STEPS = 3_000  # of the search for a mixture, at most; what is left to gain after them is known and allowed for
_FOUND = 0.01  # of a log-likelihood: less is not worth a step
_REMEDY = "Pass what channel.privatize returned, with the channel that made it."


class Seen(NamedTuple):
    """How many reports are in each cell of all views, one view after the other; the ends of what they hold."""

    counts: Floats
    rows: int
    least: Floats
    most: Floats

    @property
    def alike(self) -> bool:
        """Whether no two reports differ."""
        return self.rows > 1 and bool((self.least == self.most).all())


@dataclass(frozen=True, eq=False)
class ReportCells:
    """Count the reports in each cell of each view of a channel. Reports of weight zero count for nothing."""

    channel: NumberChannel

    def empty(self) -> Seen:
        ends = np.full(len(self.channel.layout.states), np.inf)
        return Seen(np.zeros(sum(len(view.laws) for view in self.channel.report_views)), 0, ends, -ends)

    def observe(self, records: Records) -> Seen:
        codes = records.codes if records.weights is None else records.codes[records.weights > 0]
        if not len(codes):
            return self.empty()
        counts = [np.bincount(view.cells(codes), minlength=len(view.laws)) for view in self.channel.report_views]
        table = codes.reshape(len(codes), -1).astype(float)
        return Seen(np.concatenate([*counts, []]), len(codes), table.min(axis=0), table.max(axis=0))

    def merge(self, first: Seen, second: Seen) -> Seen:
        ends = np.minimum(first.least, second.least), np.maximum(first.most, second.most)
        return Seen(first.counts + second.counts, first.rows + second.rows, *ends)


def seen_reports(channel: NumberChannel, source: RecordSource, engine: Engine) -> Seen:
    """Count reports, or as many of them as are enough."""
    return engine.reduce(ReportCells(channel), engine.sample(source, _MOST_ROWS))


def counts_of_views(channel: NumberChannel, seen: Seen) -> list[tuple[ReportView, Floats]]:
    """Each view of a channel, with how many reports are in its cells."""
    views = channel.report_views
    ends = np.cumsum([0, *(len(view.laws) for view in views)]).tolist()
    return [(view, seen.counts[start:stop]) for view, start, stop in zip(views, ends, ends[1:], strict=False)]


def check_reports(channel: NumberChannel, seen: Seen) -> tuple[str, ...]:
    """Refuse reports that their channel cannot have made; return remarks on those that it hardly can have."""
    expected = f"reports of {channel!r}, whose noise no truth can undo"
    if seen.alike and seen.rows > len(channel.names) > 1:  # one number may be reported by a coin, a row never is
        raise InvalidInput(f"{seen.rows:,} reports that are all the same", expected, _REMEDY)
    views = counts_of_views(channel, seen)
    worst, least = None, math.log(LIKELY)
    for view, counts in views:
        chance = log_chance(counts, view.laws, math.log(LIKELY / len(views))) + math.log(len(views))
        if chance < least:
            worst, least = (view, counts), chance
    if worst is None:
        return ()
    view, counts = worst
    what = f"reports whose {view.what} no truth gives (chance below {_power(least)}){_plainest(view, counts)}"
    if least < math.log(CERTAIN):
        raise InvalidInput(f"{seen.rows:,} {what}", expected, _REMEDY)
    return (f"There are {what}: they may not be {expected}. {_REMEDY}",)


def log_chance(counts: Floats, laws: Floats, enough: float) -> float:
    """Return the logarithm of an upper bound of the chance that reports miss all possible laws by as much as these do.

    The search ends as soon as the bound is above ``enough``: nothing is to be said then.
    """
    total, cells = counts.sum(), len(counts)
    if not total or cells < 2:
        return 0.0
    seen = counts > 0
    laws, share = laws[seen], counts[seen] / total
    if (laws.max(axis=1) <= 0).any():
        return -math.inf
    weights = np.full(laws.shape[1], 1 / laws.shape[1])
    bound = 0.0
    for _ in range(_STEPS):
        law = laws @ weights
        gain = laws.T @ (share / law)
        missed = total * float(share @ np.log(share / law))
        left = total * math.log(max(float(gain.max()), 1.0))
        bound = _log_tail(missed - left, cells)
        if left < _FOUND or _log_tail(missed, cells) > enough or bound < math.log(CERTAIN) + enough:
            break
        weights = weights * gain
    return bound


def _log_tail(missed: float, cells: int) -> float:
    if missed <= cells - 1:
        return 0.0
    return -missed + (cells - 1) * (1 + math.log(missed / (cells - 1)))


def _plainest(view: ReportView, counts: Floats) -> str:
    """The cell that is farthest beyond its smallest or largest probability, in words; nothing if all are within."""
    share = counts / counts.sum()
    least, most = view.laws.min(axis=1), view.laws.max(axis=1)
    few, many = least - share, share - most
    if max(few.max(), many.max()) <= 0:
        return ""
    if few.max() >= many.max():
        place = int(few.argmax())
        return f": {share[place]:.1%} are of a kind of which noise alone makes {least[place]:.1%}"
    place = int(many.argmax())
    return f": {share[place]:.1%} are of a kind that is never more than {most[place]:.1%}"


def _power(chance: float) -> str:
    """A chance in words, from its logarithm."""
    return f"1e{math.ceil(max(chance, -700.0) / math.log(10)):d}"
