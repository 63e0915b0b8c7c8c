"""Arrays as columns and tables of the libraries that people keep their data in."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

LIBRARIES = {
    "pandas": (pd.Series, pd.DataFrame),
    "polars": (pl.Series, pl.DataFrame),
    "arrow": (pa.ChunkedArray, pa.Table),
}


def people(n):
    """An index that does not merely count."""
    return [f"person {i}" for i in range(n)]


def as_frame(values, library, names="abcdefghijklmnopqrstuvwxyz"):
    """Return an array as a column or as a table, with the parts of a tuple or mapping; all else as it is."""
    if isinstance(values, tuple):
        return tuple(as_frame(part, library, names) for part in values)
    if isinstance(values, dict):
        return {key: as_frame(value, library) for key, value in values.items()}
    if isinstance(values, np.ndarray) and values.ndim == 2:
        columns = dict(zip(names, values.T, strict=False))
        if library == "pandas":
            return pd.DataFrame(columns, index=people(len(values)))
        return pl.DataFrame(columns) if library == "polars" else pa.table(columns)
    if not isinstance(values, np.ndarray):
        return values
    plain = values.tolist() if values.dtype == object else values
    if library == "pandas":
        return pd.Series(plain, index=people(len(values)), name="answer")
    return pl.Series("answer", plain) if library == "polars" else pa.chunked_array([pa.array(plain)])
