"""Tables of estimates that people read and programs parse."""

import html
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askance.errors import InvalidInput
from askance.reports.number_format import decimals_for, number, p_value
from askance.reports.text_table import aligned

COLUMNS = ("estimate", "std_error", "z", "p_value", "lower", "upper")


@dataclass(frozen=True)
class Summary:
    """Estimates with standard errors, z, p and intervals.

    Parameters
    ----------
    title : str
    names : tuple of str
        One for each row.
    values : array, rows x 6
        The columns of ``COLUMNS``.
    level : float
        Confidence level of the intervals.
    facts : tuple of (name, text)
        What else a reader should know: method, number of reports, privacy.
    notes : tuple of str
        Warnings that belong to these numbers.
    """

    title: str
    names: tuple[str, ...]
    values: NDArray[np.float64]
    level: float = 0.95
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def table(self) -> Any:
        """The table as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.values, index=list(self.names), columns=list(COLUMNS))

    def __getitem__(self, column: str) -> Any:
        return self.table[column]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; numbers that do not exist are None."""
        rows = {
            name: {c: (v if math.isfinite(v) else None) for c, v in zip(COLUMNS, row.tolist(), strict=True)}
            for name, row in zip(self.names, self.values, strict=True)
        }
        return {
            "title": self.title,
            "level": self.level,
            "estimates": rows,
            "facts": dict(self.facts),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        percent = f"{100 * self.level:g}%"
        heads = ["", "estimate", "std. error", "z", "p", f"{percent} from", "to"]
        cells = []
        for name, (estimate, error, z, p, low, high) in zip(self.names, self.values.tolist(), strict=True):
            digits = decimals_for(error)
            numbers = (number(value, digits) for value in (estimate, error))
            limits = (number(value, digits) for value in (low, high))
            cells.append([name, *numbers, number(z, 2), p_value(p), *limits])
        facts = [f"{name}: {value}" for name, value in self.facts]
        notes = [f"Note: {note}" for note in self.notes]
        return "\n".join([self.title, *aligned(heads, cells), *facts, *notes])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def standard_errors(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the root of the diagonal."""
    errors: NDArray[np.float64] = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return errors


def summarise(
    title: str,
    names: tuple[str, ...],
    estimates: NDArray[np.float64],
    covariance: NDArray[np.float64],
    level: float,
    facts: tuple[tuple[str, str], ...] = (),
    notes: tuple[str, ...] = (),
) -> Summary:
    """Make a table of Wald statistics."""
    from scipy.special import ndtr, ndtri

    if not 0 < level < 1:
        raise InvalidInput(f"level={level!r}", "a confidence level between 0 and 1, such as 0.95")
    errors = standard_errors(covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = estimates / errors
    reach = ndtri(0.5 + level / 2) * errors
    values = np.column_stack([estimates, errors, z, 2 * ndtr(-np.abs(z)), estimates - reach, estimates + reach])
    return Summary(title, names, values, level, facts, notes)
