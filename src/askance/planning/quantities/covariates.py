"""Covariates that are only expected: a pilot's rows, or a law for each column."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from askance.arrays import Floats
from askance.errors import InvalidInput

_POINTS = 4096  # of a Sobol sequence: mean informations of up to ten columns are then right to 0.5%
_LAWS = {
    "normal": ((0.0, 1.0), "normal(mean, deviation)"),
    "uniform": ((0.0, 1.0), "uniform(lower, upper)"),
    "binary": ((0.5,), "binary(share)"),
}
_WRITTEN = re.compile(r"\s*([a-z]+)\s*(?:\(([^()]*)\))?\s*")


def expected_rows(names: Sequence[str], covariates: Any) -> Floats:
    """Return rows of the named columns: those of a pilot, or evenly spread points of the laws that are expected.

    Parameters
    ----------
    names : sequence of str
    covariates : None, mapping from names to laws, or a table
        A law is written "normal(40, 12)", "uniform(18, 80)" or "binary(0.3)"; without one a column is standard normal.
        A table (a frame, or an array with a column for each name) is taken as it is.

    Examples
    --------
    >>> expected_rows(["age", "female"], {"age": "normal(40, 12)", "female": "binary(0.5)"}).mean(axis=0).round(2)
    array([40. ,  0.5])
    """
    if covariates is None or (isinstance(covariates, Mapping) and _are_laws(covariates)):
        return _points(names, {} if covariates is None else covariates)
    columns = getattr(covariates, "columns", None)
    if isinstance(covariates, Mapping) or columns is not None:
        missing = [name for name in names if name not in (covariates if columns is None else list(columns))]
        if missing:
            raise InvalidInput(f"no column {', '.join(missing)} among the covariates", f"columns {', '.join(names)}")
        table = np.column_stack([_numbers(covariates[name], name) for name in names])
    else:
        table = np.atleast_2d(_numbers(covariates, "the covariates"))
    if table.ndim != 2 or table.shape[1] != len(names) or len(table) < 2 or not np.isfinite(table).all():
        raise InvalidInput(
            f"covariates of shape {table.shape}",
            f"at least two rows of {len(names)} finite numbers: {', '.join(names)}",
        )
    return table


def _are_laws(covariates: Mapping[str, Any]) -> bool:
    return all(isinstance(law, str) for law in covariates.values())


def _numbers(column: Any, name: str) -> Floats:
    try:
        return np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name} is not made of numbers", "numbers", "Write a category as columns of 0 and 1, one for each level."
        ) from None


def _points(names: Sequence[str], laws: Mapping[str, str]) -> Floats:
    from scipy.stats import qmc

    strangers = [name for name in laws if name not in names]
    if strangers:
        raise InvalidInput(f"a law of {', '.join(strangers)}, which has no effect", f"laws of {', '.join(names)}")
    # The first point of the sequence is the origin, whose normal deviate is infinite; half a step inside it is not.
    even = qmc.Sobol(len(names), scramble=False).random(_POINTS) + 0.5 / _POINTS
    return np.column_stack([_spread(even[:, i], laws.get(name, "normal"), name) for i, name in enumerate(names)])


def _spread(even: Floats, law: str, name: str) -> Floats:
    written = _WRITTEN.fullmatch(law)
    expected = f"one of {', '.join(form for _, form in _LAWS.values())}"
    if written is None or written[1] not in _LAWS:
        raise InvalidInput(f"the law {law!r} of {name}", expected)
    defaults = _LAWS[written[1]][0]
    try:
        numbers = tuple(float(part) for part in written[2].split(",")) if written[2] else defaults
    except ValueError:
        raise InvalidInput(f"the law {law!r} of {name}", expected) from None
    if len(numbers) != len(defaults) or not np.isfinite(numbers).all():
        raise InvalidInput(f"the law {law!r} of {name}", expected)
    if written[1] == "binary":
        if not 0 < numbers[0] < 1:
            raise InvalidInput(f"the law {law!r} of {name}", "a share above 0 and below 1")
        return (even < numbers[0]).astype(float)
    first, second = numbers
    if written[1] == "normal":
        if second <= 0:
            raise InvalidInput(f"the law {law!r} of {name}", "a deviation above 0")
        return np.asarray(first + second * ndtri(even))
    if second <= first:
        raise InvalidInput(f"the law {law!r} of {name}", "an upper bound above the lower one")
    return np.asarray(first + (second - first) * even)
