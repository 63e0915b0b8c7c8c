"""Questions that an audit asks: what their tests found, and their share of the error rate.

An audit asks several questions, each with many tests. Every question has a stated share of the probability with which
an honest channel may fail; within it, tests share alike (Bonferroni), so that no dependence between them matters.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput

# What each question may spend of the error rate. Laws have most of the tests, and dependence that matters is strong:
# with 20,000 rows a shared coin is 10 or more standard errors, where a smaller share costs a tenth of one.
SHARES = {
    "law": 0.3,
    "bound": 0.2,
    "repeated calls": 0.15,
    "neighbouring rows": 0.15,
    "attributes": 0.1,
    "tails": 0.05,
    "leaks": 0.05,
}
# The same for releases of totals: the law of the noise, on all data sets together and on each.
RELEASE_SHARES = {
    "law": 0.35,
    "neighbouring data sets": 0.25,
    "repeated releases": 0.15,
    "values": 0.1,
    "this release": 0.1,
    "leaks": 0.05,
}
_MOST_FAULTS_SHOWN = 5  # the rest is counted: the first say what is wrong
_MOST_DRAWS = 10**10  # some hours of the fastest channel; more is a slip of the keyboard


def check_asked(draws: Any, error_rate: Any) -> None:
    """Refuse an error rate that is no probability, and more draws than anybody waits for."""
    if isinstance(error_rate, bool) or not isinstance(error_rate, int | float | np.floating) or not 0 < error_rate < 1:
        raise InvalidInput(f"error_rate={error_rate!r}", "a probability between 0 and 1, such as 0.001")
    if isinstance(draws, int | np.integer) and draws > _MOST_DRAWS:
        shown = f"draws={draws}" if draws < 10**20 else "more than 10^20 draws"
        raise InvalidInput(shown, f"at most {_MOST_DRAWS:,}")


class Finding(NamedTuple):
    """What a series of tests found.

    Parameters
    ----------
    what : str
        What the most striking of them is about.
    p_value : float
        The smallest p-value, times the number of tests.
    tests : int
    """

    what: str
    p_value: float
    tests: int = 1


@dataclass(frozen=True)
class AuditQuestion:
    """The tests that answer one question of an audit.

    Parameters
    ----------
    name : str
    asks : str
        The question, in words.
    share : float
        Of the error rate.
    level : float
        The level below which the p-value of a series of tests counts as a fault.
    tests : int
        How many tests there were.
    smallest_p : float
        The smallest p-value of a series, which accounts for the number of its tests.
    faults : tuple of str
    note : str
        What would have been seen, or why something could not be judged.
    """

    name: str
    asks: str
    share: float
    level: float
    tests: int
    smallest_p: float
    faults: tuple[str, ...]
    note: str = ""

    @classmethod
    def of(cls, name: str, asks: str, found: Iterable[Finding], error_rate: float, note: str = "") -> "AuditQuestion":
        """Judge what was found, at the question's share of the error rate."""
        return cls.judged(name, asks, found, error_rate, SHARES[name], note)

    @classmethod
    def judged(
        cls, name: str, asks: str, found: Iterable[Finding], error_rate: float, share: float, note: str = ""
    ) -> "AuditQuestion":
        """Judge what was found, at some share of the error rate."""
        series = sorted(found, key=lambda one: one.p_value)
        level = error_rate * share / max(1, len(series))
        return cls(
            name=name,
            asks=asks,
            share=share,
            level=level,
            tests=sum(one.tests for one in series),
            smallest_p=min((one.p_value for one in series), default=1.0),
            faults=tuple(f"{one.what} (p = {one.p_value:.2g})" for one in series if one.p_value < level),
            note=note,
        )

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.faults

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words."""
        more = len(self.faults) - _MOST_FAULTS_SHOWN
        said = [f"{self.name}: {fault}" for fault in self.faults[:_MOST_FAULTS_SHOWN]]
        return (*said, *([f"{self.name}: {more} more"] if more > 0 else []))

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        lines = [
            f"{self.name}: {verdict} ({self.tests:,} tests, smallest p {self.smallest_p:.2g}, alarm below "
            f"{self.level:.2g}). {self.asks}"
        ]
        lines += [f"  {self.note}"] if self.note else []
        return "\n".join(lines + [f"  PROBLEM: {problem}" for problem in self.problems])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return asdict(self) | {"faults": list(self.faults), "passed": self.passed}


def most_striking(p_values: Floats, names: Any, tests: int | None = None) -> Finding:
    """Return the smallest of some p-values, times their number.

    Parameters
    ----------
    p_values : array
    names : function from a position to words
    tests : int, optional
        How many there were, if these are only the smallest of them.
    """
    count = p_values.size if tests is None else tests
    if not p_values.size:
        return Finding("", 1.0, 0)
    place = int(p_values.argmin())
    smallest = float(p_values.reshape(-1)[place])
    return Finding(names(place), 1.0 if math.isnan(smallest) else min(1.0, smallest * count), count)
