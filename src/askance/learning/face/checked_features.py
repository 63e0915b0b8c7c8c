"""Features as an estimator takes them: checked by scikit-learn, and refused in words that name the column."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from askance.errors import InvalidInput
from askance.frames import column_names, library_of, without_index


def checked_features(model: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Return what scikit-learn's ``validate_data`` makes of features; what it refuses is explained, if it can be.

    Its own messages name no column, and are about estimators that this library does not have.
    """
    X = without_index(X)
    try:
        return validate_data(model, X, *y, **options)
    except (ValueError, TypeError) as error:
        refused = _fault(X)
        if refused is None:
            raise
        raise refused from error


def _fault(X: Any) -> InvalidInput | None:
    """What is wrong with features that were refused; None where scikit-learn says it best."""
    if isinstance(X, str):
        return InvalidInput(f"X={X:.80}", "a table of numbers", "Read the file first; a release is for fit_release.")
    # A sparse matrix can be a dict (of its entries) without being a table: of those scikit-learn says what to do.
    if isinstance(X, dict) and not issparse(X):
        return InvalidInput("a dict as X", "a table of numbers", "Make a table of it first: pandas.DataFrame(X).")
    if hasattr(X, "collect") and not hasattr(X, "__len__"):  # of polars, Dask and their kin
        return InvalidInput(
            f"a {type(X).__name__} as X, whose rows are still to be read", "rows", "X.collect() reads them."
        )
    names = column_names(X) if library_of(X) else None
    if names is None:
        values = np.asarray(X) if isinstance(X, np.ndarray | list | tuple) or library_of(X) else np.empty(0)
        text = _first_text(values.ravel())
        if text is None:
            return None
        order = " Features come first, reports after them: fit(X, reports)." if values.ndim == 1 else ""
        return InvalidInput(f"features with the text {text:.80}", "numbers", f"{_CODES}{order}")
    for place, name in enumerate(names):
        column = np.asarray(X.iloc[:, place] if library_of(X) == "pandas" else X[name])
        text = _first_text(column)
        if text is not None:
            return InvalidInput(f"the column {name!r} of X has the text {text:.80}", "numbers", _CODES)
        if missing := [row for row, value in enumerate(column.tolist()) if value is None or value != value]:
            return InvalidInput(
                f"{len(missing)} of {len(column)} rows lack the feature {name!r} (NaN, first in row {missing[0]})",
                "a number in every row",
                "Leave these rows out everywhere, or fill them in first (scikit-learn's SimpleImputer).",
            )
    return None


_CODES = "Make columns of zeros and ones of texts first, as pandas.get_dummies does, or leave them out."


def _first_text(values: Any) -> str | None:
    """The first entry that is a text and no number, as it is shown."""
    if values.dtype.kind not in "OUS":
        return None
    for value in values.tolist():
        if isinstance(value, str | bytes):
            try:
                float(value)
            except ValueError:
                return repr(value)
    return None
