"""Auditing attributes that are hidden one by one.

1. *exact*: the level of every attribute from the whole numbers that it is drawn with, or by integration where noise is
   continuous, and their sum: the level of the row.
2. *every law*: rows are drawn through ``privatize``. Attributes that share a law are counted together in one table,
   every cell of which is tested, and each for itself: how often it is kept, and how often together with its neighbour
   (attributes must not share their chance). Added noise is compared with its declared distribution function, attribute
   by attribute, by the bound of Dvoretzky, Kiefer, Wolfowitz and Massart.
3. *a lower bound* from the draws, for the attribute that reveals most. It is one for the row, too.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from askance.channels.attributes.coordinate_law import FiniteCoordinate
from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.noise_law import Law, NoiseCoordinate
from askance.errors import InvalidInput
from askance.planning.auditing.audit_questions import SHARES, Finding
from askance.planning.auditing.audit_report import AttributeAudit
from askance.planning.auditing.audited_fields import FAR_APART
from askance.planning.auditing.cell_tests import binomial_p_values, most_revealing
from askance.planning.auditing.clopper_pearson import limits, sure_level
from askance.planning.auditing.exact_noise import exact_law_level, exact_normal_level, normal_shift

# Reports on single attributes, where nobody says how many rows: a few seconds' worth, fewer where each is drawn
# without floating point.
_WORK, _SLOW_WORK = 1 << 24, 1 << 20
_ROWS = (400, 1_000_000)  # at least and at most, then: 400 show a flip that is off by a tenth
_FEWEST_ROWS = 100  # that a user may ask for
_AT_ONCE = 1 << 22  # 32 MB of reports as doubles
_LARGEST_TABLE = 1 << 18  # cells, of 512 states: of more, each would be seen too seldom to be tested
_MOST_ATTRIBUTES = 1 << 14  # the fewest rows that say anything take some hundred megabytes then


class Bound(NamedTuple):
    """A level that one attribute surely exceeds, and where that was seen."""

    level: float
    where: str


def audit_attributes(channel: FeatureChannel, draws: Any, error_rate: float) -> AttributeAudit:
    """Check a channel that hides attributes one by one; see :func:`askance.audit`."""
    width = channel.width
    if width > _MOST_ATTRIBUTES:
        raise InvalidInput(
            f"an audit of {width:,} attributes",
            f"at most {_MOST_ATTRIBUTES:,}",
            "Audit some of them: attributes with the same parameters are drawn by the same code.",
        )
    rows = _rows(channel) if draws is None else draws
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < _FEWEST_ROWS:
        raise InvalidInput(f"draws={draws!r}", f"a whole number of rows, at least {_FEWEST_ROWS}")
    bound_level = error_rate * SHARES["bound"] / len(channel.groups)
    seen = [_Seen.of(law, columns) for law, columns in channel.groups]
    for number, (truth, reports) in enumerate(_drawn(channel, seen, int(rows))):
        for group in seen:
            group.observe(number, truth[:, group.columns], reports[:, group.columns])
    findings = [finding for group in seen for finding in group.findings()]
    test_level = error_rate * SHARES["law"] / max(1, len(findings))
    bound = max((group.bound(bound_level) for group in seen), key=lambda found: found.level)
    alone, together = _exact(channel)
    return AttributeAudit(
        name="",
        channel=repr(channel),
        promised_epsilon=channel.guarantee.epsilon,
        exact_epsilon=together,
        draws=int(rows) * width,
        smallest_p=min((finding.p_value for finding in findings), default=1.0),
        lower_bound=bound.level,
        confidence=1 - error_rate * SHARES["bound"],
        attributes=width,
        attribute_epsilon=alone,
        delta=channel.guarantee.delta,
        tests=len(findings),
        test_level=test_level,
        faults=tuple(
            f"{what} (p = {p_value:.2g})"
            for what, p_value, _ in sorted(findings, key=lambda finding: finding.p_value)
            if p_value < test_level
        ),
        lower_bound_at=bound.where,
    )


def _rows(channel: FeatureChannel) -> int:
    slow = any(not law.is_finite and law.steps for law, _ in channel.groups)
    least, most = _ROWS
    return max(least, min(most, (_SLOW_WORK if slow else _WORK) // channel.width))


def _exact(channel: FeatureChannel) -> tuple[float, float]:
    """The level of the least private attribute, and that of the whole row, worked out once more."""
    alone, levels, squares, delta = [0.0], [], [], 0.0
    for law, columns in channel.groups:
        alone.append(exact_law_level(law))
        shift = normal_shift(law)
        if shift is None:
            levels.append(alone[-1] * len(columns))
        else:  # attributes with normal noise are one normal vector: squares of shifts add up
            squares.append(len(columns) * shift**2)
            delta = max(delta, law.delta)
    together = exact_normal_level(math.sqrt(math.fsum(squares)), delta) if squares else 0.0
    return max(alone), math.fsum(levels) + together


def _drawn(channel: FeatureChannel, seen: "list[_Seen]", rows: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Draw reports on rows in which every attribute takes every truth in turn, neighbours different ones."""
    at_once = max(1, min(-(-rows // 2), _AT_ONCE // channel.width))
    for start in range(0, rows, at_once):
        number = np.arange(start, min(start + at_once, rows))[:, None]
        truth = np.empty((len(number), channel.width), dtype=float)
        for group in seen:
            truth[:, group.columns] = group.truths[(number + group.columns) % len(group.truths)]
        yield truth, channel.privatize(truth).astype(float)


class _Seen:
    """What was drawn for the attributes that share a law."""

    columns: NDArray[np.intp]
    truths: NDArray[np.float64]

    @staticmethod
    def of(law: Law, columns: NDArray[np.intp]) -> "_Seen":
        return _States(law, columns) if law.is_finite else _Noise(law, columns)

    def observe(self, number: int, truth: NDArray[Any], reports: NDArray[Any]) -> None:
        """Take in some rows."""
        raise NotImplementedError

    def findings(self) -> list[Finding]:
        """Return all checks."""
        raise NotImplementedError

    def bound(self, level: float) -> Bound:
        """Return a level that is surely exceeded."""
        raise NotImplementedError


class _States(_Seen):
    def __init__(self, law: FiniteCoordinate, columns: NDArray[np.intp]) -> None:
        self.law, self.columns, self.truths = law, columns, law.values.astype(float)
        states = len(law.values)
        if states * states > _LARGEST_TABLE:
            raise InvalidInput(
                f"an audit of {states:,} states",
                f"at most {math.isqrt(_LARGEST_TABLE)}",
                "Audit the same flips with fewer states: they are drawn by the same code.",
            )
        self.tables = np.zeros((2, states, states), np.int64)
        self.kept = np.zeros(len(columns), np.int64)
        self.kept_both = np.zeros(max(len(columns) - 1, 0), np.int64)
        self.rows = 0

    def observe(self, number: int, truth: NDArray[Any], reports: NDArray[Any]) -> None:
        states = len(self.truths)
        codes = [np.searchsorted(self.truths, values) for values in (reports, truth)]
        counted = np.bincount((codes[0] * states + codes[1]).ravel(), minlength=states**2)
        self.tables[number % 2] += counted.reshape(states, states)
        kept = codes[0] == codes[1]
        self.kept += kept.sum(axis=0)
        self.kept_both += (kept[:, 1:] & kept[:, :-1]).sum(axis=0)
        self.rows += len(truth)

    def findings(self) -> list[Finding]:
        table = self.tables.sum(axis=0)
        p_values = binomial_p_values(table, table.sum(axis=0), self.law.matrix)
        found = [
            Finding(f"report {self.truths[o]:g} for the truth {self.truths[k]:g}", float(p_values[o, k]))
            for o, k in np.ndindex(*p_values.shape)
        ]
        if not self.law.is_flip or len(self.columns) < 2:
            return found
        keep = float(self.law.matrix[0, 0])
        for what, counts, chance in (("is", self.kept, keep), ("and the next are both", self.kept_both, keep**2)):
            p_kept = binomial_p_values(counts, np.full(len(counts), self.rows), np.full(len(counts), chance))
            found += [
                Finding(f"how often attribute {self.columns[n] + 1} {what} kept", float(p))
                for n, p in enumerate(p_kept)
            ]
        return found

    def bound(self, level: float) -> Bound:
        first, second = self.tables
        if not first.sum(axis=0).all() or not second.sum(axis=0).all():
            return Bound(0.0, "too few draws")
        report, truth, other = most_revealing(first, level)
        pair = [truth, other]
        sure = sure_level(second[report, pair], second.sum(axis=0)[pair], level)
        states = [f"{self.truths[n]:g}" for n in (report, truth, other)]
        return Bound(sure, f"one attribute: report {states[0]}, {states[1]} against {states[2]}")


class _Noise(_Seen):
    def __init__(self, law: NoiseCoordinate, columns: NDArray[np.intp]) -> None:
        self.law, self.columns = law, columns
        low, high = law.bounds or (-FAR_APART * law.size, FAR_APART * law.size)
        self.truths = np.array([low, high])
        self.noise: list[NDArray[np.float64]] = []
        self.above, self.each = np.zeros(2, np.int64), np.zeros(2, np.int64)

    def observe(self, number: int, truth: NDArray[Any], reports: NDArray[Any]) -> None:
        self.noise.append(reports - truth)
        for n, one in enumerate(self.truths[::-1]):
            self.above[n] += np.count_nonzero((truth == one) & (reports > self.truths[1]))
            self.each[n] += np.count_nonzero(truth == one)

    def findings(self) -> list[Finding]:
        noise = np.sort(np.concatenate(self.noise), axis=0)
        if not self.law.hides:
            return [Finding(f"attribute {self.columns[0] + 1} is told as it is", float(not np.any(noise)))]
        rows = len(noise)
        declared = self.law.distribution(noise)
        steps = np.arange(rows + 1)[:, None] / rows
        distance = np.maximum(declared - steps[:-1], steps[1:] - declared).max(axis=0)
        # Rounding to the grid moves the distribution function by at most half a step of its steepest density.
        rounding = 0.0
        if self.law.range is not None and self.law.steps:
            rounding = float(self.law.range) / self.law.steps * math.exp(float(self.law.log_density(0.0)))
        off = np.maximum(distance - rounding, 0.0)
        p_values = np.minimum(1.0, 2 * np.exp(-2 * rows * off**2))
        return [
            Finding(f"the noise of attribute {column + 1}", float(p))
            for column, p in zip(self.columns, p_values, strict=True)
        ]

    def bound(self, level: float) -> Bound:
        if self.law.bounds is None or not self.law.hides:
            return Bound(0.0, "nothing is promised about noise without public bounds")
        lower, upper = limits(self.above, self.each, level)
        ratio = float((lower[0] - self.law.delta) / upper[1])
        low, high = self.law.bounds
        sure = max(0.0, math.log(ratio)) if ratio > 0 else 0.0
        return Bound(sure, f"one attribute: reports above {high:g}, {high:g} against {low:g}")
