"""Numbers as people read them."""

import math

_UNKNOWN_ERROR, _MOST_DECIMALS = 4, 9  # decimals where no error says how many; and so many that a column stays narrow
_WIDEST = 1e9  # from here on with an exponent
_SMALLEST_P = 1e-4  # below it a p-value says "surely", and how surely depends on the normal approximation

MISSING = "–"  # in the place of a number that there is not


def decimals_for(error: float) -> int:
    """How many decimals are worth showing beside a standard error: three digits of it, within reason."""
    if not math.isfinite(error) or error <= 0:
        return _UNKNOWN_ERROR
    return min(max(2 - math.floor(math.log10(error)), 0), _MOST_DECIMALS)


def number(value: float, decimals: int) -> str:
    """Write a number with a real minus sign; a dash for one that does not exist.

    Examples
    --------
    >>> number(-0.12345, 3), number(float("nan"), 3)
    ('−0.123', '–')
    """
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    # A fit that failed can have errors of any size: no table should be as wide as that.
    text = f"{value:.{decimals}f}" if abs(value) < _WIDEST else f"{value:.2e}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def limit(value: float, decimals: int) -> str:
    """Write the end of an interval; one without a number is open.

    Examples
    --------
    >>> limit(float("-inf"), 2), limit(1.5, 2)
    ('open', '1.50')
    """
    return "open" if math.isinf(value) else number(value, decimals)


def p_value(value: float) -> str:
    """Write a p-value."""
    if math.isnan(value):
        return MISSING
    return "<.0001" if value < _SMALLEST_P else f"{value:.4f}"


def percent(share: float, decimals: int = 1) -> str:
    """Write a share of one as a percentage."""
    return f"{number(100 * share, decimals)}%"
