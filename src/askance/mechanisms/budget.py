"""Privacy levels as exact numbers: 0.1 means one tenth, and three of them are 0.3."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Self

from askance.errors import InvalidInput

Number = int | float | str | Decimal | Fraction


@dataclass(frozen=True)
class Budget:
    """A pair (epsilon, delta), to be spent or to spend from.

    Doubles are taken for what they are written as: 0.1 + 0.2 is exactly 0.3 here.

    Examples
    --------
    >>> Budget.of(0.1) + Budget.of(0.2) == Budget.of(0.3)
    True
    >>> Budget.of(0.1, "1e-6").within(Budget.of(1))
    False
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, epsilon: Number, delta: Number = 0) -> Self:
        """Read and check the two numbers: epsilon is positive, delta at least 0 and below 1."""
        level, failure = _exact(epsilon, "epsilon"), _exact(delta, "delta")
        if level <= 0:
            raise InvalidInput(f"epsilon={epsilon}", "a positive number")
        if not 0 <= failure < 1:
            raise InvalidInput(f"delta={delta}", "a number from 0 to less than 1", "Small ones protect: 1e-6, say.")
        return cls(level, failure)

    def __add__(self, other: "Budget") -> "Budget":
        """What two releases cost together: levels add up."""
        return Budget(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: "Budget") -> "Budget":
        """What is left."""
        return Budget(self.epsilon - other.epsilon, self.delta - other.delta)

    def within(self, other: "Budget") -> bool:
        """Whether both numbers are at most those of another budget."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __str__(self) -> str:
        return f"epsilon {written(self.epsilon)}" + (f", delta {written(self.delta)}" if self.delta else "")


NOTHING = Budget(Fraction(0))


def written(number: Fraction) -> str:
    """Write a number that came from decimal digits with exactly these digits."""
    places = 0
    scaled = number
    while scaled.denominator != 1:
        if places > 400:  # no decimal number: only a Fraction somebody gave as such
            return str(float(number))
        scaled *= 10
        places += 1
    digits = Decimal(scaled.numerator).scaleb(-places)
    return f"{digits:f}" if places <= 12 else f"{digits.normalize():E}"


def _exact(number: Any, name: str) -> Fraction:
    if isinstance(number, Fraction):
        return number
    try:
        # The shortest text that means this double: what a person wrote.
        exact = (
            number if isinstance(number, Decimal | str) else repr(number.item() if hasattr(number, "item") else number)
        )
        if isinstance(number, bool):
            raise InvalidOperation
        return Fraction(Decimal(exact))
    except (InvalidOperation, ValueError, OverflowError, TypeError):
        raise InvalidInput(f"{name}={number!r}", "a finite number") from None
