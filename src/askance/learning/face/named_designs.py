"""The designs that a channel is made of: most have one, without a name."""

from typing import Any

import numpy as np


def designs_of(channel: Any) -> list[tuple[str, Any, slice]]:
    """Return name, channel and report codes of each design of a channel; of most there is one, without a name."""
    designs = getattr(channel, "designs", {"": channel})
    ends = np.cumsum([0, *(len(design.matrix) for design in designs.values())]).tolist()
    return [(name, design, slice(*ends[i : i + 2])) for i, (name, design) in enumerate(designs.items())]


def is_assumed(channel: Any) -> bool:
    """Whether the law of the reports is an assumption, at least under one design."""
    return any(getattr(design, "is_assumed", False) for _, design, _ in designs_of(channel))
