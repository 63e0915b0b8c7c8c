"""Auditing a channel: is the privacy that it promises the privacy that it gives?

Three checks, each independent of the channel's own arithmetic:

1. *enumeration*: epsilon from the integer counts, with Python integers and exact fractions;
2. *every cell*: reports are drawn through ``privatize``, with the entropy that protects real answers, and the
   number of times each truth gave each report is compared with the declared probability by an exact binomial test;
3. *a lower bound*: the pair of truths and the report that reveal most are chosen on one half of the draws, and
   bounded on the other half by Clopper and Pearson's limits, which no sampler can argue with.

Channels for numbers have too many reports for a table: see ``number_audit``. Attributes that are hidden one by one are
checked one by one: see ``attribute_audit``.

Then questions that no table answers, whatever the channel hides: are reports drawn afresh in every call, for every
row and every attribute (``dependence_audit``), does noise have its law far out and in its lowest digits
(``noise_audit``), and does anything but the random bytes decide (``replay_audit``)?

All tests together raise a false alarm with probability at most the stated error rate. Each question has a share of it
(``audit_questions.SHARES``), which its tests share (Bonferroni).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from askance.channels.attributes.feature_channel import FeatureChannel
from askance.channels.attributes.row_channel import RowChannel
from askance.channels.channel import Channel
from askance.channels.labels.design_per_row import DesignPerRow
from askance.channels.labels.finite import FiniteLaw
from askance.channels.rows.vectors import NumberChannel
from askance.entropy.thresholds import RESOLUTION
from askance.errors import InvalidInput
from askance.planning.auditing.attribute_audit import audit_attributes
from askance.planning.auditing.audit_questions import SHARES, AuditQuestion, check_asked
from askance.planning.auditing.audit_report import AuditReport, CellFault, DesignAudit
from askance.planning.auditing.audited_fields import audited_fields
from askance.planning.auditing.cell_tests import Table, binomial_p_values, detectable, most_revealing
from askance.planning.auditing.cell_tests import enumerated_epsilon as enumerated_epsilon
from askance.planning.auditing.clopper_pearson import sure_level
from askance.planning.auditing.dependence_audit import audit_dependence
from askance.planning.auditing.noise_audit import audit_tails
from askance.planning.auditing.number_audit import audit_numbers
from askance.planning.auditing.replay_audit import audit_leaks

_DRAWS = 1_000_000  # they show an error of 0.004 in a probability of Warner's design, within a second
_EACH = 20  # draws of every truth under every design, at least
_MOST_CELLS = 1 << 22  # of a table, such as 2,048 choices: counts and p-values of more would not fit into a gigabyte
_DRAWS_AT_ONCE = 1 << 20  # a few megabytes of answers, reports and codes
_AGREE = 1e-9  # what is worked out in two ways differs by less: by rounding


def audit(
    channel: Channel,
    draws: int | None = None,
    error_rate: float = 1e-3,
) -> AuditReport:
    """Check a channel against its promise.

    Parameters
    ----------
    channel : any channel
        With several designs, each is audited.
    draws : int, optional
        Reports to draw in all, for all truths (and designs). A million if not given, or as many as take a few seconds
        where a report is costly to draw.
    error_rate : float
        The probability with which an honest channel may fail.

    Returns
    -------
    AuditReport
        Printable; ``passed``, ``exact_epsilon``, ``lower_bound``, ``designs``, ``to_dict()``.

    Examples
    --------
    >>> from askance import Warner, audit
    >>> report = audit(Warner(0.75), draws=20_000, error_rate=1e-9)
    >>> report.passed, round(report.exact_epsilon, 4)
    (True, 1.0986)
    """
    check_asked(draws, error_rate)
    # Where something is unknown, what people are asked to do is audited: what they do instead, no device draws.
    # Tokens of a sequence are drawn one by one by one device: it is the device that is audited.
    channel = getattr(channel, "device") if getattr(channel, "hides", "") == "sequences" else channel  # noqa: B009
    channel = getattr(channel, "as_asked", channel)
    report = _audited(channel, draws, float(error_rate))
    return replace(report, questions=tuple(_questions(channel, draws, report, float(error_rate))))


def _questions(channel: Any, draws: int | None, report: AuditReport, error_rate: float) -> Iterator[AuditQuestion]:
    """Ask what is the same for every kind of channel."""
    fields = audited_fields(channel, np.random.default_rng())
    yield from audit_dependence(fields, draws, error_rate)
    tails = audit_tails(fields, draws, error_rate)
    if tails is not None:
        yield tails
    yield audit_leaks(fields, draws, report.draws, error_rate)


@singledispatch
def _audited(channel: Any, draws: int | None, error_rate: float) -> AuditReport:
    """Audit a channel by its kind."""
    raise InvalidInput(
        f"an audit of {channel!r}", "a channel: a finite channel such as Warner(0.8), or one for numbers"
    )


@_audited.register
def _(channel: NumberChannel, draws: int | None, error_rate: float) -> AuditReport:
    return AuditReport((audit_numbers(channel, draws, error_rate),), error_rate)


@_audited.register
def _(channel: FeatureChannel, draws: int | None, error_rate: float) -> AuditReport:
    return AuditReport((audit_attributes(channel, draws, error_rate),), error_rate)


@_audited.register
def _(channel: RowChannel, draws: int | None, error_rate: float) -> AuditReport:
    # Features and the label are told at once, so that their levels add up.
    parts = {"features": channel.features} | ({} if channel.label is None else {"label": channel.label})
    found = {name: _audited(part, draws, error_rate / len(parts)) for name, part in parts.items()}
    designs = tuple(replace(design, name=name) for name, report in found.items() for design in report.designs)
    return AuditReport(designs, error_rate, together=math.fsum(report.exact_epsilon for report in found.values()))


@_audited.register(FiniteLaw)
@_audited.register(DesignPerRow)
def _(channel: FiniteLaw | DesignPerRow, draws: int | None, error_rate: float) -> AuditReport:
    designs = channel.designs
    draws = _DRAWS if draws is None else draws
    cells_of_truths = len(designs) * len(channel.classes)
    cells = sum(len(law.report_labels) for law in designs.values()) * cells_of_truths
    if cells > _MOST_CELLS:
        raise InvalidInput(
            f"an audit of {len(channel.classes):,} choices and {cells // cells_of_truths:,} reports",
            f"a table of at most {_MOST_CELLS:,} probabilities, such as {math.isqrt(_MOST_CELLS):,} choices",
            "Audit the same design with fewer choices: it is drawn by the same code.",
        )
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < _EACH * cells_of_truths:
        raise InvalidInput(
            f"draws={draws!r}", f"a whole number, at least {_EACH * cells_of_truths}: {_EACH} for each truth and design"
        )
    halves = _draw(channel, designs, int(draws) // cells_of_truths)
    cells = sum(design.counts.size for design in designs.values())
    cell_level = error_rate * SHARES["law"] / cells
    bound_level = error_rate * SHARES["bound"] / len(designs)
    return AuditReport(
        designs=tuple(
            _audit_design(name, design, halves[name], cell_level, bound_level) for name, design in designs.items()
        ),
        error_rate=error_rate,
    )


def _draw(channel: Any, designs: Mapping[str, FiniteLaw], each: int) -> dict[str, tuple[Table, Table]]:
    """Draw reports in two halves; count them, reports x truths, for each design.

    Truths and designs alternate from row to row, as they would among real respondents.
    """
    truths = len(channel.classes)
    labels = np.array(channel.classes, dtype=None if len({*map(type, channel.classes)}) == 1 else object)
    names = np.array(list(designs))
    combinations = truths * len(designs)
    rows = channel.matrix.shape[0]
    halves = []
    for rounds in (each // 2, each - each // 2):
        counted = np.zeros(rows * combinations, dtype=np.int64)
        done, total = 0, rounds * combinations
        while done < total:
            which = np.arange(done, min(done + _DRAWS_AT_ONCE, total)) % combinations
            design = (names[which // truths],) if channel.needs_design else ()
            reports = channel.privatize(labels[which % truths], *design)
            codes = channel.encode_reports(reports, *design).astype(np.int64)
            counted += np.bincount(codes * combinations + which, minlength=rows * combinations)
            done += len(which)
        halves.append(counted.reshape(rows, combinations))
    found, first = {}, 0
    for number, (name, design_law) in enumerate(designs.items()):
        reports_of = slice(first, first + len(design_law.report_labels))
        truths_of = slice(number * truths, (number + 1) * truths)
        found[name] = (halves[0][reports_of, truths_of], halves[1][reports_of, truths_of])
        first = reports_of.stop
    return found


def _audit_design(
    name: str, law: FiniteLaw, halves: tuple[Table, Table], cell_level: float, bound_level: float
) -> DesignAudit:
    exact = enumerated_epsilon(law.counts)
    drawn = halves[0] + halves[1]
    each = drawn.sum(axis=0)
    expected = law.counts / RESOLUTION
    p_values = binomial_p_values(drawn, each, expected)
    report, truth, other = most_revealing(halves[0], bound_level)
    pair = [truth, other]
    lower = sure_level(halves[1][report, pair], halves[1].sum(axis=0)[pair], bound_level)
    faults = tuple(
        CellFault(
            report=law.report_labels[o],
            truth=law.classes[k],
            declared=float(expected[o, k]),
            observed=float(drawn[o, k] / each[k]),
            p_value=float(p_values[o, k]),
        )
        for o, k in np.argwhere(p_values < cell_level)
    )
    return DesignAudit(
        name=name,
        channel=repr(law),
        promised_epsilon=law.guarantee.epsilon,
        exact_epsilon=exact,
        table_fault=_table_fault(law),
        cells=int(drawn.size),
        draws=int(each.sum()),
        smallest_p=float(p_values.min()),
        cell_level=cell_level,
        detectable=detectable(expected, int(each.min()), cell_level),
        faults=faults,
        lower_bound=lower,
        lower_bound_at=(law.report_labels[report], law.classes[truth], law.classes[other]),
        confidence=1 - bound_level,
    )


def _table_fault(law: FiniteLaw) -> str:
    """Say what is wrong with the declared table itself; "" if nothing."""
    sums = [sum(column) for column in law.counts.T.tolist()]
    if any(total != RESOLUTION for total in sums) or law.counts.min() < 0:
        return "the counts of some truth do not add up to 2^62"
    if np.abs(law.matrix - law.counts / RESOLUTION).max() > _AGREE:
        return "the matrix that estimators use differs from the counts that are drawn from"
    return ""
