"""What an audit found: numbers that can be printed, compared and saved."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from askance.channels.alphabet import Label

_MOST_FAULTS_SHOWN = 5
_AGREE = 1e-9


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
class DesignAudit:
    """The audit of one design.

    Parameters
    ----------
    name : str
        The design's name; "" if the channel has one design only.
    channel : str
        How the design prints.
    promised_epsilon, exact_epsilon : float
        What its guarantee says, and what enumeration of its table gives.
    table_fault : str
        What is wrong with the table itself; "" if nothing.
    cells, draws : int
        How many pairs of report and truth were checked, with how many draws.
    smallest_p, cell_level : float
        The smallest p-value of a cell, and the level below which it counts as a fault.
    detectable : float
        About the least error of a probability that these draws would have noticed.
    faults : tuple of CellFault
    lower_bound, confidence : float
        A level that the sampler exceeds with this confidence.
    lower_bound_at : tuple
        The report, and the two truths, where it was found.
    """

    name: str
    channel: str
    promised_epsilon: float
    exact_epsilon: float
    table_fault: str
    cells: int
    draws: int
    smallest_p: float
    cell_level: float
    detectable: float
    faults: tuple[CellFault, ...]
    lower_bound: float
    lower_bound_at: tuple[Label, Label, Label]
    confidence: float

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words; empty if the design passed."""
        said = [self.table_fault] if self.table_fault else []
        if self.exact_epsilon > self.promised_epsilon * (1 + _AGREE) + _AGREE:
            said.append(
                f"the table gives epsilon {self.exact_epsilon:.6g}, above the promise {self.promised_epsilon:.6g}"
            )
        if self.lower_bound > self.promised_epsilon:
            said.append(
                f"the sampler exceeds epsilon {self.lower_bound:.6g}, above the promise {self.promised_epsilon:.6g}"
            )
        if self.faults:
            said.append(f"{len(self.faults)} of {self.cells} cells are off")
        said += [str(fault) for fault in self.faults[:_MOST_FAULTS_SHOWN]]
        return tuple(said)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        report, truth, other = self.lower_bound_at
        lines = [
            f"{self.name + ': ' if self.name else ''}{self.channel}: {'passed' if self.passed else 'FAILED'}",
            f"  epsilon promised {self.promised_epsilon:.6g}, enumerated {self.exact_epsilon:.6g}, sampled at least "
            f"{self.lower_bound:.4g} (confidence {100 * self.confidence:.6g}%; "
            f"report {report!r}, {truth!r} against {other!r})",
            f"  {self.cells} cells checked with {self.draws:,} draws: smallest p {self.smallest_p:.2g}, alarm below "
            f"{self.cell_level:.2g}; an error of {self.detectable:.2g} in a probability would have been noticed",
        ]
        return "\n".join(lines + [f"  PROBLEM: {problem}" for problem in self.problems])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        fields = asdict(self) | {"passed": self.passed, "problems": list(self.problems)}
        fields["faults"] = list(fields["faults"])
        fields["lower_bound_at"] = dict(zip(("report", "truth", "other"), self.lower_bound_at, strict=True))
        for name in ("promised_epsilon", "exact_epsilon"):
            fields[name] = "infinite" if math.isinf(fields[name]) else fields[name]
        return fields


@dataclass(frozen=True)
class AuditReport:
    """The audit of a channel: one entry for each design.

    ``error_rate`` is the probability with which an honest channel fails.
    """

    designs: tuple[DesignAudit, ...]
    error_rate: float

    @property
    def passed(self) -> bool:
        """Whether every design passed."""
        return all(design.passed for design in self.designs)

    @property
    def exact_epsilon(self) -> float:
        """The level of the least private design, by enumeration."""
        return max(design.exact_epsilon for design in self.designs)

    @property
    def lower_bound(self) -> float:
        """The largest level that some design's sampler was shown to exceed."""
        return max(design.lower_bound for design in self.designs)

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        return "\n".join(
            [
                *map(str, self.designs),
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
        }
