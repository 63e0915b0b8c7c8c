"""Covariates of survey models: checked, without columns that tell nothing new, on a common scale inside the solver."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askance.arrays import Floats
from askance.channels.alphabet import listed
from askance.errors import InvalidInput
from askance.frames import column_names, some_columns, without_index

_SAME = 1e-9  # what is left of a scaled column after the others are taken out, if they say the same: rounding alone


@dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates as a model uses them: centred, of variance one, with a column of ones in front.

    Parameters
    ----------
    design : array, n x p
    names : tuple of str
        Of the columns of ``design``, "Intercept" first.
    back : array, p x p
        Turns coefficients of ``design`` into those of the covariates as they came.
    notes : tuple of str
        Which columns were left out.
    """

    design: Floats
    names: tuple[str, ...]
    back: Floats
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Any, names: Sequence[str] | None = None, rows: int | None = None) -> "Covariates":
        """Check covariates, n x d; None for an intercept alone. Constant and collinear columns are left out."""
        values = without_index(values)
        table = np.empty((rows or 0, 0)) if values is None else _numbers(values)
        called = names if names is not None else column_names(values)
        if rows is not None and len(table) != rows:
            raise InvalidInput(f"{len(table)} rows of covariates and {rows} reports", "as many of both")
        given = list(map(str, range(table.shape[1]) if called is None else called))
        given = [f"x{name}" if name.isdigit() else name for name in given]
        centre = table.mean(axis=0) if len(table) else np.zeros(table.shape[1])
        spread = np.sqrt(((table - centre) ** 2).mean(axis=0)) if len(table) else np.ones(table.shape[1])
        kept, constant, repeated, basis = list[int](), list[str](), list[str](), list[Floats]()
        for j, name in enumerate(given):
            if spread[j] <= _SAME * max(1.0, abs(float(centre[j]))):
                constant.append(name)
                continue
            column = (table[:, j] - centre[j]) / (spread[j] * np.sqrt(len(table)))
            left = column.copy()
            for other in [*basis, *basis]:  # twice is enough, as Kahan and Parlett say of orthogonalisation
                left = left - other * (other @ left)
            size = float(np.linalg.norm(left))
            if size <= _SAME:
                repeated.append(name)
                continue
            basis.append(left / size)
            kept.append(j)
        notes = []
        if constant:
            notes.append(f"The same in every row, and left out: {listed(constant, 6)}.")
        if repeated:
            notes.append(f"Told by the covariates before them, and left out: {listed(repeated, 6)}.")
        design = np.column_stack([np.ones(len(table)), (table[:, kept] - centre[kept]) / spread[kept]])
        back = np.diag([1.0, *(1 / spread[kept])])
        back[0, 1:] = -centre[kept] / spread[kept]
        return cls(design, ("Intercept", *(given[j] for j in kept)), back, tuple(notes))

    def of_rows(self, rows: Any) -> "Covariates":
        """The same for some rows."""
        return replace(self, design=self.design[rows])

    @property
    def width(self) -> int:
        """How many coefficients there are, with the intercept."""
        return int(self.design.shape[1])


def covariate_rows(X: Any, names: Sequence[str]) -> Floats:
    """Return covariates as a fit took them: of a table the columns with their names, of anything else by their order.

    Examples
    --------
    >>> import pandas as pd
    >>> covariate_rows(pd.DataFrame({"woman": [1, 0], "age": [31, 40]}), ("age", "woman")).tolist()
    [[31.0, 1.0], [40.0, 0.0]]
    """
    X = without_index(X)
    columns = () if isinstance(X, Mapping) else column_names(X) or ()
    expected = f"{len(names)} columns, {', '.join(names)}"
    if columns and set(names) <= set(columns):
        X = some_columns(X, list(names))
    elif _has_words(names) and _has_words(columns):
        remedy = "A column that a formula makes has the formula's name for it."
        raise InvalidInput(f"covariates called {listed(tuple(columns), 6)}", expected, remedy)
    rows = _numbers(X)
    if rows.shape[1] != len(names):
        raise InvalidInput(f"covariates of shape {rows.shape}", expected)
    return rows


def _has_words(names: Sequence[Any]) -> bool:
    """Whether any column has a name that is more than its place, such as pandas gives to an array's."""
    return any(not re.fullmatch(r"x?\d+", str(name)) for name in names)


def _numbers(values: Any) -> Floats:
    try:
        table = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            "covariates that are not numbers",
            "a table of numbers, a row for each person",
            "Turn categories into indicators, or fit a release with a formula: C(school).",
        ) from None
    if table.ndim != 2:
        raise InvalidInput(f"covariates of shape {table.shape}", "one row a person, one column a covariate")
    missing = ~np.isfinite(table)
    if missing.any():
        row, column = map(int, np.argwhere(missing)[0])
        raise InvalidInput(
            f"{int(missing.sum())} covariates that are missing or not finite (first in row {row}, column {column})",
            "a number in every row",
            "Drop or impute these rows first.",
        )
    return table
