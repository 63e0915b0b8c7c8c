"""What an audit found: numbers that can be printed, compared and saved."""

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from askance.channels.alphabet import Label
from askance.planning.auditing.audit_questions import AuditQuestion

_MOST_FAULTS_SHOWN = 5  # the rest is counted: the first say what is wrong
_AGREE = 1e-9  # a level that is worked out in two ways differs by less: by rounding


@dataclass(frozen=True)
class CellFault:
    """A report that came too often or too seldom for a truth."""

    report: Label
    truth: Label
    declared: float
    observed: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"report {self.report!r} for the truth {self.truth!r}: declared {self.declared:.6g}, "
            f"observed {self.observed:.6g} (p = {self.p_value:.2g})"
        )


@dataclass(frozen=True)
class ChannelAudit:
    """What every audit of one design says.

    Parameters
    ----------
    name : str
        The design's name; "" if the channel has one design only.
    channel : str
        How the design prints.
    promised_epsilon, exact_epsilon : float
        What its guarantee says, and what the whole numbers that it draws with give.
    draws : int
        How many reports were drawn.
    smallest_p : float
        The smallest p-value of all checks.
    lower_bound, confidence : float
        A level that the sampler exceeds with this confidence.
    """

    name: str
    channel: str
    promised_epsilon: float
    exact_epsilon: float
    draws: int
    smallest_p: float
    lower_bound: float
    confidence: float

    _law: ClassVar[str] = "table"

    @property
    def checks(self) -> int:
        """How many checks were made by drawing."""
        raise NotImplementedError

    @property
    def _faults(self) -> list[str]:
        """What the checks found wrong."""
        raise NotImplementedError

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words; empty if the design passed."""
        said = []
        if self.exact_epsilon > self.promised_epsilon * (1 + _AGREE) + _AGREE:
            said.append(
                f"the {self._law} gives epsilon {self.exact_epsilon:.6g}, above the promise {self.promised_epsilon:.6g}"
            )
        if self.lower_bound > self.promised_epsilon:
            said.append(
                f"the sampler exceeds epsilon {self.lower_bound:.6g}, above the promise {self.promised_epsilon:.6g}"
            )
        return (*said, *self._faults)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def _written(self, sampled_at: str, checked: str) -> str:
        lines = [
            f"{self.name + ': ' if self.name else ''}{self.channel}: {'passed' if self.passed else 'FAILED'}",
            f"  epsilon promised {self.promised_epsilon:.6g}, enumerated {self.exact_epsilon:.6g}, sampled at least "
            f"{self.lower_bound:.4g} (confidence {100 * self.confidence:.6g}%; {sampled_at})",
            f"  {checked}",
        ]
        return "\n".join(lines + [f"  PROBLEM: {problem}" for problem in self.problems])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        fields = asdict(self) | {"passed": self.passed, "problems": list(self.problems)}
        fields["faults"] = list(fields["faults"])
        for name in ("promised_epsilon", "exact_epsilon", "detectable"):
            if name in fields:
                fields[name] = "infinite" if math.isinf(fields[name]) else fields[name]
        return fields


@dataclass(frozen=True)
class DesignAudit(ChannelAudit):
    """The audit of a design with a table of probabilities.

    Parameters
    ----------
    table_fault : str
        What is wrong with the table itself; "" if nothing.
    cells : int
        How many pairs of report and truth were checked.
    cell_level : float
        The level below which the p-value of a cell counts as a fault.
    detectable : float
        About the least error of a probability that these draws would have noticed.
    faults : tuple of CellFault
    lower_bound_at : tuple
        The report, and the two truths, where the bound was found.
    """

    table_fault: str
    cells: int
    cell_level: float
    detectable: float
    faults: tuple[CellFault, ...]
    lower_bound_at: tuple[Label, Label, Label]

    @property
    def checks(self) -> int:
        """How many cells were checked."""
        return self.cells

    @property
    def _faults(self) -> list[str]:
        said = [self.table_fault] if self.table_fault else []
        if self.faults:
            said.append(f"{len(self.faults)} of {self.cells} cells are off")
        return said + [str(fault) for fault in self.faults[:_MOST_FAULTS_SHOWN]]

    def __str__(self) -> str:
        report, truth, other = self.lower_bound_at
        return self._written(
            f"report {report!r}, {truth!r} against {other!r}",
            f"{self.cells} cells checked with {self.draws:,} draws: smallest p {self.smallest_p:.2g}, alarm below "
            f"{self.cell_level:.2g}; an error of {self.detectable:.2g} in a probability would have been noticed",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        at = dict(zip(("report", "truth", "other"), self.lower_bound_at, strict=True))
        return super().to_dict() | {"lower_bound_at": at}


@dataclass(frozen=True)
class MeanFault:
    """An estimate from reports whose mean is not the truth."""

    quantity: str
    truth: str
    wanted: float
    observed: float
    p_value: float

    def __str__(self) -> str:
        return (
            f"{self.quantity} for the truth {self.truth!r}: should be {self.wanted:.6g} in the mean, "
            f"is {self.observed:.6g} (p = {self.p_value:.2g})"
        )


@dataclass(frozen=True)
class NumberAudit(ChannelAudit):
    """The audit of a channel for numbers.

    Parameters
    ----------
    means : int
        How many mean estimates were compared with the truth: quantities times truths.
    unjudged : int
        How many more were told by too few reports to be judged.
    mean_level : float
        The level below which the p-value of a mean counts as a fault.
    detectable : float
        About the least relative error of the scale of all estimates that these draws would have noticed.
    faults : tuple of MeanFault
    lower_bound_at : tuple of str
        The two truths that the bound tells apart: reports point to the first rather than to the second.
    """

    means: int
    unjudged: int
    mean_level: float
    detectable: float
    faults: tuple[MeanFault, ...]
    lower_bound_at: tuple[str, str]

    _law: ClassVar[str] = "law that is drawn from"

    @property
    def checks(self) -> int:
        """How many means were checked."""
        return self.means

    @property
    def _faults(self) -> list[str]:
        said = [f"{len(self.faults)} of {self.means} mean estimates are off"] if self.faults else []
        return said + [str(fault) for fault in self.faults[:_MOST_FAULTS_SHOWN]]

    def __str__(self) -> str:
        truth, other = self.lower_bound_at
        noticed = f"; estimates that are {100 * self.detectable:.2g}% too large or too small would have been noticed"
        noticed = noticed if math.isfinite(self.detectable) else ""
        few = f"; {self.unjudged} more are told too seldom to be judged" if self.unjudged else ""
        return self._written(
            f"reports that point to {truth!r} rather than {other!r}",
            f"{self.means} mean estimates checked with {self.draws:,} draws: smallest p {self.smallest_p:.2g}, alarm "
            f"below {self.mean_level:.2g}{noticed}{few}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return super().to_dict() | {"lower_bound_at": dict(zip(("truth", "other"), self.lower_bound_at, strict=True))}


@dataclass(frozen=True)
class AttributeAudit(ChannelAudit):
    """The audit of a channel that hides attributes one by one.

    ``promised_epsilon`` and ``exact_epsilon`` are those of the whole row.

    Parameters
    ----------
    attributes : int
        How many attributes a row has.
    attribute_epsilon : float
        The exact level of the least private attribute, alone.
    delta : float
        The probability for which the levels are stated.
    tests : int
        How many probabilities and laws were compared with what was drawn.
    test_level : float
        The level below which a p-value counts as a fault.
    faults : tuple of str
    lower_bound_at : str
        Where the bound, which is about one attribute, was found.
    """

    attributes: int
    attribute_epsilon: float
    delta: float
    tests: int
    test_level: float
    faults: tuple[str, ...]
    lower_bound_at: str

    _law: ClassVar[str] = "law that is drawn from"

    @property
    def checks(self) -> int:
        """How many tests were made."""
        return self.tests

    @property
    def _faults(self) -> list[str]:
        said = [f"{len(self.faults)} of {self.tests} checks failed"] if self.faults else []
        return said + list(self.faults[:_MOST_FAULTS_SHOWN])

    def in_words(self) -> str:
        """Say what one attribute gives away, and what the whole row does."""
        if math.isinf(self.exact_epsilon):
            return f"There is no privacy guarantee for the whole row of {self.attributes} attributes."
        at = f" at delta {self.delta:g}" if self.delta else ""
        return (
            f"One attribute alone: epsilon {self.attribute_epsilon:.6g}{at}. The whole row of {self.attributes} "
            f"attributes: epsilon {self.exact_epsilon:.6g}{at}, because all of them are told at once."
        )

    def __str__(self) -> str:
        return "\n".join(
            [
                self._written(
                    self.lower_bound_at,
                    f"{self.tests} checks with {self.draws:,} reports on single attributes: smallest p "
                    f"{self.smallest_p:.2g}, alarm below {self.test_level:.2g}",
                ),
                f"  {self.in_words()}",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        level = "infinite" if math.isinf(self.attribute_epsilon) else self.attribute_epsilon
        return super().to_dict() | {"attribute_epsilon": level, "in_words": self.in_words()}


@dataclass(frozen=True)
class AuditReport:
    """The audit of a channel: one entry for each design, and what was asked besides.

    ``error_rate`` is the probability with which an honest channel fails; ``together`` is the level of all entries, if
    they are parts of one record rather than designs of which each person has one. ``questions`` are those that no
    table of probabilities answers, each with its share of the error rate.
    """

    designs: tuple[DesignAudit | NumberAudit | AttributeAudit, ...]
    error_rate: float
    together: float | None = None
    questions: tuple[AuditQuestion, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every design passed, and every question was answered well."""
        return all(part.passed for part in (*self.designs, *self.questions))

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words; empty if the channel passed."""
        return tuple(problem for part in (*self.designs, *self.questions) for problem in part.problems)

    @property
    def draws(self) -> int:
        """How many reports were compared with the declared law."""
        return min(design.draws for design in self.designs)

    @property
    def exact_epsilon(self) -> float:
        """The level of the least private design, by enumeration; of a record, that of all its parts."""
        if self.together is not None:
            return self.together
        return max(design.exact_epsilon for design in self.designs)

    @property
    def lower_bound(self) -> float:
        """The largest level that some design's sampler was shown to exceed."""
        return max(design.lower_bound for design in self.designs)

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        record = [] if self.together is None else [f"The whole record: epsilon {self.exact_epsilon:.6g}"]
        return "\n".join(
            [
                *map(str, self.designs),
                *record,
                *map(str, self.questions),
                f"audit {verdict}; an honest channel fails with probability {self.error_rate:g} at most",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {
            "passed": self.passed,
            "error_rate": self.error_rate,
            "exact_epsilon": "infinite" if math.isinf(self.exact_epsilon) else self.exact_epsilon,
            "lower_bound": self.lower_bound,
            "designs": [design.to_dict() for design in self.designs],
            "questions": [question.to_dict() for question in self.questions],
        }
