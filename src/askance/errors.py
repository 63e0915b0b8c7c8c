"""Errors that teach: what arrived, what was expected, what to do.

Every error that askance raises on purpose derives from :class:`AskanceError`, so a caller can
tell "you gave me something I cannot use" from a defect in the program.
"""

from collections.abc import Iterable

from askance.printing import one_line


def did_you_mean(word: object, known: Iterable[object]) -> str:
    """Return a question with the known word that is meant, for the end of a message; nothing if none is near.

    Examples
    --------
    >>> did_you_mean("agee", ["age", "school"]), did_you_mean("income", ["age"])
    ("Did you mean 'age'?", '')
    """
    from difflib import get_close_matches

    # Words that differ by case alone are the same word to who types them.
    words = {name.casefold(): name for name in map(str, known)}
    close = get_close_matches(str(word).casefold(), words, n=1)
    return f"Did you mean {words[close[0]]!r}?" if close else ""


class AskanceError(Exception):
    """Base of every error raised on purpose.

    Parameters
    ----------
    arrived : str
        What came in, with the offending value where it is not private.
    expected : str, optional
        What would have been accepted.
    remedy : str, optional
        What to do about it.
    """

    def __init__(self, arrived: str, expected: str = "", remedy: str = "") -> None:
        # One positional argument reaches Exception, so that the error survives pickling
        # on its way back from a worker process.
        message = arrived
        if expected:
            message += f"; expected {expected}"
        if remedy:
            message = f"{message}. {remedy}"
        super().__init__(one_line(message))


class InvalidInput(AskanceError, ValueError):
    """Data or a parameter that cannot be used as it is."""


class Unidentifiable(InvalidInput):
    """The reports carry no information about something that the model needs."""


class ReleaseError(AskanceError, OSError):
    """A release or study file that cannot be read, or was not written by askance."""


class BudgetSpent(AskanceError):
    """A release that would cost more privacy than a ledger has left."""


class NotAvailable(AskanceError, AttributeError):
    """A result that this fit does not have, asked for by name."""


class AskanceWarning(UserWarning):
    """Something that changes how a result should be read."""
