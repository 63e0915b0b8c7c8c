"""What to do about regions that cannot be as they are told: refuse them, some or all by name, or leave them out."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from askance.errors import AskanceWarning, InvalidInput
from askance.tables.counted_region import CountedRegion

INVALID = ("refuse", "list", "drop")
_NAMED = 5  # of them in a message that does not name all


def check_invalid(invalid: str) -> None:
    """Refuse a word that says nothing about what to do."""
    if invalid not in INVALID:
        raise InvalidInput(f"invalid={invalid!r}", f"one of {', '.join(INVALID)}")


def every(records: Sequence[Any], read: Callable[[Any], Any], problems: dict[int, str]) -> list[Any]:
    """Read all records, and note what is wrong with some of them, by their numbers."""
    found = []
    for number, record in enumerate(records):
        try:
            found.append(read(record))
        except InvalidInput as error:
            found.append(None)
            problems[number] = str(error)
    return found


def settled(
    regions: list[Any], problems: dict[int, str], invalid: str, messages: list[str] | None = None
) -> list[CountedRegion]:
    """Refuse regions that cannot be, naming some or all, or leave them out."""
    wrong = list(problems.values()) if messages is None else messages
    if invalid == "drop" and len(problems) < len(regions):
        named = " | ".join(wrong[:_NAMED]) + (f" | and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else "")
        warnings.warn(
            f"{len(problems):,} of {len(regions):,} regions cannot be as they are told, and were left out: {named}",
            AskanceWarning,
            stacklevel=4,
        )
        return [region for number, region in enumerate(regions) if number not in problems]
    if len(wrong) == 1 and messages is None:
        raise InvalidInput(wrong[0])
    shown = wrong if invalid == "list" else wrong[:_NAMED]
    more = f" | and {len(wrong) - len(shown):,} more" if len(shown) < len(wrong) else ""
    raise InvalidInput(
        f"{len(problems):,} of {len(regions):,} regions cannot be as they are told: {' | '.join(shown)}{more}",
        "counts that some tagging of the sentence has",
        "Correct them; invalid='list' names all, and invalid='drop' goes on without them.",
    )
