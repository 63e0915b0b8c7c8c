"""Tables of estimates that people read and programs parse."""

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.printing import one_line
from askance.reports.html_table import html_table
from askance.reports.markup_tables import latex_table, markdown_table
from askance.reports.number_format import decimals_for, limit, number, p_value
from askance.reports.text_table import aligned

COLUMNS = ("estimate", "std_error", "z", "p_value", "lower", "upper")
# Standard errors and tests hold for many reports. Ten for each parameter is the oldest rule of thumb for logistic
# regressions with answers that nobody hid (Peduzzi et al. 1996); hidden ones tell less. Below thirty even a share's
# normal interval is rough.
_FEWEST, _FEWEST_EACH = 30, 10
NO_ESTIMATES: Floats = np.empty((0, len(COLUMNS)))


@dataclass(frozen=True, eq=False)
class Summary:
    """Estimates with standard errors, z, p and intervals; and what a reader must know beside them.

    A table of shares has no z and no p, which would test a share against zero: they are NaN, and not shown.

    Parameters
    ----------
    title : str
    names : tuple of str
        One for each row; none where a model has no parameters that people read, such as a tagger.
    values : array, rows x 6
        The columns of ``COLUMNS``.
    level : float
        Confidence level of the intervals.
    facts : tuple of (name, text)
        What else a reader should know: method, number of reports.
    notes : tuple of str
        Warnings that belong to these numbers.
    privacy : str
        How well the people behind the numbers are protected; shown after the facts.
    alerts : tuple of str
        What must be read before any number, such as reports that the design cannot have made; shown first.
    doubts : tuple of str
        Why approximations behind the numbers may not hold, where that is known; shown as cautions.

    Examples
    --------
    >>> import askance as ask
    >>> table = ask.Prevalence(ask.Warner(0.8)).fit(["no"] * 600 + ["yes"] * 400).summary()
    >>> table.to_frame().loc["yes", "estimate"].round(4)
    np.float64(0.3333)
    >>> table.privacy
    'epsilon 1.386, protects one answer (any two answers of one person)'
    """

    title: str
    names: tuple[str, ...] = ()
    values: Floats = field(default_factory=NO_ESTIMATES.copy)
    level: float = 0.95
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    privacy: str = ""
    alerts: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame, with a row for each name."""
        import pandas as pd

        return pd.DataFrame(self.values, index=list(self.names), columns=list(COLUMNS))

    @property
    def table(self) -> Any:
        """The table as a pandas DataFrame: :meth:`to_frame`."""
        return self.to_frame()

    def __getitem__(self, column: str) -> Any:
        return self.to_frame()[column]

    def fact(self, name: str) -> str | None:
        """Return a fact by its name, or None."""
        return dict(self.facts).get(name)

    @property
    def all_facts(self) -> tuple[tuple[str, str], ...]:
        """The facts, and privacy after them."""
        return (*self.facts, ("privacy", self.privacy)) if self.privacy else self.facts

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping; numbers that do not exist are None, and so are open ends, which "open" names."""
        rows = {name: _jsonable(row) for name, row in zip(self.names, self.values.tolist(), strict=True)}
        return {
            "title": self.title,
            "level": self.level,
            "estimates": rows,
            "facts": dict(self.all_facts),
            "notes": list(self.notes),
            "privacy": self.privacy,
            "alerts": list(self.alerts),
            "cautions": list(self.cautions),
        }

    def decimals(self) -> list[int]:
        """Return how many decimals are worth showing in each row."""
        return [decimals_for(error) for error in self.values[:, 1].tolist()]

    def cells(self) -> list[list[str]]:
        """Return each row as people read it: name, estimate, standard error, z, p, lower and upper limit.

        Without z or p where no row has one.
        """
        rows = zip(self.names, self.values.tolist(), self.decimals(), strict=True)
        has_z, has_p = self._has_tests
        return [
            [name, *(number(v, digits) for v in (e, s)), *[number(z, 2)] * has_z, *[p_value(p)] * has_p]
            + [limit(v, digits) for v in limits]
            for name, (e, s, z, p, *limits), digits in rows
        ]

    @property
    def _has_tests(self) -> tuple[bool, bool]:
        """Whether any row has a z, and a p."""
        there = np.isfinite(self.values)
        return bool(there[:, 2].any()), bool(there[:, 3].any())

    @property
    def percent(self) -> str:
        """The confidence level as people read it, such as "95%"."""
        return f"{100 * self.level:g}%"

    def heads(self) -> list[str]:
        """Return the heads of :meth:`cells`."""
        has_z, has_p = self._has_tests
        return ["", "estimate", "std. error", *["z"] * has_z, *["p"] * has_p, f"{self.percent} from", "to"]

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to think of before reading the table: doubts, and reports that are too few for it."""
        return (*self.doubts, *self._too_few())

    def _too_few(self) -> tuple[str, ...]:
        said = self.fact("reports") or self.fact("people") or ""
        count, parameters = said.replace(",", ""), len(self.names)
        if not count.isdigit() or not np.isfinite(self.values[:, 1]).any():
            return ()
        wanted = max(_FEWEST, _FEWEST_EACH * parameters)
        if int(count) >= wanted:
            return ()
        what = "estimate" if parameters == 1 else "estimates"
        return (
            f"{int(count):,} reports are few for {parameters} {what}: standard errors, intervals and p-values are "
            f"approximations that hold for many, here for about {wanted:,} or more, and can be far off.",
        )

    def to_markdown(self) -> str:
        """Return the table, and what must be read beside it, as Markdown."""
        first = [*(f"**Alert**: {a}" for a in self.alerts), *(f"**Caution**: {c}" for c in self.cautions)]
        beside = [*(f"{name}: {text}" for name, text in self.all_facts)]
        lines = [f"**{self.title}**", *first, *([markdown_table(self.heads(), self.cells())] if self.names else [])]
        return "\n\n".join([*lines, *beside, *(f"Note: {note}" for note in self.notes)])

    def to_latex(self) -> str:
        """Return the table as LaTeX (package booktabs); facts, privacy and notes are comments above it."""
        beside = [*self.alerts, *self.cautions, *(f"{name}: {text}" for name, text in self.all_facts), *self.notes]
        comments = [f"% {one_line(line)}" for line in beside]
        return "\n".join([*comments, latex_table(self.heads(), self.cells(), self.title)])

    def __str__(self) -> str:
        table = aligned(self.heads(), self.cells()) if self.names else []
        facts = [f"{name}: {value}" for name, value in self.all_facts]
        notes = [f"Note: {note}" for note in self.notes]
        alerts = [*(f"ALERT: {alert}" for alert in self.alerts), *(f"CAUTION: {words}" for words in self.cautions)]
        return "\n".join([*map(one_line, [self.title, *alerts]), *table, *map(one_line, [*facts, *notes])])

    __repr__ = __str__  # a session of Python or R shows the table, not the fields

    def _repr_html_(self) -> str:
        table = (
            html_table(self.heads(), self.cells(), caption=self.title) if self.names else f"<p>{escape(self.title)}</p>"
        )
        lines = [*self.all_facts, *(("Note", note) for note in self.notes)]
        first_lines = [*(("Alert", alert) for alert in self.alerts), *(("Caution", words) for words in self.cautions)]
        first, last = (
            "".join(f"<p><b>{escape(name)}</b>: {escape(text)}</p>" for name, text in part)
            for part in (first_lines, lines)
        )
        return first + table + last


def _jsonable(row: list[float]) -> dict[str, Any]:
    cells: dict[str, Any] = {c: (v if math.isfinite(v) else None) for c, v in zip(COLUMNS, row, strict=True)}
    ends = [c for c, v in zip(COLUMNS[-2:], row[-2:], strict=True) if math.isinf(v)]
    return cells | {"open": ends} if ends else cells


def standard_errors(covariance: Floats) -> Floats:
    """Return the root of the diagonal."""
    errors: Floats = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return errors


def checked_confidence(level: Any, called: str = "level=") -> float:
    """Return a confidence level that is one; below one half it is what users of statsmodels call alpha.

    Examples
    --------
    >>> checked_confidence(0.9)
    0.9
    """
    is_number = isinstance(level, int | float | np.integer | np.floating) and not isinstance(level, bool)
    if is_number and 0.5 <= level < 1:
        return float(level)
    meant = ""
    if is_number and 0 < level < 0.5:
        meant = f"An alpha of {level:g} is a level of {1 - level:g}."
    elif is_number and 1 < level < 100:
        meant = f"For {level:g} per cent write {level / 100:g}."
    arrived = f"{called}{level:g}" if is_number else f"{called}{level!r}"
    raise InvalidInput(arrived, "a confidence level between 0.5 and 1, such as 0.95", meant)


def refuse_alpha(alpha: Any) -> None:
    """Answer who asks for an interval by statsmodels' word for it with the level that is meant."""
    if alpha is None:
        return
    is_number = isinstance(alpha, int | float | np.integer | np.floating) and 0 < alpha <= 0.5
    raise InvalidInput(f"alpha={alpha!r}", f"level={1 - alpha if is_number else 0.95:g}, which is one less alpha")


def summarise(
    title: str,
    names: tuple[str, ...],
    estimates: Floats,
    covariance: Floats,
    level: float,
    facts: tuple[tuple[str, str], ...] = (),
    notes: tuple[str, ...] = (),
    privacy: str = "",
    *,
    tested: bool = True,
) -> Summary:
    """Make a table of Wald statistics; where zero is no value to test, as of shares, without z and p."""
    from scipy.special import ndtr, ndtri

    level = checked_confidence(level)
    errors = standard_errors(covariance)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = estimates / errors if tested else np.full(len(errors), np.nan)
    reach = ndtri(0.5 + level / 2) * errors
    values = np.column_stack([estimates, errors, z, 2 * ndtr(-np.abs(z)), estimates - reach, estimates + reach])
    return Summary(title, names, values, level, facts, notes, privacy)
