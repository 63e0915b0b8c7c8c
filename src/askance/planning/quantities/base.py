"""What every quantity answers to a planner."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtri

from askance.arrays import Floats
from askance.errors import InvalidInput

StandardErrors = Callable[[float], Floats]
SEED = 20_160_527  # of what plans draw: the same plan every time, and its own randomness is below what is printed
"""From a number of respondents to the standard error, or the expected test, of each value."""


class Estimate(NamedTuple):
    """What one simulated study found: values, their standard errors, and the p-values of their tests."""

    values: Floats
    standard_errors: Floats
    p_values: Floats


class Quantity(ABC):
    """One or several numbers that a study estimates, with what is assumed about the truth.

    A planner needs no more than this: what the numbers are called, what they are assumed to be, and how their
    standard errors fall with n under a design.
    """

    null: float = 0.0
    """What a test compares each value with."""
    are_shares: ClassVar[bool] = True
    """Whether the values are shares or differences of shares, so that a margin lies between 0 and 1."""
    has_border: ClassVar[bool] = False
    """Whether no value can be below zero, so that intervals are lopsided near it."""
    is_error: ClassVar[bool] = False
    """Whether what is planned is an expected error, which has neither interval nor test."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each value is called."""

    @property
    @abstractmethod
    def values(self) -> Floats:
        """The values that are assumed."""

    @abstractmethod
    def standard_errors(self, design: Any) -> StandardErrors:
        """How the standard errors fall with n under a design, or where the truth is asked directly (None)."""

    def shifts(self, design: Any) -> StandardErrors:
        """How far from their null hypotheses the tests are expected, in standard errors, for a number of respondents.

        Here by the normal law of the estimates.
        """
        errors = self.standard_errors(design)

        def shift(n: float) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.abs(self.values - self.null) / errors(n)
            return np.nan_to_num(found, nan=0.0, posinf=1e9)

        return shift

    @abstractmethod
    def simulate(self, design: Any, n: int, rng: np.random.Generator) -> Estimate:
        """Draw one study and estimate, with the estimator that will be used afterwards."""

    @abstractmethod
    def assumption(self) -> str:
        """What is assumed, in words: ``if ...``."""

    @abstractmethod
    def designs_at(self, epsilon: float) -> Mapping[str, Any]:
        """All designs of this package that can be asked at a level, with the parameters that give it exactly."""

    @abstractmethod
    def check_design(self, name: str, design: Any) -> None:
        """Refuse a design that this quantity cannot be asked with."""

    def reach(self, level: float) -> float:
        """How many standard errors an interval of a level goes to each side."""
        return float(ndtri(0.5 + level / 2))


def per_respondent(variances: Floats) -> StandardErrors:
    """Standard errors from variances of one respondent: they fall with the root of n.

    Examples
    --------
    >>> per_respondent(np.array([0.25]))(100)
    array([0.05])
    """
    return lambda n: np.sqrt(np.maximum(variances, 0.0) / n)


def checked_share(value: Any, what: str, *, inside: bool = False) -> float:
    """Return a share; ``inside`` if 0 and 1 themselves cannot be planned for."""
    between = "a share above 0 and below 1" if inside else "a share between 0 and 1"
    try:
        share = float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{what}={value!r}", f"{between}, such as 0.1") from None
    if not (0 < share < 1 if inside else 0 <= share <= 1):
        percent = f"For {share:g} per cent write {share / 100:g}." if 1 < share <= 100 else ""
        raise InvalidInput(f"{what}={share:g}", f"{between}, such as 0.1", percent)
    return share
