"""Are reports drawn afresh for every call, every row and every attribute?

Reports are brought to ranks within their truth (``audited_fields``), which are even and independent if each report has
its own random bits. Two signs are taken of each rank: whether it is in the upper half, and whether it is in one of the
outer quarters. Signs are compared

- between calls on the same truths: the next call, one in another thread, one in a forked child;
- between rows, at every distance, and with the truths of other rows;
- between attributes, and with the truths of other attributes (not inside a report whose fields depend by design).

All these tests are exact (``sign_tests``). Mistakes that show only where something rare happens, such as two lies
that come together, are looked for in the tails: how often both ranks are among the last 2^-j.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from askance.arrays import Flags, Floats
from askance.planning.auditing.audit_questions import AuditQuestion, Finding, most_striking
from askance.planning.auditing.audited_fields import AuditedFields, FieldNames, Truths, even_ranks
from askance.planning.auditing.drawing_places import in_a_child, in_another_thread
from askance.planning.auditing.sign_tests import SignSequence, joint_finding, lag_findings, pair_finding

ROWS = 1 << 15  # of a call, at most: a shared coin among 20,000 rows is 10 standard errors and more
FIELDS_OF_ALL_ROWS = 1 << 19  # rows times fields of a call: some seconds for all tests
_WORK = 1 << 24  # numbers drawn for a call, where a report is costly
_FEWEST = 200  # rows, however costly
_COLUMNS = 16  # fields that are looked at one by one, at all distances; the others only together
_PAIRED = 1 << 10  # attributes that are looked at in pairs, half a million: of more, so many at random
_CALLS, _PEOPLE = 96, 512  # calls about the same few people: a person who is always told stands out
_TAILS = (3, 4, 5, 6, 7, 8)  # a tail of 2^-8 happens together in 20,000 rows 0.3 times by chance
_FEW_LAGS = 12  # distances 1, 2, 4, ... at which tails are looked at
_COMPARED = (
    ("the first call", "the next call"),
    ("the first call", "a call in another thread"),
    ("the first call", "a call in a forked process"),
    ("a call in a forked process", "the call after the fork"),
)
_ASKS = {
    "repeated calls": "Are reports drawn afresh in every call, thread and process?",
    "neighbouring rows": "Are the reports of different people independent, and of other people's truths?",
    "attributes": "Are the attributes of one report hidden independently?",
}


@dataclass(frozen=True, eq=False)
class Signs:
    """Two signs of each rank, rows x fields, and whether it is in a tail."""

    ranks: Floats

    @cached_property
    def both(self) -> list[tuple[str, Floats]]:
        return [
            ("", np.where(self.ranks < 0.5, -1.0, 1.0)),
            ("the sizes of ", np.where(np.abs(self.ranks - 0.5) < 0.25, -1.0, 1.0)),
        ]

    @cached_property
    def flat(self) -> list[SignSequence]:
        """Both signs of all fields in a row, attribute by attribute, row by row."""
        return [SignSequence(table.ravel()) for _, table in self.both]

    @cached_property
    def columns(self) -> list[list[SignSequence]]:
        """Both signs of each field."""
        return [[SignSequence(column) for column in np.ascontiguousarray(table.T)] for _, table in self.both]

    def sequences(self, sign: int, together: bool) -> list[SignSequence]:
        return [self.flat[sign]] if together else self.columns[sign]

    def tail(self, j: int) -> Flags:
        return np.asarray(self.ranks >= 1 - 2.0**-j)


def audit_dependence(fields: AuditedFields, draws: int | None, error_rate: float) -> list[AuditQuestion]:
    """Test whether reports are drawn independently of each other."""
    rng = np.random.default_rng()
    rows = max(_FEWEST, min(ROWS, FIELDS_OF_ALL_ROWS // len(fields.names), _WORK // fields.work))
    rows = rows if draws is None else max(2, min(rows, int(draws)))
    truths = fields.truths(rows, rng)

    def draw() -> Floats:
        return fields.values(fields.reports(truths), truths)

    calls: dict[str, Floats | None] = {
        "the first call": draw(),
        "the next call": draw(),
        "a call in another thread": in_another_thread(draw),
        "a call in a forked process": in_a_child(draw),
        "the call after the fork": draw(),  # a child that inherits random bits has the same as its parent from there on
    }
    missing = [name for name, values in calls.items() if values is None]
    signs = {name: _orders(fields, values, truths, rng) for name, values in calls.items() if values is not None}
    first, rate = signs["the first call"], error_rate
    found = _always_told(fields, rows, rng)
    for one, other in _COMPARED:
        if one in signs and other in signs:
            found += _between_calls(fields, signs[one], signs[other], f"reports of {one} and of {other}")
    note = f"Could not be tried: {', '.join(missing)}." if missing else ""
    questions = [AuditQuestion.of("repeated calls", _ASKS["repeated calls"], found, rate, note)]
    found = between_rows(fields, first, truths, rng)
    questions.append(AuditQuestion.of("neighbouring rows", _ASKS["neighbouring rows"], found, rate))
    if fields.independent and len(fields.names) > 1:
        found = between_fields(fields, first, truths)
        questions.append(AuditQuestion.of("attributes", _ASKS["attributes"], found, rate))
    return questions


def _orders(fields: AuditedFields, values: Floats, truths: Truths, rng: np.random.Generator) -> list[Signs]:
    """Ranks of the fields as they are, and with the truth first."""
    surprise = fields.surprise(values, truths)
    tables = [values] if surprise is None else [values, surprise]
    return [Signs(even_ranks(table, truths, fields.part, rng)) for table in tables]


def _between_calls(fields: AuditedFields, first: list[Signs], other: list[Signs], between: str) -> list[Finding]:
    found = []
    for mine, theirs in zip(first, other, strict=True):
        for sign, (what, _) in enumerate(mine.both):
            # Fields that depend on each other by design are looked at one by one.
            both = zip(*(signs.sequences(sign, fields.independent) for signs in (mine, theirs)), strict=True)
            for j, (a, b) in enumerate(both):
                whose = "" if fields.independent else f" ({fields.names[j]})"
                found += lag_findings(a, b, f"{what}{between}{whose}")
        found.append(_together(mine, theirs, between, fields.names))
    return found


def _together(one: Signs, other: Signs, what: str, names: list[str]) -> Finding:
    counted = np.array([(one.tail(j) & other.tail(j)).sum(axis=0) for j in _TAILS])
    chance = np.array([4.0**-j for j in _TAILS])[:, None]

    def name(place: int) -> str:
        j, field = divmod(place, counted.shape[1])
        return f"rare {what} come together ({names[field]}: {counted[j, field]} times)"

    return joint_finding(counted, len(one.ranks), chance, name)


def _always_told(fields: AuditedFields, rows: int, rng: np.random.Generator) -> list[Finding]:
    """Ask the same few people again and again: is the report on somebody always the same?

    Among all reports on a truth, the largest rank of one person in M calls is below x with probability x^M.
    """
    people = max(8, min(_PEOPLE, rows // 32, FIELDS_OF_ALL_ROWS // len(fields.names) // _CALLS))
    truths = fields.truths(people, rng)
    calls = [fields.values(fields.reports(truths), truths) for _ in range(_CALLS)]
    all_truths = np.tile(truths, (_CALLS, 1))
    found = []
    for order in _orders(fields, np.concatenate(calls), all_truths, rng):
        ranks = order.ranks.reshape(_CALLS, people, -1)
        # A person is part of the group that ranks are taken in: its size bounds how far that can matter.
        p_values = np.stack([ranks.max(axis=0) ** _CALLS, (1 - ranks.min(axis=0)) ** _CALLS])
        shape = p_values.shape[1:]

        def name(place: int, shape: Any = shape) -> str:
            person, field = divmod(place % (shape[0] * shape[1]), shape[1])
            return f"{fields.names[field]} of person {person + 1} hardly changes in {_CALLS} calls"

        found.append(most_striking(p_values, name))
    return found


def between_rows(fields: FieldNames, first: list[Signs], truths: Truths, rng: np.random.Generator) -> list[Finding]:
    """Test the signs of rows at every distance, with each other and with the truths of other rows."""
    columns = rng.permutation(len(fields.names))[:_COLUMNS]
    # Two ways to divide the truths of each part into halves.
    halves = [
        [SignSequence(column) for column in np.where(code, 1.0, -1.0).T]
        for code in (truths % 2 == 1, truths >= fields.counts // 2)
    ]
    found = []
    for signs in first:
        for sign, (what, table) in enumerate(signs.both):
            if fields.independent and table.shape[1] > 1:
                found += lag_findings(signs.flat[sign], None, f"{what}neighbouring attributes and rows")
            for j in columns:
                said = f"{what}reports ({fields.names[j]})"
                found += lag_findings(signs.columns[sign][j], None, said)
                for half in halves[: 1 + (fields.counts[fields.part[j]] > 2)]:
                    found += lag_findings(
                        half[fields.part[j]], signs.columns[sign][j], f"other people's truths and {said}"
                    )
        found.append(_rare_neighbours(signs, fields.names))
    return found


def _rare_neighbours(signs: Signs, names: list[str]) -> Finding:
    """Rare reports at distances 1, 2, 4, ... and half of all rows, in pairs that have no row in common."""
    rows = len(signs.ranks)
    lags = sorted({*(1 << k for k in range(_FEW_LAGS) if 1 << k < rows), rows // 2} - {0})
    counted, each = [], []
    for lag in lags:
        start = np.flatnonzero((np.arange(rows - lag) // lag) % 2 == 0)
        each.append(len(start))
        for j in _TAILS:
            tail = signs.tail(j)
            counted.append((tail[start] & tail[start + lag]).sum(axis=0))
    table = np.array(counted).reshape(len(lags), len(_TAILS), -1)
    chance = np.array([4.0**-j for j in _TAILS])[None, :, None]

    def name(place: int) -> str:
        lag, j, field = np.unravel_index(place, table.shape)
        return f"rare reports come together at distance {lags[lag]} ({names[field]}: {table[lag, j, field]} times)"

    return joint_finding(table, np.broadcast_to(np.array(each)[:, None, None], table.shape), chance, name)


def between_fields(fields: FieldNames, first: list[Signs], truths: Truths) -> list[Finding]:
    """Test every pair of fields of a row, and each with the truths that others are about."""
    some = np.sort(np.random.default_rng().permutation(len(fields.names))[:_PAIRED])
    names = [fields.names[j] for j in some]
    found = []

    def said(what: str) -> Callable[[int, int], str]:
        return lambda i, j: f"{what}{names[i]} and {names[j]} go together"

    halves = np.where(truths >= fields.counts // 2, 1.0, -1.0)[:, fields.part[some]]
    for signs in (Signs(order.ranks[:, some]) for order in first):
        for what, table in signs.both:
            found.append(pair_finding(table, table, said(what), same=True))
            found.append(pair_finding(halves, table, said(f"{what}the truth of "), same=False))
        found.append(pair_finding(signs.both[0][1], signs.both[1][1], said("the size of "), same=False))
        pairs = np.triu_indices(len(names), 1)
        tails = [signs.tail(j).astype(float) for j in _TAILS]
        counted = np.array([np.rint(tail.T @ tail)[pairs].astype(np.int64) for tail in tails])
        chance = np.array([4.0**-j for j in _TAILS])[:, None]

        def rare(place: int, first: Any = pairs[0], second: Any = pairs[1]) -> str:
            i, j = first[place % len(first)], second[place % len(first)]
            return f"rare reports of {names[i]} and {names[j]} come together"

        found.append(joint_finding(counted, len(truths), chance, rare))
    return found
