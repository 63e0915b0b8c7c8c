"""A plan checks itself: the study is drawn many times, and what was promised is compared with what comes out."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.errors import InvalidInput
from askance.planning.quantities.base import Quantity
from askance.planning.quantities.middle_spread import middle_spread


@dataclass(frozen=True)
class SimulatedCheck:
    """What simulated studies found, for each value of the quantity.

    Parameters
    ----------
    studies : int
    bias : tuple of float
        Mean estimate less the truth.
    std_errors : tuple of float
        The spread of the estimates, from the middle 95% of them: where a few studies have no finite estimate, a plain
        deviation has none.
        Of errors that were planned themselves, their mean; what follows is then not a number.
    stated : tuple of float
        The median standard error that the studies themselves state.
    coverage, power : tuple of float
        The share of intervals with the truth in them, and of tests that reject.
    """

    studies: int
    bias: tuple[float, ...]
    std_errors: tuple[float, ...]
    stated: tuple[float, ...]
    coverage: tuple[float, ...]
    power: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able mapping."""
        return {
            name: [number if math.isfinite(number) else None for number in value] if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }


def check_by_simulation(
    quantity: Quantity,
    design: Any,
    n: int,
    level: float,
    studies: int,
    rng: np.random.Generator,
    advance: Callable[[], None] = lambda: None,
) -> SimulatedCheck:
    """Draw a planned study many times."""
    if not studies >= 2:
        raise InvalidInput(f"check={studies!r}", "at least 2 studies, such as 200")
    drawn = []
    for _ in range(studies):
        drawn.append(quantity.simulate(design, n, rng))
        advance()
    values = np.array([one.values for one in drawn])
    errors = np.array([one.standard_errors for one in drawn])
    p_values = np.array([one.p_values for one in drawn])
    if quantity.is_error:
        nothing = (math.nan,) * len(quantity.names)
        return SimulatedCheck(studies, nothing, _numbers(values.mean(axis=0)), nothing, nothing, nothing)
    reach = quantity.reach(level)
    inside = np.abs(values - quantity.values) <= reach * errors
    return SimulatedCheck(
        studies,
        _numbers(np.median(values, axis=0) - quantity.values),
        _numbers(middle_spread(values)),
        _numbers(np.nanmedian(errors, axis=0)),
        _numbers(inside.mean(axis=0)),
        _numbers((p_values < 1 - level).mean(axis=0)),
    )


def _numbers(values: Floats) -> tuple[float, ...]:
    return tuple(float(value) for value in np.asarray(values, dtype=float))
