"""Spreadsheets (.xlsx, .xls, .xlsb, .ods): the one sheet of a workbook that holds rows, as text like a CSV file."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from askance.errors import InvalidInput

SHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
_INSTALL = "pip install 'askance[excel]'"


def sheet_names(path: Path) -> tuple[str, ...]:
    """Return the names of the columns: the first row of the sheet."""
    return without_row_names([*map(_text, _rows(path, path.stat().st_mtime_ns)[0])])


def without_row_names(names: list[str]) -> tuple[str, ...]:
    """Return the names of columns without a nameless first one: pandas and R write there what rows are called."""
    return tuple(names[1:] if len(names) > 1 and not names[0] else names)


def sheet_table(path: Path, columns: Sequence[str]) -> pa.Table:
    """Return some columns of all rows, as text; empty cells are empty texts, and empty rows at the end are left out."""
    head, *body = _rows(path, path.stat().st_mtime_ns)
    names = [*map(_text, head)]
    places = [names.index(name) for name in columns]
    arrays = [pa.array([_text(row[place]) for row in body], pa.string()) for place in places]
    return pa.Table.from_arrays(arrays, names=list(columns))


@lru_cache(maxsize=2)
def _rows(path: Path, changed: int) -> list[list[Any]]:
    """All rows of the sheet, the head first. A workbook is read once for its names and its rows."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError
    except ImportError:
        raise InvalidInput(
            f"{path}, a spreadsheet, without python-calamine", "that package, or a CSV file", f"{_INSTALL}"
        ) from None
    try:
        workbook = CalamineWorkbook.from_path(path)
        found = {name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names}
    except PasswordError:
        raise InvalidInput(f"{path} is protected by a password", "a workbook without, or CSV") from None
    except (CalamineError, OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as a spreadsheet ({type(error).__name__})", "CSV") from None
    filled = {name: rows for name, rows in found.items() if rows}
    if not filled:
        raise InvalidInput(f"{path} is empty", "a row with column names, and rows")
    if len(filled) > 1:
        raise InvalidInput(
            f"{path} has {len(filled)} sheets with rows: {', '.join(map(repr, filled))}",
            "one sheet",
            "Save the one that is meant in a file of its own.",
        )
    (rows,) = filled.values()
    return [list(row) for row in rows]


def _text(value: Any) -> str:
    """A cell as a CSV file would have it. Spreadsheets keep every number with decimals: 3 is 3.0 there."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    return "" if value is None else str(value)
