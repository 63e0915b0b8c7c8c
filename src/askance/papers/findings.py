"""What a reproduction found: each number beside the published one, with a check that can fail."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Columns = Mapping[str, Sequence[Any]]  # of a table, all of the same length

# Simulations must land within this many of their own standard errors. A correct program misses one such
# check in 16,000; the seed is fixed, so that a run which agrees once agrees again.
STANDARD_ERRORS = 4.0


class Statement(StrEnum):
    """What became of a published statement, whatever our own check says."""

    HOLDS = "holds"
    CONTRADICTED = "does not hold"
    NONE = "not stated"


@dataclass(frozen=True)
class Finding:
    """One quantity: as published, by our formula, by our simulation or search; and two verdicts.

    ``statement`` says whether what the paper states holds; ``passes``, whether our own check does. A counterexample is
    a check that passes beside a statement that does not hold.

    Examples
    --------
    >>> Finding.simulated("share of yes", formula=0.35, simulation=0.361, standard_error=0.005).passes
    True
    >>> Finding.simulated("share of yes", formula=0.35, simulation=0.375, standard_error=0.005).passes
    False
    >>> found = Finding.confirmed("level of the noise", 2.0, 2.0, 1e-6, published="1")
    >>> found.passes, str(found.statement)
    (True, 'does not hold')
    """

    quantity: str
    published: float | str
    formula: float | None
    simulation: float | None
    standard_error: float | None
    criterion: str
    passes: bool
    statement: Statement

    @classmethod
    def simulated(
        cls,
        quantity: str,
        formula: float,
        simulation: float,
        standard_error: float,
        published: str = "",
        *,
        contradicted: bool = False,
    ) -> "Finding":
        """A simulation that must land on the formula, within four standard errors of the simulation."""
        reach = STANDARD_ERRORS * standard_error
        close = bool(abs(simulation - formula) <= reach)
        criterion = f"simulation within {STANDARD_ERRORS:g} standard errors of the formula"
        statement = _statement(published, formula, 0.0, close, contradicted)
        return cls(quantity, published, formula, simulation, standard_error, criterion, close, statement)

    @classmethod
    def computed(cls, quantity: str, published: float, formula: float, tolerance: float) -> "Finding":
        """A number that the paper states (or implies) and ours, which must be as close as ``tolerance``."""
        close = bool(abs(formula - published) <= tolerance)
        statement = Statement.HOLDS if close else Statement.CONTRADICTED
        return cls(quantity, published, formula, None, None, f"within {tolerance:g} of it", close, statement)

    @classmethod
    def confirmed(
        cls,
        quantity: str,
        formula: float,
        numeric: float,
        tolerance: float,
        published: str = "",
        *,
        contradicted: bool = False,
    ) -> "Finding":
        """A formula and a numerical experiment without chance, which must be as close as ``tolerance``."""
        close = bool(abs(numeric - formula) <= tolerance)
        criterion = f"numerically within {tolerance:g} of the formula"
        statement = _statement(published, formula, tolerance, close, contradicted)
        return cls(quantity, published, formula, numeric, None, criterion, close, statement)

    @classmethod
    def claimed(
        cls,
        quantity: str,
        published: str,
        formula: float,
        at_least: float = -math.inf,
        at_most: float = math.inf,
        *,
        contradicted: bool = False,
    ) -> "Finding":
        """A claim made in words, and a number of ours whose size decides whether it holds.

        ``contradicted``: the bounds are those of a counterexample, and the claim does not hold where they do.
        """
        criterion, inside = _within(formula, at_least, at_most)
        statement = _statement(published, formula, 0.0, inside, contradicted)
        return cls(quantity, published, formula, None, None, criterion, inside, statement)

    @classmethod
    def measured(
        cls,
        quantity: str,
        published: str,
        simulation: float,
        at_least: float = -math.inf,
        at_most: float = math.inf,
        *,
        contradicted: bool = False,
    ) -> "Finding":
        """The same of a number that comes from drawing and fitting, not from a formula."""
        criterion, inside = _within(simulation, at_least, at_most)
        statement = _statement(published, simulation, 0.0, inside, contradicted)
        return cls(quantity, published, None, simulation, None, criterion, inside, statement)


_LIMIT = re.compile(r"(at most|below|at least|above) ([0-9.]+)")
# Papers print two or three digits: a number is as printed if it is within a twentieth of it.
_PRINTED = 0.05


def _statement(published: str, ours: float, tolerance: float, passes: bool, contradicted: bool) -> Statement:
    """Decide by a number or a limit that is published; words hold where the check does, unless they are said not to."""
    if not published or published.startswith(("none", "(")):  # nothing, or a remark of ours in its place
        return Statement.NONE
    if contradicted or published.startswith("erratum"):
        return Statement.CONTRADICTED if passes else Statement.HOLDS
    number, limit = _as_number(published), _LIMIT.fullmatch(published)
    if number is not None:
        holds = abs(number - ours) <= max(tolerance, _PRINTED * abs(number))
    elif limit is not None:
        side, value = limit[1], float(limit[2])
        holds = ours <= value * (1 + _PRINTED) if side in ("at most", "below") else ours >= value * (1 - _PRINTED)
    else:
        holds = passes
    return Statement.HOLDS if holds else Statement.CONTRADICTED


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _within(value: float, at_least: float, at_most: float) -> tuple[str, bool]:
    bounds = [f"at least {at_least:g}"] * math.isfinite(at_least)
    bounds += [f"at most {at_most:g}"] * math.isfinite(at_most)
    return " and ".join(bounds), bool(bounds) and at_least <= value <= at_most


def as_columns(names: Iterable[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """Turn the rows of a table into its columns.

    Examples
    --------
    >>> as_columns(("method", "error"), [("moments", 0.2), ("marginal", 0.1)])
    {'method': ('moments', 'marginal'), 'error': (0.2, 0.1)}
    """
    return dict(zip(names, zip(*rows, strict=True), strict=True))


@dataclass(frozen=True, eq=False)
class Result:
    """What a reproduction hands back, before anything is written.

    Parameters
    ----------
    findings : Finding, several
    table : columns
        The numbers behind the figure.
    figure : matplotlib Figure, optional
    note : str
        What a reader should know.
    more_figures : dict
        Further figures, by what is added to their file names.
    """

    findings: Iterable[Finding]
    table: Columns
    figure: "Figure | None" = None
    note: str = ""
    more_figures: "Mapping[str, Figure]" = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The findings of one reproduction, the files that were written, and what a reader should know."""

    findings: tuple[Finding, ...]
    plots: tuple[Path, ...]
    data: tuple[Path, ...]
    note: str = ""

    @property
    def passes(self) -> bool:
        """Whether every check of ours passes; an outcome without checks passes none."""
        return bool(self.findings) and all(finding.passes for finding in self.findings)

    @property
    def statements(self) -> dict[str, int]:
        """How many published statements hold, how many do not, and how many findings have none."""
        return {str(kind): sum(found.statement is kind for found in self.findings) for kind in Statement}

    def to_json(self) -> dict[str, Any]:
        """A JSON-able account."""
        return {
            "passes": self.passes,
            "statements": self.statements,
            "findings": [_without_infinities(asdict(finding)) for finding in self.findings],
            "plots": [str(path) for path in self.plots],
            "data": [str(path) for path in self.data],
            "note": self.note,
        }


def _without_infinities(record: dict[str, Any]) -> dict[str, Any]:
    # JSON has no infinity and no NaN; a check against them fails, and the cell stays empty.
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in record.items()
    }
