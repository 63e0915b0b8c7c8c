"""What the audit of a release of totals found."""

import math
from dataclasses import dataclass
from typing import Any

from askance.channels.guarantee import Guarantee
from askance.planning.auditing.audit_questions import AuditQuestion


@dataclass(frozen=True)
class ReleaseAudit:
    """The audit of a release of totals.

    Parameters
    ----------
    what : str
        Which release, by which mechanism.
    guarantee : Guarantee
        What it promises.
    draws : int
        How many releases were drawn, of each of several data sets.
    error_rate : float
        The probability with which an honest mechanism fails.
    questions : tuple of AuditQuestion
    wrong : tuple of str
        What is wrong without any chance, such as a promise that the parameters do not give.
    """

    what: str
    guarantee: Guarantee
    draws: int
    error_rate: float
    questions: tuple[AuditQuestion, ...]
    wrong: tuple[str, ...] = ()

    @property
    def promised_epsilon(self) -> float:
        """The level that is promised."""
        return self.guarantee.epsilon

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words."""
        return (*self.wrong, *(problem for question in self.questions for problem in question.problems))

    @property
    def checks(self) -> int:
        """How many tests were made."""
        return sum(question.tests for question in self.questions)

    @property
    def counted(self) -> str:
        """What the questions are answered from, in words."""
        return f"{self.draws:,} releases of each data set"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know besides: what was compared, and what it cannot show."""
        return ()

    @property
    def smallest_p(self) -> float:
        """The smallest p-value of all series of tests."""
        return min((question.smallest_p for question in self.questions), default=1.0)

    def __str__(self) -> str:
        lines = [
            f"{self.what}: {'passed' if self.passed else 'FAILED'}",
            f"  {self.guarantee}",
            f"  {self.counted}",
            *(f"  PROBLEM: {problem}" for problem in self.wrong),
            *map(str, self.questions),
            f"audit {'passed' if self.passed else 'FAILED'}; an honest mechanism fails with probability "
            f"{self.error_rate:g} at most",
            *self.remarks[1:],
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        epsilon = self.guarantee.epsilon
        return {
            "what": self.what,
            "passed": self.passed,
            "promised_epsilon": "infinite" if math.isinf(epsilon) else epsilon,
            "delta": self.guarantee.delta,
            "draws": self.draws,
            "error_rate": self.error_rate,
            "problems": list(self.problems),
            "questions": [question.to_dict() for question in self.questions],
        }
