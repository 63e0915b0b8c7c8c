"""Columns whose states are levels, with a coefficient for each but the first."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from askance.channels.attributes.feature_channel import FeatureChannel
from askance.errors import InvalidInput


def nominal_columns(asked: Any, method: str, features: FeatureChannel, names: list[str]) -> tuple[bool, ...]:
    """Which columns have levels: all that have states, or those that are named or numbered."""
    if asked is None or (not isinstance(asked, str) and len(asked) == 0):
        return (False,) * features.width
    if method in ("sampling", "spectral"):
        raise InvalidInput(f"method={method!r} with nominal columns", "another method, or nominal=None")
    if isinstance(asked, str) and asked == "all":
        return tuple(law.is_finite for law in features.laws)
    flags = [False] * features.width
    for one in [asked] if isinstance(asked, str) else asked:
        place = names.index(one) if one in names else one
        if not isinstance(place, int | np.integer) or isinstance(place, bool) or not 0 <= place < len(flags):
            raise InvalidInput(f"nominal={asked!r}", f"'all', or names or numbers of the columns {names}")
        if not features.laws[place].is_finite:
            raise InvalidInput(f"the nominal column {one!r} of numbers with noise", "a column with states")
        flags[place] = True
    return tuple(flags)


def design_names(names: Sequence[str], features: FeatureChannel, nominal: Sequence[bool]) -> list[str]:
    """Names of the coefficients: of columns, and of levels but the first."""
    found: list[str] = []
    for name, law, levels in zip(names, features.laws, nominal, strict=True):
        found += [f"{name}={value}" for value in law.values[1:].tolist()] if levels and law.is_finite else [name]
    return found
