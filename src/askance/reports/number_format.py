"""Numbers as people read them."""

import math


def decimals_for(error: float) -> int:
    """How many decimals are worth showing beside a standard error: three digits of it, within reason."""
    if not math.isfinite(error) or error <= 0:
        return 4
    return min(max(2 - math.floor(math.log10(error)), 0), 9)


def number(value: float, decimals: int) -> str:
    """Write a number with a real minus sign; a dash for one that does not exist.

    Examples
    --------
    >>> number(-0.12345, 3), number(float("nan"), 3)
    ('−0.123', '–')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    # A fit that failed can have errors of any size: no table should be as wide as that.
    text = f"{value:.{decimals}f}" if abs(value) < 1e9 else f"{value:.2e}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def p_value(value: float) -> str:
    """Write a p-value."""
    if math.isnan(value):
        return "–"
    return "<.0001" if value < 1e-4 else f"{value:.4f}"


def percent(share: float, decimals: int = 1) -> str:
    """Write a share of one as a percentage."""
    return f"{number(100 * share, decimals)}%"
