"""Columns and tables of pandas, polars and Arrow: what came as one goes back as one, and its rows stay the same rows.

Three libraries, and one place that knows them. pandas and Arrow are here anyway; polars is looked for only where it has
been loaded, since nothing of it can arrive before.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from askance.errors import InvalidInput

Library = Literal["pandas", "polars", "arrow"]

_NAMELESS_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls it in Arrow and Parquet


def library_of(values: Any) -> Library | None:
    """Say whose column or table this is; None for arrays, lists and everything else.

    Examples
    --------
    >>> import pandas as pd
    >>> library_of(pd.Series([1, 2])), library_of([1, 2])
    ('pandas', None)
    """
    if isinstance(values, np.ndarray | list | tuple | Mapping | str):
        return None
    if isinstance(values, pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch):
        return "arrow"
    for name in ("pandas", "polars"):
        loaded: Any = sys.modules.get(name)
        if loaded is not None and isinstance(values, loaded.Series | loaded.DataFrame):
            return name
    return None


def column_names(table: Any) -> list[Any] | None:
    """Return the names of the columns of a table, or of a mapping of columns; None for anything else."""
    if isinstance(table, Mapping):
        return list(table)
    if isinstance(table, pa.Table | pa.RecordBatch):
        return list(table.schema.names)
    named = getattr(table, "columns", None)
    return None if named is None else list(named)


def without_index(table: Any) -> Any:
    """Return a table of Arrow or polars without columns in which pandas kept an index that has no name: no data.

    Examples
    --------
    >>> import pandas as pd, pyarrow as pa
    >>> kept = pa.Table.from_pandas(pd.DataFrame({"age": [31, 40]}, index=[7, 9]))
    >>> kept.schema.names, without_index(kept).schema.names
    (['age', '__index_level_0__'], ['age'])
    """
    if library_of(table) in (None, "pandas") or (names := column_names(table)) is None:
        return table
    kept = data_columns(names)
    return table if len(kept) == len(names) else some_columns(table, kept)


def data_columns(names: Iterable[str]) -> list[str]:
    """Return the names of columns without those of an index of pandas that has no name."""
    return [name for name in names if not _NAMELESS_INDEX.fullmatch(name)]


def some_columns(table: Any, names: Sequence[Any]) -> Any:
    """Return a table with some of its columns."""
    return table.select(names) if library_of(table) == "arrow" else table[list(names)]


def named_rows(table: Any) -> tuple[NDArray[Any], tuple[Any, ...], tuple[Any, ...]] | None:
    """Return a table of numbers with the names of its columns and of its rows; None for what is no frame.

    Rows are named by an index, or by the one column of text. An index that merely counts is no name, if there is such
    a column. A column of pandas has the names of its rows only.

    Examples
    --------
    >>> import pyarrow as pa
    >>> values, columns, rows = named_rows(pa.table({"unit": ["Ayr", "Bute"], "no": [5, 7], "yes": [2, 1]}))
    >>> values.tolist(), columns, rows
    ([[5, 2], [7, 1]], ('no', 'yes'), ('Ayr', 'Bute'))
    """
    library, names = library_of(table), column_names(table)
    if library is None or (names is None and library != "pandas"):
        return None
    if names is None:
        return table.to_numpy(), (), tuple(table.index.tolist())
    places = range(len(names))  # pandas may have two columns of the same name
    columns = [np.asarray(table.iloc[:, at] if library == "pandas" else table[names[at]]) for at in places]
    texts = [place for place, values in enumerate(columns) if _is_text(values)]
    by_column = len(texts) == 1 and (library != "pandas" or _counts(table.index))
    rows = tuple(table.index.tolist()) if library == "pandas" else ()
    if by_column:
        rows = tuple(columns.pop(texts[0]).tolist())
        del names[texts[0]]
    values = np.column_stack(columns) if columns else np.empty((len(rows), 0))
    return values, tuple(names), rows


def lists_of_rows(given: Any, what: str) -> Any:
    """Return a column of lists, or a table of one such column, as a list of what is in its rows; all else as it is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> lists_of_rows(pa.table({"words": [["a", "dog"], ["it", "barks"]]}), "words")
    [['a', 'dog'], ['it', 'barks']]
    """
    library, names = library_of(given), column_names(given)
    if library is None:
        return given
    if names is not None:
        if len(names) != 1:
            raise InvalidInput(f"a table with the columns {', '.join(map(repr, names[:8]))}", f"one column, of {what}")
        given = given.iloc[:, 0] if library == "pandas" else given[names[0]]
    return given.to_pylist() if library == "arrow" else given.to_list()


def _is_text(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "OTU" and bool(len(values)) and all(isinstance(value, str) for value in values.tolist())


# -- what came as a frame goes back as one ---------------------------------------------------------------


def like(given: Any, values: Any, names: Sequence[str] | None = None) -> Any:
    """Return an array as a column or table of the library that something was given as, with its index and names.

    A table has ``names``, or else those of the columns that were given, if there are as many. Arrays stay arrays, as do
    labels of several kinds, if the library has no column for them. A pair is done part by part.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> like(pd.Series([1, 0], index=["Ann", "Bob"], name="smokes"), np.array(["no", "yes"])).to_dict()
    {'Ann': 'no', 'Bob': 'yes'}
    >>> like([1, 0], np.array(["no", "yes"])).tolist()
    ['no', 'yes']
    """
    if isinstance(values, tuple):
        return tuple(like(part, value) for part, value in zip(given, values, strict=True))
    library = library_of(given)
    if library is None:
        return values
    columns, index = column_names(given), getattr(given, "index", None)
    if values.ndim == 1:
        name = getattr(given, "name", None) if columns is None else columns[0] if len(columns) == 1 else None
        try:
            column = _column(library, values, name, index)
        except (TypeError, pa.ArrowException):  # text and numbers in one column, which only pandas has
            return values
        return column if library != "arrow" or isinstance(given, pa.Array) else pa.chunked_array([column])
    if names is None:
        names = columns if columns is not None and len(columns) == values.shape[1] else report_names(values.shape[1])
    return _table(library, names, values.T, index)


def report_names(width: int) -> list[str]:
    """Return what columns of reports are called that are not about one column of the truth each."""
    return [f"report_{place + 1}" for place in range(width)]


def in_named_order(table: Any, names: Sequence[Any]) -> Any:
    """Return a frame with its columns in the order of ``names``; as it is, if it is none or has not all of them.

    Examples
    --------
    >>> import pandas as pd
    >>> in_named_order(pd.DataFrame({"b": [1], "a": [2]}), ["a", "b"]).columns.tolist()
    ['a', 'b']
    """
    found = None if library_of(table) is None else column_names(table)
    if found is None or found == list(names) or not {*names} <= {*found}:
        return table
    return some_columns(table, names)


def table_like(given: Any, frame: Any, rows: str | None = None) -> Any:
    """Return a pandas frame as a table of the library that something was given as; as it is, if that is none.

    polars and Arrow have no index: where its entries say something they become columns, by its names, or ``rows`` for
    one that has none.
    """
    library = library_of(given)
    if library in (None, "pandas"):
        return frame
    if frame.index.nlevels > 1 or rows is not None or frame.index.name is not None:
        frame = frame.rename_axis([name or rows or "row" for name in frame.index.names]).reset_index()
    return _table(library, list(map(str, frame.columns)), [frame[name].to_numpy() for name in frame.columns])


def _column(library: Library, values: NDArray[Any], name: Any = None, index: Any = None) -> Any:
    # Lists of reports, one for each sentence, are no array to polars and Arrow.
    plain = values.tolist() if values.dtype == object else values
    if library == "pandas":
        return sys.modules["pandas"].Series(plain, index=index, name=name)
    if library == "polars":
        return sys.modules["polars"].Series(name, plain)
    return pa.array(plain)


def _table(library: Library, names: Sequence[Any], columns: Iterable[NDArray[Any]], index: Any = None) -> Any:
    if library == "pandas":
        return sys.modules["pandas"].DataFrame(np.column_stack([*columns]), index=index, columns=names)
    found = [_column(library, np.ascontiguousarray(values), name) for name, values in zip(names, columns, strict=True)]
    return sys.modules["polars"].DataFrame(found) if library == "polars" else pa.table(found, names=list(names))


# -- rows stay the same rows -----------------------------------------------------------------------------


def refuse_other_rows(**given: Any) -> None:
    """Refuse columns and tables of pandas whose indexes say that they do not go together row by row.

    Rows are taken in their order. An index that merely counts them says nothing of them, and goes with any other,
    unless that one has the same numbers in another order.

    Examples
    --------
    >>> import pandas as pd
    >>> X, reports = pd.Series([1, 2], index=["a", "b"]), pd.Series([1, 2], index=["b", "a"])
    >>> try:
    ...     refuse_other_rows(X=X, reports=reports)
    ... except InvalidInput as error:
    ...     print(str(error).split(";")[0])
    the indexes of X and reports have the same entries in another order (row 0 is 'a' and 'b')
    """
    found = list(_indexed(given))
    for name, index in found[1:]:
        first_name, first = found[0]
        if len(first) != len(index) or first.equals(index):
            continue  # other lengths are refused by whoever needs a value for every row, in words of its own
        entries, others = first.tolist(), index.tolist()
        same = {*entries} == {*others}
        if not same and (_counts(first) or _counts(index)):
            continue
        pairs = enumerate(zip(entries, others, strict=True))
        row = next((place for place, (one, other) in pairs if one != other), None)
        if row is None:  # the same labels, of another type
            continue
        said = "have the same entries in another order" if same else "name other rows"
        raise InvalidInput(
            f"the indexes of {first_name} and {name} {said} (row {row} is {entries[row]!r} and {others[row]!r})",
            "rows that go together, one by one",
            f"To match them by index, pass {name}.loc[{first_name}.index]; if they go together in the order that they "
            f"are in, pass {name}.to_numpy().",
        )


def refuse_other_numbers(rows: Any, name: str) -> None:
    """Refuse rows of pandas that are referred to by number, where their index has other numbers for them.

    Examples
    --------
    >>> import pandas as pd
    >>> refuse_other_numbers(pd.Series([["a"], ["b"]], index=["first", "second"]), "sentences")
    >>> try:
    ...     refuse_other_numbers(pd.Series([["a"], ["b"]], index=[7, 4]), "sentences")
    ... except InvalidInput as error:
    ...     print(str(error).split(";")[0])
    the index of sentences has other numbers than 0 to 1 (row 0 is 7)
    """
    if library_of(rows) != "pandas" or _counts(rows.index):
        return
    entries = rows.index.tolist()
    if not all(isinstance(entry, int) for entry in entries):  # names, which no number means
        return
    row = next(place for place, entry in enumerate(entries) if place != entry)
    raise InvalidInput(
        f"the index of {name} has other numbers than 0 to {len(entries) - 1} (row {row} is {entries[row]})",
        "an index that counts, where rows are referred to by number",
        f"If numbers mean places, counted from 0, pass {name}.reset_index(drop=True); if they mean the index, map them "
        "to places first.",
    )


def _indexed(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The indexes of all that is pandas', also inside a mapping of columns."""
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}[{key!r}]", part.index) for key, part in value.items() if library_of(part) == "pandas")
        elif library_of(value) == "pandas":
            yield name, value.index


def _counts(index: Any) -> bool:
    """Whether an index is the one that pandas makes where none is given: 0, 1, 2, ..."""
    return bool(index.equals(sys.modules["pandas"].RangeIndex(len(index))))
