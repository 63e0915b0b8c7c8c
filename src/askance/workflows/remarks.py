"""Warnings of the library as remarks of a workflow."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from askance.errors import AskanceWarning


@contextmanager
def collected_remarks() -> Iterator[list[str]]:
    """Collect what the library warns of, once each; other warnings go their way.

    Examples
    --------
    >>> with collected_remarks() as remarks:
    ...     warnings.warn("few bags", AskanceWarning)
    >>> remarks
    ['few bags']
    """
    remarks: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AskanceWarning)
        yield remarks
    for warning in caught:
        if not issubclass(warning.category, AskanceWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif str(warning.message) not in remarks:
            remarks.append(str(warning.message))
