"""Auditing a release of privatised rows with the truth that it was made of.

An audit of a channel draws reports of its own. This one looks at the reports that were written: at what another
program, another parameter, or another hand has made of them. Nothing is drawn for real answers. The truth is needed, so
that only who holds the data can do it.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from askance.errors import InvalidInput
from askance.planning.auditing.audit_questions import AuditQuestion, Finding
from askance.planning.auditing.dependence_audit import (
    FIELDS_OF_ALL_ROWS,
    ROWS,
    Signs,
    between_fields,
    between_rows,
)
from askance.planning.auditing.matched_rows import MatchedRows, match_rows
from askance.planning.auditing.release_audit import ReleaseAudit
from askance.planning.auditing.told_margins import is_unrelated, margin_findings
from askance.planning.auditing.told_rows import ToldRows, told_rows
from askance.releases.release import Release

# The law has the most tests; a coin that is shared is many standard errors, where a smaller share costs a tenth of one.
ROW_SHARES = {"law": 0.4, "leaks": 0.25, "neighbouring rows": 0.2, "answers of one person": 0.15}
MARGIN_SHARES = {"totals": 1.0}  # all that is left where rows cannot be matched
_ASKS = {
    "law": "Do the reports have the declared law, given their truths?",
    "leaks": "Is the truth told no more often, and are numbers no nearer to it, than declared?",
    "neighbouring rows": "Are the reports of different people independent, and of other people's truths?",
    "answers of one person": "Are the answers and attributes of one person hidden independently?",
    "totals": "Are the totals of the reports those that the truths and the channel give?",
}
_MOST_ROWS = 1 << 20  # that are looked at: they show an error of 0.004 in a probability, as an audit of a channel does
_SEEN = 2.33  # standard errors beyond the alarm: what is called noticeable is noticed with probability 0.99
CANNOT_SEE = (
    "An audit of a release sees only these rows and this truth. It cannot see how the reports were drawn (a seed that "
    "somebody knows looks like chance), what else was published, a leak below the stated share, or faults that need "
    "other truths to show; the channel itself is audited without --data."
)


@dataclass(frozen=True)
class RowReleaseAudit(ReleaseAudit):
    """The audit of a release of privatised rows; ``draws`` is how many rows were looked at.

    Parameters
    ----------
    matched : str
        How rows of the release and of the truth were brought together.
    ordered : bool
        Whether they were: if not, only totals were compared.
    """

    matched: str = ""
    ordered: bool = True

    @property
    def counted(self) -> str:
        return f"{self.draws:,} rows. {self.matched}"

    @property
    def remarks(self) -> tuple[str, ...]:
        return (self.counted, CANNOT_SEE)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        said = super().to_dict() | {"rows": self.draws, "matched": self.matched, "rows_are_matched": self.ordered}
        return said | {"cannot_see": CANNOT_SEE}


class _Asked(NamedTuple):
    """One question: its channel, the truths and the reports."""

    name: str
    channel: Any
    truth: Any
    reports: Any


def audit_rows(
    release: Release,
    data: Any,
    *,
    id_column: str | None = None,
    shuffled: bool = False,
    error_rate: float = 1e-3,
) -> RowReleaseAudit:
    """Check the reports of a release against the truth that they were made of.

    Rows are matched by an identifier that both hold, or by their order. Where the public columns, or the reports
    themselves, show that the order is another one, only totals are compared, and the report says so.

    Parameters
    ----------
    release : Release
    data : path or table
        The true answers: a CSV or Parquet file, an Arrow table, or a dict of columns.
    id_column : str, optional
        A column of identifiers in both.
    shuffled : bool
        Whether the release was shuffled.
    error_rate : float
        The probability with which an honest release may fail.

    Returns
    -------
    RowReleaseAudit
        Printable; ``passed``, ``problems``, ``questions``, ``matched``, ``to_dict()``.

    Examples
    --------
    >>> from askance import Study
    >>> from askance.planning.auditing import audit_rows
    >>> from askance.releases import privatize_table
    >>> study = Study.parse('''
    ... [questions.cheated]
    ... choices = ["no", "yes"]
    ... channel = { design = "warner", p = 0.8 }
    ... ''')
    >>> truth = {"cheated": ["no", "yes", "no", "no"] * 100}
    >>> report = audit_rows(privatize_table(study, truth), truth, error_rate=1e-9)
    >>> report.passed, report.matched
    (True, 'Rows are matched by their order.')
    """
    if isinstance(error_rate, bool) or not isinstance(error_rate, int | float | np.floating) or not 0 < error_rate < 1:
        raise InvalidInput(f"error_rate={error_rate!r}", "a probability between 0 and 1, such as 0.001")
    rng, rate = np.random.default_rng(), float(error_rate)
    matched = match_rows(release, data, id_column, shuffled)
    asked = [_asked(release, matched, question.name) for question in release.header.questions]
    how, ordered = matched.how, matched.ordered
    rows = matched.released.num_rows
    questions: list[AuditQuestion] = []
    if ordered:
        if rows > _MOST_ROWS:
            asked, rows = [_first(one, _MOST_ROWS) for one in asked], _MOST_ROWS
            how += f" The first {rows:,} are looked at."
        questions = _questions(asked, rate, rng)
        if not questions[0].passed and not matched.by_identifier and _unrelated(asked, rng):
            ordered = False
            how = (
                "Rows are not matched: in the order of the rows, the reports have nothing to do with the truths. The "
                "order is not that of the data, or these are other people. Only totals are compared."
            )
    if not ordered:
        found = [
            finding._replace(what=f"{one.name}: {finding.what}")
            for one in asked
            for finding in margin_findings(one.channel, one.truth, one.reports, rng)
        ]
        questions = [AuditQuestion.judged("totals", _ASKS["totals"], found, rate, MARGIN_SHARES["totals"])]
    what = f"{len(asked)} question{'s' * (len(asked) != 1)}: {', '.join(one.name for one in asked)}"
    return RowReleaseAudit(what, release.guarantee, rows, rate, tuple(questions), matched=how, ordered=ordered)


def _asked(release: Release, matched: MatchedRows, name: str) -> _Asked:
    question = release.question(name)
    design = () if question.design_column is None else (matched.released.column(question.design_column),)
    channel: Any = getattr(question.channel, "as_asked", question.channel)
    return _Asked(name, channel, matched.truths[name], channel.encode_reports(matched.released.column(name), *design))


def _first(one: _Asked, rows: int) -> _Asked:
    truth = tuple(part[:rows] for part in one.truth) if isinstance(one.truth, tuple) else one.truth[:rows]
    return one._replace(truth=truth, reports=one.reports[:rows])


def _questions(asked: list[_Asked], rate: float, rng: np.random.Generator) -> list[AuditQuestion]:
    by_question = {one.name: told_rows(one.channel, one.truth, one.reports, rng) for one in asked}
    by_kind: dict[str, list[Finding]] = {name: [] for name in ROW_SHARES}
    for name, rows in by_question.items():
        by_kind["law"] += _named(name, rows.law)
        by_kind["leaks"] += _named(name, rows.leaks)
        if rows.names:
            near = _some_rows(rows)
            found = between_rows(near, [Signs(order) for order in near.orders], near.truths, rng)
            by_kind["neighbouring rows"] += _named(name, found)
    together = _together(by_question)
    if len(together.names) > 1:
        found = between_fields(together, [Signs(order) for order in together.orders], together.truths)
        by_kind["answers of one person"] += found
    notes = {"leaks": _leak_note(by_question, by_kind["leaks"], rate)}
    return [
        AuditQuestion.judged(name, _ASKS[name], found, rate, ROW_SHARES[name], notes.get(name, ""))
        for name, found in by_kind.items()
        if found
    ]


def _named(question: str, found: list[Finding]) -> list[Finding]:
    return [finding._replace(what=f"{question}: {finding.what}") for finding in found]


def _some_rows(rows: ToldRows) -> ToldRows:
    """As many neighbours as tests at all distances take some seconds for."""
    many = max(2, min(ROWS, FIELDS_OF_ALL_ROWS // len(rows.names)))
    return replace(rows, truths=rows.truths[:many], orders=[order[:many] for order in rows.orders])


def _together(by_question: dict[str, ToldRows]) -> ToldRows:
    """Everything that is told about a person, beside each other; of fields that depend by design, the last one."""
    names: list[str] = []
    truths, parts, counts = [], list[int](), list[int]()
    orders: tuple[list[Any], list[Any]] = ([], [])
    for question, rows in by_question.items():
        for field in range(len(rows.names)) if rows.independent else [len(rows.names) - 1]:
            names.append(f"{question} ({rows.names[field]})")
            parts.append(len(parts))
            counts.append(int(rows.counts[rows.part[field]]))
            truths.append(rows.truths[:, rows.part[field]])
            for number, order in enumerate(orders):
                order.append(rows.orders[min(number, len(rows.orders) - 1)][:, field])
    stacked = [np.column_stack(order) for order in orders if order]
    return ToldRows(
        names=names,
        counts=np.array(counts, np.int64),
        part=np.array(parts, np.int64),
        independent=True,
        truths=np.column_stack(truths) if truths else np.zeros((0, 0), np.int64),
        orders=stacked,
        law=[],
        leaks=[],
        truthful=(np.zeros(0), np.zeros(0)),
    )


def _leak_note(by_question: dict[str, ToldRows], found: list[Finding], rate: float) -> str:
    """Say which share of people could be told without being noticed, question by question."""
    level = rate * ROW_SHARES["leaks"] / max(1, len(found))
    said = []
    for name, rows in by_question.items():
        chances, each = rows.truthful
        hidden = float((1 - chances) @ each)
        if hidden > 0:
            away = np.sqrt(-2 * np.log(level)) + _SEEN
            share = min(1.0, away * float(np.sqrt((chances * (1 - chances)) @ each)) / hidden)
            said.append(f"{name}: {100 * share:.2g}%")
    return f"Telling the truth about so many people would have been noticed: {', '.join(said)}." if said else ""


def _unrelated(asked: list[_Asked], rng: np.random.Generator) -> bool:
    """Whether no report has anything to do with the truth beside it, where some of them should show it."""
    some = [_first(one, ROWS) for one in asked]
    judged = [is_unrelated(one.channel, one.truth, one.reports, rng) for one in some]
    return any(judged) and all(each is not False for each in judged)
