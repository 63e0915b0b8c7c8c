"""What a reproduction found: each number beside the published one, with a check that can fail."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Columns = Mapping[str, Sequence[Any]]  # of a table, all of the same length

# Simulations must land within this many of their own standard errors. A correct program misses one such
# check in 16,000; the seed is fixed, so that a run which agrees once agrees again.
STANDARD_ERRORS = 4.0


@dataclass(frozen=True)
class Finding:
    """One quantity: as published, by our formula, by our simulation or search, and whether these agree.

    Examples
    --------
    >>> Finding.simulated("share of yes", formula=0.35, simulation=0.361, standard_error=0.005).agrees
    True
    >>> Finding.simulated("share of yes", formula=0.35, simulation=0.375, standard_error=0.005).agrees
    False
    """

    quantity: str
    published: float | str
    formula: float | None
    simulation: float | None
    standard_error: float | None
    criterion: str
    agrees: bool

    @classmethod
    def simulated(
        cls, quantity: str, formula: float, simulation: float, standard_error: float, published: str = ""
    ) -> "Finding":
        """A simulation that must land on the formula, within four standard errors of the simulation."""
        close = abs(simulation - formula) <= STANDARD_ERRORS * standard_error
        criterion = f"simulation within {STANDARD_ERRORS:g} standard errors of the formula"
        return cls(quantity, published, formula, simulation, standard_error, criterion, bool(close))

    @classmethod
    def computed(cls, quantity: str, published: float, formula: float, tolerance: float) -> "Finding":
        """A number that the paper states (or implies) and ours, which must be as close as ``tolerance``."""
        close = abs(formula - published) <= tolerance
        return cls(quantity, published, formula, None, None, f"within {tolerance:g} of it", bool(close))

    @classmethod
    def confirmed(
        cls, quantity: str, formula: float, numeric: float, tolerance: float, published: str = ""
    ) -> "Finding":
        """A formula and a numerical experiment without chance, which must be as close as ``tolerance``."""
        close = abs(numeric - formula) <= tolerance
        criterion = f"numerically within {tolerance:g} of the formula"
        return cls(quantity, published, formula, numeric, None, criterion, bool(close))

    @classmethod
    def claimed(
        cls, quantity: str, published: str, formula: float, at_least: float = -math.inf, at_most: float = math.inf
    ) -> "Finding":
        """A claim made in words, and a number of ours whose size decides whether it holds."""
        criterion, holds = _within(formula, at_least, at_most)
        return cls(quantity, published, formula, None, None, criterion, holds)

    @classmethod
    def measured(
        cls, quantity: str, published: str, simulation: float, at_least: float = -math.inf, at_most: float = math.inf
    ) -> "Finding":
        """The same of a number that comes from drawing and fitting, not from a formula."""
        criterion, holds = _within(simulation, at_least, at_most)
        return cls(quantity, published, None, simulation, None, criterion, holds)


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
    def agrees(self) -> bool:
        """Whether every check holds; an outcome without checks does not agree with anything."""
        return bool(self.findings) and all(finding.agrees for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """A JSON-able account."""
        return {
            "agrees": self.agrees,
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
