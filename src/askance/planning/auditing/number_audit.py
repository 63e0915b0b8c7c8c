"""Auditing a channel for numbers: rows, vectors, or one number within public bounds.

Three checks, as for finite channels:

1. *exact*: epsilon from the whole numbers that the mechanism draws with (``exact_levels``);
2. *every mean*: reports are drawn through ``privatize`` for several truths, and the mean of each unbiased estimate is
   compared with the truth. With V the variance of n estimates and R the width of the interval that they lie in, the
   mean is off by more than sqrt(2 V L / n) + 7 R L / (3 (n - 1)) with probability at most 4 exp(-L) (Maurer & Pontil
   2009). That costs a tenth of the power of a z-test, and does not trust the normal law where a few rare reports tell
   nearly everything;
3. *a lower bound*: how often each field of a report has which value is learned on a quarter of the draws; which pair of
   truths, and which reports tell them apart best, is chosen on another; and the chosen event is bounded on the other
   half by Clopper and Pearson's limits.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.arrays import Floats
from askance.channels.layouts import Reports
from askance.channels.rows.private_row import PrivateRow
from askance.channels.rows.triple_release import TripleRelease
from askance.channels.rows.vectors import NumberChannel
from askance.errors import InvalidInput
from askance.planning.auditing.audit_questions import SHARES
from askance.planning.auditing.audit_report import MeanFault, NumberAudit
from askance.planning.auditing.audited_rows import AuditedRows
from askance.planning.auditing.clopper_pearson import limits, sure_level
from askance.planning.auditing.exact_levels import exact_level

# Where nobody says how many reports: so many numbers are drawn or made, in a few seconds; for a million reports at
# most, as for finite channels, and ten thousand at least.
_WORK, _MOST_DRAWS, _SOME_DRAWS = 60_000_000, 1_000_000, 10_000
_FEWEST_DRAWS = 1_000  # a quarter is for learning: with fewer, hardly a bin would be seen twice
_NUMBERS_AT_ONCE = 1 << 22  # 32 MB of estimates
_FEWEST_AT_ONCE = 64  # rows, however many numbers each has
_FOR_THE_USUAL = 1000  # reports whose median is what most of them say of a quantity
_ENOUGH = 30  # reports that tell a quantity: with fewer, it is not known how far apart its estimates may lie
_SOME = 5  # the same for the scale: a report of each quantity that is part of it must have been seen
_POWER = 1.645  # 2.33 standard errors, in units of sqrt(2): a normal estimate is lower with probability 0.01
_THRESHOLDS = 200  # that are tried for an event: from one to the next, the reports beyond it grow by 7% at most
_A_HAIR = 1e-9  # of the largest score: rounding makes equal scores differ by less
# Rows beyond these would take more than a gigabyte: sums are kept for each quantity, such as the product of a pair.
_MOST_NUMBERS, _MOST_PAIRED = 1 << 14, 1 << 8
_SCALE = "the scale of all estimates"


def audit_numbers(channel: NumberChannel, draws: Any, error_rate: float) -> NumberAudit:
    """Check a channel for numbers; see :func:`askance.audit`."""
    width = len(channel.limits[0])
    # No method of the channel: its list of estimates would be made to be counted, which is what takes the memory.
    if width > (_MOST_PAIRED if isinstance(channel, PrivateRow | TripleRelease) else _MOST_NUMBERS):
        raise InvalidInput(
            f"an audit of rows of {width:,} numbers",
            f"at most {_MOST_NUMBERS:,}, or {_MOST_PAIRED} where all their products are estimated",
            "Audit the same mechanism for fewer numbers: it is drawn by the same code.",
        )
    rows = AuditedRows(channel)
    if draws is None:
        draws = max(_SOME_DRAWS, min(_MOST_DRAWS, _WORK // rows.work))
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < _FEWEST_DRAWS:
        raise InvalidInput(f"draws={draws!r}", f"a whole number, at least {_FEWEST_DRAWS}")
    exact = exact_level(channel)
    every, extreme = list(rows.truths), rows.extreme_truths
    means, counts = _Means(rows), _FieldCounts(rows)
    for truth, reports in _drawn(rows, every, int(draws) // 4):
        means.observe(truth, reports)
        counts.observe(truth, reports)
    scores = _Scores.learned(counts, means)
    seen: dict[str, list[NDArray[np.float64]]] = {truth: [] for truth in extreme}
    for truth, reports in _drawn(rows, every, int(draws) // 4):
        means.observe(truth, reports)
        if truth in seen:
            seen[truth].append(scores.of(reports))
    event = _most_revealing(
        {truth: np.concatenate(parts, axis=1) for truth, parts in seen.items()}, extreme, error_rate * SHARES["bound"]
    )
    came, each = np.zeros(2, np.int64), np.zeros(2, np.int64)
    pair = [extreme[event.truth], extreme[event.other]]
    for truth, reports in _drawn(rows, pair, int(draws) // 2):
        means.observe(truth, reports)
        came[pair.index(truth)] += event.holds(scores.of(reports)).sum()
        each[pair.index(truth)] += len(reports)
    judged, p_values = means.judged, means.p_values
    mean_level = error_rate * SHARES["law"] / max(1, int(judged.sum()))
    return NumberAudit(
        name="",
        channel=repr(channel),
        promised_epsilon=channel.guarantee.epsilon,
        exact_epsilon=exact,
        draws=int(means.count.sum()),
        smallest_p=float(p_values[judged].min(initial=1.0)),
        lower_bound=sure_level(came, each, error_rate * SHARES["bound"]),
        confidence=1 - error_rate * SHARES["bound"],
        means=int(judged.sum()),
        unjudged=int((~judged[:, :-1]).sum()),
        mean_level=mean_level,
        detectable=means.detectable(mean_level),
        faults=means.faults(mean_level),
        lower_bound_at=(pair[0], pair[1]),
    )


def _drawn(rows: AuditedRows, truths: list[str], draws: int) -> Iterator[tuple[str, Reports]]:
    """Draw reports for some truths, which alternate from row to row as they would among real respondents."""
    each = -(-draws // len(truths))
    at_once = max(_FEWEST_AT_ONCE, _NUMBERS_AT_ONCE // (len(truths) * max(len(rows.channel.estimated), len(rows.bins))))
    truth = np.array([rows.truths[name] for name in truths])
    for start in range(0, each, at_once):
        rounds = min(at_once, each - start)
        reports = rows.privatize(np.tile(truth, (rounds, 1)))
        for number, name in enumerate(truths):
            yield name, reports[number :: len(truths)]


class _Means:
    """Sums over reports of what their estimates are off by: truths x quantities.

    The last quantity is the scale of all the others: their projection on the truth, which is 1 in the mean. Where
    quantities are hidden one by one, a channel that tells more than it says shows there before it does in any of them.
    """

    def __init__(self, rows: AuditedRows) -> None:
        self.rows = rows
        self.quantities = [*rows.channel.estimated, _SCALE]
        self.number = {name: number for number, name in enumerate(rows.truths)}
        single = np.array([rows.channel.expected(row) for row in rows.truths.values()])
        spread = np.ptp(single, axis=0)
        weights = np.divide(single, spread**2, out=np.zeros_like(single), where=spread > 0)
        length = np.einsum("ij,ij->i", single, weights)
        weights /= np.where(length > _A_HAIR, length, np.inf)[:, None]  # the truth 0 has no scale
        self._weights = weights
        self.wanted = np.column_stack([single, (length > _A_HAIR).astype(float)])
        self.count = np.zeros(len(single), np.int64)
        self.sums, self.squares = np.zeros_like(self.wanted), np.zeros_like(self.wanted)
        # Of all reports, whatever the truth: one that is rare for this truth is seen for another.
        self._lowest, self._highest = (np.full(sum(single.shape), sign * np.inf) for sign in (1, -1))
        self._informed = np.zeros(single.shape[1], np.int64)
        self._usual: NDArray[np.float64] | None = None

    def observe(self, truth: str, reports: Reports) -> None:
        t = self.number[truth]
        estimates = self.rows.channel.estimates(reports)
        scales = estimates @ self._weights.T
        if self._usual is None:  # what most reports say about a quantity that few of them tell
            self._usual = np.sort(estimates[:_FOR_THE_USUAL], axis=0)[min(len(estimates), _FOR_THE_USUAL) // 2]
        self._informed += (estimates != self._usual).sum(axis=0)
        self._lowest = np.minimum(self._lowest, np.concatenate([estimates.min(axis=0), scales.min(axis=0)]))
        self._highest = np.maximum(self._highest, np.concatenate([estimates.max(axis=0), scales.max(axis=0)]))
        off = np.column_stack([estimates, scales[:, t]]) - self.wanted[t]
        self.count[t] += len(reports)
        self.sums[t] += off.sum(axis=0)
        self.squares[t] += np.einsum("ij,ij->j", off, off)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Which means can be judged: it is known how far apart their estimates may lie."""
        single = np.broadcast_to(self._informed >= _ENOUGH, self._weights.shape)
        every = np.where(self._weights != 0, self._informed, _SOME).min(axis=1) >= _SOME
        return np.column_stack([single, (self.wanted[:, -1] > 0) & every])

    @property
    def _width(self) -> Floats:
        width, quantities = self._highest - self._lowest, self._weights.shape[1]
        return np.column_stack([np.broadcast_to(width[:quantities], self._weights.shape), width[quantities:]])

    @property
    def _errors(self) -> tuple[Floats, Floats]:
        """The two terms of the bound, for L = 1: that of the variance, and that of the width."""
        each = np.maximum(self.count, 2)[:, None]
        variance = np.maximum(self.squares - self.sums**2 / each, 0.0) / (each - 1)
        return np.sqrt(2 * variance / each), 7 / 3 * self._width / (each - 1)

    @property
    def p_values(self) -> Floats:
        """The probability at most of a mean that is off so far, for an honest channel."""
        by_variance, by_width = self._errors
        off = np.abs(self.sums) / np.maximum(self.count, 1)[:, None]
        # The positive root of by_width L + by_variance sqrt(L) = off, written without cancellation.
        below = by_variance + np.sqrt(by_variance**2 + 4 * by_width * off)
        root = np.divide(2 * off, below, out=np.zeros_like(off), where=below > 0)
        bounded: Floats = np.minimum(1.0, 4 * np.exp(-(root**2)))
        return bounded

    def faults(self, level: float) -> tuple[MeanFault, ...]:
        """Return the means that are off, the surest first."""
        truths, p_values = list(self.number), self.p_values
        found = [
            MeanFault(
                quantity=self.quantities[q],
                truth=truths[t],
                wanted=float(self.wanted[t, q]),
                observed=float(self.wanted[t, q] + self.sums[t, q] / self.count[t]),
                p_value=float(p_values[t, q]),
            )
            for t, q in np.argwhere(self.judged & (p_values < level))
        ]
        return tuple(sorted(found, key=lambda fault: (fault.p_value, fault.quantity != _SCALE)))

    @property
    def precision(self) -> Floats:
        """The inverse of the mean square that an estimate is off by, of each single quantity."""
        total = self.squares[:, :-1].sum(axis=0) / max(int(self.count.sum()), 1)
        inverse: Floats = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        return inverse

    def detectable(self, level: float) -> float:
        """About the least relative error of the scale that would be noticed with probability 0.99."""
        judged, needed = self.judged[:, -1], math.log(4 / level)
        by_variance, by_width = (term[judged, -1] for term in self._errors)
        noticed = (math.sqrt(needed) + _POWER) * by_variance + needed * by_width
        return float(noticed.min(initial=math.inf))


class _FieldCounts:
    """How often each field of a report had which value, for each of the extreme truths."""

    def __init__(self, rows: AuditedRows) -> None:
        self.rows = rows
        self.seen = np.zeros((len(rows.extreme_truths), len(rows.bins), int(rows.bins.max())))

    def observe(self, truth: str, reports: Reports) -> None:
        if truth not in self.rows.extreme_truths:
            return
        fields, bins = self.seen.shape[1:]
        place = self.rows.binned(reports) + np.arange(fields) * bins
        counted = np.bincount(place.ravel(), minlength=fields * bins)
        self.seen[self.rows.extreme_truths.index(truth)] += counted.reshape(fields, bins)


@dataclass(frozen=True, eq=False)
class _Scores:
    """How strongly a report points to each of the extreme truths. Learned once: an event must not change its meaning.

    Parameters
    ----------
    logs : array, truths x fields x bins
        By how often its fields had these values.
    direction : array, truths x quantities
        By its estimates, each weighted by its precision.
    """

    rows: AuditedRows
    logs: Floats
    direction: Floats

    @classmethod
    def learned(cls, counts: _FieldCounts, means: _Means) -> "_Scores":
        # Half a report more in every bin, so that what was never seen is not held for impossible.
        return cls(counts.rows, np.log(counts.seen + 0.5), means.wanted[: len(counts.seen), :-1] * means.precision)

    def of(self, reports: Reports) -> Floats:
        """Return 2 x n x truths."""
        binned, fields = self.rows.binned(reports), np.arange(self.logs.shape[1])
        by_fields = np.column_stack([table[fields, binned].sum(axis=1) for table in self.logs])
        return np.stack([by_fields, self.rows.channel.estimates(reports) @ self.direction.T])


@dataclass(frozen=True)
class _Event:
    """Reports whose score points to one truth rather than another by at least some threshold."""

    kind: int
    truth: int
    other: int
    threshold: float

    def holds(self, scores: Floats) -> NDArray[np.bool_]:
        above: NDArray[np.bool_] = scores[self.kind][:, self.truth] - scores[self.kind][:, self.other] >= self.threshold
        return above


def _most_revealing(seen: dict[str, Floats], truths: tuple[str, ...], level: float) -> _Event:
    """Choose the event whose sure log-ratio is largest."""
    best, event = -math.inf, _Event(0, 0, 1, 0.0)
    for kind, (truth, other) in ((k, pair) for k in range(2) for pair in permutations(range(len(truths)), 2)):
        mine, theirs = (
            np.sort(scores[kind][:, truth] - scores[kind][:, other])
            for scores in (seen[truths[truth]], seen[truths[other]])
        )
        share = np.geomspace(1, len(mine), _THRESHOLDS).astype(np.int64)
        thresholds = np.unique(np.concatenate([mine[-share], theirs[-np.minimum(share, len(theirs))]]))
        came = np.column_stack([len(s) - np.searchsorted(s, thresholds) for s in (mine, theirs)])
        lower, upper = limits(came, np.array([len(mine), len(theirs)]), level)
        ratio = lower[:, 0] / upper[:, 1]
        chosen = int(ratio.argmax())
        if ratio[chosen] > best:
            # Equal scores may differ in their last digits: a threshold must not lie among them.
            below = float(thresholds[chosen]) - _A_HAIR * float(np.abs(thresholds).max())
            best, event = float(ratio[chosen]), _Event(kind, truth, other, below)
    return event
