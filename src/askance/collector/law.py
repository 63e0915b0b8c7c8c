"""The law of a report as a page states it: integers out of 2^62, compared with 62 random bits.

The page and this module draw in the same way, one report at a time: u is eight random bytes, least significant first,
without their two lowest bits; the report is the first o with u < counts[0] + ... + counts[o]. What
:meth:`~askance.channels.labels.FiniteLaw.privatize` draws a million at a time has the same law.
"""

from collections.abc import Sequence
from typing import Any

from askance.channels.labels.finite import FiniteLaw
from askance.channels.labels.respondents import Anchor
from askance.entropy.thresholds import RESOLUTION
from askance.errors import InvalidInput
from askance.releases.declarations import Question

RANDOM_BYTES = 8  # the fewest whole bytes that hold the 62 bits of a count; ``static/law.mjs`` takes as many
_SPARE_BITS = 2  # eight bytes have two bits more than counts are out of
_MOST_CELLS = 10_000  # numbers in a page's table; a design with a hundred choices has as many, and loads in a blink


def draw_report(counts: Sequence[int], random: bytes) -> int:
    """Return the report that eight random bytes choose.

    Parameters
    ----------
    counts : sequence of int
        Of each report, out of 2^62, given the truth.
    random : bytes
        Eight of them.

    Examples
    --------
    >>> half = 1 << 61
    >>> draw_report([half, half], bytes(8)), draw_report([half, half], b"\\xff" * 8)
    (0, 1)
    """
    if len(random) != RANDOM_BYTES or sum(counts) != RESOLUTION or min(counts) < 0:
        raise InvalidInput(
            "counts that do not add up to 2^62, or another number of bytes", "a column of a law, 8 bytes"
        )
    u = int.from_bytes(random, "little") >> _SPARE_BITS
    below = 0
    for report, count in enumerate(counts):
        below += count
        if u < below:
            return report
    raise AssertionError("unreachable: u is below 2^62")


def device_law(question: Question, design: Any) -> list[list[int]]:
    """Return the counts of each report, one list for each truth, that a respondent's device draws from.

    Examples
    --------
    >>> from askance import Warner
    >>> law = device_law(Question("cheated", Warner(0.75)), Warner(0.75))
    >>> [[count / 2**62 for count in column] for column in law]
    [[0.75, 0.25], [0.25, 0.75]]
    """
    if not isinstance(design, FiniteLaw):
        raise InvalidInput(
            f"the question {question.name!r}, whose answers are {_hidden(question)}",
            "choices",
            "A page draws from a table of integers, one column for each answer, and such answers have none: hide them "
            "with askance privatize.",
        )
    # An anchor's truth is known, but the page draws from what a person says: who answers at random shall be seen.
    try:
        asked = design.device.as_asked if isinstance(design, Anchor) else design.as_asked
    except InvalidInput as error:
        raise InvalidInput(f"{error} On a page, [page] paper = [{question.name!r}] does that") from None
    counts = asked.counts
    if counts.size > _MOST_CELLS:
        raise InvalidInput(
            f"the question {question.name!r} has {counts.shape[0]} reports of {counts.shape[1]} answers",
            f"at most {_MOST_CELLS:,} numbers in its table",
        )
    return [[int(count) for count in column] for column in counts.T]


def _hidden(question: Question) -> str:
    return "sequences" if question.hides_sequences else "numbers" if question.hides_numbers else "not finitely many"
