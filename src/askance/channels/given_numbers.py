"""Parameters of channels as strangers write them: plain numbers, of a size that can be worked with."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from askance.errors import InvalidInput

MOST_NUMBERS = 1_000_000  # in a row: laws, levels and names of each take 100 MB; the largest pictures have fewer
# Levels and other parameters: a thousandth of a smaller one may be no full double any more, and noise is calibrated so.
LEAST_PLACES = 300
MOST_LABELS = 4096  # of one question: its table of probabilities takes 128 MiB, and audits need several such

_LEAST = 10.0**-LEAST_PLACES


def as_number(value: Any, name: str, expected: str = "a number") -> float:
    """Return a number as a double; refuse text, truth values, NaN, and what no double can hold precisely.

    Examples
    --------
    >>> as_number(Fraction(1, 4), "p")
    0.25
    """
    kinds = int | float | np.integer | np.floating | Decimal | Fraction
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise InvalidInput(f"{name}={shown(value)}", expected)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise InvalidInput(f"{name}=nan, which is not a number (NaN)", expected)
    if value and abs(number) < _LEAST:
        raise InvalidInput(f"{name}={shown(value)}", f"{expected}; this one is below 1e-{LEAST_PLACES}")
    return number


def shown(value: Any) -> str:
    """Return how messages show a value, whatever its size.

    Examples
    --------
    >>> shown(10**5000)
    'a number of more than 4000 digits'
    """
    try:
        text = repr(value)
    except ValueError:  # Python writes no longer numbers
        return "a number of more than 4000 digits"
    return text if len(text) <= 200 else f"{text[:200]}..."
