"""Speed and memory, as ratios measured within one run. Each module has a ``main()`` that returns measurements."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """One number, and what it has to reach.

    A measurement with neither limit is for information; one that could not be made has ``skipped`` set, which
    is never counted as passed.
    """

    name: str
    value: float | None
    unit: str = "x"
    at_least: float | None = None
    at_most: float | None = None
    skipped: str = ""

    @property
    def verdict(self) -> str:
        if self.skipped:
            return "SKIPPED"
        if self.at_least is None and self.at_most is None:
            return ""
        if self.value is None:
            return "FAIL"
        enough = self.at_least is None or self.value >= self.at_least
        little = self.at_most is None or self.value <= self.at_most
        return "PASS" if enough and little else "FAIL"


def best_seconds(tasks: Mapping[str, Callable[[], object]], repeats: int = 5) -> dict[str, float]:
    """Time every task in turn, several times over, and keep the best of each.

    Taking turns spreads what else the machine does evenly over the tasks; the best is what the code can do.
    """
    best = dict.fromkeys(tasks, float("inf"))
    for task in tasks.values():
        task()  # compile, touch memory
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
