"""Model formulas over tables that may be larger than memory, through formulaic.

The levels of categories are collected over the whole table first; after that every partition gives the same
columns, whichever levels occur in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.engines.base import Engine
from askance.errors import InvalidInput
from askance.learning.face.formula_grammar import CONTEXT, CheckedFormula, checked_formula, factor_parts
from askance.learning.face.release_records import ReleaseColumns, checked_columns, missing_covariate
from askance.releases.release import Release
from askance.statistics.levels import ColumnLevels

_ROWS_AT_ONCE = 2_000_000  # for transforms that need a whole column: ten columns of so many doubles are 160 MB
_LARGEST = 1e150  # as of numbers in tables: products and powers of columns may be larger, and their squares no numbers
_MOST_COLUMNS = 5_000  # of features: a table of their products is then 200 MB
_MOST_LEVELS = 1000  # of a category: each becomes a column, and a column that was meant as a number has more


def in_formula(name: str) -> str:
    """Write a column's name as a formula wants it.

    Examples
    --------
    >>> in_formula("age"), in_formula("median income")
    ('age', '`median income`')
    """
    return name if name.isidentifier() else f"`{name}`"


@dataclass(frozen=True)
class Formula:
    """A formula, such as ``cheated ~ age + C(school)``; parsed when it is first asked for its parts, and only then."""

    text: str

    @classmethod
    def of(cls, formula: "str | Formula") -> "Formula":
        """Return a formula; one that is parsed already stays so."""
        return formula if isinstance(formula, Formula) else cls(formula)

    def __str__(self) -> str:
        return self.text

    @property
    def left(self) -> str:
        """The name on the left."""
        return self._sides[0]

    @property
    def right(self) -> Any:
        """The parsed right-hand side: formulaic's terms."""
        return self._sides[1]

    @cached_property
    def _sides(self) -> tuple[str, Any]:
        from formulaic import Formula as Parsed
        from formulaic.errors import FormulaicError

        try:
            parsed = Parsed(self._checked.text)
        except (FormulaicError, SyntaxError, AttributeError) as error:
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidInput(f"the formula {self.text!r} cannot be read: {first}") from None
        left = [str(term) for term in getattr(parsed, "lhs", ())]
        if len(left) != 1:
            raise InvalidInput(f"the formula {self.text!r}", "one question left of ~")
        if not hasattr(parsed.rhs, "required_variables"):
            raise InvalidInput(f"the formula {self.text!r} has several parts", "one sum of terms, without |")
        return left[0], parsed.rhs

    @cached_property
    def _checked(self) -> CheckedFormula:
        return checked_formula(self.text)  # before anything in it is evaluated

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the right-hand side is made of."""
        return tuple(sorted(self._checked.columns))


@dataclass(frozen=True, eq=False)
class FormulaColumns:
    """Features that a formula makes of a table's columns."""

    columns: tuple[str, ...]
    names: tuple[str, ...]
    intercept: bool
    _levels: dict[str, tuple[Any, ...]]
    _spec: Any

    @classmethod
    def learn(cls, formula: Formula, release: Release, engine: Engine) -> "FormulaColumns":
        """Parse a formula against a release: find its columns, their levels, and the features' names."""
        from formulaic.errors import FormulaicError

        right = formula.right
        columns = checked_columns(release, formula.columns)
        levels = _levels(release, columns, engine)
        _refuse_too_wide(formula, release, levels)
        try:
            spec = _spec(right, _prototype(release, columns, levels))
            if any(spec.transform_state.values()):
                # center(), scale(), poly() and the like must see every row, not a prototype.
                _refuse_too_large(release, ", ".join(spec.transform_state))
                spec = _spec(right, _frame(release.head(columns, _ROWS_AT_ONCE), levels))
        except (FormulaicError, ValueError, TypeError, KeyError, NameError) as error:
            if isinstance(error, InvalidInput):
                raise
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidInput(f"the formula {formula.text!r} cannot be applied: {first}") from None
        names = tuple(str(name) for name in spec.column_names)
        features = tuple(name for name in names if name != "Intercept")
        if not names:
            raise InvalidInput(f"the formula {formula.text!r}", "covariates or an intercept right of ~")
        return cls(columns, features, "Intercept" in names, levels, spec)

    def matrix(self, table: pa.Table) -> NDArray[np.float64]:
        if table.num_rows == 0 or not self.names:
            return np.empty((table.num_rows, len(self.names)))
        with np.errstate(all="ignore"):  # what is not finite is refused below, by name
            frame = self._spec.get_model_matrix(_frame(table.select(list(self.columns)), self._levels), context=CONTEXT)
        matrix = frame[list(self.names)].to_numpy(dtype=float)
        if not np.isfinite(matrix).all():
            worst = int((~np.isfinite(matrix)).any(axis=0).argmax())
            raise missing_covariate(self.names[worst], int((~np.isfinite(matrix[:, worst])).sum()))
        sizes = np.abs(matrix).max(axis=0)
        if sizes.max() > _LARGEST:
            raise InvalidInput(
                f"numbers of up to {sizes.max():.3g} in {self.names[int(sizes.argmax())]!r}",
                f"at most {_LARGEST:g} in size",
                "Use a larger unit.",
            )
        return np.ascontiguousarray(matrix)


def _spec(right: Any, frame: Any) -> Any:
    with np.errstate(all="ignore"):
        return right.get_model_matrix(frame, context=CONTEXT, na_action="raise", output="pandas").model_spec


def _refuse_too_wide(formula: Formula, release: Release, levels: dict[str, tuple[Any, ...]]) -> None:
    """Refuse more features than can be used, before memory is taken for them."""

    def width(factor: Any) -> int:
        alone = factor.expr in release.schema.names  # a column by itself, without backticks
        names, wide = ((factor.expr,), 1) if alone else factor_parts(factor.expr)
        coded = factor.expr.startswith("C(")
        categories = [len(levels[name]) for name in names if name in levels and (coded or not numbers[name])]
        return max([wide, *categories])

    numbers = {name: _is_number(release.schema.field(name).type) for name in levels}
    most = sum(math.prod(width(factor) for factor in term.factors) for term in formula.right)
    if most > _MOST_COLUMNS:
        raise InvalidInput(
            f"the formula {formula.text!r:.200} makes up to {most:,} features",
            f"at most {_MOST_COLUMNS:,}",
            "Join levels of its categories, or leave out interactions.",
        )


def _refuse_too_large(release: Release, transforms: str) -> None:
    if release.num_rows > _ROWS_AT_ONCE:
        raise InvalidInput(
            f"{transforms} needs a whole column at once, and the release has {release.num_rows} rows",
            f"at most {_ROWS_AT_ONCE} rows for such a transform",
            "Write the transformed column into the data.",
        )


def _levels(release: Release, columns: tuple[str, ...], engine: Engine) -> dict[str, tuple[Any, ...]]:
    """Collect the levels of every column in their order over all partitions; a number of very many values has none."""
    found = engine.reduce(ColumnLevels(columns, _MOST_LEVELS), ReleaseColumns(release, columns))
    for name, levels in found.items():
        if levels.missing:
            raise missing_covariate(name, levels.missing)
        if levels.values is None and not _is_number(release.schema.field(name).type):
            raise InvalidInput(
                f"the column {name!r} has more than {_MOST_LEVELS} levels",
                "a number, or a category with fewer levels",
            )
    declared = {covariate.name: covariate.levels or () for covariate in release.header.covariates}
    return {
        name: _ordered(levels.values, declared.get(name, ()))
        for name, levels in found.items()
        if levels.values is not None
    }


def _ordered(found: frozenset[Any], declared: Sequence[Any]) -> tuple[Any, ...]:
    """Levels in the order in which the study declares them, so that the first is the reference; else sorted."""
    first = [level for level in declared if level in found]
    return (*first, *sorted(found.difference(first)))


def _prototype(release: Release, columns: tuple[str, ...], levels: dict[str, tuple[Any, ...]]) -> Any:
    """A small frame in which every level of every column occurs."""
    # More rows than one, or scale() and poly() would divide by a variance of zero.
    rows = max([100, *(len(values) for values in levels.values())])
    table = release.head(columns, rows)
    if columns and not table.num_rows:
        raise InvalidInput("a release without rows", "at least one record")
    cycled = {
        name: pa.array([values[i % len(values)] for i in range(rows)], type=_plain_type(table[name].type))
        if (values := levels.get(name))
        else table[name].take(pa.array(np.arange(rows) % table.num_rows))
        for name in columns
    }
    return _frame(pa.table(cycled), levels) if columns else _frame(pa.table({"_": [0.0] * rows}), levels)


def _frame(table: pa.Table, levels: dict[str, tuple[Any, ...]]) -> Any:
    import pandas as pd

    frame = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if _is_number(column.type):
            frame[name] = column.to_numpy(zero_copy_only=False)
        else:
            values = column.cast(_plain_type(column.type)).to_pylist()
            frame[name] = pd.Categorical(values, categories=list(levels[name]))
    return pd.DataFrame(frame, index=range(table.num_rows))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
