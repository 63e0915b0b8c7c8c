"""What each pass of a fit has reached, and what it has cost."""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

Reached = Callable[[Any], float]


class PassLog:
    """Notes passes with CPU seconds and, if somebody knows the truth, accuracy; the time of looking is not counted.

    Passes of different estimators do different work: compare them by seconds.

    Examples
    --------
    >>> log = PassLog(lambda model: 0.9)
    >>> log.note("moments", "model")
    >>> [(record["stage"], record["pass"], record["accuracy"]) for record in log.records]
    [('moments', 1, 0.9)]
    """

    def __init__(self, accuracy: Reached | None = None) -> None:
        self.records: list[dict[str, Any]] = []
        self._accuracy = accuracy
        self._begun = process_time()
        self._looking = 0.0

    def note(self, stage: str, model: Any, log_likelihood: float = np.nan) -> None:
        """Add a pass of a stage ("moments", "marginal", "chain")."""
        now = process_time()
        number = 1 + sum(record["stage"] == stage for record in self.records)
        record = {"stage": stage, "pass": number, "cpu_seconds": now - self._begun - self._looking}
        if np.isfinite(log_likelihood):
            record["log_likelihood"] = float(log_likelihood)
        if self._accuracy is not None:
            record["accuracy"] = self._accuracy(model)
        self.records.append(record)
        self._looking += process_time() - now
