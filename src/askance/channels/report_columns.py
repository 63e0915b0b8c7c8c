"""What reports say about a truth, attribute by attribute: for whoever sums or integrates over all truths."""

from typing import Any, NamedTuple, Protocol

import numpy as np

from askance.arrays import Codes, Floats
from askance.errors import InvalidInput


class StateReports(NamedTuple):
    """Reports about an attribute of few states.

    Parameters
    ----------
    matrix : O x K
        P(report | state).
    values : K
        The states, where these are numbers; else their places.
    codes : n
        Rows of ``matrix``.
    """

    matrix: Floats
    values: Floats
    codes: Codes


def label_reports(matrix: Floats, codes: Codes) -> StateReports:
    """Return reports about one of several labels, which are named by their places."""
    return StateReports(matrix, np.arange(matrix.shape[1], dtype=float), codes)


class AddedNoise(Protocol):
    """The law of noise that was added to a number."""

    @property
    def size(self) -> float:
        """How large it is."""

    @property
    def variance(self) -> float:
        """Its variance."""

    @property
    def kurtosis(self) -> float:
        """Its fourth moment, in squares of its variance."""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Between which the truth lies, if that is public."""

    def log_density(self, noise: Any) -> Floats:
        """Return the logarithm of its density."""


class NumberReports(NamedTuple):
    """Reports about a number to which noise was added."""

    law: AddedNoise
    reports: Floats


ReportColumn = StateReports | NumberReports


def number_reports(law: AddedNoise, reports: Floats, column: int) -> NumberReports:
    """Return reports with noise, if there is some and they are numbers."""
    if not law.size:
        raise InvalidInput(
            f"noise of size 0 on attribute {column + 1}",
            "noise that hides",
            "A number that is told as it is belongs into log_probability, as a covariate of its row.",
        )
    if not np.isfinite(reports).all():
        row = int(np.flatnonzero(~np.isfinite(reports))[0])
        raise InvalidInput(f"{reports[row]} in row {row + 1}, column {column + 1}", "a finite number")
    return NumberReports(law, reports)
