"""Privacy levels as exact numbers: 0.1 means one tenth, and three of them are 0.3."""

import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, Inexact, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any, Self

from askance.channels.given_numbers import LEAST_PLACES, shown
from askance.errors import InvalidInput

Number = int | float | str | Decimal | Fraction

_LEAST = Fraction(1, 10**LEAST_PLACES)  # as of channels; and a number is at most as large as this is small
_MOST_DIGITS = 1000  # of a number that is kept as it is; sums of such numbers have no more
# What a person writes: no other script's digits, no underscores, no words such as inf.
_DIGITS = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_READABLE = 9  # digits of a level that was computed: more are not read, and a billionth of it is not missed
_ROUNDED_DIGITS = 40  # of a number that has no end, such as 1/3


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

    def require_delta(self, mechanism: str) -> None:
        """Refuse a mechanism that has no level without a positive delta."""
        if not self.delta:
            raise InvalidInput(f"{mechanism=} with delta=0", "a positive delta such as 1e-6", "Or mechanism='auto'.")

    def __str__(self) -> str:
        return f"epsilon {written(self.epsilon)}" + (f", delta {written(self.delta)}" if self.delta else "")


NOTHING = Budget(Fraction(0))  # what sums of budgets start from


def written(number: Fraction) -> str:
    """Write a number that came from decimal digits with exactly these digits; others are rounded up.

    Examples
    --------
    >>> written(Fraction("0.1")), Fraction(written(Fraction(1, 3))) > Fraction(1, 3)
    ('0.1', True)
    """
    numerator, denominator = Decimal(number.numerator), Decimal(number.denominator)
    try:
        with localcontext(Context(prec=_MOST_DIGITS, traps=[Inexact])):
            digits = (numerator / denominator).normalize()
    except Inexact:
        with localcontext(Context(prec=_ROUNDED_DIGITS, rounding=ROUND_CEILING)):
            digits = numerator / denominator
    places = digits.as_tuple().exponent
    return f"{digits:f}" if isinstance(places, int) and places >= -12 else f"{digits:E}"


def rounded_up(number: float) -> Decimal:
    """Return a computed level as a number that people can read: nine digits, never less.

    Examples
    --------
    >>> rounded_up(0.8472978603872034), rounded_up(0.1)
    (Decimal('0.847297861'), Decimal('0.1'))
    """
    return Context(prec=_READABLE, rounding=ROUND_CEILING).create_decimal(repr(float(number)))


def _exact(number: Any, name: str) -> Fraction:
    if isinstance(number, bool):
        raise InvalidInput(f"{name}={number!r}", "a number")
    given = number
    try:
        if not isinstance(number, Decimal | Fraction | str):
            # The shortest text that means this double: what a person wrote.
            number = repr(number.item() if hasattr(number, "item") else number)
        if isinstance(number, str) and not _DIGITS.fullmatch(number):
            raise InvalidOperation
        exact = number if isinstance(number, Fraction) else Decimal(number)
        # Before anything is computed: ten letters can be a number of a gigabyte.
        if isinstance(exact, Decimal) and (len(str(number)) > _MOST_DIGITS or abs(exact.adjusted()) > LEAST_PLACES):
            raise InvalidOperation
        level = Fraction(exact)
        if level and not _LEAST <= abs(level) <= 1 / _LEAST:
            raise InvalidOperation
    except (InvalidOperation, ValueError, OverflowError, TypeError):
        raise InvalidInput(f"{name}={shown(given)}", f"a finite number: 0, or at least 1e-{LEAST_PLACES}") from None
    return level
