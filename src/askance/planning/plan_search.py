"""The fewest respondents, or the smallest level, that are enough: by bisection, since more of either is never worse."""

from collections.abc import Callable, Mapping
from typing import Any

from askance.errors import InvalidInput
from askance.planning.quantities.base import Quantity

_MOST = 10**12  # respondents: a hundred times mankind
_LEVELS = (1e-3, 30.0)  # epsilon: below, a report is chance; above, it is the truth
_CLOSE = 1e-4  # relative, of a level that is found


def smallest_n(enough: Callable[[float], bool]) -> int:
    """Return the smallest number of respondents that is enough.

    Examples
    --------
    >>> smallest_n(lambda n: n >= 1068)
    1068
    """
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            raise InvalidInput(
                f"more than {_MOST:,} respondents would be needed", "a wider margin, a lower power, or a larger effect"
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def smallest_epsilon(quantity: Quantity, enough: Callable[[Any], bool], most: float | None) -> dict[str, Any]:
    """Return every kind of design at the smallest level that is enough; kinds that no level helps are left out."""
    top = min(most or _LEVELS[1], _LEVELS[1])
    found = {}
    for name, design in quantity.designs_at(top).items():
        if not enough(design):
            continue
        low, high = min(_LEVELS[0], top / 2), top
        while high > low * (1 + _CLOSE):
            middle = (low * high) ** 0.5
            tried: Mapping[str, Any] = quantity.designs_at(middle)
            low, high = (low, middle) if name in tried and enough(tried[name]) else (middle, high)
        found[name] = quantity.designs_at(high)[name]
    if not found:
        raise InvalidInput(
            f"no design reaches this with an epsilon of at most {top:g}",
            "more respondents, a wider margin, a lower power, or a larger epsilon",
        )
    return found
