"""Coefficients in units that can be compared: a standard deviation of each number, or what somebody asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput, did_you_mean
from askance.reports.number_format import decimals_for, limit, number
from askance.reports.summary import Summary

_HUGE_ODDS = 1e6  # an odds ratio beyond it is written as a power: it says "for sure", and its digits say nothing


@dataclass(frozen=True)
class Unit:
    """How much of a feature a coefficient is told for.

    Parameters
    ----------
    feature : str
        As the model names it.
    size : float
        What its coefficient is multiplied by.
    words : str
        What that is, such as "standard deviation".

    Examples
    --------
    >>> str(Unit("age", 12.14, "standard deviation"))
    '12.1 (standard deviation)'
    """

    feature: str
    size: float
    words: str

    def __str__(self) -> str:
        return f"{self.size:.3g} ({self.words})" if self.words else f"{self.size:.3g}"

    def is_of(self, parameter: str) -> bool:
        """Whether a parameter is the feature's coefficient; of several classes each has one."""
        return parameter == self.feature or parameter.endswith(f": {self.feature}")


def refuse_strangers(per: Mapping[str, float], names: Sequence[str]) -> None:
    """Refuse units of what is no feature of a model."""
    for name in per:
        if name not in names:
            raise InvalidInput(
                f"a unit of {name!r}, which is no feature of the model",
                f"some of {', '.join(names)}" if names else "a formula with covariates",
                did_you_mean(name, names),
            )


def asked_units(summary: Summary, per: Mapping[str, float]) -> tuple[Unit, ...]:
    """Return units that were asked for, of features that a table has.

    Examples
    --------
    >>> table = Summary("Who", names=("Intercept", "age"), values=np.ones((2, 6)))
    >>> [str(unit) for unit in asked_units(table, {"age": 10})]
    ['10 (as asked for)']
    """
    of_classes = [name.rpartition(": ")[2] for name in summary.names]
    refuse_strangers(per, [name for name in dict.fromkeys([*summary.names, *of_classes]) if name != "Intercept"])
    for name, size in per.items():
        if isinstance(size, bool) or not isinstance(size, int | float | np.number) or not 0 < size < np.inf:
            raise InvalidInput(f"a unit of {size!r} of {name!r}", "a number above zero, such as 10 years of an age")
    return tuple(Unit(name, float(size), "as asked for") for name, size in per.items())


def in_units(summary: Summary, units: Sequence[Unit]) -> Summary:
    """Return a table with estimates, errors and intervals for one unit of each feature; z and p stay."""
    sizes = [next((unit.size for unit in units if unit.is_of(name)), 1.0) for name in summary.names]
    stretch = np.array([[size, size, 1, 1, size, size] for size in sizes]).reshape(-1, 6)
    with np.errstate(invalid="ignore"):
        return replace(summary, values=summary.values * stretch)


def unit_rows(summary: Summary, units: Sequence[Unit], *, odds: bool) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of a table: each feature's unit, its coefficient for that, and the odds ratio if asked."""
    heads = ["", "for", "coefficient", f"{summary.percent} interval"]
    heads += ["odds ratio", f"{summary.percent} interval"] if odds else []
    rows = []
    for name, values in zip(summary.names, in_units(summary, units).values, strict=True):
        unit = next((unit for unit in units if unit.is_of(name)), None)
        if unit is None:
            continue
        estimate, error, _, _, low, high = values.tolist()
        digits = decimals_for(error)
        row = [name, str(unit), number(estimate, digits), f"{limit(low, digits)} to {limit(high, digits)}"]
        rows.append([*row, *(_odds(values) if odds else [])])
    return heads, rows


def _odds(values: Floats) -> list[str]:
    with np.errstate(over="ignore"):
        ratio, low, high = (float(each) for each in np.exp(values[[0, 4, 5]]))
    lower, upper = ("open" if np.isinf(end) else _ratio(bound) for end, bound in ((values[4], low), (values[5], high)))
    return [_ratio(ratio), f"{lower} to {upper}"]


def _ratio(value: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{value:.3g}" if value < _HUGE_ODDS else f"{value:.1e}"
