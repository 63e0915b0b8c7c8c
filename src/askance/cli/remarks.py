"""Warnings of the library as remarks of a command."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from askance.errors import AskanceWarning


@contextmanager
def noted() -> Iterator[list[str]]:
    """Collect what the library warns of, once each; other warnings go their way."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AskanceWarning)
        yield notes
    for warning in caught:
        if issubclass(warning.category, AskanceWarning):
            if str(warning.message) not in notes:
                notes.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
