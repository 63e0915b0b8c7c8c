"""What a dossier says, section by section; each sentence can be quoted by itself."""

import math
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from askance.channels.guarantee import Guarantee
from askance.planning.auditing.audit_report import AuditReport
from askance.releases.header import Question
from askance.releases.release import Release
from askance.releases.study import Study
from askance.releases.verification import Verification
from askance.reports.dossier import Dossier, DossierSection
from askance.workflows.report_files import MADE_UP
from askance.workflows.singled_out import SingledOut

_MOST_NAMED = 30  # attributes: of pictures with hundreds nobody reads the names
_NOT_SAID = "not stated in the study file"


@dataclass(frozen=True, eq=False)
class Facts:
    """All that a dossier is made of."""

    study: Study
    study_path: Path | None
    study_digest: str | None
    study_changed: str | None
    release: Release | None
    release_changed: str | None
    verification: Verification | None
    alone: SingledOut | None
    audits: dict[str, AuditReport] | None
    ledger: str | None
    budget: str | None
    on_device: bool
    day: date
    program: str
    command: str

    @property
    def guarantee(self) -> Guarantee:
        """The level of all answers of one person; where answers are sequences, of the longest of the release."""
        return self.study.guarantee if self.release is None else self.release.whole_person

    def level_of(self, question: Question) -> str:
        """The level of one answer, in words."""
        alone = f"{level(question.guarantee)} (this answer alone)"
        if not question.hides_sequences:
            return alone
        tokens = 0 if self.release is None else self.release.longest[question.name]
        longest = (
            f"{level(question.guarantee_of(tokens))} (the longest answer, of {tokens:,} tokens); " if tokens else ""
        )
        return f"{longest}{level(question.guarantee)} (each token of an answer)"

    @property
    def open_questions(self) -> list[str]:
        """Questions whose reports can reveal the answer."""
        return [q.name for q in self.study.questions if math.isinf(q.guarantee.epsilon)]


def dossier_of(facts: Facts) -> Dossier:
    """Return the dossier."""
    study = facts.study
    sections = [_promised(facts), _unprotected(facts), _assumed(facts), _holders(facts), _purpose(facts)]
    sections += [_checked(facts), _made(facts)]
    sections += [_signed(len(sections))]
    return Dossier(
        title=study.title or study.name or "a study without a name",
        guarantee=facts.guarantee,
        unprotected=study.header().unprotected,
        sections=tuple(sections),
        account=_account(facts),
        alerts=tuple(_alerts(facts)),
        day=facts.day.isoformat(),
        rows=None if facts.release is None else facts.release.num_rows,
    )


def _alerts(facts: Facts) -> list[str]:
    exposed = [q for q in facts.study.questions if q.name in facts.open_questions]
    said = [f"The answers to {q.name!r} have no privacy guarantee. {q.guarantee.in_words()}" for q in exposed]
    if facts.release is not None and facts.release.header.made_up:
        said.append(MADE_UP)
    last = facts.study.privacy.delete_by
    if last is not None and facts.day > last:
        said.append(f"The study file says that the reports are deleted by {last}: that day has passed.")
    if facts.verification is not None:
        wrong = [check for check in facts.verification.checks if check.verdict == "wrong"]
        said += [f"The release fails its check of {check.name}: {check.words}" for check in wrong]
    for name, report in (facts.audits or {}).items():
        said += [] if report.passed else [f"The channel of {name!r} FAILED its audit: {'; '.join(report.problems)}"]
    return said


def _promised(facts: Facts) -> DossierSection:
    whole, questions = facts.guarantee, facts.study.questions
    rows = [(q.name, q.text, _designs(q), facts.level_of(q)) for q in questions]
    if len(rows) > 1:
        rows.append(("all together", "", "", level(whole)))
    together = (
        "One person answers every question, so the levels of the questions add up; a person who leaves some out gives "
        "away less. The last line is what counts."
        if len(rows) > 1
        else ""
    )
    exact = (
        ""
        if math.isinf(whole.epsilon)
        else f"Exactly: {whole}. {'Proved in ' + whole.proof + ' of the documentation.' if whole.proof else ''}"
    )
    again = "Every further study or wave that asks the same person adds its own level to this one."
    return DossierSection(
        "What is promised to each person",
        tuple(filter(None, (whole.in_words(), exact.strip(), together, again))),
        heads=("question", "as it is asked", "how the answer is hidden", "level"),
        rows=tuple(rows),
    )


def level(guarantee: Guarantee) -> str:
    """A level in a few words."""
    if math.isinf(guarantee.epsilon):
        return "none: epsilon is infinite"
    delta = f", delta {guarantee.delta:.3g}" if guarantee.delta else ""
    return f"epsilon {guarantee.epsilon:.6g}{delta}"


def _designs(question: Question) -> str:
    named = [f"{name}: {law.describe()}" if name else law.describe() for name, law in question.designs.items()]
    attributes = question.columns if question.hides_features else None
    if attributes and len(attributes) <= _MOST_NAMED:
        named.append(f"The attributes are, in order, {', '.join(attributes)}.")
    return " ".join(named)


def _unprotected(facts: Facts) -> DossierSection:
    header = facts.study.header()
    uses = {name: f"{use} of the sample" for use, name in vars(header.sample).items() if isinstance(name, str)}
    rows = [(name, "design", "says under which design a row was asked") for name in header.design_columns]
    rows += [(one.name, one.type, uses.get(one.name, "covariate: published as it is")) for one in header.covariates]
    rows += [(name, "question", "its reports can reveal the answer") for name in facts.open_questions]
    said = (
        "These columns leave as they are. Nothing about them is hidden, and the level above does not cover them."
        if rows
        else "No column leaves as it is: a row holds nothing but reports."
    )
    words = [one.name for one in header.covariates if one.type == "words"]
    texts = f"Texts in {', '.join(words)} can tell who wrote them." if words else ""
    part = "That somebody took part is not hidden: a release has one row for each person, without a name."
    found = "" if facts.alone is None else facts.alone.sentence()
    if facts.release is None and rows:
        found = "How many people these columns single out is counted where a release is given."
    order = (
        ""
        if facts.on_device
        else "A release that askance privatize writes keeps the order of the table: who knows that order, such as that "
        "of an alphabetical list, knows whose report is whose. The level holds for them, too."
    )
    return DossierSection(
        "What is not protected",
        (said,),
        heads=("column", "kind", "why it is there"),
        rows=tuple(rows),
        after=tuple(filter(None, (found, texts, part, order))),
    )


def _assumed(facts: Facts) -> DossierSection:
    where = (
        "Reports are drawn on the respondent's own device, with the random numbers of its browser."
        if facts.on_device
        else "Reports that askance draws come from the operating system's cryptographic random numbers; there is no "
        "seed, and what was drawn is not kept. Where people draw by themselves (coins, cards, dice, a harmless "
        "question such as a birthday), the level holds for those who follow the instructions, and against everybody to "
        "whom the outcome is random: who knows the birthday that decides can read the answer off the report."
    )
    pages: dict[str, list[str]] = {}
    for question in facts.study.questions:
        pages.setdefault(question.guarantee.proof or "", []).append(question.name)
    listed = "; ".join(f"{page} ({', '.join(names)})" for page, names in pages.items() if page)
    limits = f"What each design does not protect is said in the documentation: {listed}." if listed else ""
    return DossierSection(
        "What the promise rests on",
        (
            "The level is about the report of one person, against anybody who knows everything else but how chance "
            "fell, including the study file and this dossier. It needs no trust in who receives the reports.",
            where,
            *([limits] if limits else []),
            "It says nothing about what the study as a whole finds about people like them: that smoking harms is "
            "learned from others, too.",
        ),
    )


def _holders(facts: Facts) -> DossierSection:
    stated = facts.study.privacy.truth
    truth = (
        "each respondent alone: an answer never leaves the device on which it was given"
        if facts.on_device
        else "each respondent, if they drew by themselves or on their own device; otherwise also whoever holds the "
        "table that askance privatize read, which must be protected or deleted"
    )
    given = facts.study.privacy.recipients
    rows = [
        ("true answers", stated or truth, "everything"),
        ("how chance fell", "who drew by themselves; a program keeps it nowhere", "with a report, the answer"),
        ("reports and the unprotected columns", given or "whoever has the release", "what sections 1 and 2 say"),
        (
            "names, addresses, identifiers",
            "not in the release, unless a column of section 2 holds them",
            "who took part",
        ),
    ]
    if facts.ledger is not None:
        rows.append(("the ledger", "whoever keeps the budget", "keyed digests of identifiers, and what was spent"))
    return DossierSection("Who holds what", heads=("what", "who holds it", "what it tells"), rows=tuple(rows))


def _purpose(facts: Facts) -> DossierSection:
    said = facts.study.privacy
    lines = [
        ("Controller", said.controller),
        ("Contact", said.contact),
        ("Purpose", said.purpose),
        ("Legal basis", said.legal_basis),
        ("Retention", said.retention),
        ("Deleted by", str(said.delete_by or "")),
        ("Recipients", said.recipients),
    ]
    missing = any(not text for _, text in lines[:5])
    advice = ("What is not stated can be added to the study file, in a table [privacy].",) if missing else ()
    facts_said = [(name, text or _NOT_SAID) for name, text in lines if text or name not in ("Deleted by", "Recipients")]
    return DossierSection("Purpose and retention", facts=tuple(facts_said), after=advice)


def _checked(facts: Facts) -> DossierSection:
    said, rows = [], []
    if facts.audits is None:
        said.append("The channels were not audited for this dossier; askance dossier --audit does it.")
    for name, report in (facts.audits or {}).items():
        found = "passed" if report.passed else f"FAILED: {'; '.join(report.problems)}"
        how = f"{report.draws:,} reports drawn; epsilon {_number(report.exact_epsilon)} enumerated"
        rows.append((f"channel of {name}", found, f"{how}; reports show that it is above {report.lower_bound:.4g}"))
    if facts.audits is not None:
        said.append(
            "Every channel was audited: its level is computed again from the whole numbers that it draws with, and "
            "reports that it drew are compared with its law. An honest channel fails with a probability of at most "
            f"{sum(report.error_rate for report in facts.audits.values()):g}, all questions together."
        )
    if facts.verification is None:
        said.append("There is no release yet: nothing that was published is checked here.")
    else:
        rows += [(f"{each.name} of the release", each.verdict, each.words) for each in facts.verification.checks]
    if facts.budget is not None:
        rows.append(("budget of these people", "as the ledger says", facts.budget))
    elif facts.verification is not None:
        said.append("No ledger was given: whether these people were asked before is not checked here.")
    return DossierSection("What was checked", tuple(said), heads=("what", "found", "in detail"), rows=tuple(rows))


def _made(facts: Facts) -> DossierSection:
    lines = [("Dossier made", facts.day.isoformat())]
    if facts.study_digest is not None:
        lines += [("Study file", f"{facts.study_path}, last changed {facts.study_changed}")]
        lines += [("Digest of the study file", f"sha256 {facts.study_digest}")]
    if facts.release is not None:
        changed = f", last changed {facts.release_changed}" if facts.release_changed else ""
        lines += [("Release", f"{facts.release.path}{changed}; made by askance {facts.release.header.askance}")]
        lines += [("Digest of the release", f"sha256 {facts.release.digest}" if facts.release.digest else "none")]
    lines += [("Program", facts.program)]
    lines += [("Made again by", facts.command)] if facts.command else []
    return DossierSection("Dates and digests", facts=tuple(lines))


def _signed(of_digests: int) -> DossierSection:
    return DossierSection(
        "Signed off",
        (f"For the study file, the release and the program whose digests are in section {of_digests}.",),
        heads=("for", "name", "date", "signature"),
        rows=(("the controller", "", "", ""), ("data protection", "", "", "")),
    )


def _account(facts: Facts) -> dict[str, Any]:
    """The same for programs."""
    header = facts.study.header()
    checked, audits, alone = facts.verification, facts.audits, facts.alone
    passed = (checked is None or checked.is_good) and all(report.passed for report in (audits or {}).values())
    return {
        "passed": passed,
        "questions": {q.name: q.guarantee.to_dict() | {"how": _designs(q)} for q in header.questions},
        "rows": None if facts.release is None else facts.release.num_rows,
        "singled_out": None if alone is None else vars(alone) | {"columns": list(alone.columns)},
        "privacy": facts.study.privacy.to_dict(),
        "audit": None if audits is None else {name: report.to_dict() for name, report in audits.items()},
        "verification": None if checked is None else checked.to_dict(),
        "study_digest": facts.study_digest,
        "release_digest": None if facts.release is None else facts.release.digest,
        "program": facts.program,
        "command": facts.command,
    }


def _number(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.6g}"
