"""What a study found about hidden numbers, as a value: numbers and texts, never a record."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from askance.reports.report import Comparison, QuestionReport


@dataclass(frozen=True)
class NumberFacts:
    """How far to trust a line through hidden points.

    Parameters
    ----------
    reports : int
    weight_column : str, optional
    ridge : float
        The penalty that the coefficients were shrunk by; 0 if they were not.
    projected : bool
        Whether the estimated moments had to be moved to the nearest that data can have.
    r_squared : str, optional
        On the truth, by reports held out, in words with its interval; nothing where reports do not tell.
    """

    reports: int
    weight_column: str | None
    ridge: float
    projected: bool
    r_squared: str | None = None

    def lines(self) -> list[tuple[str, str]]:
        """Return names and texts, for people."""
        lines = [("Reports", f"{self.reports:,}")]
        if self.weight_column:
            lines += [("Weighted by", self.weight_column)]
        if self.r_squared:
            lines += [("R squared on the truth, by reports held out", self.r_squared)]
        lines += [("Method", "unbiased moments"), ("Standard errors", "delta method: noise of the channel, and sample")]
        lines += [("Ridge", f"{self.ridge:.4g}" if self.ridge else "none")]
        lines += [("Moments", "moved to the nearest that data can have" if self.projected else "as estimated")]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class NumberReport(QuestionReport):
    """Everything that is shown about a question that hides numbers.

    Parameters
    ----------
    sentence : str
        How the truth was hidden, in words.
    columns : mapping from names to (lower, upper)
        The hidden columns, with their public bounds.
    outcome, formula : str
        What is explained, and the whole model.
    regression : Comparison
        The line. There is no naive one beside it: reports are codes, which nobody takes for numbers.
    diagnostics : NumberFacts
    """

    sentence: str
    columns: Mapping[str, tuple[float, float]]
    outcome: str
    formula: str
    regression: Comparison
    diagnostics: NumberFacts

    @property
    def only_mean(self) -> bool:
        """Whether nothing explains the outcome: the intercept is its mean."""
        return self.regression.askance.names == ("Intercept",)

    def to_dict(self) -> dict[str, Any]:
        """Return a strictly JSON-able mapping: no NaN, no infinity."""
        design = {
            "name": "",
            "design": self.sentence,
            "columns": {name: list(bounds) for name, bounds in self.columns.items()},
            "guarantee": self.guarantee.to_dict(),
        }
        return super().to_dict() | {
            "formula": self.formula,
            "outcome": self.outcome,
            "designs": [design],
            "prevalence": None,
            "regression": self.regression.to_dict(),
            "diagnostics": self.diagnostics.to_dict(),
        }
