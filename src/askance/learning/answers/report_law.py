"""What a fit asks of a channel."""

from typing import Protocol

from askance.arrays import Floats
from askance.channels.alphabet import Label


class ReportLaw(Protocol):
    """What a fit asks of a channel: a finite one is such, and so are reports that are looked at one by one."""

    @property
    def classes(self) -> tuple[Label, ...]:
        """The possible truths."""

    @property
    def matrix(self) -> Floats:
        """P(report | truth), report codes x classes."""

    def unbiasing_matrix(self, report_law: Floats | None = None, features: Floats | None = None) -> Floats:
        """R with R S = I, or R S = features; refused where reports do not determine that."""
