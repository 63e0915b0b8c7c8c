"""Questions about designs with unknown numbers: what a report says of these."""

from dataclasses import replace
from typing import Any

from askance.releases.header import Question
from askance.reports.summary import Summary


def known_question(asked: Question, fitted: Any) -> Question:
    """Return the question with the estimates of a fit in the places of its unknown numbers."""
    return replace(asked, channel=fitted.channel_at_estimate_) if hasattr(fitted, "unknowns_") else asked


def unknown_summary(fitted: Any, level: float) -> Summary | None:
    """Return the table of the unknown numbers of a fit, with their tests; None if it has none."""
    found = getattr(fitted, "unknown_numbers_", None)
    if found is None:
        return None
    names, values = found.rows(level)
    return Summary("What was unknown about the designs", names, values, level, found.facts())
