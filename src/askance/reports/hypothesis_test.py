"""The result of a test of a hypothesis."""

import math
from dataclasses import dataclass
from typing import Any

from askance.reports.number_format import p_value as p_text


@dataclass(frozen=True)
class HypothesisTest:
    """A test, as people report it.

    Parameters
    ----------
    kind : str
        Such as "Wald" or "likelihood ratio".
    hypothesis : str
        What is tested, such as "age = 0".
    statistic : float
        Chi-squared; F where errors have degrees of freedom of their own.
    degrees : int
        How many numbers the hypothesis fixes.
    p_value : float
    error_degrees : float
        Degrees of freedom of the errors, infinite for a chi-squared statistic.

    Examples
    --------
    >>> from askance.reports import HypothesisTest
    >>> print(HypothesisTest("Wald", "age = 0", 5.2, 1, 0.0226))
    Wald test of age = 0: chi-squared 5.200 on 1 degree of freedom, p 0.0226
    """

    kind: str
    hypothesis: str
    statistic: float
    degrees: int
    p_value: float
    error_degrees: float = math.inf

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        found = {"kind": self.kind, "hypothesis": self.hypothesis, "statistic": self.statistic}
        finite = math.isfinite(self.error_degrees)
        return found | {
            "degrees": self.degrees,
            "error_degrees": self.error_degrees if finite else None,
            "p_value": self.p_value,
        }

    def __str__(self) -> str:
        of = f"{self.degrees} degree{'s' if self.degrees != 1 else ''} of freedom"
        if math.isfinite(self.error_degrees):
            return (
                f"{self.kind} test of {self.hypothesis}: F {self.statistic:.3f} on {self.degrees} and "
                f"{self.error_degrees:.1f} degrees of freedom, p {p_text(self.p_value)}"
            )
        size = f"chi-squared {self.statistic:.3f} on {of}"
        return f"{self.kind} test of {self.hypothesis}: {size}, p {p_text(self.p_value)}"
